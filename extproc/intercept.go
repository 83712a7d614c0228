package extproc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
)

// Loop answers the model's calls of the expand tool.
type Loop struct {
	// Driver runs exchanges.
	Driver *loop.Driver
	// Hop tells our own continuations from other requests.
	Hop *hop.Signer
	// Hidden remembers what clients do not see; nil remembers nothing.
	Hidden *hidden.Keeper
	// MaxKept bounds the bytes of all requests that are kept while their answers
	// are read. Above it conversations that begin get lossless edits only, and the
	// answers to others are not read.
	MaxKept int64
	// Tenants names a request's owner from its headers, one name per service key,
	// the current one first. The first is what Config.Tenant returns.
	Tenants func(header func(name string) string) []string
}

// lastWait is how long an exchange that is over waits for the provider's end.
// Clients do not go on before theirs.
const lastWait = time.Second

// continuation reports whether a request is one of ours, come back through the
// gateway's listener.
func (e *exchange) continuation() bool {
	l := e.s.c.Loop
	value := e.headers.all(hop.Header)
	if l == nil || value == "" {
		return false
	}
	_, err := l.Hop.Verify(e.hopRequest(), value)
	if err != nil {
		e.s.warnings.once("hop", "hop_header_refused", "reason", err.Error(),
			"effect", "such requests are treated like any other", "cure", "replicas behind one gateway need the same keys and the same tenant.header")
	}
	return err == nil
}

func (e *exchange) hopRequest() hop.Request {
	h := e.headers
	return hop.Request{
		Method: h.get(":method"), Path: h.get(":path"), Authority: h.get(":authority"),
		Tenants: e.s.c.Loop.Tenants(h.all),
	}
}

// keep notes what the answers to the model's calls are made of, once the
// request that carries the tool goes out.
func (e *exchange) keep() {
	r := e.reply
	if e.s.c.Loop == nil || r == nil || r.Report.Tool != tool.Injected {
		return
	}
	e.carries = true
	// The reply's memory goes back to its pool when it is sent; the originals
	// keep the client's own body.
	kept := int64(len(r.Body) + r.Originals.Size())
	if !e.s.kept.TryAcquire(kept) {
		e.s.telemetry.notRead(e, reasonOverloaded)
		return
	}
	e.kept = kept
	tenants := e.s.c.Loop.Tenants(e.headers.all)
	e.exchange = &loop.Exchange{
		Dialect: e.request.dialect,
		Text:    r.Originals.Text, Component: r.Originals.Component, Tokens: r.Originals.Tokens,
		Request: upstream.Request{
			Method: e.headers.get(":method"), Path: e.headers.get(":path"), Authority: e.headers.get(":authority"),
			Tenants: tenants, Header: e.headers.http(),
			Body: append([]byte(nil), r.Body...),
		},
	}
	if k := e.s.c.Loop.Hidden; k != nil && r.Place != nil {
		e.exchange.Record = loop.Keep(k, e.request.dialect, tenants, *r.Place)
	}
}

// full reports whether a request of so many bytes could not be kept now.
func (s *Server) full(bytes int64) bool {
	if !s.kept.TryAcquire(bytes) {
		return true
	}
	s.kept.Release(bytes)
	return false
}

// http returns the headers that are not the protocol's own.
func (h head) http() http.Header {
	out := make(http.Header, len(h))
	for _, v := range h {
		if name := v.GetKey(); !strings.HasPrefix(name, ":") {
			out.Add(name, value(v))
		}
	}
	return out
}

// readable reports whether the calls in a response can be answered, and notes
// its form.
func (e *exchange) readable(h head) bool {
	if e.exchange == nil || h.get(":status") != "200" {
		return false
	}
	if coding := h.get("content-encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		e.s.telemetry.notRead(e, string(optEncoding))
		return false
	}
	form, ok := splice.FormOf(h.get("content-type"))
	if !ok {
		e.s.telemetry.notRead(e, string(optNotJSON))
		return false
	}
	e.exchange.Form = form
	return true
}

