package rewrite

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/contextguru/contextguru/pipeline"
)

// Stats sums reports for people: what acted, what it saved, what was refused
// and why. Safe for concurrent use.
type Stats struct {
	mu         sync.Mutex
	total      Totals
	components map[string]*componentStats
}

// NewStats returns empty sums.
func NewStats() *Stats {
	return &Stats{
		total:      Totals{Verdicts: map[Verdict]int64{}, Reasons: map[string]int64{}, LosslessOnly: map[string]int64{}, Skipped: map[string]int64{}},
		components: map[string]*componentStats{},
	}
}

// Pair is a sum before and after rewriting.
type Pair struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

func (p *Pair) add(before, after int) {
	p.Before += int64(before)
	p.After += int64(after)
}

// Totals are the sums over all requests.
type Totals struct {
	Requests int64 `json:"requests"`
	// Verdicts and Reasons count requests; reasons are those of pass-through.
	Verdicts map[Verdict]int64 `json:"verdicts"`
	Reasons  map[string]int64  `json:"passthrough_reasons"`
	// LosslessOnly counts requests that got no marker, by reason.
	LosslessOnly map[string]int64 `json:"lossless_only"`
	Bytes        Pair             `json:"bytes"`
	// TokensSent counts every resend of an output, TokensUnique each output
	// once, when it is new. They must not be added up.
	TokensSent   Pair `json:"tokens_sent"`
	TokensUnique Pair `json:"tokens_unique"`
	// Skipped counts new outputs that no component was asked about, by reason.
	Skipped map[string]int64 `json:"outputs_skipped"`
	Markers int64            `json:"markers_sent"`
	// Conflicts counts markers not sent because the store holds another value.
	Conflicts  int64 `json:"store_conflicts"`
	MemoMisses int64 `json:"memo_misses"`
}

type componentStats struct {
	acts, faults int64
	tokens       Pair
	refusals     map[string]int64
}

// ComponentTotals are the sums of one component over new outputs.
type ComponentTotals struct {
	Component string `json:"component"`
	// Acts counts adopted edits, Passthrough outputs it left alone; requests, of
	// a component that decides about those.
	Acts        int64 `json:"acts"`
	Passthrough int64 `json:"passthrough"`
	Faults      int64 `json:"faults"`
	// Tokens sums the outputs it edited.
	Tokens Pair `json:"tokens"`
	// Refusals counts, by reason, why it left outputs alone.
	Refusals map[string]int64 `json:"refusals"`
}

// Snapshot is what GET /stats answers.
type Snapshot struct {
	Totals     Totals            `json:"totals"`
	Components []ComponentTotals `json:"components"`
	// TopPassthrough lists components by how often they left an output alone,
	// most often first: candidates to be switched off.
	TopPassthrough []ComponentTotals `json:"top_passthrough"`
}

// topPassthrough is how many components Snapshot.TopPassthrough lists.
const topPassthrough = 5

// Add counts one report.
func (s *Stats) Add(r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.total
	t.Requests++
	t.Verdicts[r.Verdict]++
	if r.Reason != "" {
		t.Reasons[r.Reason]++
	}
	if r.Lossless != "" {
		t.LosslessOnly[r.Lossless]++
	}
	t.Bytes.add(r.BytesBefore, r.BytesAfter)
	t.TokensSent.add(r.TokensBefore, r.TokensAfter)
	t.TokensUnique.add(r.NewBefore, r.NewAfter)
	t.Markers += int64(r.Markers)
	t.Conflicts += int64(r.Conflicts)
	t.MemoMisses += int64(r.Fresh)
	for _, output := range r.New {
		if why := output.Outcome.Reason; why != "" {
			t.Skipped[string(why)]++
		}
		for a := range output.Acts {
			s.act(&a)
		}
	}
	for i := range r.Acts {
		s.act(&r.Acts[i])
	}
}

// act counts what one component did.
func (s *Stats) act(a *pipeline.Act) {
	c := s.components[a.Component]
	if c == nil {
		c = &componentStats{refusals: map[string]int64{}}
		s.components[a.Component] = c
	}
	if a.Acted {
		c.acts++
		c.tokens.add(a.Before, a.After)
		return
	}
	c.refusals[string(a.Reason)]++
	if a.Fault() {
		c.faults++
	}
}

// Snapshot copies the sums, components by name.
func (s *Stats) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Snapshot{Totals: s.total, Components: make([]ComponentTotals, 0, len(s.components))}
	out.Totals.Verdicts = clone(s.total.Verdicts)
	out.Totals.Reasons = clone(s.total.Reasons)
	out.Totals.LosslessOnly = clone(s.total.LosslessOnly)
	out.Totals.Skipped = clone(s.total.Skipped)
	for name, c := range s.components {
		t := ComponentTotals{Component: name, Acts: c.acts, Faults: c.faults, Tokens: c.tokens, Refusals: clone(c.refusals)}
		for _, n := range c.refusals {
			t.Passthrough += n
		}
		out.Components = append(out.Components, t)
	}
	slices.SortFunc(out.Components, func(a, b ComponentTotals) int { return cmp.Compare(a.Component, b.Component) })
	out.TopPassthrough = slices.Clone(out.Components)
	slices.SortStableFunc(out.TopPassthrough, func(a, b ComponentTotals) int { return cmp.Compare(b.Passthrough, a.Passthrough) })
	out.TopPassthrough = out.TopPassthrough[:min(topPassthrough, len(out.TopPassthrough))]
	return out
}

func clone[K comparable](m map[K]int64) map[K]int64 {
	out := make(map[K]int64, len(m))
	maps.Copy(out, m)
	return out
}
