package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// rewrite is a component made of one function.
type rewrite func(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error)

func (f rewrite) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	return f(ctx, v, s)
}

type noSettings struct{}

func spec(name string, kind pipeline.Kind, f rewrite) pipeline.Spec {
	return scoped(name, kind, pipeline.ScopeSegment, f)
}

func scoped(name string, kind pipeline.Kind, scope pipeline.Scope, f rewrite) pipeline.Spec {
	return pipeline.Define(pipeline.Meta{Name: name, Kind: kind, Scope: scope}, noSettings{},
		func(noSettings, pipeline.Deps) (pipeline.Component, error) { return f, nil })
}

// always is a component that wants the same edit for every segment.
func always(kind pipeline.Kind, e pipeline.Edit) pipeline.Spec {
	return spec("always", kind, func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) { return e, nil })
}

// short is lossless and shortens every text to its first word.
func short() pipeline.Spec {
	return spec("short", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		first, _, _ := strings.Cut(s.Text, " ")
		return pipeline.Replace(first, trusting()), nil
	})
}

// cut is lossy and leaves a view of two words.
func cut() pipeline.Spec {
	return spec("cut", pipeline.KindOffload, func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Offload(pipeline.Loss{Before: "cut off ", Hint: pipeline.HintFullOutput}), nil
	})
}

func trusting() pipeline.Equivalence {
	return pipeline.Equivalence{Name: "none", Check: func(string, string) error { return nil }}
}

func distrusting() pipeline.Equivalence {
	return pipeline.Equivalence{Name: "none", Check: func(string, string) error { return errors.New("never") }}
}

// long is a text that every edit of these tests makes smaller.
func long(word string) string { return strings.TrimSpace(strings.Repeat(word+" ", 200)) }

// one runs the components on one output and returns its outcome.
func one(t *testing.T, o pipelinetest.Output, specs ...pipeline.Spec) *pipeline.Outcome {
	t.Helper()
	p := pipeline.New(pipelinetest.Settings(t, specs...))
	return pipelinetest.Run(t, p, pipelinetest.Transcript([]pipelinetest.Output{o}))[0]
}

// reasons lists what the components of an outcome did.
func reasons(o *pipeline.Outcome) string {
	var words []string
	for _, act := range o.Acts {
		word := string(act.Reason)
		if act.Acted {
			word = "acted"
		}
		words = append(words, act.Component+" "+word)
	}
	return strings.Join(words, ", ")
}
