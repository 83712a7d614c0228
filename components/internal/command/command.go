// Package command reads what a call ran: the shell command, the folder, and
// whether it only shows what is there.
//
// Clients name the same thing in many ways; the forms known are those real ones
// use.
package command

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// maxArgs is the longest call that is looked into; commands that run again are
// shorter.
const maxArgs = 1 << 16

// Command is what a call ran, and the folder it names, if it does.
type Command struct{ Text, Dir string }

// Of reads the command of a call from its arguments: a string or a list, called
// command or cmd, perhaps with a folder beside it. A call that names a file as
// well is one of an editor. A change of folder in front belongs to the folder,
// and blanks are joined where they mean nothing.
func Of(args []byte) (Command, bool) {
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
		return Command{}, false
	}
	text := words(call.Command)
	if text == "" {
		text = words(call.Cmd)
	}
	c := Command{Text: strings.TrimSpace(text), Dir: call.Workdir + call.Cwd + call.Directory + call.DirPath}
	for strings.HasPrefix(c.Text, "cd ") {
		before, after, found := strings.Cut(c.Text, "&&")
		if !found {
			break
		}
		c.Dir = enter(c.Dir, strings.Trim(strings.TrimSpace(before[len("cd "):]), `"'`))
		c.Text = strings.TrimSpace(after)
	}
	if !strings.ContainsAny(c.Text, "\n\"'`") { // inside quotes, blanks count
		c.Text = strings.Join(strings.Fields(c.Text), " ")
	}
	return c, c.Text != ""
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

// program returns the name of the program that runs first.
func (c Command) program() string {
	for word := range strings.FieldsSeq(c.Text) {
		if !strings.Contains(word, "=") && !slices.Contains([]string{"sudo", "env", "time"}, word) {
			return path.Base(word)
		}
	}
	return ""
}

// Shows reports whether a command shows or searches what is there. Its output
// may quote a run of something else, but is none.
func (c Command) Shows() bool {
	return c.searches() || slices.Contains([]string{
		"cat", "head", "tail", "less", "more", "bat", "nl", "sed", "awk", "cut", "jq", "yq", "diff", "git", "gh", "ls", "tree", "find", "fd",
		"echo", "printf", "wc", "strings", "xxd", "open", "view", "journalctl", "dmesg",
	}, c.program())
}

func (c Command) searches() bool {
	return slices.Contains([]string{"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"}, c.program()) || strings.HasPrefix(c.Text, "git grep ")
}

// Searches reports whether a call searches files for lines, with a tool of the
// client's or with a command.
func Searches(tool string, args []byte) bool {
	if i := strings.LastIndexAny(tool, ".:/"); i >= 0 {
		tool = tool[i+1:]
	}
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	tool = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(tool))
	if slices.Contains([]string{"grep", "greptool", "grepsearch", "ripgrep", "searchfilecontent", "searchfiles", "codebasesearch", "searchdir", "searchfile"}, tool) {
		return true
	}
	c, ok := Of(args)
	return ok && c.searches()
}
