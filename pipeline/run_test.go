package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestP1PanicUndoesOneEdit(t *testing.T) {
	t.Parallel()
	panics := spec("panics", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		if strings.HasPrefix(s.Text, "bad") {
			panic("on purpose")
		}
		return pipeline.Decline("fine"), nil
	})
	p := pipeline.New(pipelinetest.Settings(t, panics, short()))
	outcomes := pipelinetest.Run(t, p, pipelinetest.Texts(long("good"), long("bad"), long("good")+" too"))
	for i, want := range []string{"panics fine, short acted", "panics panic, short acted", "panics fine, short acted"} {
		if got := reasons(outcomes[i]); got != want {
			t.Errorf("segment %d: %s, want %s", i, got, want)
		}
	}
	if !outcomes[1].Acts[0].Fault() || outcomes[0].Acts[0].Fault() {
		t.Error("a panic is a fault, a refusal is not")
	}
	if o := one(t, pipelinetest.Output{Text: long("bad")}, panics); o.Pick(true) != nil {
		t.Error("a panic changed the text")
	}
}

func TestP2ErrorLeavesTheText(t *testing.T) {
	t.Parallel()
	fails := spec("fails", pipeline.KindReformat, func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace("x", trusting()), errors.New("on purpose")
	})
	o := one(t, pipelinetest.Output{Text: long("word")}, fails)
	if got := reasons(o); got != "fails error" || o.Pick(true) != nil {
		t.Errorf("%s, version %v", got, o.Pick(true))
	}
}

func TestP3GrowthIsUndone(t *testing.T) {
	t.Parallel()
	text := long("word")
	for name, c := range map[string]struct {
		edit pipeline.Edit
		want string
	}{
		"longer":        {pipeline.Replace(text+" and more", trusting()), "always no_win"},
		"as long":       {pipeline.Replace(strings.ToUpper(text), trusting()), "always no_win"},
		"the same":      {pipeline.Replace(text, trusting()), "always unchanged"},
		"blank":         {pipeline.Replace(" \n ", trusting()), "always empty_result"},
		"nothing":       {pipeline.Replace("", trusting()), "always empty_result"},
		"zero edit":     {pipeline.Edit{}, "always unchanged"},
		"not the same":  {pipeline.Replace("x", distrusting()), "always not_equivalent"},
		"no check":      {pipeline.Replace("x", pipeline.Equivalence{}), "always not_equivalent"},
		"check panics":  {pipeline.Replace("x", pipeline.Equivalence{Check: func(string, string) error { panic("on purpose") }}), "always not_equivalent"},
		"smaller":       {pipeline.Replace("x", trusting()), "always acted"},
		"own reason":    {pipeline.Decline("own_reason"), "always own_reason"},
		"longer before": {pipeline.Offload(pipeline.Loss{Before: text + text}), "always no_win"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := one(t, pipelinetest.Output{Text: text}, always(pipeline.KindOffload, c.edit))
			if got := reasons(o); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if acted := o.Pick(true) != nil; acted != (c.want == "always acted") {
				t.Errorf("version %v", o.Pick(true))
			}
		})
	}
}

// The marker and the hint count: a view that alone would be smaller by a
// little is refused at exactly the size where the whole is not.
func TestP46MarkerAndHintCount(t *testing.T) {
	t.Parallel()
	marker := pipelinetest.Words{}.Count(pipeline.Marker(strings.Repeat("a", pipeline.IDLen))).N
	acted := map[bool]int{}
	for words := range 120 {
		text := strings.TrimSpace(strings.Repeat("word ", words+1))
		for _, hints := range []bool{false, true} {
			settings := pipelinetest.Settings(t, always(pipeline.KindOffload, pipeline.Offload(pipeline.Loss{Before: "x ", Hint: pipeline.HintFullOutput})))
			settings.Hints = hints
			transcript := pipelinetest.Texts(text)
			outcomes := pipelinetest.Run(t, pipeline.New(settings), transcript)
			pipelinetest.CheckNeverWorse(t, transcript, outcomes, settings.Counter)
			if v := outcomes[0].Lossy; v != nil && acted[hints] == 0 {
				acted[hints] = words + 1
				if got := strings.Contains(v.Text, pipeline.HintFullOutput); got != hints {
					t.Errorf("hints %v: %q", hints, v.Text)
				}
			}
		}
	}
	if acted[false] <= marker || acted[true] <= acted[false] {
		t.Errorf("the first text worth an edit has %d tokens, with hints %d; the bare marker alone has %d", acted[false], acted[true], marker)
	}
}