// pieces is the provider's answer on its way from Envoy to the driver: a queue,
// because only a reader that never waits sees that the client is gone.
type pieces struct {
	mu     sync.Mutex
	queue  [][]byte
	err    error // behind the queue: io.EOF, or why there is no more
	signal chan struct{}
}

func newPieces() *pieces { return &pieces{signal: make(chan struct{}, 1)} }

func (p *pieces) put(piece []byte, err error) {
	p.mu.Lock()
	if len(piece) > 0 && p.err == nil {
		p.queue = append(p.queue, piece)
	}
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// Next implements loop.Source.
func (p *pieces) Next(ctx context.Context) ([]byte, error) {
	for {
		p.mu.Lock()
		if len(p.queue) > 0 {
			piece := p.queue[0]
			p.queue[0], p.queue = nil, p.queue[1:]
			p.mu.Unlock()
			return piece, nil
		}
		err := p.err
		p.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-p.signal:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ending is what Envoy said at the end of the response.
type ending struct {
	trailers bool
	err      error // of the stream, before there was an end
}

// errEnvoyGone ends an exchange whose side stream ended early.
var errEnvoyGone = errors.New("the gateway ended the exchange")

// intercept reads the rest of the response and answers the calls in it.
func (e *exchange) intercept(st stream) error {
	ctx, cancel := context.WithCancelCause(e.ctx)
	defer cancel(nil)
	from, ends := newPieces(), make(chan ending, 1)
	go receive(ctx, st, from, ends, cancel)
	ledger := e.s.c.Loop.Driver.Run(ctx, *e.exchange, from, func(piece []byte) error {
		e.resBytes += int64(len(piece))
		return send(st, chunks(false, piece, false))
	})
	e.s.telemetry.ledger(e, &ledger)
	if ledger.Outcome == loop.Gone {
		return e.gone(ends, ledger.Err)
	}
	// The provider's own end is about to come, or has come long ago.
	timer := time.NewTimer(lastWait)
	defer timer.Stop()
	end := ending{}
	select {
	case end = <-ends:
	case <-timer.C:
	case <-e.ctx.Done():
	}
	e.finish()
	if end.trailers {
		return send(st, one(trailersReply(false)))
	}
	return send(st, chunks(false, nil, true))
}

// gone ends an exchange that nobody is there for any more. It is an error only
// when Envoy is still there: it must not take a half of a body for the whole.
func (e *exchange) gone(ends <-chan ending, why error) error {
	select {
	case end := <-ends:
		if end.err != nil {
			return e.ended(end.err)
		}
	default:
	}
	if e.ctx.Err() != nil {
		return e.ended(status.FromContextError(e.ctx.Err()).Err())
	}
	e.outcome = outcomeBroken
	return status.Errorf(codes.Internal, "the response broke off: %v", why)
}

func send(st stream, replies []*response) error {
	for _, r := range replies {
		if err := st.Send(r); err != nil {
			return err
		}
	}
	return nil
}

// receive takes what Envoy says until its stream ends.
func receive(ctx context.Context, st stream, to *pieces, ends chan<- ending, cancel context.CancelCauseFunc) {
	told := false
	tell := func(end ending) {
		if !told {
			told = true
			ends <- end
		}
	}
	for {
		m, err := st.Recv()
		if err != nil {
			tell(ending{err: err})
			to.put(nil, errEnvoyGone)
			cancel(errEnvoyGone)
			return
		}
		switch r := m.GetRequest().(type) {
		case *extprocv3.ProcessingRequest_ResponseBody:
			end := error(nil)
			if r.ResponseBody.GetEndOfStream() {
				end = io.EOF
				tell(ending{})
			}
			to.put(r.ResponseBody.GetBody(), end)
		case *extprocv3.ProcessingRequest_ResponseTrailers:
			tell(ending{trailers: true})
			to.put(nil, io.EOF)
		}
		if ctx.Err() != nil {
			return
		}
	}
}
