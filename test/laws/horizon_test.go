package laws_test

import (
	"fmt"
	"slices"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// seen is one turn as a provider got it.
type seen struct {
	turn  int
	sent  []byte
	edits []edit
	// horizon is the newest turn of tool outputs that is a horizon, or 0.
	horizon int
}

// see works out where the last horizon is: the newest turn at whose end the
// outputs, as the client sent them, fill another stretch of tokens.
func (t *trial) see(turn int, sent []byte, edits []edit, report *rewrite.Report) seen {
	now := seen{turn: turn, sent: sent, edits: edits}
	distance := t.s.distance()
	sum := 0
	for i, x := range report.Explained {
		before := sum
		sum += x.Outcome.Original.N
		if i > 0 && report.Explained[i-1].Turn == x.Turn {
			before = sum - turnTokens(report.Explained[:i+1])
		}
		if sum/distance > before/distance {
			now.horizon = x.Turn
		}
	}
	if slices.ContainsFunc(t.s.steps, func(s pipeline.Step) bool { return s.When == pipeline.AtHorizon }) && report.Lossless == "" && report.Horizon != now.horizon {
		t.add(lawCounts, turn, fmt.Errorf("the last horizon is said to be turn %d, and is %d", report.Horizon, now.horizon))
	}
	return now
}

// turnTokens sums the outputs of the last one's turn.
func turnTokens(told []rewrite.Explanation) (sum int) {
	for i := len(told) - 1; i >= 0 && told[i].Turn == told[len(told)-1].Turn; i-- {
		sum += told[i].Outcome.Original.N
	}
	return sum
}

// prefix holds two turns to the prefix law. With another horizon behind it, a
// turn may hide outputs that the turn before showed, if they came before that
// horizon: those do not count then, and everything else does.
func (t *trial) prefix(before, now seen) {
	for i := range now.edits {
		if e := &now.edits[i]; t.s.late(e.by) && e.place != nil && e.place.turn >= now.horizon {
			t.add(lawUnseen, now.turn, fmt.Errorf("%s: hidden by %s in turn %d, with the last horizon at %d", e.path, e.by, e.place.turn, now.horizon))
		}
	}
	client, later := t.c.requests[before.turn], t.c.requests[now.turn]
	sent, sentLater := before.sent, now.sent
	if moved := t.moved(before, now); now.horizon > before.horizon && len(moved) > 0 {
		t.planned++
		sent, sentLater = withoutEdits(before, moved), withoutEdits(now, moved)
	}
	t.add(lawPrefix, now.turn, checkPrefix(client, later, sent, sentLater))
}

// moved lists the outputs, by their order, that a horizon component edits in
// the later turn and that were sent otherwise in the one before.
func (t *trial) moved(before, now seen) map[int]bool {
	then := map[int]string{}
	for i := range before.edits {
		if p := before.edits[i].place; p != nil {
			then[p.order] = before.edits[i].sent
		}
	}
	moved := map[int]bool{}
	for i := range now.edits {
		if e := &now.edits[i]; e.place != nil && t.s.late(e.by) && e.place.turn < now.horizon && then[e.place.order] != e.sent {
			moved[e.place.order] = true
		}
	}
	return moved
}

// withoutEdits puts the client's own strings back in some places.
func withoutEdits(s seen, places map[int]bool) (restored []byte) {
	at := 0
	for i := range s.edits {
		if e := &s.edits[i]; e.place != nil && places[e.place.order] {
			restored = append(append(restored, s.sent[at:e.start]...), e.raw...)
			at = e.end
		}
	}
	return append(restored, s.sent[at:]...)
}

// horizonMoved reports whether a rewritten request was rewritten again for one
// reason only: another turn is a horizon in it. Horizons count what the client
// sent, and nobody sees how long an output was before an edit that left no
// marker, so that case cannot be excluded.
func (t *trial) horizonMoved(i int, sent, twice []byte, report *rewrite.Report) bool {
	if report.Horizon == 0 || report.Horizon == t.horizons[i] {
		return false
	}
	where, err := places(sent)
	if err != nil {
		return false
	}
	edits, err := compare(sent, twice, where)
	if err != nil {
		return false
	}
	attribute(edits, report)
	return !slices.ContainsFunc(edits, func(e edit) bool { return !t.s.late(e.by) })
}
