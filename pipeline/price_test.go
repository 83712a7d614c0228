package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
	"github.com/contextguru/contextguru/pipeline/tokens"
)

// encoded counts as a real encoding does, in which ids differ in cost.
type encoded struct{ *tokens.Counter }

func (e encoded) Count(text string) pipeline.Count {
	return pipeline.Count{N: e.Counter.Count(text).Tokens}
}

func (e encoded) Encoding() string { return e.Counter.Encoding().Name }

// Texts of one length that are edited alike are all worth it or none is,
// whatever their markers cost and whatever key mints them.
func TestMarkersPriceDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{tokens.O200kBase, tokens.CL100kBase} {
		counter, err := tokens.New().For(tokens.Encoding{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		worth := map[int]map[bool]bool{} // by length: what was decided
		costs := map[int]bool{}
		for key := range 3 {
			keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: fmt.Appendf(nil, "secret number %4d", key)})
			if err != nil {
				t.Fatal(err)
			}
			s := pipelinetest.Settings(t, cut())
			s.Counter, s.Markers, s.Hints = encoded{counter}, keys, false
			p := pipeline.New(s)
			for length := 15; length < 40; length++ {
				for first := range 30 {
					text := fmt.Sprint(first%10) + strings.Repeat(" one", length) + " " + string(rune('a'+first))
					o := pipelinetest.Run(t, p, pipelinetest.Texts(text))[0]
					n := o.Original.N
					if worth[n] == nil {
						worth[n] = map[bool]bool{}
					}
					worth[n][o.Lossy != nil] = true
					if o.Lossy != nil {
						costs[o.Lossy.Tokens] = true
						if o.Lossy.Tokens >= n {
							t.Fatalf("%s: %d tokens became %d", name, n, o.Lossy.Tokens)
						}
					}
				}
			}
		}
		if len(costs) < 3 {
			t.Errorf("%s: all markers cost the same, which shows nothing", name)
		}
		for n, decided := range worth {
			if len(decided) > 1 {
				t.Errorf("%s: of texts of %d tokens some were cut and some were not", name, n)
			}
		}
	}
}
