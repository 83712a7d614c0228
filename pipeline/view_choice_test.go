package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// viewing is lossy and leaves a view of so many words.
func viewing(name string, words int, fallback bool) pipeline.Spec {
	return pipeline.Define(pipeline.Meta{Name: name, Kind: pipeline.KindOffload, Fallback: fallback}, noSettings{},
		func(noSettings, pipeline.Deps) (pipeline.Component, error) {
			return rewrite(func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
				if !strings.HasPrefix(s.Text, "word word") {
					return pipeline.Edit{}, fmt.Errorf("asked about a view: %q", s.Text)
				}
				return pipeline.Offload(pipeline.Loss{Before: strings.Repeat(name+" ", words)}), nil
			}), nil
		})
}

// A segment has one view: the first, unless a fallback's is much smaller.
func TestAFallbackTakesThePlaceOfAMuchLargerView(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		specs []pipeline.Spec
		want  string
		view  string
	}{
		"much smaller":     {[]pipeline.Spec{viewing("gentle", 100, false), viewing("hard", 20, true)}, "gentle outdone, hard acted", "hard"},
		"a little smaller": {[]pipeline.Spec{viewing("gentle", 100, false), viewing("hard", 60, true)}, "gentle acted, hard already_marked", "gentle"},
		"no fallback":      {[]pipeline.Spec{viewing("gentle", 100, false), viewing("hard", 20, false)}, "gentle acted, hard already_marked", "gentle"},
		"nothing in front": {[]pipeline.Spec{viewing("hard", 20, true), viewing("gentle", 10, false)}, "hard acted, gentle already_marked", "hard"},
		"lossless behind":  {[]pipeline.Spec{viewing("gentle", 100, false), short(), viewing("hard", 20, true)}, "gentle outdone, short already_marked, hard acted", "hard"},
	} {
		transcript := pipelinetest.Texts(long("word"))
		o := pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, c.specs...)), transcript)
		if got := reasons(o[0]); got != c.want || o[0].Lossy == nil || !strings.HasPrefix(o[0].Lossy.Text, c.view) {
			t.Errorf("%s: %s, %+v, want %s", name, got, o[0].Lossy, c.want)
		}
		pipelinetest.CheckNeverWorse(t, transcript, o, pipelinetest.Words{})
		pipelinetest.CheckRestore(t, transcript, o, pipelinetest.Keys(t), pipelinetest.SameJSON)
	}
}

func TestHugeErrorResultsKeepTheirErrors(t *testing.T) {
	t.Parallel()
	huge := strings.TrimSpace(strings.Repeat("word ", pipeline.HugeErrorTokens))
	proving := func(proof func(original, view string) error) pipeline.Spec {
		return spec("proves", pipeline.KindOffload, func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
			return pipeline.Offload(pipeline.Loss{Before: "the view "}).Proving(proof), nil
		})
	}
	shown := func(original, view string) error {
		if !strings.HasPrefix(original, "word") || !strings.HasPrefix(view, "the view <<cg:") {
			return errors.New("asked about other texts")
		}
		return nil
	}
	hidden := func(string, string) error { return errors.New("hidden") }
	for name, c := range map[string]struct {
		text   string
		failed bool
		spec   pipeline.Spec
		want   string
	}{
		"huge, errors shown":      {huge, true, proving(shown), "proves acted"},
		"huge, errors hidden":     {huge, true, proving(hidden), "proves errors_hidden"},
		"huge, the proof panics":  {huge, true, proving(func(string, string) error { panic("on purpose") }), "proves panic"},
		"huge, no proof":          {huge, true, cut(), "cut error_result"},
		"not huge":                {strings.TrimPrefix(huge, "word "), true, proving(shown), "proves error_result"},
		"no failure":              {huge, false, cut(), "cut acted"},
		"no failure, but a proof": {huge, false, proving(hidden), "proves errors_hidden"},
	} {
		if got := reasons(one(t, pipelinetest.Output{Text: c.text, IsError: c.failed}, c.spec)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	frame := pipeline.Frame{
		Before: "[ ", After: " ]",
		Quote:   strings.ToUpper,
		Unquote: func(quoted string) (string, error) { return strings.ToLower(quoted), nil },
	}
	claim := pipeline.Equivalence{Name: "the same first word", Check: func(before, after string) error {
		if strings.HasPrefix(before, "word word") && after == "a word" {
			return nil
		}
		return fmt.Errorf("asked about %q and %q", before, after)
	}}
	text := "[ " + strings.ToUpper(long("word")) + " ]"
	replaced := one(t, pipelinetest.Output{Text: text}, always(pipeline.KindReformat, pipeline.Replace("a word", claim).Within(frame)))
	if v := replaced.Lossless; v == nil || v.Text != "[ A WORD ]" {
		t.Errorf("%s: %+v", reasons(replaced), v)
	}
	for name, f := range map[string]pipeline.Frame{"another front": {Before: "( "}, "another end": {After: " )"}} {
		o := one(t, pipelinetest.Output{Text: long("word")}, always(pipeline.KindReformat, pipeline.Replace("a word", claim).Within(f)))
		if got := reasons(o); got != "always not_equivalent" {
			t.Errorf("%s: %s", name, got)
		}
	}
	lossy := one(t, pipelinetest.Output{Text: long("word")}, always(pipeline.KindOffload, pipeline.Offload(pipeline.Loss{Before: "a view ", After: " of it"}).Within(frame)))
	if v := lossy.Lossy; v == nil || v.Text != "[ A VIEW "+pipeline.Marker(v.ID)+" OF IT ]" {
		t.Errorf("%s: %+v", reasons(lossy), v)
	}
}

// recognising is lossy, points to an output with the same second line, and says
// nothing of others.
type recognising struct{}

func (recognising) Gist(text string) string {
	_, gist, _ := strings.Cut(text, "\n")
	if strings.Contains(text, "panic") {
		panic("on purpose")
	}
	return gist
}

func (recognising) Rewrite(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	at, found := v.Alike(s)
	if !found {
		return pipeline.Decline("unlike"), nil
	}
	return pipeline.Offload(pipeline.Loss{Before: fmt.Sprint("as ", at.Index, " ")}), nil
}

func TestOutputsOfOneGistAreAlike(t *testing.T) {
	t.Parallel()
	spec := pipeline.Define(pipeline.Meta{Name: "recognises", Kind: pipeline.KindOffload, Scope: pipeline.ScopeTranscript}, noSettings{},
		func(noSettings, pipeline.Deps) (pipeline.Component, error) { return recognising{}, nil })
	fresh := func() *pipeline.Pipeline { return pipeline.New(pipelinetest.Settings(t, spec)) }
	transcript := pipelinetest.Texts("a\n"+long("x"), "b\n"+long("y"), "c\n"+long("x"), "panic\n"+long("x"), long("x"), "d\n"+long("x"))
	outcomes := pipelinetest.Run(t, fresh(), transcript)
	for i, want := range []string{"unlike", "unlike", "as 0 ", "unlike", "unlike", "as 0 "} {
		got := string(outcomes[i].Acts[0].Reason)
		if v := outcomes[i].Lossy; v != nil {
			got, _, _ = strings.Cut(v.Text, "<<")
		}
		if got != want {
			t.Errorf("output %d: %q, want %q", i, got, want)
		}
	}
	pipelinetest.CheckPrefix(t, fresh, transcript)
}
