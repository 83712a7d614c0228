package plan_test

import (
	"fmt"
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

// TestTriggersReachTheComponents takes each key of a trigger from the
// configuration to its effect: set to where the one output does not reach it,
// and to where it does.
func TestTriggersReachTheComponents(t *testing.T) {
	t.Parallel()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	windows, err := models.Parse("# context-guru models 1\nsmall\topenai\t100000\n")
	if err != nil {
		t.Fatal(err)
	}
	maker, err := plan.NewMaker(pipelinetest.Keys(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	output := pipelinetest.Texts(strings.Repeat("the same line again and again\n", 300)) // some 1,800 tokens
	output.Segments[0].Messages = 3
	for _, c := range []struct {
		trigger string
		acts    bool
	}{
		{"{}", true},
		{"{min_request_tokens: 50000}", false},
		{"{min_request_tokens: 1000}", true},
		{"{min_messages: 50}", false},
		{"{min_messages: 1}", true},
		{"{min_output_tokens: 50000}", false},
		{"{min_output_tokens: 1000}", true},
		{"{min_request_frac: 0.5}", false},
		{"{min_request_frac: 0.01}", true},
		{"{min_output_frac: 0.5}", false},
		{"{min_output_frac: 0.01}", true},
		{"{min_messages: 50, huge_output_frac: 0.5}", false},
		{"{min_messages: 50, huge_output_frac: 0.01}", true},
	} {
		conf, err := config.Parse("cg.yaml", fmt.Appendf(nil, "pipeline: [extract]\nexpand: {resolver: external}\ncomponents: {extract: {trigger: %s}}\n", c.trigger), catalog)
		if err != nil {
			t.Fatal(err)
		}
		got, err := maker.New(conf, windows).Choose(rewrite.Choice{Model: "small"}).Run(t.Context(), output)
		if err != nil {
			t.Fatal(err)
		}
		if acts := got.Outcomes[0].Lossy != nil; acts != c.acts {
			t.Errorf("%s: acts is %v: %+v", c.trigger, acts, got.Outcomes[0].Acts)
		}
	}
}
