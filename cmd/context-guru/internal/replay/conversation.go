package replay

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// replayer sends one conversation through a service.
type replayer struct {
	opts     *Options
	setup    *Setup
	c        *capture.Conversation
	p        *product
	reader   *prompt.Reader
	ledger   *bill.Ledger
	client   *wire.Parser // of the client's requests
	provider *wire.Parser // of the rewritten ones
	out      report.Conversation
	added    []string // see additions
	verified map[verified]bool
	recent   []turn // the newest last
}

// remembered bounds the requests that a break may be explained by: side requests
// and retries stand between one and the next of a conversation.
const remembered = 8

// turn is what is remembered of a request.
type turn struct {
	units     []prompt.Unit // of the client
	explained []rewrite.Explanation
	horizon   int
}

// exchange is a request on its way.
type exchange struct {
	number  int
	body    []byte
	outline *prompt.Outline
	before  *pipeline.Transcript // nil when it cannot be parsed
	sent    []byte
	report  *rewrite.Report
	entry   bill.Entry
	turn
}

// run replays the conversation.
func run(ctx context.Context, opts *Options, setup *Setup, c *capture.Conversation) (*report.Conversation, error) {
	requests, err := c.Open()
	if err != nil {
		return nil, err
	}
	defer requests.Close()
	p, err := newProduct(setup)
	if err != nil {
		return nil, err
	}
	defer p.close()
	r := &replayer{
		opts: opts, setup: setup, c: c, p: p, ledger: bill.NewLedger(bill.LedgerOptions{}),
		client: wire.NewParser(setup.Limits), provider: wire.NewParser(setup.Limits),
		out:      report.Conversation{Set: c.Set, ID: c.ID, Dialect: string(c.Dialect), Figures: report.NewFigures()},
		added:    additions(c.Dialect),
		verified: map[verified]bool{},
	}
	for i := range c.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		body, err := requests.Request(i)
		if err == nil {
			err = r.request(ctx, i, body)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", c.Name(), i+1, err)
		}
	}
	return &r.out, nil
}

// request sends one request and looks at what comes out.
func (r *replayer) request(ctx context.Context, i int, body []byte) error {
	x := exchange{number: i, body: body}
	var err error
	if x.outline, err = prompt.Read(body); err != nil {
		return err
	}
	// A body that cannot be parsed is passed through, which the report counts.
	x.before, _ = r.client.Parse(r.c.Dialect, body)
	if i == 0 {
		if err := r.begin(&x); err != nil {
			return err
		}
	}
	reply := r.send(ctx, r.p, body)
	defer reply.Release()
	x.sent, x.report = body, &reply.Report
	if reply.Body != nil {
		x.sent = reply.Body
	}
	r.out.Requests++
	r.out.Count(x.report)
	if err := r.bill(&x); err != nil {
		return err
	}
	if x.before != nil {
		if err := r.examine(ctx, &x); err != nil {
			return err
		}
	}
	if r.recent = append(r.recent, x.turn); len(r.recent) > remembered {
		r.recent = r.recent[1:]
	}
	return nil
}

// examine checks what was sent in the place of a request.
func (r *replayer) examine(ctx context.Context, x *exchange) error {
	x.explained, x.horizon = x.report.Explained, x.report.Horizon
	r.prefix(x)
	if err := r.restores(ctx, x); err != nil {
		return err
	}
	if x.number < r.c.Len()-1 {
		return nil
	}
	r.out.Unique(x.report)
	if err := r.restart(ctx, x); err != nil {
		return err
	}
	if err := r.look(x); err != nil {
		return err
	}
	if r.opts.Diff {
		r.diff(x)
	}
	return nil
}

// begin makes what counts for the whole conversation.
func (r *replayer) begin(x *exchange) error {
	c, err := newCounter(r.opts.Counters, tokens.EncodingFor(modelOf(x.before, r.c)))
	if err != nil {
		return err
	}
	r.reader = prompt.NewReader(c, 0)
	return nil
}

func (r *replayer) send(ctx context.Context, p *product, body []byte) *rewrite.Reply {
	return p.rewriter.Rewrite(ctx, rewrite.Request{
		Dialect: r.c.Dialect, Model: r.c.Model, Body: body, Tenant: tenant, LosslessOnly: r.setup.LosslessOnly, Explain: true,
	})
}

// bill prices one request on both sides.
func (r *replayer) bill(x *exchange) error {
	x.units = r.reader.Units(x.outline)
	rewritten := append([]prompt.Unit(nil), x.units...)
	if !bytes.Equal(x.body, x.sent) {
		o, err := prompt.Read(x.sent)
		if err != nil {
			return fmt.Errorf("the rewritten request: %w", err)
		}
		rewritten = r.reader.Units(o)
	}
	model := modelOf(x.before, r.c)
	x.entry = r.ledger.Add(model, time.Time{}, x.units, rewritten)
	r.out.RequestTokens.Add(x.entry.Before.Tokens(), x.entry.After.Tokens())
	for _, price := range r.opts.Prices(r.c.Dialect, model) {
		r.out.Bills.Add(price, x.entry.Charge(price, x.report.ToolTokens))
		r.attribute(x, price)
	}
	return nil
}

// attribute tells which component saved what of a bill.
func (r *replayer) attribute(x *exchange, price bill.Price) {
	for i := range x.report.Explained {
		e := &x.report.Explained[i]
		if e.Text == "" {
			continue
		}
		ratio := x.entry.Ratio(price, unitOf(x.before, i))
		lossy := e.Outcome.Lossy != nil && e.Text == e.Outcome.Lossy.Text
		for _, act := range e.Outcome.Acts {
			if act.Acted && (lossy || !act.Lossy) {
				r.out.Component(act.Component).BillSaved[price.Name] += float64(act.Before-act.After) * ratio
			}
		}
	}
}

// unitOf is the unit that an output is a part of.
func unitOf(t *pipeline.Transcript, output int) int {
	return prompt.FirstMessage + t.Segments[output].Messages - 1
}

// restart checks that a service that knows nothing yet rewrites the last
// request in the same way.
func (r *replayer) restart(ctx context.Context, x *exchange) error {
	p, err := newProduct(r.setup)
	if err != nil {
		return err
	}
	defer p.close()
	reply := r.send(ctx, p, x.body)
	defer reply.Release()
	again := x.body
	if reply.Body != nil {
		again = reply.Body
	}
	if !bytes.Equal(x.sent, again) {
		r.out.Breaks.Unplanned++
		r.fail(x, "a service without memory rewrites it in another way")
	}
	return nil
}

// fail notes what must not be, with its place.
func (r *replayer) fail(x *exchange, format string, args ...any) {
	r.out.Fail("%s (%s), request %d: %s", r.c.Name(), r.c.Dialect, x.number+1, fmt.Sprintf(format, args...))
}

// lose counts a request that does not lead back to the client's.
func (r *replayer) lose(x *exchange, format string, args ...any) {
	r.out.Restores.Failed++
	r.fail(x, format, args...)
}
