package skeleton

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/components/internal/command"
	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// maxArgs is the longest call that is looked into; reading a file takes less.
const maxArgs = 1 << 14

// read is what a call reads: a file, or a part of one.
type read struct {
	path string
	// part names the part, and is empty for the whole file.
	part string
}

// readOf returns what the call of an output reads, and false when it does not
// read one file.
func readOf(s *pipeline.Segment) (read, bool) {
	if len(s.Args) == 0 || len(s.Args) > maxArgs {
		return read{}, false
	}
	if c, ok := command.Of(s.Args); ok {
		return readByCommand(c)
	}
	var call struct {
		Command  string `json:"command"`
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
		Camel    string `json:"filePath"`
		Absolute string `json:"absolute_path"`
		Target   string `json:"target_file"`
		File     string `json:"file"`
	}
	if json.Unmarshal(s.Args, &call) != nil || !isReader(string(s.Tool)) && call.Command != "view" {
		return read{}, false
	}
	for _, name := range []string{call.FilePath, call.Path, call.Camel, call.Absolute, call.Target, call.File} {
		if name != "" {
			return read{path.Clean(name), partOf(s.Args)}, true
		}
	}
	return read{}, false
}

// partOf returns the arguments that choose a part of a file, in the order of
// their names.
func partOf(args []byte) string {
	var call map[string]json.RawMessage
	if json.Unmarshal(args, &call) != nil {
		return ""
	}
	var parts []string
	for name, value := range call {
		switch name {
		case "command", "path", "file_path", "filePath", "absolute_path", "target_file", "file",
			"description", "explanation", "security_risk", "should_read_entire_file", "encoding":
		default:
			parts = append(parts, name+"="+string(value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// isReader reports whether a tool of this name reads files, whatever the client
// put in front of the name.
func isReader(tool string) bool {
	if i := strings.LastIndexAny(tool, ".:/"); i >= 0 {
		tool = tool[i+1:]
	}
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	tool = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(tool))
	return slices.Contains([]string{"read", "readfile", "readtextfile", "view", "viewfile", "open", "openfile", "cat", "getfilecontents"}, tool)
}

// readByCommand returns what a command prints, if it does nothing but print one
// file or lines of it.
func readByCommand(c command.Command) (read, bool) {
	words := strings.Fields(c.Text)
	if len(words) < 2 || strings.ContainsAny(c.Text, "|;&<>`$()*?[{\\\n") {
		return read{}, false
	}
	name := strings.Trim(words[len(words)-1], `"'`)
	options := words[1 : len(words)-1]
	if name == "" || strings.HasPrefix(name, "-") {
		return read{}, false
	}
	part := ""
	switch path.Base(words[0]) {
	case "cat", "nl", "bat", "less", "more":
		for _, o := range options {
			if !strings.HasPrefix(o, "-") {
				return read{}, false // several files
			}
		}
	case "head", "tail", "sed":
		part = strings.Join(words[:len(words)-1], " ")
	default:
		return read{}, false
	}
	if !path.IsAbs(name) {
		name = path.Join(c.Dir, name)
	}
	return read{path.Clean(name), part}, true
}

// shown is a reading whose text can be read, and its copies.
type shown struct {
	tokens  int
	outputs []int
}

// superseded returns the readings of which a later one of the same part shows
// what became of it. Nothing but a reading does: after an edit, what it did not
// touch is known from the reading in front of it only.
func superseded(v pipeline.View) map[int]bool {
	newest := map[string]map[string]*shown{} // by path and part
	seen := map[read]*shown{}                // by path and text without wrapping
	old := map[int]bool{}
	for o := range v.Outputs() {
		r, ok := readOf(&o)
		if !ok || o.IsError {
			continue
		}
		text, ok := v.Text(o)
		if !ok {
			continue
		}
		if wrapper.RefersBack(text) { // what it refers to stays, whatever comes
			delete(newest, r.path)
			continue
		}
		if wrapper.Unwrap(text).Failed() {
			continue
		}
		parts := newest[r.path]
		if parts == nil {
			parts = map[string]*shown{}
			newest[r.path] = parts
		}
		gist, _ := inside.Split(text)
		before := parts[r.part]
		if before != nil && o.Tokens*shrunk < before.tokens {
			continue
		}
		now := seen[read{r.path, gist}]
		if now == nil {
			now = &shown{tokens: o.Tokens}
			seen[read{r.path, gist}] = now
		}
		now.outputs = append(now.outputs, o.Index)
		for _, i := range now.outputs { // may be pointers to the first by now
			delete(old, i)
		}
		if before != nil && before != now {
			for _, i := range before.outputs {
				old[i] = true
			}
		}
		parts[r.part] = now
	}
	return old
}

// shrunk is the reciprocal of what has to be left of a file for an answer to be
// taken for its text, and not for a refusal or an excerpt.
const shrunk = 2

// mayBeFile reports whether a call that is none of the known readings may show
// files all the same, which may be edited next.
func mayBeFile(s *pipeline.Segment) bool {
	if len(s.Args) == 0 {
		return false
	}
	if _, ok := command.Of(s.Args); ok || isReader(string(s.Tool)) {
		return true
	}
	var call map[string]json.RawMessage
	if len(s.Args) > maxArgs || json.Unmarshal(s.Args, &call) != nil {
		return true
	}
	for name := range call {
		if name = strings.ToLower(name); strings.Contains(name, "path") || strings.Contains(name, "file") || strings.Contains(name, "command") {
			return true
		}
	}
	return false
}
