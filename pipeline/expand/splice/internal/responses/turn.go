package responses

import (
	"bytes"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// turn collects the items of a round.
type turn struct {
	items      [][]byte
	calls      int
	ours       []round.Call
	others     []round.Call
	text       []byte // decoded
	signatures []string
}

// add takes an item that is done.
func (t *turn) add(item []byte, mine bool) {
	typ := string(scan.Inner(scan.Path(item, "type")))
	switch {
	case typ == "reasoning":
		sealed := scan.Inner(scan.Path(item, "encrypted_content"))
		if len(sealed) > 0 {
			t.signatures = append(t.signatures, scan.Text(sealed))
		} else if empty(scan.Path(item, "content")) {
			return // only a provider that keeps the history can read it
		}
	case typ == "message":
		it := scan.Open(scan.Path(item, "content"), 0)
		for it.Next() {
			if scan.Is(scan.Path(it.Value, "type"), "output_text") {
				t.text = append(t.text, scan.Text(scan.Inner(scan.Path(it.Value, "text")))...)
			}
		}
	case called(item):
		call := callOf(item, typ, t.calls)
		if t.calls++; mine {
			t.ours = append(t.ours, call)
		} else {
			t.others = append(t.others, call)
		}
	case strings.HasSuffix(typ, "_call_output"): // the provider has answered it
		id := scan.Text(scan.Inner(scan.Path(item, "call_id")))
		t.others = slices.DeleteFunc(t.others, func(c round.Call) bool { return c.ID == id })
	}
	t.items = append(t.items, item)
}

// empty reports whether a value is no list, or one without items.
func empty(list []byte) bool {
	it := scan.Open(list, 0)
	return !it.Next()
}

func callOf(item []byte, typ string, index int) round.Call {
	c := round.Call{ID: scan.Text(scan.Inner(scan.Path(item, "call_id"))), Name: typ, Index: index}
	if name := scan.Inner(scan.Path(item, "name")); name != nil {
		c.Name = scan.Text(name)
	}
	for _, member := range []string{"arguments", "input", "action", "operation"} {
		switch value := scan.Path(item, member); {
		case value == nil:
			continue
		case scan.IsString(value):
			c.Arguments = scan.Unquote(scan.Inner(value))
		default:
			c.Arguments = bytes.Clone(value)
		}
		return c
	}
	return c
}

func (t *turn) result() round.Turn {
	return round.Turn{
		Assistant: scan.Join(nil, t.items), Ours: t.ours, Others: t.others, Text: string(t.text), Signatures: t.signatures,
	}
}

// without returns a response that does not show the expand tool among its tools.
func without(response []byte, tool string) []byte {
	if !bytes.Contains(response, []byte(tool)) {
		return response
	}
	list, at := scan.Get(response, "tools")
	var kept [][]byte
	it := scan.Open(list, 0)
	some := false
	for it.Next() {
		if scan.Is(scan.Path(it.Value, "name"), tool) {
			some = true
		} else {
			kept = append(kept, it.Value)
		}
	}
	if !some || it.Bad() {
		return response
	}
	return scan.Apply(nil, response, scan.Edit{Start: at, End: at + len(list), New: scan.Join(nil, kept)})
}

// named returns a response with the names of the first one.
func named(response, first []byte) []byte {
	for _, name := range []string{"id", "created_at", "model"} {
		if value := scan.Path(first, name); value != nil {
			response = scan.Set(response, name, value)
		}
	}
	return response
}

// readUsage returns the tokens, and those of the output that were reasoning.
func readUsage(value []byte) (u round.Usage, reasoning int64) {
	number := func(path ...string) int64 {
		n, _ := scan.Int(scan.Path(value, path...))
		return n
	}
	u.CacheRead = number("input_tokens_details", "cached_tokens")
	u.CacheWrite = number("input_tokens_details", "cache_write_tokens")
	u.Input = max(0, number("input_tokens")-u.CacheRead-u.CacheWrite)
	u.Output = number("output_tokens")
	return u, number("output_tokens_details", "reasoning_tokens")
}

// mergeUsage returns the usage of the last round with the output of all.
func mergeUsage(value []byte, output, reasoning int64) []byte {
	input, _ := scan.Int(scan.Path(value, "input_tokens"))
	value = scan.Set(value, "output_tokens", scan.Number(0, 0, output).New)
	if scan.Path(value, "total_tokens") != nil {
		value = scan.Set(value, "total_tokens", scan.Number(0, 0, input+output).New)
	}
	if scan.Path(value, "output_tokens_details", "reasoning_tokens") != nil {
		value = scan.SetPath(value, scan.Number(0, 0, reasoning).New, "output_tokens_details", "reasoning_tokens")
	}
	return value
}

// Body implements codec.Body.
type Body struct{}

// Read implements codec.Body.
func (Body) Read(body []byte, tool string) (round.Turn, bool) {
	list := scan.Path(body, "output")
	if len(list) == 0 || list[0] != '[' || !scan.IsNull(scan.Path(body, "error")) {
		return round.Turn{}, false
	}
	var t turn
	it := scan.Open(list, 0)
	for it.Next() {
		t.add(it.Value, mine(it.Value, tool))
	}
	if it.Bad() {
		return round.Turn{}, false
	}
	r := t.result()
	r.ID = scan.Text(scan.Inner(scan.Path(body, "id")))
	r.Stop = scan.Text(scan.Inner(scan.Path(body, "status")))
	r.Usage, _ = readUsage(scan.Path(body, "usage"))
	r.Complete = r.Stop == "completed" || r.Stop == "incomplete"
	return r, true
}

// Clean implements codec.Cleaner.
func (Body) Clean(body []byte, tool string) []byte { return without(body, tool) }

// Merge implements codec.Body.
func (Body) Merge(bodies [][]byte, tool string, let bool) []byte {
	var (
		items             [][]byte
		output, reasoning int64
		last              = len(bodies) - 1
	)
	for i, body := range bodies {
		it := scan.Open(scan.Path(body, "output"), 0)
		for it.Next() {
			if !mine(it.Value, tool) || let && i == last {
				items = append(items, it.Value)
			}
		}
		u, r := readUsage(scan.Path(body, "usage"))
		output, reasoning = output+u.Output, reasoning+r
	}
	merged := scan.Set(without(bodies[last], tool), "output", scan.Join(nil, items))
	if last == 0 {
		return merged
	}
	if usage := scan.Path(merged, "usage"); !scan.IsNull(usage) {
		merged = scan.Set(merged, "usage", mergeUsage(usage, output, reasoning))
	}
	return named(merged, bodies[0])
}

var _ codec.Body = Body{}
