package loop

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Defaults of Config.
const (
	// DefaultRounds is how often one answer may be continued. A model that has
	// read three times and asks again is mostly going in circles.
	DefaultRounds = 3
	// DefaultCalls bounds the calls answered in one exchange.
	DefaultCalls = 16
	// DefaultTime is the patience of clients: Claude Code's and the SDKs' own
	// limit for a whole answer.
	DefaultTime = 10 * time.Minute
	// DefaultKeepAlive is well below the 15 s after which the first proxies and
	// clients give up on a silent stream.
	DefaultKeepAlive = 10 * time.Second
	// misses is after how many calls without an original a model is told to stop.
	misses = 2
)

// Sender sends a continuation, as [upstream.Client] does.
type Sender interface {
	Send(ctx context.Context, r upstream.Request) (*upstream.Answer, error)
}

// Config is what a Driver is made of. Zero numbers are the defaults.
type Config struct {
	// Keys tell ids of ours from made-up ones.
	Keys *pipeline.Keyring
	// Stored reads originals that the request itself does not hold; it may be nil.
	Stored expand.Originals
	// Sender sends continuations.
	Sender Sender

	Rounds, Calls int
	// Window is how many bytes of an original one result may hold.
	Window int
	// MaxBody caps the body of a continuation, in bytes; 0 is no cap.
	MaxBody int
	// Time bounds an exchange, from its first call on.
	Time time.Duration
	// KeepAlive is the time between two signs of life.
	KeepAlive time.Duration
	// Limits bound the memory of one exchange.
	Limits splice.Limits
}

// Driver drives exchanges. It is immutable and safe for concurrent use.
type Driver struct{ c Config }

// New returns a Driver.
func New(c Config) *Driver {
	c.Rounds, c.Calls = cmp.Or(c.Rounds, DefaultRounds), cmp.Or(c.Calls, DefaultCalls)
	c.Window = cmp.Or(c.Window, expand.DefaultWindow)
	c.Time, c.KeepAlive = cmp.Or(c.Time, DefaultTime), cmp.Or(c.KeepAlive, DefaultKeepAlive)
	return &Driver{c}
}

// Exchange is what one exchange is about.
type Exchange struct {
	Dialect wire.Dialect
	Form    splice.Form
	// Request is the request that is being answered, as the provider got it: its
	// body is what is continued. Nothing of it may change until Run returned.
	Request upstream.Request
	// Text returns the original behind a marker of the request.
	Text func(id string) (string, bool)
	// Component returns the component that left a marker of the request, and
	// Tokens counts a text, both for the ledger; they may be nil.
	Component func(id string) string
	Tokens    func(text string) int
	// Record keeps the hidden rounds of the turn; it may be nil.
	Record func(ctx context.Context, r Record) error
}

// Record is what a client did not get to see of a turn.
type Record struct {
	// Hidden are the rounds before the last one.
	Hidden []Round
	// Last is the round that ended the turn.
	Last *round.Turn
	// Beside answers the calls of ours in Last that the client did not get.
	Beside []round.Result
}

// Round is one round of which the client saw only a part.
type Round struct {
	Turn    *round.Turn
	Results []round.Result
}

// Source gives the pieces of the provider's answer to the request, each valid
// until the next call, and io.EOF after the last. Any other error means that the
// answer broke off.
type Source interface {
	Next(ctx context.Context) ([]byte, error)
}

// Outcome says how an exchange ended.
type Outcome string

// The outcomes.
const (
	// Untouched: there was no call of ours.
	Untouched Outcome = "untouched"
	// Answered: all calls of ours were answered, and the model finished.
	Answered Outcome = "answered"
	// Mixed: the turn ended with calls of the client, beside ours.
	Mixed Outcome = "mixed"
	// Failed: the message was finished early, or with an error; see Reason.
	Failed Outcome = "failed"
	// Gone: the context ended, or the client could not be sent to.
	Gone Outcome = "gone"
)

