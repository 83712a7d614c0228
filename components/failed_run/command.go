package failedrun

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// maxArgs is the longest call that is looked into; commands that run again are
// shorter.
const maxArgs = 1 << 16

// command is what a call ran, and the folder it names, if it does.
type command struct{ text, dir string }

// commandOf reads the command of a call in the forms that clients give it: a
// string or a list, called command or cmd, perhaps with a folder beside it. A
// call that names a file as well is one of an editor.
func commandOf(args []byte) (command, bool) {
	var call struct {
		Command   json.RawMessage `json:"command"`
		Cmd       json.RawMessage `json:"cmd"`
		Workdir   string          `json:"workdir"`
		Cwd       string          `json:"cwd"`
		Directory string          `json:"directory"`
		DirPath   string          `json:"dir_path"`
		Path      json.RawMessage `json:"path"`
		FilePath  json.RawMessage `json:"file_path"`
	}
	if len(args) > maxArgs || json.Unmarshal(args, &call) != nil || call.Path != nil || call.FilePath != nil {
		return command{}, false
	}
	text := words(call.Command)
	if text == "" {
		text = words(call.Cmd)
	}
	c := command{text: strings.TrimSpace(text), dir: call.Workdir + call.Cwd + call.Directory + call.DirPath}
	for strings.HasPrefix(c.text, "cd ") {
		before, after, found := strings.Cut(c.text, "&&")
		if !found {
			break
		}
		c.dir = enter(c.dir, strings.Trim(strings.TrimSpace(before[len("cd "):]), `"'`))
		c.text = strings.TrimSpace(after)
	}
	if !strings.ContainsAny(c.text, "\n\"'`") { // inside quotes, blanks count
		c.text = strings.Join(strings.Fields(c.text), " ")
	}
	return c, c.text != ""
}

// enter returns the folder that cd leads to.
func enter(from, to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(from, to)
}

// words returns a string, or a list of words as one: of ["bash", "-lc", text],
// the text.
func words(value json.RawMessage) string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(value, &many) != nil || len(many) == 0 {
		return ""
	}
	shells := []string{"bash", "sh", "zsh", "dash", "ash", "ksh"}
	if len(many) == 3 && slices.Contains(shells, path.Base(many[0])) && strings.HasPrefix(many[1], "-") && strings.HasSuffix(many[1], "c") {
		return many[2]
	}
	return strings.Join(many, " ")
}

// shows reports whether a command shows or searches what is there. Its output
// may quote a run, but is none.
func (c command) shows() bool {
	for word := range strings.FieldsSeq(c.text) {
		if strings.Contains(word, "=") || word == "sudo" || word == "env" || word == "time" {
			continue
		}
		return slices.Contains([]string{
			"cat", "head", "tail", "less", "more", "bat", "nl", "sed", "awk", "cut", "jq", "yq", "diff", "git", "gh", "ls", "tree", "find", "fd",
			"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "echo", "printf", "wc", "strings", "xxd", "open", "view", "journalctl", "dmesg",
		}, path.Base(word))
	}
	return false
}
