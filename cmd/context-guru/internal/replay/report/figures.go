package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/facts"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// Pair is a number of tokens before and after rewriting.
type Pair struct {
	Before int `json:"before"`
	After  int `json:"after"`
}

// Add adds one more.
func (p *Pair) Add(before, after int) {
	p.Before += before
	p.After += after
}

// Breaks counts requests that do not continue the one before.
type Breaks struct {
	Planned   int `json:"planned"`
	Unplanned int `json:"unplanned"`
}

// Restores counts the markers that were followed.
type Restores struct {
	Checked int `json:"checked"`
	Failed  int `json:"failed"`
	// Irreversible counts edits that keep no original because they were told so.
	Irreversible int `json:"irreversible"`
}

// Visibility says where things that the tool outputs said can be read.
type Visibility struct {
	Total int `json:"total"`
	// InPlace counts what its own output still shows, Elsewhere what another
	// part of the last request shows.
	InPlace      int `json:"in_place"`
	Elsewhere    int `json:"elsewhere"`
	BehindMarker int `json:"behind_marker"`
	Lost         int `json:"lost"`
}

// Readable is the share of what can be read without asking, 1 of nothing.
func (v Visibility) Readable() float64 {
	if v.Total == 0 {
		return 1
	}
	return float64(v.InPlace+v.Elsewhere) / float64(v.Total)
}

// Add counts one more.
func (v *Visibility) Add(p facts.Place) {
	v.Total++
	switch p {
	case facts.InPlace:
		v.InPlace++
	case facts.Elsewhere:
		v.Elsewhere++
	case facts.BehindMarker:
		v.BehindMarker++
	default:
		v.Lost++
	}
}

func (v *Visibility) sum(w Visibility) {
	v.Total += w.Total
	v.InPlace += w.InPlace
	v.Elsewhere += w.Elsewhere
	v.BehindMarker += w.BehindMarker
	v.Lost += w.Lost
}

// Component is what one component did.
type Component struct {
	Name string `json:"name"`
	// Edits counts the outputs it edited in the last requests, Unique their
	// tokens around it: every output counts once, as it is in the end.
	Edits  int  `json:"edits"`
	Unique Pair `json:"tokens_unique"`
	// Sent counts every time such an output was sent.
	Sent Pair `json:"tokens_sent"`
	// BillSaved is, by price, what it saved of the bills, in tokens of fresh
	// input: tokens it took out of what is read from the cache count by the
	// ratio of reads, the others by that of writes. What breaks cost is in none.
	BillSaved map[string]float64 `json:"bill_saved"`
	// Refusals counts, by reason, the outputs that it left alone.
	Refusals map[string]int `json:"refusals"`
}

// Figures are what can be added up over conversations.
type Figures struct {
	// PassedThrough counts requests that went out as they came, by reason.
	PassedThrough map[string]int `json:"passed_through"`
	// LosslessOnly counts requests that got no marker, by reason.
	LosslessOnly map[string]int `json:"lossless_only"`
	// RequestTokens counts whole requests, every time they are sent;
	// OutputsSent the tool outputs in them; OutputsUnique every output once,
	// as the last request has it.
	RequestTokens Pair       `json:"request_tokens_sent"`
	OutputsSent   Pair       `json:"output_tokens_sent"`
	OutputsUnique Pair       `json:"output_tokens_unique"`
	Breaks        Breaks     `json:"prefix_breaks"`
	Restores      Restores   `json:"restores"`
	Facts         Visibility `json:"facts"`
	ErrorLines    Visibility `json:"error_lines"`
	// Components are in the order of the pipeline.
	Components []*Component `json:"components"`
	// Failures describes what must not be, with its place.
	Failures []string `json:"failures,omitempty"`
}

// NewFigures returns figures of nothing.
func NewFigures() Figures {
	return Figures{PassedThrough: map[string]int{}, LosslessOnly: map[string]int{}, Components: []*Component{}}
}

// maxFailures bounds how many failures are described.
const maxFailures = 20

// Fail notes what must not be.
func (f *Figures) Fail(format string, args ...any) {
	if len(f.Failures) < maxFailures {
		f.Failures = append(f.Failures, fmt.Sprintf(format, args...))
	}
}

// Component returns the figures of one component.
func (f *Figures) Component(name string) *Component {
	for _, c := range f.Components {
		if c.Name == name {
			return c
		}
	}
	c := &Component{Name: name, BillSaved: map[string]float64{}, Refusals: map[string]int{}}
	f.Components = append(f.Components, c)
	return c
}

