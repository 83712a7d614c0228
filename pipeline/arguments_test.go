package pipeline_test

import (
	"context"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// TestArgumentsAreTheCallsOwn checks that a component gets the arguments of a
// call in one form, whether the API holds them as JSON or as a string of JSON.
func TestArgumentsAreTheCallsOwn(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"object": `{"command":"ls"}`,
		"string": `"{\"command\":\"ls\"}"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			look := func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
				got = string(s.Args)
				return pipeline.Decline("seen"), nil
			}
			p := pipeline.New(pipeline.Settings{
				Steps:   []pipeline.Step{{Meta: pipeline.Meta{Name: "look", Kind: pipeline.KindReformat}, Component: rewriteFunc(look)}},
				Counter: pipelinetest.Words{},
			})
			pipelinetest.Run(t, p, pipelinetest.Transcript([]pipelinetest.Output{{Tool: "bash", Args: args, Text: "out"}}))
			if want := `{"command":"ls"}`; got != want {
				t.Errorf("arguments %s, want %s", got, want)
			}
		})
	}
}

type rewriteFunc func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error)

func (f rewriteFunc) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	return f(ctx, v, s)
}
