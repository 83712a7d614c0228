package pipeline_test

import (
	"context"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// A component is told when the lines it sees are not the client's any more,
// unless the edit in front kept them; an edit that was refused changes nothing.
func TestComponentsKnowWhoseLinesTheySee(t *testing.T) {
	t.Parallel()
	keeping := trusting()
	keeping.Lines = true
	replace := func(text string, same pipeline.Equivalence) pipeline.Spec {
		return spec("replace", pipeline.KindReformat, func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
			return pipeline.Replace(text, same), nil
		})
	}
	for name, c := range map[string]struct {
		front []pipeline.Spec
		want  bool
	}{
		"nothing in front": {nil, false},
		"other lines":      {[]pipeline.Spec{replace("some words less", trusting())}, true},
		"the same lines":   {[]pipeline.Spec{replace("some words less", keeping)}, false},
		"one of each":      {[]pipeline.Spec{replace("some words less", trusting()), replace("even less", keeping)}, true},
		"refused":          {[]pipeline.Spec{replace("some words less", distrusting())}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := false
			last := spec("last", pipeline.KindOffload, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
				asked = true
				if s.Renumbered != c.want {
					t.Errorf("renumbered %t, want %t", s.Renumbered, c.want)
				}
				return pipeline.Decline("seen"), nil
			})
			one(t, pipelinetest.Output{Text: long("word")}, append(c.front, last)...)
			if !asked {
				t.Error("the component was not asked")
			}
		})
	}
}
