package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect Dialect
		body    string
		value   string
		want    []string // elements, those of the model with a > in front
	}{
		{
			OpenAIChat, `{ "messages" : [ {"role":"user","content":"a"} ,
 {"role":"assistant","content":"b"},7, {"role":"tool","content":["c"]}	] , "model":"m"}`, `[ {"role":"user","content":"a"} ,
 {"role":"assistant","content":"b"},7, {"role":"tool","content":["c"]}	]`,
			[]string{`{"role":"user","content":"a"}`, `>{"role":"assistant","content":"b"}`, `7`, `{"role":"tool","content":["c"]}`},
		},
		{AnthropicMessages, `{"model":"m","messages":[]}`, `[]`, nil},
		{AnthropicMessages, `{"messages":[[ ],{"role":"assistant"}]}`, `[[ ],{"role":"assistant"}]`, []string{`[ ]`, `>{"role":"assistant"}`}},
		{AnthropicPlatform, `{"anthropic_version":"x","messages":[{"role":"assistant"}]}`, `[{"role":"assistant"}]`, []string{`>{"role":"assistant"}`}},
		{OpenAIResponses, `{"input" : "hello"}`, `"hello"`, nil},
		{
			OpenAIResponses, `{"input":[{"role":"user","content":"x"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"}]}`,
			`[{"role":"user","content":"x"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"}]`,
			[]string{`{"role":"user","content":"x"}`, `>{"type":"reasoning"}`, `>{"type":"function_call"}`, `{"type":"function_call_output"}`},
		},
		{Gemini, `{"contents":{"role":"model","parts":[]}}`, `{"role":"model","parts":[]}`, []string{`>{"role":"model","parts":[]}`}},
		{Gemini, `{"request":{"contents":[{"parts":[]}]}}`, `[{"parts":[]}]`, []string{`{"parts":[]}`}},
		{BedrockConverse, `{"input":{"converse":{"messages":[{"role":"user"}]}}}`, `[{"role":"user"}]`, []string{`{"role":"user"}`}},
	} {
		p := NewParser(Limits{})
		for range 2 { // the second time with memory of the first
			if _, err := p.Parse(c.dialect, []byte(c.body)); err != nil {
				t.Fatalf("%s: %v", c.body, err)
			}
			o := p.Outline()
			var got []string
			for _, e := range o.Elements {
				mark := ""
				if e.Assistant {
					mark = ">"
				}
				got = append(got, mark+c.body[e.Span.Start:e.Span.End])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", c.body, diff)
			}
			if value := c.body[o.Value.Start:o.Value.End]; value != c.value {
				t.Errorf("%s: the conversation is %s", c.body, value)
			}
		}
	}
}

func TestSpliceRaw(t *testing.T) {
	t.Parallel()
	body := []byte(`{"messages":[{"role":"tool","content":"a"},{"role":"user"}]}`)
	span := func(from, to int) pipeline.Span { return pipeline.Span{Start: from, End: to} }
	at := slices.Index(body, ']')
	for _, c := range []struct {
		patches []Patch
		want    string
	}{
		{[]Patch{{Span: span(at, at), Raw: []byte(`,1`)}}, `{"messages":[{"role":"tool","content":"a"},{"role":"user"},1]}`},
		{[]Patch{{Span: span(at, at), Raw: []byte(`,1`)}, {Span: span(at, at), Raw: []byte(`,2`)}}, `{"messages":[{"role":"tool","content":"a"},{"role":"user"},1,2]}`},
		{[]Patch{{Span: span(13, 43), Raw: []byte{}}}, `{"messages":[{"role":"user"}]}`},
		{[]Patch{{Span: span(38, 41), Text: "é"}, {Span: span(42, at), Raw: []byte(``)}}, `{"messages":[{"role":"tool","content":"é"}]}`},
		{[]Patch{{Span: span(at, at-1), Raw: []byte(`,1`)}}, ""},
		{[]Patch{{Span: span(at, at)}}, ""},
		{[]Patch{{Span: span(at, at), Raw: []byte(`,1`)}, {Span: span(13, 42), Raw: []byte{}}}, ""},
	} {
		out, err := Splice(nil, body, c.patches)
		if string(out) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v", fmt.Sprint(c.patches), out, err)
		}
	}
}

// Many elements are not listed.
func TestOutlineIsBounded(t *testing.T) {
	t.Parallel()
	p := NewParser(Limits{Segments: 3})
	for n, cut := range map[int]bool{0: false, 3: false, 4: true, 1000: true} {
		body := `{"messages":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}`
		if _, err := p.Parse(OpenAIChat, []byte(body)); err != nil {
			t.Fatal(err)
		}
		o := p.Outline()
		if o.Cut != cut || (len(o.Elements) == n) == cut || o.Value.End != len(body)-1 || cap(o.Elements) > 8 {
			t.Errorf("%d elements: %+v", n, o)
		}
	}
}