// Why an exchange failed.
const (
	ReasonRounds   = "rounds"    // the model asked for more rounds than there are
	ReasonBroken   = "broken"    // the provider's answer broke off in mid-call
	ReasonTurn     = "turn"      // the turn cannot be sent back
	ReasonTooLarge = "too_large" // the continuation would be over the cap
	ReasonUpstream = "upstream"  // the continuation got no answer, or half of one
	ReasonTime     = "time"      // the exchange took too long
)

// Ledger says what an exchange cost. It holds sizes, counts and names.
type Ledger struct {
	Outcome Outcome
	// Reason explains Failed.
	Reason string
	// Rounds counts continuations that were answered.
	Rounds int
	// Expands has one entry per call of ours, in order.
	Expands []Expand
	// Last is the usage of the last round, Sum that of all.
	Last, Sum round.Usage
	// RecordError is why hidden rounds were not recorded, or nil.
	RecordError error
	// Err is what made the exchange fail, or nil.
	Err error
	// Blind reports that a limit was passed, so that the answer went on unread.
	Blind bool
}

// Expand is one call of ours that was answered.
type Expand struct {
	// ID is the marker's id, if the call named one.
	ID string
	// Component is the component that had hidden what was read, if it is known.
	Component string
	// Round counts the rounds up to the one that asked, from 1.
	Round int
	// Bytes is the size of the result, Tokens the same in tokens.
	Bytes, Tokens int
	// Missed reports that there was no original to give.
	Missed bool
}

// run is one exchange under way.
type run struct {
	d      *Driver
	x      *Exchange
	stream *splice.Stream
	send   func([]byte) error
	body   []byte // of the request that is answered now
	asked  map[string]int
	missed int
	hidden []Round
	waits  bool // the last of hidden has been sent on, and the answer is not whole
	l      *Ledger
}

// goneError says that the client could not be sent to.
type goneError struct{ error }

// Run drives an exchange to its end. send passes a piece to the client; it must
// not keep it. Run returns when the client has everything it will get, when send
// fails or when ctx ends.
func (d *Driver) Run(ctx context.Context, x Exchange, first Source, send func([]byte) error) Ledger {
	l := Ledger{Outcome: Untouched}
	stream, err := splice.New(splice.Config{Dialect: x.Dialect, Form: x.Form, Tool: tool.Name, Limits: d.c.Limits})
	if err != nil {
		l.Outcome, l.Err = Failed, err
		if err := pass(ctx, first, send); err != nil {
			l.Outcome = Gone
		}
		return l
	}
	r := &run{d: d, x: &x, stream: stream, send: send, body: x.Request.Body, asked: map[string]int{}, l: &l}
	if err := r.drive(ctx, first); err != nil {
		l.Outcome, l.Err = Gone, err
	}
	l.Last, l.Sum = stream.Usage()
	l.Blind = stream.Blind()
	return l
}

// pass hands an answer on that cannot be read.
func pass(ctx context.Context, from Source, send func([]byte) error) error {
	for {
		piece, err := from.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := send(piece); err != nil {
			return err
		}
	}
}

// out sends what there is to send.
func (r *run) out(piece []byte) error {
	if len(piece) == 0 {
		return nil
	}
	if err := r.send(piece); err != nil {
		return goneError{err}
	}
	return nil
}

// drive returns an error when there is nobody left to finish the message for.
func (r *run) drive(ctx context.Context, first Source) error {
	for !r.stream.Done() {
		piece, err := first.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err // Envoy, and with it the client, is gone
		}
		if err := r.out(r.stream.Write(piece)); err != nil {
			return err
		}
	}
	out, turn := r.stream.End()
	if err := r.out(out); err != nil || turn == nil {
		if err == nil {
			err = r.rest(ctx, first)
		}
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.d.c.Time, errTime)
	defer cancel()
	return r.rounds(ctx, limited, turn)
}

// rest passes on what a provider sends behind its last event.
func (r *run) rest(ctx context.Context, first Source) error {
	for {
		piece, err := first.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.out(piece); err != nil {
			return err
		}
	}
}

