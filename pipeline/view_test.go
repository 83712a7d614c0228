package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// earlier runs components in front of one that looks back, and says for every
// segment which one it found.
func earlier(t *testing.T, transcript *pipeline.Transcript, front ...pipeline.Spec) string {
	t.Helper()
	p := pipeline.New(pipelinetest.Settings(t, append(front, lookBack())...))
	var found []string
	for _, o := range pipelinetest.Run(t, p, transcript) {
		at := "-"
		if o.Lossy != nil {
			at = strings.Fields(o.Lossy.Text)[2]
		}
		found = append(found, at)
	}
	return strings.Join(found, " ")
}

func TestEarlierFindsTheFirstEqualText(t *testing.T) {
	t.Parallel()
	a, b := long("a"), long("b")
	for name, c := range map[string]struct {
		transcript *pipeline.Transcript
		want       string
	}{
		"in order":         {pipelinetest.Texts(a, b, a, b, a), "- - 0 1 0"},
		"never itself":     {pipelinetest.Texts(a), "-"},
		"never later":      {pipelinetest.Texts(b, a, b), "- - 0"},
		"exactly equal":    {pipelinetest.Texts(a, a+" ", a+"\n", " "+a), "- - - -"},
		"same turn":        {pipelinetest.Transcript([]pipelinetest.Output{{Text: a}, {Text: a}}), "- 0"},
		"any spelling":     {pipelinetest.Transcript([]pipelinetest.Output{{Text: a}, {Raw: `"` + strings.ReplaceAll(a, "a", `\u0061`) + `"`}}), "- 0"},
		"any tool":         {pipelinetest.Transcript([]pipelinetest.Output{{Text: a}, {Text: a, Tool: "read", Args: `{"x":1}`}}), "- 0"},
		"of an error":      {pipelinetest.Transcript([]pipelinetest.Output{{Text: a, IsError: true}, {Text: a}}), "- 0"},
		"of an expansion":  {pipelinetest.Transcript([]pipelinetest.Output{{Text: a, Tool: "context_guru_expand"}, {Text: a}}), "- 0"},
		"of no exact text": {pipelinetest.Transcript([]pipelinetest.Output{{Raw: `"\ud83d"`}, {Raw: `"\ud83d"`}, {Text: a}}), "- - -"},
	} {
		if got := earlier(t, c.transcript); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Texts count as equal as the client sent them and as they stand after the
// components in front; the latter is what a rewritten request looks like.
func TestEarlierSeesTextsAsTheyStand(t *testing.T) {
	t.Parallel()
	upper := spec("shorten", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace(strings.ReplaceAll(s.Text, "  ", " "), trusting()), nil
	})
	wide, narrow := strings.ReplaceAll(long("a"), " ", "  "), long("a")
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"both edited":           {[]string{wide, wide}, "- 0"},
		"the first edited":      {[]string{wide, narrow}, "- 0"},
		"the second edited":     {[]string{narrow, wide}, "- 0"},
		"first of several ways": {[]string{narrow, wide, wide}, "- 0 0"},
	} {
		if got := earlier(t, pipelinetest.Texts(c.texts...), upper); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestViewEndsAtTheTurn(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 12 {
		texts = append(texts, long(fmt.Sprint("word", i%5)))
	}
	pipelinetest.CheckPrefix(t, func() *pipeline.Pipeline {
		return pipeline.New(pipelinetest.Settings(t, lookBack(), cut()))
	}, pipelinetest.Texts(texts...))
}

func TestSegmentScopeSeesNothing(t *testing.T) {
	t.Parallel()
	blind := spec("blind", pipeline.KindReformat, func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		if _, found := v.Earlier(s); found {
			return pipeline.Decline("saw"), nil
		}
		return pipeline.Decline("blind"), nil
	})
	p := pipeline.New(pipelinetest.Settings(t, blind, lookBack()))
	for i, o := range pipelinetest.Run(t, p, pipelinetest.Texts(long("a"), long("a"))) {
		if got := o.Acts[0].Reason; got != "blind" {
			t.Errorf("segment %d: %s", i, got)
		}
	}
}

func TestEarlierHandsOutNoText(t *testing.T) {
	t.Parallel()
	var seen pipeline.Segment
	spy := scoped("spy", pipeline.KindReformat, pipeline.ScopeTranscript, func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		seen, _ = v.Earlier(s)
		return pipeline.Edit{}, nil
	})
	transcript := pipelinetest.Transcript([]pipelinetest.Output{{Tool: "read", Text: long("a")}}, []pipelinetest.Output{{Text: long("a")}})
	pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, spy)), transcript)
	if string(seen.Tool) != "read" || seen.Turn != 1 || seen.Text != "" {
		t.Errorf("%+v", seen)
	}
}

// The prefix, restore, never-worse and idempotence laws on a pipeline of all
// sorts of components, whose outcomes depend on texts in front.
func TestLawsOfAMixedPipeline(t *testing.T) {
	t.Parallel()
	texts := make([]string, 0, 30)
	for i := range 30 {
		texts = append(texts, strings.Repeat(fmt.Sprintf("line %d of it  ", i%7), 20*(i%4)))
	}
	transcript := pipelinetest.Texts(texts...)
	squeeze := spec("squeeze", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace(strings.Join(strings.Fields(s.Text), " "), trusting()), nil
	})
	fresh := func() *pipeline.Pipeline { return pipeline.New(pipelinetest.Settings(t, squeeze, lookBack())) }
	outcomes := pipelinetest.Run(t, fresh(), transcript)
	pipelinetest.CheckPrefix(t, fresh, transcript)
	pipelinetest.CheckNeverWorse(t, transcript, outcomes, pipelinetest.Words{})
	pipelinetest.CheckIdempotent(t, fresh(), transcript, true)
	pipelinetest.CheckIdempotent(t, fresh(), transcript, false)
	pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), func(before, after string) error {
		if got := strings.Join(strings.Fields(before), " "); got != after {
			return fmt.Errorf("%q became %q", before, after)
		}
		return nil
	})
}
