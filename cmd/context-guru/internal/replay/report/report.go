package report

import (
	"slices"
	"strconv"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
)

// Charge is one bill over some conversations, in tokens of fresh input.
type Charge struct {
	Name string `json:"name"`
	// Conversations counts those that the price is for.
	Conversations int     `json:"conversations"`
	Before        float64 `json:"before"`
	After         float64 `json:"after"`
	// SavedPercent is what is saved of Before.
	SavedPercent float64 `json:"saved_percent"`
	// Tool is the part of After for the definition of the tool that resolves
	// markers.
	Tool float64 `json:"tool"`
	// USDBefore and USDAfter are 0 when a price is not known.
	USDBefore float64 `json:"usd_before"`
	USDAfter  float64 `json:"usd_after"`
	// Dearer counts conversations that cost more than unmodified, BeyondTool
	// those that do by more than the definition of the tool costs.
	Dearer     int `json:"dearer"`
	BeyondTool int `json:"dearer_beyond_tool"`
	// Worst names the conversation that fares worst, with what it saves.
	Worst             string  `json:"worst"`
	WorstSavedPercent float64 `json:"worst_saved_percent"`

	amount bill.Amount
}

// Amounts are the bills of one conversation, by price, in the order in which
// the prices came.
type Amounts struct {
	names   []string
	amounts map[string]*bill.Amount
}

// Add adds a bill under the name of its price.
func (a *Amounts) Add(price bill.Price, amount bill.Amount) {
	if a.amounts == nil {
		a.amounts = map[string]*bill.Amount{}
	}
	sum, ok := a.amounts[price.Name]
	if !ok {
		sum = &bill.Amount{}
		a.amounts[price.Name], a.names = sum, append(a.names, price.Name)
	}
	sum.Add(amount)
}

// Conversation is what came of one conversation.
type Conversation struct {
	Set, ID, Dialect string
	Requests         int
	Figures
	Bills Amounts
	Diffs []Diff
}

// Set is what came of the conversations of one folder and API.
type Set struct {
	Name          string   `json:"name"`
	Dialect       string   `json:"dialect,omitempty"`
	Conversations int      `json:"conversations"`
	Requests      int      `json:"requests"`
	Bills         []Charge `json:"bills"`
	Figures
}

// Report is what came of a replay.
type Report struct {
	Setup      string   `json:"setup"`
	Components []string `json:"pipeline"`
	// Sets are by folder and API, Folders by folder only.
	Sets    []*Set `json:"sets"`
	Folders []*Set `json:"folders"`
	Total   *Set   `json:"total"`
	Diffs   []Diff `json:"edits,omitempty"`
	// DiffsLeftOut counts the edits beyond those that are shown.
	DiffsLeftOut int `json:"edits_left_out,omitempty"`
}

// Sound reports whether nothing happened that must not: an unplanned break, a
// marker that leads nowhere, a fact that cannot be read any more.
func (r *Report) Sound() bool { return r.Total.Sound() }

// New returns a report of nothing.
func New(setup string, pipeline []string) *Report {
	return &Report{Setup: setup, Components: append([]string{}, pipeline...), Sets: []*Set{}, Folders: []*Set{}, Total: newSet("total", "")}
}

func newSet(name, dialect string) *Set {
	return &Set{Name: name, Dialect: dialect, Figures: NewFigures(), Bills: []Charge{}}
}

// maxDiffs bounds the edits that are shown.
const maxDiffs = 1000

// Add adds a conversation. Reports are the same when the order is.
func (r *Report) Add(c *Conversation) {
	find(&r.Sets, c.Set, c.Dialect).add(c)
	find(&r.Folders, c.Set, "").add(c)
	r.Total.add(c)
	shown := min(len(c.Diffs), maxDiffs-len(r.Diffs))
	r.Diffs = append(r.Diffs, c.Diffs[:shown]...)
	r.DiffsLeftOut += len(c.Diffs) - shown
}

// Finish brings everything into its final order.
func (r *Report) Finish() {
	for _, list := range [][]*Set{r.Sets, r.Folders, {r.Total}} {
		for _, s := range list {
			s.order(r.Components)
			for i := range s.Bills {
				s.Bills[i].finish()
			}
			for _, c := range s.Components {
				for name, saved := range c.BillSaved {
					c.BillSaved[name] = round(saved, 1)
				}
			}
		}
	}
}

func find(sets *[]*Set, name, dialect string) *Set {
	at := slices.IndexFunc(*sets, func(s *Set) bool { return s.Name == name && s.Dialect == dialect })
	if at < 0 {
		at = len(*sets)
		*sets = append(*sets, newSet(name, dialect))
	}
	return (*sets)[at]
}

func (s *Set) add(c *Conversation) {
	s.Conversations++
	s.Requests += c.Requests
	s.Sum(&c.Figures)
	for _, name := range c.Bills.names {
		s.bill(name).add(c, *c.Bills.amounts[name])
	}
}

func (s *Set) bill(name string) *Charge {
	at := slices.IndexFunc(s.Bills, func(c Charge) bool { return c.Name == name })
	if at < 0 {
		at = len(s.Bills)
		s.Bills = append(s.Bills, Charge{Name: name})
	}
	return &s.Bills[at]
}

func (c *Charge) add(from *Conversation, a bill.Amount) {
	c.Conversations++
	c.amount.Add(a)
	if a.Dearer() {
		c.Dearer++
	}
	if a.BeyondTool() {
		c.BeyondTool++
	}
	if saved := round(a.SavedPercent(), 2); c.Worst == "" || saved < c.WorstSavedPercent {
		c.Worst, c.WorstSavedPercent = from.Set+"/"+from.ID, saved
	}
}

func (c *Charge) finish() {
	a := &c.amount
	c.Before, c.After, c.Tool, c.SavedPercent = round(a.Before, 1), round(a.After, 1), round(a.Tool, 1), round(a.SavedPercent(), 2)
	if !a.Unpriced {
		c.USDBefore, c.USDAfter = round(a.USDBefore, 6), round(a.USDAfter, 6)
	}
}

// round rounds to so many decimals.
func round(x float64, decimals int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', decimals, 64), 64)
	if err != nil || rounded == 0 {
		return 0 // not minus zero
	}
	return rounded
}
