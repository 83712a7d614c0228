package chat

import (
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Body implements codec.Body.
type Body struct{}

// answer returns the only choice of a body; false if there is not exactly one.
func answer(body []byte) (choice []byte, ok bool) {
	it := scan.Open(scan.Path(body, "choices"), 0)
	for it.Next() {
		if choice != nil {
			return nil, false
		}
		choice = it.Value
	}
	return choice, choice != nil && !it.Bad()
}

// read takes the message of a choice.
func read(s *codec.State, choice []byte) *message {
	var m message
	it := scan.Open(scan.Path(choice, "message"), 0)
	for it.Next() {
		switch string(it.Name) {
		case "role", "annotations":
		case "tool_calls":
			list := scan.Open(it.Value, 0)
			for list.Next() {
				c := newCall(s, list.Value)
				if c.name(s.Tool) {
					c.mine = 0
				}
				m.calls = append(m.calls, c)
			}
		default:
			m.add(s, it.Name, it.Value)
		}
	}
	return &m
}

// Read implements codec.Body.
func (Body) Read(body []byte, tool string) (round.Turn, bool) {
	choice, ok := answer(body)
	if !ok || scan.Path(choice, "message") == nil {
		return round.Turn{}, false
	}
	s := codec.State{Tool: tool, Most: 2 * len(body)}
	t := read(&s, choice).turn(&s)
	if s.Lossy {
		t.Assistant = nil
	}
	t.ID = scan.Text(scan.Inner(scan.Path(body, "id")))
	t.Stop = scan.Text(scan.Inner(scan.Path(choice, "finish_reason")))
	t.Usage, _ = readUsage(scan.Path(body, "usage"))
	t.Complete = t.Stop != ""
	return t, true
}

// Merge implements codec.Body.
func (Body) Merge(bodies [][]byte, tool string, let bool) []byte {
	last := len(bodies) - 1
	var (
		output, reasoning int64
		all               = codec.State{Tool: tool}
		sum               message
		merged            = bodies[last]
	)
	for _, body := range bodies {
		all.Most += 2 * len(body)
		choice, _ := answer(body)
		m := read(&all, choice)
		for _, x := range m.members {
			to := sum.member([]byte(x.name))
			to.text, to.items = append(to.text, x.text...), append(to.items, x.items...)
		}
		u, r := readUsage(scan.Path(body, "usage"))
		output, reasoning = output+u.Output, reasoning+r
	}
	choice, _ := answer(merged)
	said, _ := scan.Get(choice, "message")
	if last > 0 {
		for _, x := range sum.members {
			value := scan.Join(nil, x.items)
			if x.items == nil {
				value = append(append([]byte{'"'}, x.text...), '"')
			}
			said = scan.Set(said, x.name, value)
		}
	}
	if !let {
		said = without(said, tool)
	}
	merged = scan.Set(merged, "choices", scan.Join(nil, [][]byte{scan.Set(choice, "message", said)}))
	if last == 0 {
		return merged
	}
	if usage := scan.Path(merged, "usage"); !scan.IsNull(usage) {
		merged = scan.Set(merged, "usage", mergeUsage(usage, output, reasoning))
	}
	for _, name := range []string{"id", "created", "model", "system_fingerprint"} {
		if value := scan.Path(bodies[0], name); value != nil {
			merged = scan.Set(merged, name, value)
		}
	}
	return merged
}

// without returns a message without the calls of a tool.
func without(said []byte, tool string) []byte {
	list := scan.Path(said, "tool_calls")
	if scan.IsNull(list) {
		return said
	}
	var kept [][]byte
	it := scan.Open(list, 0)
	for it.Next() {
		if !scan.Is(scan.Path(it.Value, "function", "name"), tool) {
			kept = append(kept, it.Value)
		}
	}
	if kept == nil {
		return scan.Without(said, "tool_calls")
	}
	return scan.Set(said, "tool_calls", scan.Join(nil, kept))
}