var errTime = errors.New("the exchange took too long")

// rounds answers calls until the message can be finished.
func (r *run) rounds(ctx, limited context.Context, turn *round.Turn) error {
	for {
		next, err := r.answer(limited, turn)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &goneError{}):
			return err
		case err != nil:
			return r.fail(ctx, err, turn)
		case next == nil:
			return r.finish(ctx)
		}
		turn = next
	}
}

// finish releases what waited.
func (r *run) finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.out(r.stream.Finish())
}

// failure is an error with the reason to be counted.
type failure struct {
	reason string
	err    error
}

func (f *failure) Error() string { return f.reason + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail finishes a message that cannot go on. turn is the last one that was
// answered, or could not be.
func (r *run) fail(ctx context.Context, err error, turn *round.Turn) error {
	r.l.Outcome, r.l.Reason, r.l.Err = Failed, ReasonUpstream, err
	if f, ok := errors.AsType[*failure](err); ok {
		r.l.Reason = f.reason
	}
	if errors.Is(err, errTime) || errors.Is(err, context.DeadlineExceeded) {
		r.l.Reason = ReasonTime
	}
	r.salvage(ctx, turn)
	return r.out(r.stream.Fail("the answer could not be completed; try again"))
}

// salvage records the rounds of a message that is finished early. What the client
// gets of its last round are the calls that nobody has answered, or else the text
// that it has already.
func (r *run) salvage(ctx context.Context, turn *round.Turn) {
	last := turn
	if n := len(r.hidden) - 1; n >= 0 {
		switch {
		case r.waits: // its calls were answered, and nobody read that
			if r.stream.Said() {
				return // there is half a round behind it, which nobody has read to its end
			}
			last, r.hidden = r.hidden[n].Turn, r.hidden[:n]
		case turn.Text == "" && len(turn.Ours)+len(turn.Others) == 0:
			last, r.hidden = r.hidden[n].Turn, r.hidden[:n]
		}
	}
	if len(r.hidden) > 0 {
		r.record(ctx, last, nil)
	}
}

// answer deals with what the model said in one round. It returns what it said in
// the next one, or nil when the message can be finished.
func (r *run) answer(ctx context.Context, turn *round.Turn) (*round.Turn, error) {
	switch {
	case turn.Failed || !turn.Complete:
		return nil, &failure{ReasonBroken, errors.New("the provider's answer broke off")}
	case len(turn.Ours) == 0: // the end of a turn with hidden rounds
		r.l.Outcome = Answered
		r.record(ctx, turn, nil)
		return nil, nil
	case len(turn.Others) > 0:
		r.l.Outcome = Mixed
		r.record(ctx, turn, r.results(ctx, turn.Ours, true))
		return nil, nil
	case len(r.hidden) == r.d.c.Rounds:
		return nil, &failure{ReasonRounds, errors.New("the model asked for more rounds than one answer may take")}
	case turn.Assistant == nil:
		return nil, &failure{ReasonTurn, turns.ErrTurn}
	}
	kept := *turn
	results := r.results(ctx, turn.Ours, len(r.hidden)+1 == r.d.c.Rounds)
	exchange, err := turns.Exchange(nil, r.x.Dialect, kept.Assistant, results)
	if err != nil {
		return nil, &failure{ReasonTurn, err}
	}
	if r.body, err = turns.Continue(nil, r.x.Dialect, r.body, exchange, r.d.c.MaxBody); err != nil {
		return nil, &failure{ReasonTooLarge, err}
	}
	r.hidden = append(r.hidden, Round{&kept, results})
	r.waits = true
	next, err := r.next(ctx)
	r.waits = err != nil
	return next, err
}

// record keeps what the client will not send back.
func (r *run) record(ctx context.Context, last *round.Turn, beside []round.Result) {
	if r.x.Record != nil {
		r.l.RecordError = r.x.Record(ctx, Record{Hidden: r.hidden, Last: last, Beside: beside})
	}
}
