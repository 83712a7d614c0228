package chat

import (
	"bytes"
	"slices"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// message is the assistant message of a round as far as it is here.
type message struct {
	members []member
	calls   []*call
}

// member is one that grows: a string, in the spelling it has between its
// quotes, or a list.
type member struct {
	name  string
	text  []byte
	items [][]byte
}

// call is a tool call.
type call struct {
	up, down int
	mine     int    // its place in State.Open; negative if it is not ours
	entry    []byte // as it began
	args     []byte // in the spelling of its string
}

// add takes a member of a delta, or of a whole message, and reports whether
// there is anything in it.
func (m *message) add(s *codec.State, name, value []byte) bool {
	if len(value) == 0 {
		return false
	}
	if len(m.members) > maxMembers {
		s.Lossy = true
		return true
	}
	switch value[0] {
	case '"':
		if len(value) == 2 {
			return false
		}
		x := m.member(name)
		x.text = s.Append(x.text, scan.Inner(value))
		return true
	case '[':
		it := scan.Open(value, 0)
		some := false
		for it.Next() {
			if some = true; s.Grow(len(it.Value)) {
				x := m.member(name)
				x.items = append(x.items, bytes.Clone(it.Value))
			}
		}
		return some
	case '{':
		s.Lossy = true // audio, function_call: not to be combined with tools
		return true
	default:
		return value[0] != 'n'
	}
}

// maxMembers bounds the members of a message that are put together, maxCalls the
// calls of a turn. Answers have a few of either.
const (
	maxMembers = 64
	maxCalls   = 512
)

func (m *message) member(name []byte) *member {
	for i := range m.members {
		if m.members[i].name == string(name) {
			return &m.members[i]
		}
	}
	m.members = append(m.members, member{name: string(name)})
	return &m.members[len(m.members)-1]
}

// call returns the call that an entry of tool_calls goes on with; nil if it
// begins one. Some providers give all calls the same index, or none.
func (m *message) call(entry []byte) *call {
	index, id := -1, []byte(nil)
	it := scan.Open(entry, 0)
	for it.Next() {
		switch string(it.Name) {
		case "index":
			if n, ok := scan.Int(it.Value); ok {
				index = int(n)
			}
		case "id":
			id = scan.Inner(it.Value)
		}
	}
	for _, c := range slices.Backward(m.calls) {
		if index >= 0 && c.up != index {
			continue
		}
		if len(id) > 0 && !bytes.Equal(id, scan.Inner(scan.Path(c.entry, "id"))) {
			return nil
		}
		return c
	}
	return nil
}

// newCall opens a call with its first entry, or its only one.
func newCall(s *codec.State, entry []byte) *call {
	c := &call{mine: -1}
	if n, ok := scan.Int(scan.Path(entry, "index")); ok {
		c.up = int(n)
	}
	if s.Grow(len(entry)) {
		c.entry = bytes.Clone(entry)
	}
	c.args = append(c.args, scan.Inner(scan.Path(entry, at(entry)...))...)
	return c
}

// at returns the path to a call's arguments.
func at(entry []byte) []string {
	if scan.Path(entry, "custom") != nil {
		return []string{"custom", "input"}
	}
	return []string{"function", "arguments"}
}

func (c *call) name(tool string) bool {
	return scan.Is(scan.Path(c.entry, "function", "name"), tool)
}

func (c *call) grow(s *codec.State, entry []byte) {
	c.args = s.Append(c.args, scan.Inner(scan.Path(entry, at(entry)...)))
}

// whole returns an entry with all of its arguments.
func whole(entry, args []byte) []byte {
	quoted := append(append([]byte{'"'}, args...), '"')
	path := at(entry)
	if scan.Path(entry, path[0]) == nil {
		return entry
	}
	return scan.SetPath(entry, quoted, path...)
}

func (m *message) lastArgs() []byte {
	for _, c := range slices.Backward(m.calls) {
		if c.mine < 0 {
			return c.args
		}
	}
	return []byte("{}")
}

// turn returns the message in the form of a request.
func (m *message) turn(s *codec.State) round.Turn {
	var t round.Turn
	out := []byte(`{"role":"assistant"`)
	content := false
	for _, x := range m.members {
		if x.name == "content" {
			t.Text, content = scan.Text(x.text), true
		}
		if x.items != nil && x.text != nil {
			s.Lossy = true
		}
		out = append(append(append(out, `,"`...), x.name...), `":`...)
		if x.items != nil {
			out = scan.Join(out, x.items)
		} else {
			out = append(append(append(out, '"'), x.text...), '"')
		}
	}
	if !content {
		out = append(out, `,"content":null`...)
	}
	var entries [][]byte
	for i, c := range m.calls {
		entries = append(entries, whole(scan.Without(c.entry, "index"), c.args))
		path := at(c.entry)
		call := round.Call{
			ID:        scan.Text(scan.Inner(scan.Path(c.entry, "id"))),
			Name:      scan.Text(scan.Inner(scan.Path(c.entry, path[0], "name"))),
			Arguments: scan.Unquote(c.args),
			Index:     i,
		}
		if c.mine >= 0 {
			t.Ours = append(t.Ours, call)
		} else {
			t.Others = append(t.Others, call)
		}
	}
	if entries != nil {
		out = scan.Join(append(out, `,"tool_calls":`...), entries)
	}
	t.Assistant = append(out, '}')
	return t
}

// readUsage returns the tokens, and those of the output that were reasoning.
func readUsage(value []byte) (u round.Usage, reasoning int64) {
	number := func(path ...string) int64 {
		n, _ := scan.Int(scan.Path(value, path...))
		return n
	}
	u.CacheRead = number("prompt_tokens_details", "cached_tokens")
	u.CacheWrite = number("prompt_tokens_details", "cache_write_tokens")
	u.Input = max(0, number("prompt_tokens")-u.CacheRead-u.CacheWrite)
	u.Output = number("completion_tokens")
	return u, number("completion_tokens_details", "reasoning_tokens")
}

// mergeUsage returns the usage of the last round with the output of all.
func mergeUsage(value []byte, output, reasoning int64) []byte {
	prompt, _ := scan.Int(scan.Path(value, "prompt_tokens"))
	value = scan.Set(value, "completion_tokens", scan.Number(0, 0, output).New)
	if scan.Path(value, "total_tokens") != nil {
		value = scan.Set(value, "total_tokens", scan.Number(0, 0, prompt+output).New)
	}
	if scan.Path(value, "completion_tokens_details", "reasoning_tokens") != nil {
		value = scan.SetPath(value, scan.Number(0, 0, reasoning).New, "completion_tokens_details", "reasoning_tokens")
	}
	return value
}
