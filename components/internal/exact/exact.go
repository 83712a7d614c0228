// Package exact tells the texts that are read for their exact lines: diffs,
// numbered listings, files that may be edited next.
//
// Components that leave lines out, join them or cut into them ask it first. A
// diff that lost a line cannot be applied, and an edit that quotes a line as it
// never stood in the file fails.
package exact

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// IsDiff reports whether a text holds a unified diff. One that lost a line
// cannot be applied any more.
func IsDiff(text string) bool {
	for at := 0; at < len(text); {
		if rest := text[at:]; strings.HasPrefix(rest, "diff --git ") || strings.HasPrefix(rest, "@@ -") || strings.HasPrefix(rest, "@@@ -") {
			return true
		}
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return false
		}
		at += i + 1
	}
	return false
}

// IsNumbered reports whether more than half of the lines that are not blank
// carry the number behind that of the line in front: a listing of a file, in
// whatever form.
func IsNumbered(text string) bool {
	const minLines = 3
	lines, counted, last := 0, 0, -1
	for raw := range strings.Lines(text) {
		if strings.TrimSpace(raw) == "" {
			continue
		}
		lines++
		n := lineNumber(raw)
		if n >= 0 && (last < 0 || n == last+1) {
			counted++
		}
		last = n
	}
	return counted >= minLines && counted*2 > lines
}

// lineNumber returns the number a line begins with, or -1. Something other
// than a letter or a digit has to follow it.
func lineNumber(raw string) int {
	rest := strings.TrimLeft(raw, " \t")
	n, i := 0, 0
	for i < len(rest) && isDigit(rest[i]) {
		n = n*10 + int(rest[i]-'0')
		if i++; i > len("9999999") {
			return -1
		}
	}
	if i == 0 || i == len(rest) || isLetter(rest[i]) {
		return -1
	}
	return n
}

// maxArgs is the longest call that is looked into; reading a file takes less.
const maxArgs = 1 << 16

// ReadsFile reports whether a call with this answer reads a file that is not a
// log, by its name or by what stands in it: its lines may be edited next, and
// then every copy of a line counts.
func ReadsFile(tool string, args []byte, text string) bool {
	file, reads := fileRead(tool, args)
	return reads && !isLog(file) && !IsLog(text)
}

// ReadsLog reports whether a call with this answer reads a log. What a client
// puts in front of its lines, such as their numbers, makes no listing of it.
func ReadsLog(tool string, args []byte, text string) bool {
	file, reads := fileRead(tool, args)
	return reads && (isLog(file) || IsLog(text))
}

// fileRead reports whether a call reads a file, and returns its name if the call
// tells.
func fileRead(tool string, args []byte) (file string, reads bool) {
	var call struct {
		Command  json.RawMessage `json:"command"`
		Cmd      json.RawMessage `json:"cmd"`
		Path     string          `json:"path"`
		FilePath string          `json:"file_path"`
		File     string          `json:"file"`
		Target   string          `json:"target_file"`
	}
	if len(args) <= maxArgs {
		// Other arguments, or none, are no reason to say anything: the name of
		// the tool decides then.
		_ = json.Unmarshal(args, &call)
	}
	command := lastString(call.Command)
	if command == "" {
		command = lastString(call.Cmd)
	}
	if isReader(tool) || command == "view" {
		return call.Path + call.FilePath + call.File + call.Target, true
	}
	return filePrinted(command)
}

// isReader reports whether a tool of this name reads files, whatever the
// client put in front of the name.
func isReader(tool string) bool {
	if i := strings.LastIndexAny(tool, ".:/"); i >= 0 {
		tool = tool[i+1:]
	}
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	tool = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(tool, "_", ""), "-", ""))
	return slices.Contains([]string{"read", "readfile", "readtextfile", "view", "viewfile", "open", "openfile", "cat", "getfilecontents"}, tool)
}

// lastString returns a string, or the last one of a list (["bash", "-c", ...]).
func lastString(value json.RawMessage) string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(value, &many) == nil && len(many) > 0 {
		return many[len(many)-1]
	}
	return ""
}

// filePrinted returns the file a shell command prints when it does nothing else,
// after a change of folder at most.
func filePrinted(command string) (file string, prints bool) {
	command = strings.TrimSpace(command)
	if strings.HasPrefix(command, "cd ") {
		if _, after, found := strings.Cut(command, "&&"); found {
			command = strings.TrimSpace(after)
		}
	}
	words := strings.Fields(command)
	if len(words) < 2 || strings.ContainsAny(command, "|;&<>`$\n") {
		return "", false
	}
	return words[len(words)-1], slices.Contains([]string{"cat", "head", "tail", "sed", "nl", "bat", "less", "more"}, path.Base(words[0]))
}

func isLog(file string) bool {
	return slices.Contains([]string{".log", ".out", ".err"}, path.Ext(strings.Trim(file, `"'`)))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
