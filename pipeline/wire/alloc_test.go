package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// conversation is a body with n segments, calls included.
func conversation(d Dialect, n int) []byte {
	turn, list := "", "messages"
	switch d {
	case OpenAIChat:
		turn = `,{"role":"assistant","tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c%[1]d","content":"line\nline %[1]d"}`
	case OpenAIResponses:
		list = "input"
		turn = `,{"type":"shell_call","call_id":"c%[1]d","action":{"commands":["f"]}},` +
			`{"type":"shell_call_output","call_id":"c%[1]d","output":[{"stdout":"line\nline %[1]d","outcome":{"type":"exit","exit_code":0}}]}`
	case Gemini:
		list = "contents"
		turn = `,{"role":"model","parts":[{"functionCall":{"name":"f%[1]d","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"f%[1]d","response":{"output":"line\nline %[1]d"}}}]}`
	case BedrockConverse:
		turn = `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"c%[1]d","name":"f","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"c%[1]d","content":[{"text":"line\nline %[1]d"}]}}]}`
	default:
		turn = `,{"role":"assistant","content":[{"type":"tool_use","id":"c%[1]d","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":[{"type":"text","text":"line\nline %[1]d"}]}]}`
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":"some-model","%s":[{"role":"user","content":"Go."}`, list)
	for i := range n {
		fmt.Fprintf(&b, turn, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	for _, d := range dialects {
		if d == AnthropicPlatform {
			continue // the same bodies
		}
		p := NewParser(Limits{})
		for _, n := range []int{10, 1000} {
			body := conversation(d, n)
			parse := func() {
				if got, err := p.Parse(d, body); err != nil || len(got.Segments) != n {
					t.Fatalf("Parse = %v, %v", got, err)
				}
			}
			if allocs := testing.AllocsPerRun(20, parse); allocs != 0 {
				t.Errorf("%s: Parse of %d segments allocates %v times", d, n, allocs)
			}
			got, err := p.Parse(d, body)
			if err != nil {
				t.Fatal(err)
			}
			var patches, encoded []Patch
			for i := range got.Segments {
				patch := Patch{Span: got.Segments[i].Span, Text: "le\n"}
				patches = append(patches, patch)
				patch.Value = Encode(got.Value(&got.Segments[i]), patch.Text)
				encoded = append(encoded, patch)
			}
			for name, patches := range map[string][]Patch{"texts": patches, "values": encoded} {
				if d == BedrockConverse && name == "texts" {
					continue // a block has to be read to see where its text stands
				}
				splice := func(dst []byte) func() {
					return func() {
						if out, err := Splice(dst, body, patches); err != nil || len(out) == 0 {
							t.Fatalf("Splice = %q, %v", out, err)
						}
					}
				}
				if allocs := testing.AllocsPerRun(20, splice(nil)); allocs != 1 {
					t.Errorf("%s: Splice of %d %s allocates %v times", d, n, name, allocs)
				}
				if allocs := testing.AllocsPerRun(20, splice(make([]byte, 0, 2*len(body)))); allocs != 0 {
					t.Errorf("%s: Splice of %d %s into a buffer allocates %v times", d, n, name, allocs)
				}
			}
		}
	}
}

// TestReleaseForgets checks that a pooled parser does not hold on to a body.
func TestReleaseForgets(t *testing.T) {
	t.Parallel()
	p := NewParser(Limits{})
	for _, d := range dialects[3:] {
		if _, err := p.Parse(d, conversation(d, 20)); err != nil {
			t.Fatal(err)
		}
	}
	p.Release()
	for _, s := range p.t.Segments[:cap(p.t.Segments)] {
		if s.Tool != nil || s.Args != nil {
			t.Fatal("a segment is still there")
		}
	}
	for _, c := range append(p.calls[:cap(p.calls)], p.pending[:cap(p.pending)]...) {
		if c.key != nil || c.args != nil {
			t.Fatal("a call is still there")
		}
	}
	for _, r := range p.results[:cap(p.results)] {
		if r.id != nil || r.name != nil {
			t.Fatal("a result is still there")
		}
	}
	if p.body != nil || p.t.Body != nil || p.src.Len() != 0 {
		t.Fatal("the body is still there")
	}
	got, err := p.Parse(OpenAIChat, []byte(`{"messages":[{"role":"tool","content":`+strings.Repeat(" ", 10)+`"x"}]}`))
	if err != nil || len(got.Segments) != 1 {
		t.Fatalf("after Release: %v, %v", got, err)
	}
}
