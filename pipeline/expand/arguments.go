package expand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
)

// maxArguments bounds what is read of a call, in bytes.
const maxArguments = 64 << 10

// ParseArguments reads a query from the arguments of a model's call. The tool
// has one argument, id, and takes what models make of it: the id with
// selectors, the whole marker, selectors as arguments of their own (lines, grep,
// head and tail, as text, number, list or object), the arguments as JSON inside
// of a JSON string, or an id that is no JSON at all. Other arguments, and those
// that are null, empty, false or 0, are ignored.
//
// The query's ID is set whenever there is one. The error joins one
// [*SelectorError] per fault; its text is for the model, which is told what to
// send instead.
func ParseArguments(arguments []byte) (Query, error) {
	if len(arguments) > maxArguments {
		return Query{}, &SelectorError{Param: "arguments", Problem: fmt.Sprintf("must have at most %d bytes, got %d", maxArguments, len(arguments))}
	}
	a := given{params: map[string]string{}}
	a.read(arguments, 0)
	parts := looseID(a.params["id"])
	q := Query{ID: parts.id}
	if q.ID == "" && len(a.errs) == 0 {
		a.fault("id", `is missing; send {"id":"ID"} with the ID of a marker <<cg:ID>>`)
	}
	for _, s := range parts.selectors() {
		if other := a.params[s.name]; other != "" && other != s.value {
			a.fault(s.name, "is given in the id and beside it; give it once")
		}
		a.params[s.name] = s.value
	}
	a.params["lines"] = looseRange(a.params["lines"])
	return q, errors.Join(append(a.errs, q.fill(a.params)...)...)
}

// given is what the arguments say, as texts.
type given struct {
	params map[string]string
	errs   []error
}

func (a *given) fault(param, format string, args ...any) {
	a.errs = append(a.errs, &SelectorError{Param: param, Problem: fmt.Sprintf(format, args...)})
}

// read reads arguments, which may be wrapped in a string once, or in a list.
func (a *given) read(arguments []byte, wraps int) {
	arguments = bytes.TrimSpace(arguments)
	var fields map[string]json.RawMessage
	switch {
	case len(arguments) == 0, string(arguments) == "null":
		return
	case arguments[0] == '{' && json.Unmarshal(arguments, &fields) == nil:
		a.object(fields)
		return
	case wraps < 2 && arguments[0] == '"':
		var text string
		if json.Unmarshal(arguments, &text) == nil {
			a.read([]byte(text), wraps+1)
			return
		}
	case wraps < 2 && arguments[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(arguments, &list) == nil && len(list) == 1 {
			a.read(list[0], wraps+1)
			return
		}
	case strings.IndexByte(`{["`, arguments[0]) < 0:
		a.params["id"] = string(arguments)
		return
	}
	a.fault("arguments", `must be a JSON object such as {"id":"ID"}`)
}

func (a *given) object(fields map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if lower := strings.ToLower(name); fields[lower] == nil {
			fields[lower] = fields[name]
		}
	}
	for _, param := range []struct {
		name string
		read func(json.RawMessage) (string, bool)
		want string
	}{
		{"id", single, "the ID of one marker; call once for each"},
		{"lines", lineRange, "lines such as 120-180"},
		{"grep", pattern, "a pattern in RE2 syntax"},
		{"head", single, "a number of lines"},
		{"tail", single, "a number of lines"},
	} {
		value, ok := fields[param.name]
		if !ok {
			continue
		}
		text, ok := param.read(value)
		if !ok {
			a.fault(param.name, "must be %s, got %s", param.want, short(string(value)))
		}
		if text != "" {
			a.params[param.name] = text
		}
	}
	if a.params["id"] == "" && len(a.errs) == 0 {
		a.params["id"] = renamed(fields)
	}
}

// renamed returns the one text among the arguments that has the form of an id,
// whatever the argument is called.
func renamed(fields map[string]json.RawMessage) string {
	found := map[string]bool{}
	text := ""
	for _, value := range fields {
		if s, ok := scalar(value); ok && idForm(looseID(s).id) {
			text, found[s] = s, true
		}
	}
	if len(found) != 1 {
		return ""
	}
	return text
}