// Count adds what is counted for every request.
func (f *Figures) Count(r *rewrite.Report) {
	if r.Verdict == rewrite.PassThrough {
		f.PassedThrough[r.Reason]++
	}
	if r.Lossless != "" {
		f.LosslessOnly[r.Lossless]++
	}
	f.OutputsSent.Add(r.TokensBefore, r.TokensAfter)
	for _, e := range r.Edits {
		f.Component(e.Component).Sent.Add(e.TokensBefore, e.TokensAfter)
	}
}

// Unique adds what is counted once per output, told from the last request.
func (f *Figures) Unique(r *rewrite.Report) {
	f.OutputsUnique.Add(r.TokensBefore, r.TokensAfter)
	for _, e := range r.Edits {
		c := f.Component(e.Component)
		c.Edits += e.Segments
		c.Unique.Add(e.TokensBefore, e.TokensAfter)
	}
	for i := range r.Explained {
		o := r.Explained[i].Outcome
		if o.Reason != "" {
			f.Component(allComponents).Refusals[string(o.Reason)]++
		}
		for _, act := range o.Acts {
			if !act.Acted {
				f.Component(act.Component).Refusals[string(act.Reason)]++
			}
		}
	}
}

// New adds what is counted once per output, told from the request that brings
// it. What a horizon hides later is not in it.
func (f *Figures) New(r *rewrite.Report) {
	f.OutputsUnique.Add(r.NewBefore, r.NewAfter)
	for _, output := range r.New {
		if reason := output.Outcome.Reason; reason != "" {
			f.Component(allComponents).Refusals[string(reason)]++
		}
		for act := range output.Acts {
			c := f.Component(act.Component)
			if !act.Acted {
				c.Refusals[string(act.Reason)]++
				continue
			}
			c.Edits++
			c.Unique.Add(act.Before, act.After)
		}
	}
}

// allComponents stands for the pipeline where it asks no component at all.
const allComponents = "(any)"

// Sum adds the figures of others.
func (f *Figures) Sum(g *Figures) {
	for reason, n := range g.PassedThrough {
		f.PassedThrough[reason] += n
	}
	for reason, n := range g.LosslessOnly {
		f.LosslessOnly[reason] += n
	}
	f.RequestTokens.Add(g.RequestTokens.Before, g.RequestTokens.After)
	f.OutputsSent.Add(g.OutputsSent.Before, g.OutputsSent.After)
	f.OutputsUnique.Add(g.OutputsUnique.Before, g.OutputsUnique.After)
	f.Breaks.Planned += g.Breaks.Planned
	f.Breaks.Unplanned += g.Breaks.Unplanned
	f.Restores.Checked += g.Restores.Checked
	f.Restores.Failed += g.Restores.Failed
	f.Restores.Irreversible += g.Restores.Irreversible
	f.Facts.sum(g.Facts)
	f.ErrorLines.sum(g.ErrorLines)
	for _, from := range g.Components {
		to := f.Component(from.Name)
		to.Edits += from.Edits
		for price, saved := range from.BillSaved {
			to.BillSaved[price] += saved
		}
		to.Unique.Add(from.Unique.Before, from.Unique.After)
		to.Sent.Add(from.Sent.Before, from.Sent.After)
		for reason, n := range from.Refusals {
			to.Refusals[reason] += n
		}
	}
	for _, failure := range g.Failures {
		if len(f.Failures) < maxFailures {
			f.Failures = append(f.Failures, failure)
		}
	}
}

// order puts the components into the order of the pipeline.
func (f *Figures) order(pipeline []string) {
	at := func(c *Component) int { return slices.Index(pipeline, c.Name) }
	slices.SortStableFunc(f.Components, func(a, b *Component) int {
		return cmp.Or(at(a)-at(b), cmp.Compare(a.Name, b.Name))
	})
}

// Sound reports whether nothing happened that must not.
func (f *Figures) Sound() bool {
	return f.Breaks.Unplanned == 0 && f.Restores.Failed == 0 && f.Facts.Lost == 0 && f.ErrorLines.Lost == 0
}

// byCount lists the keys of a tally, the most frequent first.
func byCount(tally map[string]int) []string {
	return slices.SortedFunc(maps.Keys(tally), func(a, b string) int {
		return cmp.Or(tally[b]-tally[a], cmp.Compare(a, b))
	})
}