func TestP4SegmentIsACopy(t *testing.T) {
	t.Parallel()
	liar := spec("liar", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		grown := s.Text + " and more"
		s.Tokens, s.Text, s.Index = 1_000_000, grown, 7
		return pipeline.Replace(grown, trusting()), nil
	})
	transcript := pipelinetest.Texts(long("word"))
	before := bytes.Clone(transcript.Body)
	o := pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, liar)), transcript)[0]
	if got := reasons(o); got != "liar no_win" || o.Pick(true) != nil {
		t.Errorf("%s, version %v", got, o.Pick(true))
	}
	if s := transcript.Segments[0]; !bytes.Equal(before, transcript.Body) || s.Text != "" || s.Tokens != 0 || s.Index != 0 {
		t.Errorf("the transcript changed: %+v", s)
	}
}

func TestP5KindContract(t *testing.T) {
	t.Parallel()
	loss := func(mode pipeline.MarkerMode) pipeline.Edit {
		return pipeline.Offload(pipeline.Loss{Before: "view", Mode: mode, Hint: pipeline.HintFullOutput})
	}
	for name, c := range map[string]struct {
		kind         pipeline.Kind
		edit         pipeline.Edit
		want         string
		marker, hint bool
	}{
		"reformat may not lose":   {pipeline.KindReformat, loss(pipeline.MarkerFull), "always kind_contract", false, false},
		"nor for good":            {pipeline.KindReformat, loss(pipeline.MarkerOff), "always kind_contract", false, false},
		"offload may":             {pipeline.KindOffload, loss(pipeline.MarkerFull), "always acted", true, true},
		"full is the default":     {pipeline.KindOffload, loss(""), "always acted", true, true},
		"summary has no hint":     {pipeline.KindOffload, loss(pipeline.MarkerSummary), "always acted", true, false},
		"off has no marker":       {pipeline.KindOffload, loss(pipeline.MarkerOff), "always acted", false, false},
		"offload may be lossless": {pipeline.KindOffload, pipeline.Replace("x", trusting()), "always acted", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := one(t, pipelinetest.Output{Text: long("word")}, always(c.kind, c.edit))
			if got := reasons(o); got != c.want {
				t.Fatalf("%s, want %s", got, c.want)
			}
			text := ""
			if v := o.Pick(true); v != nil {
				text = v.Text
			}
			if got := pipelinetest.Keys(t).Marked(text); got != c.marker {
				t.Errorf("marker %v in %q", got, text)
			}
			if got := strings.HasSuffix(text, pipeline.HintFullOutput); got != c.hint {
				t.Errorf("hint %v in %q", got, text)
			}
			if want := o.Lossy != nil && !c.marker; o.Irreversible != want {
				t.Errorf("irreversible %v", o.Irreversible)
			}
		})
	}
}

// What a component hands over lossily is final, and it always stands for the
// client's own text, not for what another component made of it.
func TestLossyEditKeepsTheClientsText(t *testing.T) {
	t.Parallel()
	text := long("word")
	half := spec("half", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace(s.Text[:len(s.Text)/2], trusting()), nil
	})
	o := one(t, pipelinetest.Output{Text: text}, half, cut(), half, cut())
	if got, want := reasons(o), "half acted, cut acted, half already_marked, cut already_marked"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !pipelinetest.Keys(t).Matches(o.Lossy.ID, text) || o.Lossless.Text != text[:len(text)/2] {
		t.Errorf("lossy %+v, lossless %+v", o.Lossy, o.Lossless)
	}
	if o.Pick(true) != o.Lossy || o.Pick(false) != o.Lossless || o.Tokens(true) != o.Lossy.Tokens || o.Tokens(false) != o.Lossless.Tokens {
		t.Error("Pick and Tokens disagree with the versions")
	}
}

func TestP47MarkedTextIsLeftAlone(t *testing.T) {
	t.Parallel()
	id := pipelinetest.Keys(t).Mint("some text")
	for name, c := range map[string]struct {
		text string
		want pipeline.Reason
	}{
		"marker":               {long("word") + pipeline.Marker(id), pipeline.ReasonMarked},
		"quoted marker":        {long("word") + `\u003c\u003Ccg:` + id + `\u003e\u003e`, pipeline.ReasonMarked},
		"a look-alike is text": {long("word") + pipeline.Marker(strings.Repeat("a", pipeline.IDLen)), ""},
		"a bare id is text":    {long("word") + " " + id, ""},
	} {
		o := one(t, pipelinetest.Output{Text: c.text}, short(), cut())
		if o.Reason != c.want || (o.Pick(true) == nil) != (c.want != "") {
			t.Errorf("%s: reason %q, version %v", name, o.Reason, o.Pick(true))
		}
	}
}

