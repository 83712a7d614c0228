package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// counting is a component that counts its calls.
func counting(scope pipeline.Scope, calls *atomic.Int64) pipeline.Spec {
	return scoped("counting", pipeline.KindReformat, scope, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		calls.Add(1)
		return pipeline.Replace(s.Text[:len(s.Text)/2], trusting()), nil
	})
}

// lookBack replaces a text that was there before.
func lookBack() pipeline.Spec {
	return scoped("look_back", pipeline.KindOffload, pipeline.ScopeTranscript, func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		earlier, found := v.Earlier(s)
		if !found {
			return pipeline.Decline("no_earlier"), nil
		}
		return pipeline.Offload(pipeline.Loss{Before: fmt.Sprintf("as segment %d ", earlier.Index)}), nil
	})
}

func TestMemoHitIsTheSameOutcomeForNoWork(t *testing.T) {
	t.Parallel()
	for _, scope := range []pipeline.Scope{pipeline.ScopeSegment, pipeline.ScopeTranscript} {
		var calls atomic.Int64
		settings := pipelinetest.Settings(t, counting(scope, &calls))
		p := pipeline.New(settings)
		transcript := pipelinetest.Texts(long("one"), long("two"), long("three"))
		first := pipelinetest.Run(t, p, transcript)
		second := pipelinetest.Run(t, p, transcript)
		for i := range first {
			if first[i] != second[i] {
				t.Errorf("scope %d, segment %d: another outcome", scope, i)
			}
		}
		if calls.Load() != 3 {
			t.Errorf("scope %d: %d calls for 3 segments seen twice", scope, calls.Load())
		}
		if s := settings.Memo.Stats(); s.Hits != 3 || s.Misses != 3 || s.Entries != 3 {
			t.Errorf("scope %d: %+v", scope, s)
		}
		settings.Memo.Flush()
		if diff := pipelinetest.DiffOutcomes(first, pipelinetest.Run(t, p, transcript)); diff != "" || calls.Load() != 6 {
			t.Errorf("scope %d, after a flush: %d calls\n%s", scope, calls.Load(), diff)
		}
	}
}

// A component that sees its segment only is not asked again when something in
// front of the segment changes; one that looks further is.
func TestMemoKeyIsWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	for scope, want := range map[pipeline.Scope]int64{pipeline.ScopeSegment: 3, pipeline.ScopeTranscript: 4} {
		var calls atomic.Int64
		p := pipeline.New(pipelinetest.Settings(t, counting(scope, &calls)))
		pipelinetest.Run(t, p, pipelinetest.Texts(long("one"), long("two")))
		pipelinetest.Run(t, p, pipelinetest.Texts(long("other"), long("two")))
		if calls.Load() != want {
			t.Errorf("scope %d: %d calls, want %d", scope, calls.Load(), want)
		}
	}
}

func TestMemoTellsApartWhatComponentsSee(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	p := pipeline.New(pipelinetest.Settings(t, counting(pipeline.ScopeSegment, &calls)))
	text := long("one")
	for _, o := range []pipelinetest.Output{
		{Text: text},
		{Text: text, Tool: "read"},
		{Text: text, Args: `{"a":1}`},
		{Text: text, IsError: true},
		{Text: text, Tool: "bas", Args: `h{}`}, // the same bytes with the border elsewhere
		{Raw: `"` + text[:len(text)-1] + `\u0065"`},
	} {
		before := calls.Load()
		pipelinetest.Run(t, p, pipelinetest.Transcript([]pipelinetest.Output{o}))
		if calls.Load() != before+1 {
			t.Errorf("%.40v was taken for an earlier one", o)
		}
	}
}

// P8 at the level of the model: of two equal outputs of one turn the first
// stays and the second points to it, whether the memo is warm, cold or absent.
func TestP8EqualOutputsOfOneTurn(t *testing.T) {
	t.Parallel()
	transcript := pipelinetest.Transcript(
		[]pipelinetest.Output{{Text: long("other")}},
		[]pipelinetest.Output{{Text: long("same")}, {Text: long("same")}, {Text: long("same")}},
	)
	settings := pipelinetest.Settings(t, lookBack())
	warm := pipeline.New(settings)
	settings.Memo = nil
	absent := pipeline.New(settings)
	for name, p := range map[string]*pipeline.Pipeline{"cold": warm, "warm": warm, "absent": absent} {
		var all []string
		for _, o := range pipelinetest.Run(t, p, transcript) {
			all = append(all, reasons(o))
			if o.Lossy != nil && !strings.HasPrefix(o.Lossy.Text, "as segment 1 ") {
				t.Errorf("%s memo: %q", name, o.Lossy.Text)
			}
		}
		got, want := strings.Join(all, "\n"), "look_back no_earlier\nlook_back no_earlier\nlook_back acted\nlook_back acted"
		if got != want {
			t.Errorf("%s memo:\n%swant\n%s", name, got, want)
		}
	}
}

func TestMemoIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 64 << 10
	settings := pipelinetest.Settings(t, spec("halve", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace(s.Text[:len(s.Text)/2], trusting()), nil
	}))
	settings.Memo = pipeline.NewMemo(bound)
	p := pipeline.New(settings)
	for i := range 500 {
		pipelinetest.Run(t, p, pipelinetest.Texts(long(fmt.Sprint("word", i))))
		if s := settings.Memo.Stats(); s.Bytes > bound || s.Bytes <= 0 {
			t.Fatalf("after %d texts: %+v", i+1, s)
		}
	}
	s := settings.Memo.Stats()
	if s.Entries < 10 || s.Entries > 500/2 {
		t.Errorf("%d entries", s.Entries)
	}
	// One outcome may not push out all others.
	pipelinetest.Run(t, p, pipelinetest.Texts(long(strings.Repeat("x", bound))))
	if now := settings.Memo.Stats(); now.Entries != s.Entries {
		t.Errorf("%d entries, %d after a huge text", s.Entries, now.Entries)
	}
	// The newest stays, the oldest goes.
	fresh := func(text string) int {
		result, err := p.Run(t.Context(), pipelinetest.Texts(text))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release(result)
		return result.Fresh
	}
	if fresh(long("word499")) != 0 || fresh(long("word0")) != 1 {
		t.Error("the memo does not drop the oldest first")
	}
	settings.Memo.Flush()
	if s := settings.Memo.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("after a flush: %+v", s)
	}
}

func TestMemoIsSharedByPipelinesThatDecideAlike(t *testing.T) {
	t.Parallel()
	base := func() pipeline.Settings { return pipelinetest.Settings(t, short(), cut()) }
	digest := pipeline.New(base()).Digest()
	if pipeline.New(base()).Digest() != digest {
		t.Error("two equal pipelines have different digests")
	}
	for name, change := range map[string]func(*pipeline.Settings){
		"order":   func(s *pipeline.Settings) { s.Steps[0], s.Steps[1] = s.Steps[1], s.Steps[0] },
		"fewer":   func(s *pipeline.Settings) { s.Steps = s.Steps[:1] },
		"lossy":   func(s *pipeline.Settings) { s.Lossy = false },
		"hints":   func(s *pipeline.Settings) { s.Hints = false },
		"config":  func(s *pipeline.Settings) { s.Steps[0].Config = []byte(`{"a":1}`) },
		"counter": func(s *pipeline.Settings) { s.Counter = otherWords{} },
		"key": func(s *pipeline.Settings) {
			keys, err := pipeline.NewKeyring(pipeline.Key{ID: "other", Secret: []byte(strings.Repeat("s", 32))})
			if err != nil {
				t.Fatal(err)
			}
			s.Markers = keys
		},
	} {
		s := base()
		change(&s)
		if pipeline.New(s).Digest() == digest {
			t.Errorf("%s: the digest stays", name)
		}
	}
}

type otherWords struct{ pipelinetest.Words }

func (otherWords) Encoding() string { return "other words" }

func TestMemoisedRunAllocatesNothingPerSegment(t *testing.T) {
	allocations := func(scope pipeline.Scope, segments int) float64 {
		var calls atomic.Int64
		texts := make([]string, segments)
		for i := range texts {
			texts[i] = long(fmt.Sprint("word", i))
		}
		p := pipeline.New(pipelinetest.Settings(t, counting(scope, &calls)))
		transcript := pipelinetest.Texts(texts...)
		return testing.AllocsPerRun(20, func() {
			result, err := p.Run(t.Context(), transcript)
			if err != nil {
				t.Fatal(err)
			}
			p.Release(result)
		})
	}
	for _, scope := range []pipeline.Scope{pipeline.ScopeSegment, pipeline.ScopeTranscript} {
		few, many := allocations(scope, 10), allocations(scope, 1000)
		// A garbage collection, and the race detector on purpose, may empty the pool of scratch space.
		if many > few+50 {
			t.Errorf("scope %d: %v allocations for 10 segments, %v for 1000", scope, few, many)
		}
	}
}

func TestConcurrentRunsDecideAlike(t *testing.T) {
	t.Parallel()
	settings := pipelinetest.Settings(t, short(), lookBack(), cut())
	settings.Memo = pipeline.NewMemo(16 << 10) // small: hits, misses and evictions at once
	p := pipeline.New(settings)
	transcripts := make([]*pipeline.Transcript, 8)
	want := make([][]*pipeline.Outcome, len(transcripts))
	for i := range transcripts {
		var texts []string
		for n := range 20 {
			texts = append(texts, long(fmt.Sprint("word", (i*n)%13)))
		}
		transcripts[i] = pipelinetest.Texts(texts...)
		alone := settings
		alone.Memo = nil
		want[i] = pipelinetest.Run(t, pipeline.New(alone), transcripts[i])
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for round := range 20 {
				i := (worker + round) % len(transcripts)
				result, err := p.Run(context.Background(), transcripts[i]) //nolint:usetesting // outlives no test: the group is waited for
				if err != nil {
					t.Error(err)
					return
				}
				if diff := pipelinetest.DiffOutcomes(want[i], result.Outcomes); diff != "" {
					t.Errorf("transcript %d:\n%s", i, diff)
				}
				p.Release(result)
			}
		})
	}
	group.Wait()
}
