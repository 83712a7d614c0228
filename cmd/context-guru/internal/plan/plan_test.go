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

// A request gets the preset it asks for, and that of the configuration when it
// asks for none, for that one or for one that does not exist.
func TestPresetsOfRequests(t *testing.T) {
	t.Parallel()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("cg.yaml", []byte("preset: mcp\ncomponents: {smartcrush: {min_items: 9}}\n"), catalog)
	if err != nil {
		t.Fatal(err)
	}
	maker, err := plan.NewMaker(pipelinetest.Keys(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := maker.New(c, &models.Map{})
	digests := map[pipeline.Digest]string{}
	for _, check := range []struct{ preset, first, same string }{
		{"", "format", ""},
		{"mcp", "format", ""},
		{"mpc", "format", ""},
		{"general", "format", "general"},
		{"aggressive", "format", "aggressive"},
		{"off", "", "off"},
	} {
		got := p.Choose(rewrite.Choice{Model: "m", Preset: check.preset})
		if first := firstStep(got); first != check.first || got != p.Choose(rewrite.Choice{Model: "m", Preset: check.preset}) {
			t.Errorf("%q begins with %q, want %q", check.preset, first, check.first)
		}
		if other, taken := digests[got.Digest()]; taken && other != check.same {
			t.Errorf("%q has the digest of %q, want that of %q", check.preset, other, check.same)
		}
		digests[got.Digest()] = check.same
		for _, s := range got.Steps() {
			if s.Name == "smartcrush" && !strings.Contains(string(s.Config), `"min_items":9`) {
				t.Errorf("%q: smartcrush is %s", check.preset, s.Config)
			}
		}
	}
	if len(digests) != 4 {
		t.Errorf("%d digests, want 4", len(digests))
	}
}

func firstStep(p *pipeline.Pipeline) string {
	if len(p.Steps()) == 0 {
		return ""
	}
	return p.Steps()[0].Name
}
