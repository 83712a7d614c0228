package laws_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// tally sums the trials of one set of conversations. Tokens, edits and declines
// are those of the last request of each, in which every output stands once.
type tally struct {
	set string

	mu                               sync.Mutex
	began                            time.Time
	conversations, requests, outputs int
	before, after                    int
	markers, grown, planned          int
	edits                            map[string]int
	declines                         map[string]int
}

func newTally(set string) *tally {
	return &tally{set: set, began: time.Now(), edits: map[string]int{}, declines: map[string]int{}}
}

func (y *tally) add(t *trial) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.conversations++
	y.requests += len(t.turns)
	r := t.report
	if r == nil {
		return
	}
	y.outputs += r.Segments
	y.before += r.TokensBefore
	y.after += r.TokensAfter
	y.markers += r.Markers
	y.planned += t.planned
	for i := range t.edits {
		if t.edits[i].grown > 0 {
			y.grown++
		}
	}
	for _, e := range r.Edits {
		y.edits[e.Component] += e.Segments
	}
	y.decline(r.Explained)
}

func (y *tally) decline(explained []rewrite.Explanation) {
	for _, e := range explained {
		if e.Outcome.Reason != "" {
			y.declines[string(e.Outcome.Reason)]++
		}
		for _, act := range e.Outcome.Acts {
			if !act.Acted {
				y.declines[act.Component+": "+string(act.Reason)]++
			}
		}
	}
}

// row is the set's line of the table, and one below it with the declines.
func (y *tally) row() string {
	saved := 0.0
	if y.before > 0 {
		saved = 100 * float64(y.before-y.after) / float64(y.before)
	}
	return fmt.Sprintf("%-22s %5d %6d %7d %9d %9d %6.1f%% %8d %6d %6d %6.1fs  %s\n%24s%s",
		y.set, y.conversations, y.requests, y.outputs, y.before, y.after, saved, y.markers, y.grown, y.planned, time.Since(y.began).Seconds(), counts(y.edits),
		"left alone: ", counts(y.declines))
}

func heading() string {
	return fmt.Sprintf("%-22s %5s %6s %7s %9s %9s %7s %8s %6s %6s %7s  %s", "set", "convs", "reqs", "outputs", "tokens", "after", "saved", "markers", "longer", "breaks", "time", "edits")
}

// counts lists the counts of a map, the largest first.
func counts(m map[string]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, m[name])
	}
	return strings.Join(names, ", ")
}

// report prints what broke.
func report(tb testing.TB, c conversation, found []finding) {
	tb.Helper()
	const most = 5
	for i, f := range found {
		if i == most {
			tb.Errorf("%s: and %d more", c.name, len(found)-most)
			return
		}
		tb.Errorf("%s: %s law: %v", c.name, f.law, f.err)
	}
}
