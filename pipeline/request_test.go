package pipeline_test

import (
	"context"
	"errors"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// fixed is a request's caching with a number of marks of the client.
type fixed int

func (f fixed) Marks() int                        { return int(f) }
func (fixed) Most() int                           { return 4 }
func (fixed) Tools() bool                         { return true }
func (fixed) Head() (pipeline.Place, bool)        { return pipeline.Place{Offset: 1}, true }
func (fixed) End(turn int) (pipeline.Place, bool) { return pipeline.Place{Offset: 2 + turn}, true }
func (fixed) Mark(pipeline.TTL) []byte            { return []byte("!") }

type applying func(v pipeline.View) ([]pipeline.Edit, error)

func (a applying) Apply(_ context.Context, v pipeline.View) ([]pipeline.Edit, error) { return a(v) }

func at(offsets ...int) (edits []pipeline.Edit) {
	for _, offset := range offsets {
		edits = append(edits, pipeline.Annotate(pipeline.Place{Offset: offset}, pipeline.TTL5m))
	}
	return edits
}

func returns(edits ...pipeline.Edit) applying {
	return func(pipeline.View) ([]pipeline.Edit, error) { return edits, nil }
}

func requestStep(name string, a applying) pipeline.Step {
	return pipeline.Step{Meta: pipeline.Meta{Name: name, Kind: pipeline.KindReformat}, Request: a}
}

func TestRequestComponents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		caching pipeline.Caching
		steps   []applying
		reasons []pipeline.Reason
		want    int
	}{
		"marks":             {fixed(0), []applying{returns(at(3, 1)...)}, []pipeline.Reason{""}, 2},
		"none":              {fixed(0), []applying{returns()}, []pipeline.Reason{pipeline.ReasonUnchanged}, 0},
		"declines":          {fixed(0), []applying{returns(pipeline.Decline("why"))}, []pipeline.Reason{"why"}, 0},
		"fails":             {fixed(0), []applying{func(pipeline.View) ([]pipeline.Edit, error) { return at(1), errors.New("no") }}, []pipeline.Reason{pipeline.ReasonFailed}, 0},
		"panics":            {fixed(0), []applying{func(pipeline.View) ([]pipeline.Edit, error) { panic("no") }}, []pipeline.Reason{pipeline.ReasonPanic}, 0},
		"one after another": {fixed(0), []applying{func(pipeline.View) ([]pipeline.Edit, error) { panic("no") }, returns(at(1)...)}, []pipeline.Reason{pipeline.ReasonPanic, ""}, 1},
		"too many":          {fixed(0), []applying{returns(at(1, 2, 3, 4, 5)...)}, []pipeline.Reason{pipeline.ReasonTooMany}, 0},
		"twice in a place":  {fixed(0), []applying{returns(at(1, 1)...)}, []pipeline.Reason{pipeline.ReasonTooMany}, 0},
		"outside":           {fixed(0), []applying{returns(at(1, 1000)...)}, []pipeline.Reason{pipeline.ReasonKind}, 0},
		"other edits":       {fixed(0), []applying{returns(append(at(1), pipeline.Offload(pipeline.Loss{Before: "x"}))...)}, []pipeline.Reason{pipeline.ReasonKind}, 0},
		"no caching":        {nil, []applying{returns(at(1)...)}, []pipeline.Reason{pipeline.ReasonKind}, 0},
		"client's marks":    {fixed(1), []applying{returns(at(1)...)}, []pipeline.Reason{pipeline.ReasonMarked}, 0},
		"ours from before":  {fixed(0), []applying{returns(at(1)...), returns(at(2)...)}, []pipeline.Reason{"", pipeline.ReasonMarked}, 1},
	} {
		transcript := pipelinetest.Texts("one", "two")
		transcript.Caching = c.caching
		settings := pipelinetest.Settings(t)
		for _, a := range c.steps {
			settings.Steps = append(settings.Steps, requestStep("marker", a))
		}
		p := pipeline.New(settings)
		for range 2 { // the second time with memory of the first
			result, err := p.Run(t.Context(), transcript)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Annotations) != c.want || len(result.Acts) != len(c.reasons) {
				t.Fatalf("%s: %d annotations, acts %+v", name, len(result.Annotations), result.Acts)
			}
			for i, act := range result.Acts {
				if act.Reason != c.reasons[i] || act.Acted != (act.Reason == "") {
					t.Errorf("%s: act %+v", name, act)
				}
			}
			for _, o := range result.Outcomes {
				if len(o.Acts) != 0 {
					t.Errorf("%s: asked about an output: %+v", name, o.Acts)
				}
			}
			p.Release(result)
		}
	}
}

// annotating is a component for outputs that oversteps.
type annotating struct{}

func (annotating) Rewrite(_ context.Context, v pipeline.View, _ pipeline.Segment) (pipeline.Edit, error) {
	if v.Caching() != nil || v.Marks() != 0 || v.Turn() != 0 || v.Size() != 0 {
		return pipeline.Decline("sees the request"), nil
	}
	return at(1)[0], nil
}

func TestOutputsAreNotAnnotated(t *testing.T) {
	t.Parallel()
	transcript := pipelinetest.Texts("one")
	transcript.Caching = fixed(0)
	for _, meta := range []pipeline.Meta{
		{Name: "a", Kind: pipeline.KindReformat, Scope: pipeline.ScopeTranscript}, {Name: "a", Kind: pipeline.KindOffload},
	} {
		settings := pipelinetest.Settings(t)
		settings.Steps = []pipeline.Step{{Meta: meta, Component: annotating{}}}
		if got := pipelinetest.Run(t, pipeline.New(settings), transcript)[0].Acts[0].Reason; got != pipeline.ReasonKind {
			t.Errorf("%+v: %q", meta, got)
		}
	}
}

// A component that decides about requests sees them whole, its view of outputs
// included, and does not keep others from being remembered.
func TestRequestComponentsSeeTheRequest(t *testing.T) {
	t.Parallel()
	transcript := pipelinetest.Texts("one", "two words")
	transcript.Caching = fixed(0)
	settings := pipelinetest.Settings(t)
	settings.Steps = []pipeline.Step{requestStep("marker", func(v pipeline.View) ([]pipeline.Edit, error) {
		tokens := 0
		for s := range v.Outputs() {
			tokens += s.Tokens
		}
		if v.Size() != 2 || v.Turn() != 2 || tokens != 3 {
			return []pipeline.Edit{pipeline.Decline("sees something else")}, nil
		}
		edits := at(1)
		return edits, nil
	})}
	p := pipeline.New(settings)
	for i := range 2 {
		result, err := p.Run(t.Context(), transcript)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Annotations) != 1 || (result.Fresh == 0) != (i == 1) {
			t.Errorf("run %d: %+v, %d fresh", i, result.Acts, result.Fresh)
		}
		p.Release(result)
	}
}

func TestRequestComponentsAreInTheDigest(t *testing.T) {
	t.Parallel()
	settings := pipelinetest.Settings(t)
	without := pipeline.New(settings).Digest()
	step := requestStep("marker", returns())
	settings.Steps = []pipeline.Step{step}
	with := pipeline.New(settings).Digest()
	step.Config = []byte(`{"ttl":"1h"}`)
	settings.Steps = []pipeline.Step{step}
	if other := pipeline.New(settings).Digest(); with == without || other == with {
		t.Error("pipelines that decide differently have one digest")
	}
}
