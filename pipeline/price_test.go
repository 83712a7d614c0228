package pipeline_test

import (
	"context"
	"fmt"
	"strconv"
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
					text := strconv.Itoa(first%10) + strings.Repeat(" one", length) + " " + string(rune('a'+first))
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

// The same holds at horizons, where one view takes another's place.
func TestMarkersPriceDecidesNothingAtHorizons(t *testing.T) {
	t.Parallel()
	counter, err := tokens.New().For(tokens.Encoding{Name: tokens.O200kBase})
	if err != nil {
		t.Fatal(err)
	}
	viewing := func(name string, when pipeline.When, words int) pipeline.Spec {
		loss := pipeline.Loss{Before: strings.Repeat("view ", words)}
		return pipeline.Define(pipeline.Meta{Name: name, Kind: pipeline.KindOffload, When: when}, noSettings{},
			func(noSettings, pipeline.Deps) (pipeline.Component, error) {
				return rewrite(func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
					return pipeline.Offload(loss), nil
				}), nil
			})
	}
	acted := map[bool]bool{}
	for less := range 12 {
		decided := map[bool]bool{}
		for key := range 3 {
			s := pipelinetest.Settings(t, viewing("first", pipeline.FirstSight, 20), viewing("later", pipeline.AtHorizon, 20-less+4))
			if s.Markers, err = pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: fmt.Appendf(nil, "secret number %4d", key)}); err != nil {
				t.Fatal(err)
			}
			s.Counter, s.Hints, s.HorizonTokens = encoded{counter}, false, 100
			var texts []string
			for i := range 20 {
				texts = append(texts, fmt.Sprint(i, strings.Repeat(" one", 60+key)))
			}
			for _, o := range pipelinetest.Run(t, pipeline.New(s), pipelinetest.Texts(texts...))[:15] {
				later := o.Acts[len(o.Acts)-1]
				if later.Component != "later" {
					t.Fatalf("not asked: %+v", o.Acts)
				}
				decided[later.Acted] = true
				acted[later.Acted] = true
			}
		}
		if len(decided) > 1 {
			t.Errorf("%d words less: some views took the place of the first and some did not", less-4)
		}
	}
	if len(acted) < 2 {
		t.Error("all or none were replaced, which shows nothing")
	}
}