// scalar returns a text or a number as text, and nothing for a value that says
// nothing. It is false for lists and objects.
func scalar(value json.RawMessage) (string, bool) {
	switch value[0] {
	case '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case '{', '[':
		return "", false
	case 'n', 'f':
		return "", true
	case 't':
		return "", false
	default:
		text := string(value)
		if whole, zeros, ok := strings.Cut(text, "."); ok && strings.Trim(zeros, "0") == "" {
			text = whole
		}
		if text == "0" {
			text = ""
		}
		return text, true
	}
}

// list returns the texts of a list, or of a value that stands for one.
func list(value json.RawMessage) ([]string, bool) {
	var values []json.RawMessage
	if value[0] != '[' {
		values = append(values, value)
	} else if json.Unmarshal(value, &values) != nil {
		return nil, false
	}
	var texts []string
	for _, v := range values {
		text, ok := scalar(v)
		if !ok {
			return nil, false
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts, true
}

func single(value json.RawMessage) (string, bool) {
	texts, ok := list(value)
	if !ok || len(texts) > 1 {
		return "", false
	}
	text := strings.TrimSpace(strings.Join(texts, ""))
	if text == "0" {
		text = ""
	}
	return text, true
}

// pattern joins a list of patterns to one that matches any of them.
func pattern(value json.RawMessage) (string, bool) {
	texts, ok := list(value)
	if len(texts) < 2 {
		return strings.Join(texts, ""), ok
	}
	return "(?:" + strings.Join(texts, ")|(?:") + ")", ok
}

// lineRange reads "120-180", 7, [120,180], {"start":120,"end":180} and the like.
func lineRange(value json.RawMessage) (string, bool) {
	if value[0] == '{' {
		var fields map[string]json.RawMessage
		if json.Unmarshal(value, &fields) != nil {
			return "", false
		}
		from, okFrom := firstOf(fields, "start", "from", "first")
		to, okTo := firstOf(fields, "end", "to", "last")
		if from == "" && to == "" {
			return "", okFrom && okTo
		}
		return from + "-" + to, okFrom && okTo
	}
	if value[0] == '[' { // 0 is an open end here
		var ends []json.RawMessage
		if json.Unmarshal(value, &ends) != nil || len(ends) > 2 {
			return "", false
		}
		var texts [2]string
		for i, end := range ends {
			text, ok := single(end)
			if !ok {
				return "", false
			}
			texts[i] = text
		}
		if len(ends) < 2 || texts == [2]string{} {
			return texts[0], true
		}
		return texts[0] + "-" + texts[1], true
	}
	return scalar(value)
}

func firstOf(fields map[string]json.RawMessage, names ...string) (string, bool) {
	for _, name := range names {
		if value, ok := fields[name]; ok {
			return single(value)
		}
	}
	return "", true
}

// looseRanges are the ways to write a range of lines.
var looseRanges = regexp.MustCompile(`(?i)^(?:lines?)?[\s:=]*L?(\d*)\s*(?:(-|–|—|\.\.\.?|:|,|to)\s*L?(\d*))?$`)

// looseRange writes a range as parseRange takes it; what it does not understand
// stays as it is. Nobody has a line 0: it is the start or an open end.
func looseRange(s string) string {
	m := looseRanges.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return s
	}
	from, to := m[1], m[3]
	if strings.Trim(from, "0") == "" {
		from = ""
	}
	if strings.Trim(to, "0") == "" {
		to = ""
	}
	switch {
	case m[2] == "":
		return from
	case from == "" && to == "":
		return ""
	default:
		return from + "-" + to
	}
}

// looseID splits an id from its selectors. Models put marks around it that it
// does not have, and ids have no capitals.
func looseID(s string) idParts {
	s = strings.TrimSpace(strings.TrimLeft(s, " \t\r\n`'\"<[("))
	s = strings.TrimPrefix(s, "cg:")
	if !idForm(s) {
		return idParts{id: strings.TrimRight(s, closers)}
	}
	id, rest := strings.ToLower(s[:pipeline.IDLen]), s[pipeline.IDLen:]
	if behind, closed := strings.CutPrefix(rest, ">>"); closed {
		rest = behind
	} else {
		rest = strings.TrimSuffix(rest, ">>")
	}
	rest = strings.TrimSpace(rest)
	if strings.Trim(rest, closers) == "" {
		return idParts{id: id}
	}
	if rest[0] != '?' && rest[0] != '@' {
		rest = ":" + strings.TrimLeft(rest, ":# ,")
	}
	if len(rest) == 1 {
		return idParts{id: id}
	}
	return splitID(id + rest)
}

// closers may stand behind an id and mean nothing.
const closers = " \t\r\n`'\">)],;."

// idForm reports whether a text starts like an id, and does not go on like one.
func idForm(s string) bool {
	if len(s) < pipeline.IDLen {
		return false
	}
	for i := range pipeline.IDLen {
		if !letterOrDigit(s[i]) {
			return false
		}
	}
	return len(s) == pipeline.IDLen || !letterOrDigit(s[pipeline.IDLen])
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
