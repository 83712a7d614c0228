package splice_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/wire"
)

type anthropic struct{}

func (anthropic) dialect() wire.Dialect { return wire.AnthropicMessages }

func (anthropic) keeps(block) bool { return true }

func (anthropic) stopOf(a answer) string {
	switch {
	case a.stop == "calls", a.stop == "" && a.calls():
		return "tool_use"
	case a.stop == "":
		return "end_turn"
	}
	return a.stop
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// pieces cuts a text into pieces of a few runes.
func pieces(s string) (list []string) {
	for r := []rune(s); len(r) > 0; {
		n := min(3, len(r))
		list, r = append(list, string(r[:n])), r[n:]
	}
	return list
}

func named(typ, data string) string { return "event: " + typ + "\ndata: " + data + "\n\n" }

func (p anthropic) stream(a answer) []string {
	list := []string{
		named("message_start", fmt.Sprintf(`{"type":"message_start","message":{"model":"m","id":%q,"type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1},"new":1}}`, a.id, a.in)),
		named("ping", `{"type": "ping"}`),
	}
	for i, b := range a.blocks {
		add := func(typ, member, value string) {
			list = append(list, named(typ, fmt.Sprintf(`{"type":%q,"index":%d,%q:%s}`, typ, i, member, value)))
		}
		delta := func(typ, member, text string) {
			for _, x := range pieces(text) {
				add("content_block_delta", "delta", fmt.Sprintf(`{"type":%q,%q:%s,"x_new":1}`, typ, member, quote(x)))
			}
		}
		switch b.kind {
		case "text":
			add("content_block_start", "content_block", `{"type":"text","text":""}`)
			delta("text_delta", "text", b.text)
		case "think":
			add("content_block_start", "content_block", `{"type":"thinking","thinking":"","signature":""}`)
			delta("thinking_delta", "thinking", b.text)
			add("content_block_delta", "delta", fmt.Sprintf(`{"type":"signature_delta","signature":%q}`, b.id))
		case "redacted":
			add("content_block_start", "content_block", fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, b.id))
		case "call":
			add("content_block_start", "content_block", fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, b.id, b.name))
			delta("input_json_delta", "partial_json", b.text)
		}
		list = append(list, named("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i)), named("ping", `{"type": "ping"}`))
	}
	return append(list,
		named("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"x_end":1,"usage":{"output_tokens":%d}}`, p.stopOf(a), a.out)),
		named("message_stop", `{"type":"message_stop"}`))
}

func (p anthropic) body(a answer) string {
	var list []string
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			list = append(list, fmt.Sprintf(`{"type":"text","text":%s}`, quote(b.text)))
		case "think":
			list = append(list, fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%q}`, quote(b.text), b.id))
		case "redacted":
			list = append(list, fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, b.id))
		case "call":
			input := b.text
			if !json.Valid([]byte(input)) {
				input = `{}`
				if b.text != "" {
					input = `{"INVALID_JSON":` + quote(b.text) + `}`
				}
			}
			list = append(list, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, b.id, b.name, input))
		}
	}
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":"m", "content":[%s],"stop_reason":%q,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
		a.id, strings.Join(list, ", "), p.stopOf(a), a.in, a.out)
}

type anthropicBlock struct {
	Type, Text, Thinking, Signature, ID, Name, Data string
	Input                                           json.RawMessage
}

func (b anthropicBlock) block() block {
	switch b.Type {
	case "text":
		return text(b.Text)
	case "thinking":
		return block{kind: "think", text: b.Thinking, id: b.Signature}
	case "redacted_thinking":
		return redacted(b.Data)
	default:
		return call(b.ID, b.Name, string(b.Input))
	}
}

type anthropicUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// eventsOf reads a stream of events, each with a type and one line of data at most.
func eventsOf(tb testing.TB, stream string) (types, data []string) {
	tb.Helper()
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	for e := range strings.SplitSeq(stream, "\n\n") {
		typ, value, ok := strings.Cut(strings.TrimLeft(e, "\n"), "data: ")
		if !ok {
			if e = strings.TrimLeft(e, "\n"); e != "" && !strings.HasPrefix(e, ":") {
				tb.Errorf("no event: %q", e)
			}
			continue
		}
		types, data = append(types, strings.TrimSuffix(strings.TrimPrefix(typ, "event: "), "\n")), append(data, value)
	}
	return types, data
}

func (anthropic) read(tb testing.TB, stream string) (s said) {
	tb.Helper()
	state, open := "", -1
	var cur anthropicBlock
	types, data := eventsOf(tb, stream)
	for i, d := range data {
		var e struct {
			Type    string
			Index   int
			Message *struct {
				ID, Model string
				Usage     anthropicUsage
			}
			ContentBlock *anthropicBlock `json:"content_block"`
			Delta        struct {
				Type, Text, Thinking, Signature string
				Partial                         string `json:"partial_json"`
				Stop                            string `json:"stop_reason"`
			}
			Usage *struct {
				Input  *int `json:"input_tokens"`
				Output int  `json:"output_tokens"`
			}
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(d), &e); err != nil || e.Type != types[i] {
			tb.Errorf("event %q %q: %v", types[i], d, err)
		}
		bad := func() { tb.Errorf("%s in state %q, open %d, index %d:\n%s", e.Type, state, open, e.Index, stream) }
		switch e.Type {
		case "message_start":
			if state != "" {
				bad()
			}
			state = "message"
			s.ID, s.Model, s.In = e.Message.ID, e.Message.Model, e.Message.Usage.Input
		case "content_block_start":
			if state != "message" || open >= 0 || e.Index != len(s.Blocks) {
				bad()
			}
			open, cur = e.Index, *e.ContentBlock
			cur.Input = nil
		case "content_block_delta":
			if e.Index != open {
				bad()
			}
			cur.Text += e.Delta.Text
			cur.Thinking += e.Delta.Thinking
			cur.Signature += e.Delta.Signature
			cur.Input = append(cur.Input, e.Delta.Partial...)
		case "content_block_stop":
			if e.Index != open {
				bad()
			}
			open = -1
			s.Blocks = append(s.Blocks, cur.block())
		case "message_delta":
			if state != "message" || open >= 0 {
				bad()
			}
			state = "delta"
			if s.Stop, s.Out = e.Delta.Stop, e.Usage.Output; e.Usage.Input != nil {
				s.In = *e.Usage.Input
			}
		case "message_stop":
			if state != "delta" {
				bad()
			}
			state = "stop"
		case "error":
			s.Failed = e.Error.Type
		}
	}
	if state != "stop" && s.Failed == "" {
		tb.Errorf("ends in state %q:\n%s", state, stream)
	}
	return s
}

func (anthropic) readBody(tb testing.TB, body string) (s said) {
	tb.Helper()
	var v struct {
		ID, Model string
		Content   []anthropicBlock
		Stop      string `json:"stop_reason"`
		Usage     anthropicUsage
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		tb.Errorf("%v: %s", err, body)
	}
	s = said{ID: v.ID, Model: v.Model, Stop: v.Stop, In: v.Usage.Input, Out: v.Usage.Output}
	for _, b := range v.Content {
		s.Blocks = append(s.Blocks, b.block())
	}
	return s
}
