package splice_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/wire"
)

type responses struct{}

func (responses) dialect() wire.Dialect { return wire.OpenAIResponses }

func (responses) keeps(b block) bool { return b.kind != "redacted" }

func (responses) item(a answer, i int, b block, done bool) string {
	status, id := "in_progress", fmt.Sprintf("%s-%d", a.id, i)
	if done {
		status = "completed"
	}
	switch {
	case b.kind == "call" && done:
		return fmt.Sprintf(`{"id":%q,"type":"function_call","status":%q,"arguments":%s,"call_id":%q,"name":%q}`, id, status, quote(b.text), b.id, b.name)
	case b.kind == "call":
		return fmt.Sprintf(`{"id":%q,"type":"function_call","status":%q,"arguments":"","call_id":%q,"name":%q}`, id, status, b.id, b.name)
	case b.kind == "think":
		return fmt.Sprintf(`{"id":%q,"type":"reasoning","encrypted_content":%q,"summary":[]}`, id, b.id)
	case done:
		return fmt.Sprintf(`{"id":%q,"type":"message","status":%q,"role":"assistant","content":[{"type":"output_text","annotations":[],"text":%s}]}`, id, status, quote(b.text))
	default:
		return fmt.Sprintf(`{"id":%q,"type":"message","status":%q,"role":"assistant","content":[]}`, id, status)
	}
}

func (p responses) body(a answer) string { return p.response(a, "completed") }

func (p responses) response(a answer, status string) string {
	var items []string
	usage := "null"
	if status != "in_progress" {
		for i, b := range a.blocks {
			if p.keeps(b) {
				items = append(items, p.item(a, i, b, true))
			}
		}
		usage = fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}`, a.in, a.out, a.in+a.out)
	}
	tools := `{"type":"function","name":"read_file"}`
	if !a.plain {
		tools += fmt.Sprintf(`,{"type":"function","name":%q,"description":"x"}`, tool)
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","created_at":1,"status":%q,"incomplete_details":null,"model":"m","output":[%s],"tools":[%s],"usage":%s}`,
		a.id, status, strings.Join(items, ","), tools, usage)
}

func (p responses) stream(a answer) (list []string) {
	add := func(typ, members string, args ...any) {
		data := fmt.Sprintf(`{"type":%q,"sequence_number":%d,`, typ, len(list)) + fmt.Sprintf(members, args...) + "}"
		list = append(list, named(typ, data))
	}
	add("response.created", `"response":%s`, p.response(a, "in_progress"))
	add("response.in_progress", `"response":%s`, p.response(a, "in_progress"))
	n := 0
	for i, b := range a.blocks {
		if !p.keeps(b) {
			continue
		}
		id := fmt.Sprintf("%s-%d", a.id, i)
		add("response.output_item.added", `"output_index":%d,"item":%s`, n, p.item(a, i, b, false))
		switch b.kind {
		case "text":
			add("response.content_part.added", `"item_id":%q,"output_index":%d,"content_index":0,"part":{"type":"output_text","text":""}`, id, n)
			for _, x := range pieces(b.text) {
				add("response.output_text.delta", `"item_id":%q,"output_index":%d,"content_index":0,"delta":%s`, id, n, quote(x))
			}
			add("response.output_text.done", `"item_id":%q,"output_index":%d,"content_index":0,"text":%s`, id, n, quote(b.text))
		case "call":
			for _, x := range pieces(b.text) {
				add("response.function_call_arguments.delta", `"item_id":%q,"output_index":%d,"delta":%s`, id, n, quote(x))
			}
			add("response.function_call_arguments.done", `"item_id":%q,"output_index":%d,"arguments":%s`, id, n, quote(b.text))
		}
		add("response.output_item.done", `"output_index":%d,"item":%s`, n, p.item(a, i, b, true))
		n++
	}
	add("response.completed", `"response":%s`, p.body(a))
	return list
}

type responsesItem struct {
	Type      string
	Arguments string
	CallID    string `json:"call_id"`
	Name      string
	Encrypted string `json:"encrypted_content"`
	Content   []struct{ Text string }
}

func (i responsesItem) block() block {
	switch i.Type {
	case "function_call":
		return call(i.CallID, i.Name, i.Arguments)
	case "reasoning":
		return block{kind: "think", id: i.Encrypted}
	}
	said := ""
	for _, c := range i.Content {
		said = c.Text
	}
	return text(said)
}

type responsesBody struct {
	ID, Model, Status string
	Output            []responsesItem
	Tools             []struct{ Name string }
	Usage             *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
}

func (b responsesBody) said(tb testing.TB) said {
	tb.Helper()
	s := said{ID: b.ID, Model: b.Model, Stop: b.Status}
	if u := b.Usage; u != nil {
		if s.In, s.Out = u.Input, u.Output; u.Total != s.In+s.Out {
			tb.Errorf("total %d of %d and %d", u.Total, s.In, s.Out)
		}
	}
	for _, i := range b.Output {
		s.Blocks = append(s.Blocks, i.block())
	}
	if len(b.Tools) != 1 || b.Tools[0].Name != "read_file" {
		tb.Errorf("tools %v", b.Tools)
	}
	return s
}

func (responses) read(tb testing.TB, stream string) said {
	tb.Helper()
	var (
		s          said
		blocks     []block
		open       = -1
		grown      strings.Builder
		begun, end bool
	)
	types, data := eventsOf(tb, stream)
	for i, d := range data {
		var e struct {
			Type     string
			Seq      int `json:"sequence_number"`
			Index    int `json:"output_index"`
			Response *responsesBody
			Item     *responsesItem
			Delta    string
			Code     string
		}
		if err := json.Unmarshal([]byte(d), &e); err != nil || e.Type != types[i] || e.Seq != i || end {
			tb.Errorf("event %d, %q %q, end %t: %v", i, types[i], d, end, err)
		}
		switch e.Type {
		case "response.created":
			if begun {
				tb.Errorf("begins twice:\n%s", stream)
			}
			begun = true
			s = e.Response.said(tb)
		case "response.in_progress":
		case "response.output_item.added":
			if open >= 0 || e.Index != len(blocks) || !begun {
				tb.Errorf("added: %s", d)
			}
			open = e.Index
			grown.Reset()
		case "response.output_item.done":
			if e.Index != open {
				tb.Errorf("done: %s", d)
			}
			open = -1
			b := e.Item.block()
			if b.text != grown.String() {
				tb.Errorf("%q is not what grew: %q", b.text, grown.String())
			}
			blocks = append(blocks, b)
		case "response.completed", "response.incomplete":
			end = true
			last := e.Response.said(tb)
			if last.ID != s.ID || fmt.Sprint(last.Blocks) != fmt.Sprint(blocks) || "response."+last.Stop != e.Type {
				tb.Errorf("%s: %+v, streamed %v", d, last, blocks)
			}
			s = last
		case "error":
			s.Failed, s.Stop, end = e.Code, "", true
			s.Blocks = blocks
		default:
			if e.Index != open {
				tb.Errorf("open %d: %s", open, d)
			}
			if strings.HasSuffix(e.Type, ".delta") {
				grown.WriteString(e.Delta)
			}
		}
	}
	if !end {
		tb.Errorf("no end:\n%s", stream)
	}
	return s
}

func (responses) readBody(tb testing.TB, body string) said {
	tb.Helper()
	var v responsesBody
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		tb.Errorf("%v: %s", err, body)
	}
	return v.said(tb)
}
