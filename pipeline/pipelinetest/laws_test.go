package pipelinetest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// recorder is a test that may fail without failing.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.failures = append(r.failures, fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }

// failure runs a check and returns its first failure, or nothing.
func failure(t *testing.T, check func(tb testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	if len(r.failures) == 0 {
		return ""
	}
	return r.failures[0]
}

func expect(t *testing.T, name, failure, want string) {
	t.Helper()
	if want == "" && failure != "" || !strings.Contains(failure, want) {
		t.Errorf("%s: failure %q, want %q", name, failure, want)
	}
}

type component func(v pipeline.View, s pipeline.Segment) pipeline.Edit

func (c component) Rewrite(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	return c(v, s), nil
}

type nothing struct{}

func spec(kind pipeline.Kind, c component) pipeline.Spec {
	return pipeline.Define(pipeline.Meta{Name: "c", Kind: kind}, nothing{}, func(nothing, pipeline.Deps) (pipeline.Component, error) { return c, nil })
}

func replacing(text func(string) string) pipeline.Spec {
	return spec(pipeline.KindReformat, func(_ pipeline.View, s pipeline.Segment) pipeline.Edit {
		return pipeline.Replace(text(s.Text), pipeline.Equivalence{Check: func(string, string) error { return nil }})
	})
}

func offloading() pipeline.Spec {
	return spec(pipeline.KindOffload, func(pipeline.View, pipeline.Segment) pipeline.Edit {
		return pipeline.Offload(pipeline.Loss{Before: "view "})
	})
}

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

func halve(s string) string { return s[:len(s)/2] }

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// write sets what a version says.
func write(v *pipeline.Version, id, text string) *pipeline.Version {
	v.ID, v.Text, v.Value = id, text, []byte(strconv.Quote(text))
	return v
}

func anything(string, string) error { return nil }

func TestCheckPrefixNoticesTheFuture(t *testing.T) {
	t.Parallel()
	transcript := pipelinetest.Texts(words(100), words(200), words(300))
	sees := 0 // how many segments the component has been asked about
	fickle := spec(pipeline.KindOffload, func(pipeline.View, pipeline.Segment) pipeline.Edit {
		sees++
		return pipeline.Offload(pipeline.Loss{Before: fmt.Sprint("seen ", sees, " ")})
	})
	for name, c := range map[string]struct {
		spec pipeline.Spec
		want string
	}{
		"pure":   {offloading(), ""},
		"fickle": {fickle, "turn 1 of 3 was decided differently"},
	} {
		expect(t, name, failure(t, func(tb testing.TB) {
			tb.Helper()
			pipelinetest.CheckPrefix(tb, func() *pipeline.Pipeline { return pipeline.New(pipelinetest.Settings(tb, c.spec)) }, transcript)
		}), c.want)
	}
}

func TestCheckIdempotentNoticesASecondEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec pipeline.Spec
		want string
	}{
		"final":   {replacing(firstWord), ""},
		"marked":  {offloading(), ""},
		"halving": {replacing(halve), "segment 0 is rewritten again"},
	} {
		expect(t, name, failure(t, func(tb testing.TB) {
			tb.Helper()
			pipelinetest.CheckIdempotent(tb, pipeline.New(pipelinetest.Settings(tb, c.spec)), pipelinetest.Texts(words(100)), true)
		}), c.want)
	}
}

func TestCheckRestoreNoticesLoss(t *testing.T) {
	t.Parallel()
	keys := pipelinetest.Keys(t)
	transcript := pipelinetest.Texts(words(100), words(200))
	good := func() []*pipeline.Outcome {
		return pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, offloading())), transcript)
	}
	changed := func(change func(o *pipeline.Outcome)) []*pipeline.Outcome {
		outcomes := good()
		o := *outcomes[1]
		v := *o.Lossy
		o.Lossy = &v
		change(&o)
		outcomes[1] = &o
		return outcomes
	}
	for name, c := range map[string]struct {
		outcomes []*pipeline.Outcome
		same     func(before, after string) error
		want     string
	}{
		"as it is":     {good(), anything, ""},
		"other marker": {changed(func(o *pipeline.Outcome) { write(o.Lossy, keys.Mint("x"), pipeline.Marker(keys.Mint("x"))) }), anything, "does not name the client's text"},
		"no marker":    {changed(func(o *pipeline.Outcome) { write(o.Lossy, o.Lossy.ID, "view") }), anything, "want only"},
		"two markers":  {changed(func(o *pipeline.Outcome) { write(o.Lossy, o.Lossy.ID, o.Lossy.Text+o.Lossy.Text) }), anything, "want only"},
		"for good":     {changed(func(o *pipeline.Outcome) { o.Irreversible = true; write(o.Lossy, "", "view") }), anything, ""},
		"left alone":   {changed(func(o *pipeline.Outcome) { o.Reason = "some_reason" }), anything, "in spite of"},
		"other value":  {changed(func(o *pipeline.Outcome) { o.Lossy.Text += "x" }), anything, "the value of a version reads"},
		"not the same": {changed(func(o *pipeline.Outcome) { o.Lossless = write(&pipeline.Version{}, "", "x") }), func(string, string) error { return errors.New("differs") }, "is not the same: differs"},
	} {
		expect(t, name, failure(t, func(tb testing.TB) {
			tb.Helper()
			pipelinetest.CheckRestore(tb, transcript, c.outcomes, keys, c.same)
		}), c.want)
	}
}

