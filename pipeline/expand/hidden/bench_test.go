package hidden_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// long is a conversation of so many turns, with outputs of 4 KB.
func long(s *shape, turns int) string {
	elements := make([]string, 0, 2*turns)
	for i := range turns {
		id := fmt.Sprint("call_", i)
		elements = append(elements, s.elements(s.thought(fmt.Sprint("sig", i)), s.text(fmt.Sprint("Step ", i)), s.call(id, "sh")),
			strings.Replace(s.results(id), "out of", strings.Repeat("a line of output\\n", 220), 1))
	}
	return s.body(elements...)
}

// BenchmarkRestore is what a request of a known conversation pays.
func BenchmarkRestore(b *testing.B) {
	for _, name := range []string{"anthropic", "chat", "responses", "gemini"} {
		s := shapes()[name]
		for _, turns := range []int{10, 100} {
			body := []byte(long(s, turns))
			p := wire.NewParser(wire.Limits{})
			t, err := p.Parse(s.dialect, body)
			if err != nil {
				b.Fatal(err)
			}
			r := newRig(b, nil, nil)
			req := hidden.Request{Dialect: s.dialect, Transcript: t, Outline: p.Outline(), Tenants: []string{"t"}}
			r.Restore(b.Context(), req)
			b.Run(fmt.Sprintf("%s/%d turns, %d KB", name, turns, len(body)>>10), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got := r.Restore(b.Context(), req); got.Asked != 0 {
						b.Fatalf("%+v", got)
					}
				}
			})
		}
	}
}