func TestP48NoResolverMeansLosslessOnly(t *testing.T) {
	t.Parallel()
	text := long("word")
	for name, change := range map[string]func(*pipeline.Settings){
		"not permitted": func(s *pipeline.Settings) { s.Lossy = false },
		"no keys":       func(s *pipeline.Settings) { s.Markers = nil },
	} {
		settings := pipelinetest.Settings(t, cut(), short(), cut())
		change(&settings)
		o := pipelinetest.Run(t, pipeline.New(settings), pipelinetest.Texts(text))[0]
		if got := reasons(o); got != "short acted" || o.Lossy != nil || o.Pick(true) != o.Lossless {
			t.Errorf("%s: %s, lossy %v", name, got, o.Lossy)
		}
	}
}

func TestErrorResultsAreLosslessOnly(t *testing.T) {
	t.Parallel()
	o := one(t, pipelinetest.Output{Text: long("word"), IsError: true}, cut(), short())
	if got, want := reasons(o), "cut error_result, short acted"; got != want || o.Lossy != nil {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestB30ExpandResultsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for tool, exempt := range map[string]bool{
		"context_guru_expand":               true,
		"mcp__gateway__context_guru_expand": true,
		"gateway.context_guru_expand":       true,
		"gateway:context_guru_expand":       true,
		"server/context_guru_expand":        true,
		"a-context_guru_expand":             true,
		"context_guru_expander":             false,
		"xcontext_guru_expand":              false,
		"expand":                            false,
		"":                                  false,
	} {
		o := one(t, pipelinetest.Output{Tool: tool, Text: long("word")}, short(), cut())
		if (o.Reason == pipeline.ReasonExpandResult) != exempt || (o.Pick(true) == nil) != exempt {
			t.Errorf("tool %q: reason %q, version %v", tool, o.Reason, o.Pick(true))
		}
	}
}

func TestB82B84TextThatIsNotExactIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"lone surrogate": `"` + long("word") + ` \ud83d"`,
		"invalid UTF-8":  `"` + long("word") + " \xff\"",
	} {
		o := one(t, pipelinetest.Output{Raw: raw}, short(), cut())
		if o.Reason != pipeline.ReasonNotText || o.Pick(true) != nil || !o.Original.Estimated || o.Original.N == 0 {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestCancelMidRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	p := pipeline.New(pipelinetest.Settings(t, spec("slow", pipeline.KindReformat,
		func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
			if asked++; asked == 2 {
				cancel()
			}
			return pipeline.Replace("x", trusting()), nil
		}), short()))
	transcript := pipelinetest.Texts(long("one"), long("two"), long("three"))
	if result, err := p.Run(ctx, transcript); !errors.Is(err, context.Canceled) || result != nil {
		t.Fatalf("result %v, error %v", result, err)
	}
	if asked != 2 {
		t.Errorf("%d calls, want none after the cancellation", asked)
	}
	// What was cut short is not remembered.
	for i, o := range pipelinetest.Run(t, p, transcript) {
		if got := reasons(o); got != "slow acted, short unchanged" {
			t.Errorf("segment %d afterwards: %s", i, got)
		}
	}
}

func TestCancelledContextIsNotTheComponentsFault(t *testing.T) {
	t.Parallel()
	waits := spec("waits", pipeline.KindReformat, func(ctx context.Context, _ pipeline.View, _ pipeline.Segment) (pipeline.Edit, error) {
		<-ctx.Done()
		return pipeline.Edit{}, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	memo := pipeline.NewMemo(0)
	settings := pipelinetest.Settings(t, waits)
	settings.Memo = memo
	go cancel()
	if _, err := pipeline.New(settings).Run(ctx, pipelinetest.Texts(long("word"))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := memo.Stats().Entries; n != 0 {
		t.Errorf("%d outcomes remembered", n)
	}
}

func TestResultSums(t *testing.T) {
	t.Parallel()
	p := pipeline.New(pipelinetest.Settings(t, cut()))
	result, err := p.Run(t.Context(), pipelinetest.Texts(long("word"), "tiny", long("more")))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release(result)
	before, after := result.Tokens(true)
	if want := 2*200 + 1; before != want || after >= before || !result.Changed(true) || result.Fresh != 3 {
		t.Errorf("before %d (want %d), after %d, changed %v, fresh %d", before, want, after, result.Changed(true), result.Fresh)
	}
	if before, after := result.Tokens(false); before != after || result.Changed(false) {
		t.Errorf("without markers: before %d, after %d, changed %v", before, after, result.Changed(false))
	}
}
