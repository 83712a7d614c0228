package anthropic

import (
	"bytes"
	"strings"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// kind is how a content block grows.
type kind int

const (
	other kind = iota // not at all, or not as far as we know
	text
	thinking
	use       // a call that the client answers
	serverUse // one that the provider answers
)

// content is a content block. What comes in pieces is kept in the spelling of
// its JSON strings: their concatenation is the spelling of the whole.
type content struct {
	kind      kind
	start     []byte // the block as it began
	text      []byte // the text, the thinking or the arguments
	signature []byte // a string
	citations [][]byte
}

// begin takes the block of content_block_start, or a whole one.
func (c *content) begin(s *codec.State, block []byte) {
	if s.Grow(len(block)) {
		c.start = bytes.Clone(block)
	}
	switch string(scan.Inner(scan.Path(c.start, "type"))) {
	case "text":
		c.kind = text
		c.text = append(c.text, scan.Inner(scan.Path(c.start, "text"))...)
	case "thinking":
		c.kind = thinking
		c.text = append(c.text, scan.Inner(scan.Path(c.start, "thinking"))...)
	case "tool_use":
		c.kind = use
	case "server_tool_use", "mcp_tool_use":
		c.kind = serverUse
	}
}

// add takes the delta of a content_block_delta; false if it is of no known type.
func (c *content) add(s *codec.State, delta []byte) bool {
	var typ, value []byte
	it := scan.Open(delta, 0)
	for it.Next() {
		switch string(it.Name) {
		case "type":
			typ = scan.Inner(it.Value)
		case "text", "thinking", "partial_json", "signature", "citation":
			value = it.Value
		}
	}
	switch string(typ) {
	case "text_delta", "thinking_delta", "input_json_delta":
		c.text = s.Append(c.text, scan.Inner(value))
	case "signature_delta":
		if s.Grow(len(value)) {
			c.signature = bytes.Clone(value)
		}
	case "citations_delta":
		if s.Grow(len(value)) {
			c.citations = append(c.citations, bytes.Clone(value))
		}
	default:
		return false
	}
	return !it.Bad()
}

// whole returns the block as a request takes it, nil if it must not be there.
func (c *content) whole() []byte {
	block := c.start
	switch c.kind {
	case text:
		if strings.TrimSpace(scan.Text(c.text)) == "" {
			return nil // answered with an error
		}
		block = scan.Set(block, "text", quoted(c.text))
		if c.citations != nil {
			var all [][]byte
			it := scan.Open(scan.Path(block, "citations"), 0)
			for it.Next() {
				all = append(all, it.Value)
			}
			block = scan.Set(block, "citations", scan.Join(nil, append(all, c.citations...)))
		}
	case thinking:
		block = scan.Set(block, "thinking", quoted(c.text))
		if c.signature != nil {
			block = scan.Set(block, "signature", c.signature)
		}
	case use, serverUse:
		if len(c.text) > 0 {
			block = scan.Set(block, "input", codec.Object(scan.Unquote(c.text)))
		}
	case other:
	}
	return block
}

func quoted(inner []byte) []byte {
	return append(append(append(make([]byte, 0, len(inner)+2), '"'), inner...), '"')
}

// call returns the call that the block is.
func (c *content) call(index int) round.Call {
	args := scan.Unquote(c.text)
	if len(args) == 0 {
		args = bytes.Clone(scan.Path(c.start, "input"))
	}
	return round.Call{
		ID:        scan.Text(scan.Inner(scan.Path(c.start, "id"))),
		Name:      scan.Text(scan.Inner(scan.Path(c.start, "name"))),
		Arguments: args,
		Index:     index,
	}
}

// turn collects the content of a round.
type turn struct {
	blocks     [][]byte
	ours       []round.Call
	others     []round.Call
	text       []byte // decoded
	signatures []string
}

func (t *turn) add(s *codec.State, c *content, mine bool) {
	if s.Full {
		return
	}
	if block := c.whole(); block != nil {
		t.blocks = append(t.blocks, block)
	}
	switch c.kind {
	case text:
		t.text = append(t.text, scan.Text(c.text)...)
	case thinking:
		sig := scan.Inner(c.signature)
		if sig == nil {
			sig = scan.Inner(scan.Path(c.start, "signature"))
		}
		t.sign(sig)
	case use:
		if call := c.call(len(t.ours) + len(t.others)); mine {
			t.ours = append(t.ours, call)
		} else {
			t.others = append(t.others, call)
		}
	case other:
		if scan.Is(scan.Path(c.start, "type"), "redacted_thinking") {
			t.sign(scan.Inner(scan.Path(c.start, "data")))
		}
	case serverUse:
	}
}

func (t *turn) sign(inner []byte) {
	if len(inner) > 0 {
		t.signatures = append(t.signatures, scan.Text(inner))
	}
}

func (t *turn) result() round.Turn {
	message := append(scan.Join([]byte(`{"role":"assistant","content":`), t.blocks), '}')
	return round.Turn{Assistant: message, Ours: t.ours, Others: t.others, Text: string(t.text), Signatures: t.signatures}
}

// mergeUsage returns a usage object that reports the output of all rounds. Input
// that it does not report it takes from the last round, where that is needed to
// correct what the first one has reported.
func mergeUsage(value []byte, first, last round.Usage, output int64) []byte {
	if value == nil {
		value = []byte("{}")
	}
	for _, x := range []struct {
		name     string
		old, now int64
	}{
		{"input_tokens", first.Input, last.Input},
		{"cache_creation_input_tokens", first.CacheWrite, last.CacheWrite},
		{"cache_read_input_tokens", first.CacheRead, last.CacheRead},
	} {
		if have, _ := scan.Get(value, x.name); x.old != x.now && scan.IsNull(have) {
			value = scan.Set(value, x.name, scan.Number(0, 0, x.now).New)
		}
	}
	return scan.Set(value, "output_tokens", scan.Number(0, 0, output).New)
}
