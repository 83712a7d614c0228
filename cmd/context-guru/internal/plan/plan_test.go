package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/plan"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// TestWindowsReachTheComponents checks that a fraction is one of the window of
// the request's model, and nothing where that is not known.
func TestWindowsReachTheComponents(t *testing.T) {
	t.Parallel()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("cg.yaml", []byte("pipeline: [collapse]\nexpand: {resolver: external}\ncomponents: {collapse: {max_frac: 0.01}}\ncache: {horizon_tokens: 0.1}\n"), catalog)
	if err != nil {
		t.Fatal(err)
	}
	windows, err := models.Parse("# context-guru models 1\nsmall\topenai\t100000\nlarge\topenai\t1000000\nnone\topenai\t-\t-\t1\n")
	if err != nil {
		t.Fatal(err)
	}
	maker, err := plan.NewMaker(pipelinetest.Keys(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	maker.Unknown = func(model string) { unknown = append(unknown, model) }
	p := maker.New(c, windows)
	var lines strings.Builder
	for i := range 800 {
		fmt.Fprintln(&lines, "a line of output", i)
	}
	output := pipelinetest.Texts(lines.String()) // between 1 % of small and of large
	for _, c := range []struct {
		model  string
		edited bool
	}{{"small", true}, {"openrouter/Large:free", false}, {"none", true}, {"nobody's", true}} {
		chosen := p.Choose(rewrite.Choice{Model: c.model})
		if p.Choose(rewrite.Choice{Model: c.model}) != chosen {
			t.Errorf("%s has a new pipeline each time", c.model)
		}
		got, err := chosen.Run(t.Context(), output)
		if err != nil {
			t.Fatal(err)
		}
		if edited := got.Outcomes[0].Lossy != nil; edited != c.edited {
			t.Errorf("%s: edited is %v, want %v: %+v", c.model, edited, c.edited, got.Outcomes[0])
		}
	}
	if want := []string{"none", "none", "nobody's", "nobody's"}; !slices.Equal(unknown, want) {
		t.Errorf("unknown models %q, want %q", unknown, want)
	}
}
