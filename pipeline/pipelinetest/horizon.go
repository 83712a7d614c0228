package pipelinetest

import (
	"slices"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

// Horizons returns the turns that are horizons by their definition: those at
// whose end the client's tool outputs fill another stretch of so many tokens.
// With no distance every turn is one. It counts every turn from the start and
// shares no code with the pipeline.
func Horizons(t *pipeline.Transcript, counter pipeline.Counter, distance int) []int {
	upTo := func(turn int) (tokens int) {
		for i := range t.Segments {
			if text, ok := t.Original(i); t.Segments[i].Turn > turn {
				break
			} else if ok {
				tokens += counter.Count(text).N
			}
		}
		return tokens
	}
	var turns []int
	for turn := 1; turn <= t.Turn; turn++ {
		if distance <= 0 || upTo(turn)/distance > upTo(turn-1)/distance {
			turns = append(turns, turn)
		}
	}
	return turns
}

// CheckHorizons is CheckPrefix for pipelines with horizon components. Beside
// that law it checks that the horizons are where their definition puts them,
// that no turn from the last one on is touched by their components, and that a
// caller who allows no marker sees none of it. Every output needs exact text.
func CheckHorizons(tb testing.TB, fresh func() *pipeline.Pipeline, t *pipeline.Transcript, counter pipeline.Counter, distance int) (planned int) {
	tb.Helper()
	horizons := Horizons(t, counter, distance)
	early := map[string]bool{}
	for _, step := range fresh().Steps() {
		early[step.Name] = step.When == pipeline.FirstSight
	}
	for turn := range t.Turn + 1 {
		cut := Cut(t, turn)
		outcomes, horizon := runAt(tb, fresh(), cut)
		want := 0
		if at, exact := slices.BinarySearch(horizons, turn); exact {
			want = turn
		} else if at > 0 {
			want = horizons[at-1]
		}
		if len(cut.Segments) == 0 {
			want = 0
		}
		if horizon != want {
			tb.Errorf("at turn %d the last horizon is %d, want %d", turn, horizon, want)
		}
		for i, o := range outcomes {
			if cut.Segments[i].Turn < horizon {
				continue
			}
			for _, act := range o.Acts {
				if !early[act.Component] {
					tb.Errorf("at turn %d, horizon %d: %s was asked about segment %d of turn %d", turn, horizon, act.Component, i, cut.Segments[i].Turn)
				}
			}
		}
	}
	return CheckPrefix(tb, fresh, t)
}

// runAt is Run, with the horizon.
func runAt(tb testing.TB, p *pipeline.Pipeline, t *pipeline.Transcript) ([]*pipeline.Outcome, int) {
	tb.Helper()
	result, err := p.Run(tb.Context(), t)
	if err != nil {
		tb.Fatalf("run pipeline: %v", err)
	}
	defer p.Release(result)
	if len(result.Outcomes) != len(t.Segments) {
		tb.Fatalf("run pipeline: %d outcomes for %d segments", len(result.Outcomes), len(t.Segments))
	}
	return slices.Clone(result.Outcomes), result.Horizon
}

// checkPlanned compares each turn with the one before: what is sent may change
// at a horizon, in front of it, in versions that carry a marker.
func checkPlanned(tb testing.TB, fresh func() *pipeline.Pipeline, t *pipeline.Transcript) (planned int) {
	tb.Helper()
	grown := fresh()
	var before []*pipeline.Outcome
	last := 0
	for turn := range t.Turn + 1 {
		cut := Cut(t, turn)
		now, horizon := runAt(tb, grown, cut)
		if diff := DiffOutcomes(now, Run(tb, fresh(), cut)); diff != "" {
			tb.Errorf("turn %d of %d is decided differently after a restart (-grown +restarted):\n%s", turn, t.Turn, diff)
		}
		changed := false
		for i, o := range before {
			if sameVersion(o.Lossless, now[i].Lossless) && sameVersion(o.Lossy, now[i].Lossy) {
				continue
			}
			changed = true
			switch {
			case horizon == last || horizon != turn:
				tb.Errorf("turn %d of %d changed segment %d although its horizon is %d and that before was %d", turn, t.Turn, i, horizon, last)
			case t.Segments[i].Turn >= horizon:
				tb.Errorf("horizon %d changed segment %d of turn %d", horizon, i, t.Segments[i].Turn)
			case !sameVersion(o.Lossless, now[i].Lossless):
				tb.Errorf("horizon %d changed the version without a marker of segment %d", horizon, i)
			}
		}
		if changed {
			planned++
		}
		before, last = now, horizon
	}
	return planned
}
