package pipelinetest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/contextguru/contextguru/pipeline"
)

// Run runs a pipeline and returns copies of the outcomes that outlive the
// result.
func Run(tb testing.TB, p *pipeline.Pipeline, t *pipeline.Transcript) []*pipeline.Outcome {
	tb.Helper()
	outcomes, _ := runAt(tb, p, t)
	return outcomes
}

// DiffOutcomes says where two runs decided differently, or nothing. The time a
// component took is not part of a decision.
func DiffOutcomes(a, b []*pipeline.Outcome) string {
	if slices.EqualFunc(a, b, equal) {
		return "" // cmp is slow
	}
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(pipeline.Outcome{}), cmpopts.IgnoreFields(pipeline.Act{}, "Took"))
}

func equal(a, b *pipeline.Outcome) bool {
	return a == b || a.Original == b.Original && a.Reason == b.Reason && a.Irreversible == b.Irreversible &&
		sameVersion(a.Lossless, b.Lossless) && sameVersion(a.Lossy, b.Lossy) &&
		slices.EqualFunc(a.Acts, b.Acts, func(x, y pipeline.Act) bool {
			x.Took, y.Took = 0, 0
			return x == y
		})
}

func sameVersion(v, w *pipeline.Version) bool {
	return v == w || v != nil && w != nil && v.Text == w.Text && v.Tokens == w.Tokens && v.ID == w.ID && bytes.Equal(v.Value, w.Value)
}

// CheckPrefix checks that no later turn changes what was decided about an
// earlier one: on a pipeline that saw the conversation grow, and on a new one
// each turn (fresh), which knows nothing of the turns before. At a horizon, the
// outputs in front of it may change; it returns how many turns did that.
func CheckPrefix(tb testing.TB, fresh func() *pipeline.Pipeline, t *pipeline.Transcript) (planned int) {
	tb.Helper()
	whole, horizon := runAt(tb, fresh(), t)
	if horizon > 0 {
		return checkPlanned(tb, fresh, t)
	}
	grown := fresh()
	for turn := range t.Turn + 1 {
		cut := Cut(t, turn)
		want := whole[:len(cut.Segments)]
		if diff := DiffOutcomes(want, Run(tb, grown, cut)); diff != "" {
			tb.Errorf("turn %d of %d was decided differently than at the end (-end +then):\n%s", turn, t.Turn, diff)
		}
		if diff := DiffOutcomes(want, Run(tb, fresh(), cut)); diff != "" {
			tb.Errorf("turn %d of %d is decided differently after a restart (-end +restarted):\n%s", turn, t.Turn, diff)
		}
	}
	return 0
}

// CheckRestore checks that nothing is lost: a version with a marker carries
// exactly the one marker of its original, and every version without one is the
// same under the given check.
func CheckRestore(tb testing.TB, t *pipeline.Transcript, outcomes []*pipeline.Outcome, keys *pipeline.Keyring, same func(before, after string) error) {
	tb.Helper()
	for i, o := range outcomes {
		original, ok := t.Original(i)
		if o.Reason != "" || !ok {
			if o.Lossless != nil || o.Lossy != nil {
				tb.Errorf("segment %d was edited in spite of %q", i, o.Reason)
			}
			continue
		}
		for _, v := range []*pipeline.Version{o.Lossless, o.Lossy} {
			if v == nil {
				continue
			}
			if text, ok := t.Decode(v.Value); !ok || text != v.Text {
				tb.Errorf("segment %d: the value of a version reads %q, its text is %q", i, clip(text), clip(v.Text))
			}
		}
		if v := o.Lossless; v != nil {
			if err := same(original, v.Text); err != nil {
				tb.Errorf("segment %d: the version without a marker is not the same: %v", i, err)
			}
		}
		if v := o.Lossy; v != nil && !o.Irreversible {
			if ids := slices.Collect(keys.Markers(v.Text)); !slices.Equal(ids, []string{v.ID}) {
				tb.Errorf("segment %d: markers %q in the text, want only %q", i, ids, v.ID)
			}
			if !keys.Matches(v.ID, original) {
				tb.Errorf("segment %d: marker %q does not name the client's text", i, v.ID)
			}
		}
	}
}

// CheckNeverWorse checks that every version is smaller than the client's text
// by a count of its own, that the counts add up, and that no component failed.
func CheckNeverWorse(tb testing.TB, t *pipeline.Transcript, outcomes []*pipeline.Outcome, counter pipeline.Counter) {
	tb.Helper()
	for i, o := range outcomes {
		for _, v := range []*pipeline.Version{o.Lossless, o.Lossy} {
			if v == nil {
				continue
			}
			if n := counter.Count(v.Text).N; n != v.Tokens || n >= o.Original.N {
				tb.Errorf("segment %d: a version counts %d, is said to count %d, and the original counts %d", i, n, v.Tokens, o.Original.N)
			}
		}
		if original, ok := t.Original(i); ok && o.Original != counter.Count(original) {
			tb.Errorf("segment %d: the original is said to count %v", i, o.Original)
		}
		now := o.Original.N
		for _, act := range o.Acts {
			if act.Fault() {
				tb.Errorf("segment %d: %s failed: %s", i, act.Component, act.Reason)
			}
			if act.Before != now || act.Acted != (act.After < act.Before) || act.Acted != (act.Reason == "") {
				tb.Errorf("segment %d: act does not follow %d tokens: %+v", i, now, act)
			}
			now = act.After
		}
	}
}

// CheckIdempotent checks that a rewritten request is left as it is.
func CheckIdempotent(tb testing.TB, p *pipeline.Pipeline, t *pipeline.Transcript, lossy bool) {
	tb.Helper()
	again := Rewritten(t, Run(tb, p, t), lossy)
	for i, o := range Run(tb, p, again) {
		if v := o.Pick(lossy); v != nil {
			before, _ := again.Original(i)
			tb.Errorf("segment %d is rewritten again: %s", i, cmp.Diff(clip(before), clip(v.Text)))
		}
	}
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	return text[:most/2] + " ... " + text[len(text)-most/2:]
}
