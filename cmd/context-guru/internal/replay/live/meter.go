// Package live measures what rewriting would do to traffic that goes out
// untouched: for every request, what would have been sent in its place is
// compared with the request itself, by the measures of a replay.
//
// It differs from a replay in what it can know. Requests of many conversations
// come mixed, so a prompt is in the provider's cache when any request of the
// same caller and model began with it, not too long ago. What can be read of an
// output is judged when it is new, in the request that brings it; what a horizon
// hides later is in the tokens, the bill and the breaks, not in the visibility.
// Nothing says which conversation is dearer, and no original is looked up.
//
// Memory is bounded, whatever comes.
package live

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/facts"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// DefaultLifetime is how long Anthropic keeps a prompt that nobody sends again,
// and OpenAI at least.
const DefaultLifetime = 5 * time.Minute

// DefaultUnits is how many messages are remembered at least, by their digests:
// a hundred conversations of hundreds of messages. A unit takes about 500
// bytes: one entry as it is sent, one as it would be rewritten, and its size.
const DefaultUnits = 1 << 15

// Options says how to measure.
type Options struct {
	// Counter returns what counts the tokens of a model.
	Counter func(model string) (pipeline.Counter, error)
	// Price returns what a provider charges.
	Price func(d wire.Dialect, model string) bill.Price
	// Limits bound what is parsed, as in the service.
	Limits wire.Limits
	// Units is how many messages are remembered at least; 0 is DefaultUnits.
	Units int
	// Lifetime is how long a provider keeps a prompt; 0 is DefaultLifetime.
	Lifetime time.Duration
	// PerOutput bounds the facts and error lines looked for in one new output;
	// with 0 none are, which spares time.
	PerOutput int
	// Now tells the time; nil is time.Now.
	Now func() time.Time
}

// Exchange is a request and what would have been sent in its place.
type Exchange struct {
	// Tenant is whose request it is: callers share no provider's cache.
	Tenant  string
	Dialect wire.Dialect
	// Client is the body that went out, Rewritten the one that would have; nil is
	// the same.
	Client, Rewritten []byte
	// Report is that of the rewriter. With Explained filled in, the visibility of
	// new outputs is measured, too.
	Report *rewrite.Report
}

// Potential is what rewriting would have done, to one exchange or to many.
type Potential struct {
	Requests int `json:"requests"`
	// Bill is in tokens of fresh input and in dollars.
	Bill bill.Amount `json:"bill"`
	report.Figures
}

// Meter measures exchanges and adds them up. It is safe for concurrent use;
// exchanges are measured one at a time.
type Meter struct {
	o     Options
	judge *facts.Judge

	mu      sync.Mutex
	parser  *wire.Parser
	readers map[string]*prompt.Reader // by encoding, of which there are few
	ledger  *bill.Ledger
	total   Potential
}

// New returns a meter that has not seen anything yet.
func New(o Options) *Meter {
	if o.Units == 0 {
		o.Units = DefaultUnits
	}
	if o.Lifetime == 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Meter{
		o: o, judge: facts.NewJudge(o.PerOutput), parser: wire.NewParser(o.Limits), readers: map[string]*prompt.Reader{},
		ledger: bill.NewLedger(bill.LedgerOptions{Units: o.Units, Lifetime: o.Lifetime}),
		total:  Potential{Figures: report.NewFigures()},
	}
}

// Measure measures one exchange and returns its figures. An error says that the
// exchange cannot be measured; it is left out then.
func (m *Meter) Measure(x Exchange) (Potential, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Potential{Requests: 1, Figures: report.NewFigures()}
	if err := m.bill(&x, &p); err != nil {
		return p, err
	}
	p.Count(x.Report)
	p.New(x.Report)
	if len(x.Report.Explained) > 0 && m.o.PerOutput > 0 {
		if err := m.look(&x, &p); err != nil {
			return p, err
		}
	}
	m.total.Requests++
	m.total.Bill.Add(p.Bill)
	m.total.Sum(&p.Figures)
	return p, nil
}

// Total returns what was measured so far.
func (m *Meter) Total() Potential {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := Potential{Requests: m.total.Requests, Bill: m.total.Bill, Figures: report.NewFigures()}
	t.Sum(&m.total.Figures)
	return t
}

// bill prices the exchange on both sides.
func (m *Meter) bill(x *Exchange, p *Potential) error {
	reader, err := m.reader(x.Report.Model)
	if err != nil {
		return err
	}
	outline, err := prompt.Read(x.Client)
	if err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	client := reader.Units(outline)
	rewritten := slices.Clone(client)
	if x.Rewritten != nil && !bytes.Equal(x.Client, x.Rewritten) {
		if outline, err = prompt.Read(x.Rewritten); err != nil {
			return fmt.Errorf("the rewritten request: %w", err)
		}
		rewritten = reader.Units(outline)
	}
	scope := x.Tenant + "\x00" + string(x.Dialect) + "\x00" + x.Report.Model
	entry := m.ledger.Add(scope, m.o.Now(), client, rewritten)
	p.RequestTokens.Add(entry.Before.Tokens(), entry.After.Tokens())
	p.Bill = entry.Charge(m.o.Price(x.Dialect, x.Report.Model), x.Report.ToolTokens)
	switch {
	case !entry.Broken():
	case x.Report.PlannedBreak:
		p.Breaks.Planned++
	default:
		p.Breaks.Unplanned++
	}
	return nil
}

func (m *Meter) reader(model string) (*prompt.Reader, error) {
	counter, err := m.o.Counter(model)
	if err != nil {
		return nil, err
	}
	r := m.readers[counter.Encoding()]
	if r == nil {
		r = prompt.NewReader(counter, m.o.Units)
		m.readers[counter.Encoding()] = r
	}
	return r, nil
}

// look measures what can be read of the new outputs.
func (m *Meter) look(x *Exchange, p *Potential) error {
	t, err := m.parser.Parse(x.Dialect, x.Client)
	if err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	defer m.parser.Release()
	sent := x.Rewritten
	if sent == nil {
		sent = x.Client
	}
	scene := facts.NewScene(func() []string {
		o, err := prompt.Read(sent)
		if err != nil {
			return nil // bill has read it
		}
		return o.Texts()
	})
	next := 0
	for i := range x.Report.Explained {
		e := &x.Report.Explained[i]
		if next == len(x.Report.New) || e.Outcome != x.Report.New[next].Outcome || i >= len(t.Segments) {
			continue
		}
		next++
		original, ok := t.Original(i)
		if !ok {
			continue
		}
		output := facts.OutputOf(original, e)
		m.judge.Facts(scene, output, func(_ string, at facts.Place) { p.Facts.Add(at) })
		m.judge.ErrorLines(scene, output, func(_ string, at facts.Place) { p.ErrorLines.Add(at) })
	}
	return nil
}
