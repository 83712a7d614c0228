package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// conversation is a body with n segments, calls included.
func conversation(d Dialect, n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"some-model","messages":[{"role":"user","content":"Go."}`)
	for i := range n {
		if d == OpenAIChat {
			fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"c%d","content":"line\nline %d"}`, i, i)
		} else {
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"f","input":{}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":[{"type":"text","text":"line\nline %d"}]}]}`, i, i)
		}
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	for _, d := range []Dialect{OpenAIChat, AnthropicMessages} {
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
			var patches []Patch
			for i := range got.Segments {
				patches = append(patches, Patch{Span: got.Segments[i].Span, Text: "le\n"})
			}
			splice := func(dst []byte) func() {
				return func() {
					if out, err := Splice(dst, body, patches); err != nil || len(out) == 0 {
						t.Fatalf("Splice = %q, %v", out, err)
					}
				}
			}
			if allocs := testing.AllocsPerRun(20, splice(nil)); allocs != 1 {
				t.Errorf("%s: Splice of %d segments allocates %v times", d, n, allocs)
			}
			if allocs := testing.AllocsPerRun(20, splice(make([]byte, 0, 2*len(body)))); allocs != 0 {
				t.Errorf("%s: Splice of %d segments into a buffer allocates %v times", d, n, allocs)
			}
		}
	}
}

// TestReleaseForgets checks that a pooled parser does not hold on to a body.
func TestReleaseForgets(t *testing.T) {
	t.Parallel()
	p := NewParser(Limits{})
	if _, err := p.Parse(AnthropicMessages, conversation(AnthropicMessages, 20)); err != nil {
		t.Fatal(err)
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
		if r.id != nil {
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
