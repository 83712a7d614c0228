package splice_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/wire"
)

type chat struct{}

func (chat) dialect() wire.Dialect { return wire.OpenAIChat }

func (chat) keeps(b block) bool { return b.kind == "text" || b.kind == "call" }

func (chat) stopOf(a answer) string {
	switch {
	case a.stop == "calls", a.stop == "" && a.calls():
		return "tool_calls"
	case a.stop == "":
		return "stop"
	}
	return a.stop
}

func plain(data string) string { return "data: " + data + "\n\n" }

func (p chat) stream(a answer) (list []string) {
	chunk := func(delta, finish string) {
		list = append(list, plain(fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","created":1,"model":"m","x_new":[1],"choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`, a.id, delta, finish)))
	}
	first := ""
	if len(a.blocks) > 0 && a.blocks[0].kind == "call" { // as OpenAI does: the role comes with the first call
		first = `"role":"assistant","content":null,`
	} else {
		chunk(`{"role":"assistant","content":"","refusal":null}`, "null")
	}
	n := 0
	for _, b := range a.blocks {
		switch {
		case !p.keeps(b):
		case b.kind == "text":
			for _, x := range pieces(b.text) {
				chunk(`{"content":`+quote(x)+`}`, "null")
			}
		default:
			chunk(fmt.Sprintf(`{%s"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, first, n, b.id, b.name), "null")
			first = ""
			for _, x := range pieces(b.text) {
				chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, n, quote(x)), "null")
			}
			n++
		}
	}
	chunk(`{}`, `"`+p.stopOf(a)+`"`)
	return append(list, plain(fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":%s}`, a.id, p.usage(a))), plain("[DONE]"))
}

func (chat) usage(a answer) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, a.in, a.out, a.in+a.out)
}

func (p chat) body(a answer) string {
	content, calls := "null", ""
	said := ""
	var list []string
	for _, b := range a.blocks {
		switch {
		case !p.keeps(b):
		case b.kind == "text":
			said += b.text
		default:
			list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, b.id, b.name, quote(b.text)))
		}
	}
	if said != "" {
		content = quote(said)
	}
	if list != nil {
		calls = `,"tool_calls":[` + strings.Join(list, ",") + `]`
	}
	return fmt.Sprintf(`{"id":%q,"object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s%s,"refusal":null,"annotations":[]},"finish_reason":%q}],"usage":%s}`,
		a.id, content, calls, p.stopOf(a), p.usage(a))
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type chatCall struct {
	Index    int
	ID       string
	Function struct{ Name, Arguments string }
}

func (chat) read(tb testing.TB, stream string) (s said) {
	tb.Helper()
	_, data := eventsOf(tb, stream)
	var calls []block
	var content, role strings.Builder
	done := false
	for _, d := range data {
		if done {
			tb.Errorf("%s behind the end", d)
		}
		if d == "[DONE]" {
			done = true
			continue
		}
		var c struct {
			ID, Model string
			Choices   []struct {
				Index int
				Delta struct {
					Role, Content string
					Calls         []chatCall `json:"tool_calls"`
				}
				Finish *string `json:"finish_reason"`
			}
			Usage *chatUsage
			Error *struct{ Type string }
		}
		if err := json.Unmarshal([]byte(d), &c); err != nil {
			tb.Errorf("chunk %q: %v", d, err)
		}
		if c.Error != nil {
			s.Failed, done = c.Error.Type, true
			continue
		}
		if s.ID == "" {
			s.ID, s.Model = c.ID, c.Model
		}
		if c.ID != s.ID || c.Model != s.Model {
			tb.Errorf("id %s, model %s in %s", s.ID, s.Model, d)
		}
		if c.Usage != nil {
			s.In, s.Out = c.Usage.Prompt, c.Usage.Completion
			if c.Usage.Total != s.In+s.Out {
				tb.Errorf("total of %s", d)
			}
		}
		for _, choice := range c.Choices {
			if choice.Finish == nil && strings.Contains(d, `"delta":{}`) {
				tb.Errorf("%s says nothing", d)
			}
			if s.Stop != "" {
				tb.Errorf("%s behind the stop", d)
			}
			role.WriteString(choice.Delta.Role)
			content.WriteString(choice.Delta.Content)
			for _, x := range choice.Delta.Calls {
				if x.ID != "" {
					if x.Index != len(calls) {
						tb.Errorf("index in %s", d)
					}
					calls = append(calls, call(x.ID, x.Function.Name, ""))
				}
				calls[x.Index].text += x.Function.Arguments
			}
			if choice.Finish != nil {
				s.Stop = *choice.Finish
			}
		}
	}
	if (role.String() != "assistant" || s.Stop == "") && s.Failed == "" || !done {
		tb.Errorf("role %q, stop %q, done %t:\n%s", role.String(), s.Stop, done, stream)
	}
	if content.Len() > 0 {
		s.Blocks = append(s.Blocks, text(content.String()))
	}
	s.Blocks = append(s.Blocks, calls...)
	return s
}

func (chat) readBody(tb testing.TB, body string) (s said) {
	tb.Helper()
	var v struct {
		ID, Model string
		Choices   []struct {
			Message struct {
				Content string
				Calls   []chatCall `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage chatUsage
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Choices) != 1 {
		tb.Errorf("%v: %s", err, body)
		return s
	}
	s = said{ID: v.ID, Model: v.Model, Stop: v.Choices[0].Finish, In: v.Usage.Prompt, Out: v.Usage.Completion}
	if m := v.Choices[0].Message; m.Content != "" {
		s.Blocks = append(s.Blocks, text(m.Content))
	}
	for _, x := range v.Choices[0].Message.Calls {
		s.Blocks = append(s.Blocks, call(x.ID, x.Function.Name, x.Function.Arguments))
	}
	return s
}