func TestCheckNeverWorseNoticesGrowthAndFaults(t *testing.T) {
	t.Parallel()
	transcript := pipelinetest.Texts(words(100))
	run := func(spec pipeline.Spec, change func(o *pipeline.Outcome)) []*pipeline.Outcome {
		o := *pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, spec)), transcript)[0]
		change(&o)
		return []*pipeline.Outcome{&o}
	}
	for name, c := range map[string]struct {
		outcomes []*pipeline.Outcome
		want     string
	}{
		"smaller": {run(replacing(firstWord), func(*pipeline.Outcome) {}), ""},
		"larger": {run(replacing(firstWord), func(o *pipeline.Outcome) {
			o.Lossless = &pipeline.Version{Text: words(101), Tokens: 101}
		}), "a version counts 101"},
		"miscounted": {run(replacing(firstWord), func(o *pipeline.Outcome) {
			o.Lossless = &pipeline.Version{Text: "x", Tokens: 2}
		}), "is said to count 2"},
		"other original": {run(replacing(firstWord), func(o *pipeline.Outcome) { o.Original.N++ }), "the original is said to count"},
		"acts astray":    {run(replacing(firstWord), func(o *pipeline.Outcome) { o.Acts = []pipeline.Act{{Before: 5, After: 4, Acted: true}} }), "act does not follow"},
		"fault":          {run(spec(pipeline.KindReformat, func(pipeline.View, pipeline.Segment) pipeline.Edit { panic("on purpose") }), func(*pipeline.Outcome) {}), "c failed: panic"},
	} {
		expect(t, name, failure(t, func(tb testing.TB) {
			tb.Helper()
			pipelinetest.CheckNeverWorse(tb, transcript, c.outcomes, pipelinetest.Words{})
		}), c.want)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                      0,
		"a":                     1,
		"a word":                2,
		"longer":                1,
		"letters":               2,
		"a, b":                  3,
		`{"id":1}`:              7,
		`{ "id": 1 }`:           9,
		"a\n":                   2,
		"a\n\n\nb":              3,
		strings.Repeat(" ", 33): 3,
		"日本語":                   1,
		"👍🏽":                    2,
		"\xff":                  1,
	} {
		if got := (pipelinetest.Words{}).Count(text).N; got != want {
			t.Errorf("%q counts %d, want %d", text, got, want)
		}
	}
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	tr := pipelinetest.Transcript(
		[]pipelinetest.Output{{Text: "a \"quoted\"\ntext"}, {Raw: `"\u0061"`, Tool: "read", Args: `{"p":1}`, IsError: true}},
		nil,
		[]pipelinetest.Output{{Raw: `"\ud800"`}, {Text: "bad \xff\x01\""}},
	)
	want := `[{"tool":"bash","args":{},"output":"a \"quoted\"\ntext"},{"tool":"read","args":{"p":1},"output":"\u0061"},` +
		`{"tool":"bash","args":{},"output":"\ud800"},{"tool":"bash","args":{},"output":"bad ` + "\xff" + `\u0001\""}]`
	if string(tr.Body) != want {
		t.Errorf("body %s, want %s", tr.Body, want)
	}
	for i, text := range []string{"a \"quoted\"\ntext", "a", "", ""} {
		if got, ok := tr.Original(i); ok != (i < 2) || ok && got != text {
			t.Errorf("text %d is %q, %v", i, got, ok)
		}
	}
	s := tr.Segments[1]
	if string(s.Tool) != "read" || string(s.Args) != `{"p":1}` || !s.IsError || s.Turn != 1 || tr.Segments[2].Turn != 3 || tr.Turn != 3 {
		t.Errorf("segments %+v", tr.Segments)
	}
	if cut := pipelinetest.Cut(tr, 2); len(cut.Segments) != 2 || cut.Turn != 2 || len(tr.Segments) != 4 {
		t.Errorf("cut to %d segments", len(cut.Segments))
	}
}
