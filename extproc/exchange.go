package extproc

import (
	"context"
	"strings"
	"time"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// How an exchange ended, for spans and metrics.
const (
	outcomeDone    = "done"
	outcomeAborted = "aborted" // the client or the upstream went away
	outcomeBroken  = "broken"  // the gRPC stream failed
	outcomePanic   = "panic"
)

// reasonOverloaded says that a body waited too long for others to finish.
const reasonOverloaded = "overloaded"

// exchange is the state of one HTTP exchange. One goroutine owns it.
type exchange struct {
	s    *Server
	ctx  context.Context
	span trace.Span

	started bool // a first message was seen
	version version
	reqMode bodyMode
	resMode bodyMode

	request  request
	headers  head
	preset   string // asked for, or empty
	opted    bool   // the request body concerns us and was not answered yet
	concerns bool   // it did at the headers
	// override is set while the answer to the response headers may switch the
	// response to duplex: our own override must be known to work first.
	override bool

	body    []byte // of a streamed request, as far as it has come
	bodyEnd bool   // everything owed for the request body was sent
	resEnd  bool   // the end of the response was sent
	res     bool   // the response is in duplex

	resBytes int64 // of the response, as far as it was passed on

	carries  bool           // the request went out with the expand tool
	exchange *loop.Exchange // what answers to the model's calls are made of
	reading  bool           // the response is read for such calls
	kept     int64          // bytes of requests kept for that

	held    int64 // bytes taken from the server's budget
	reply   *rewrite.Reply
	outcome string
}

// handle answers one message. The replies must be sent in order; then sent
// must be called.
func (e *exchange) handle(m *extprocv3.ProcessingRequest) ([]*response, error) {
	if !e.started {
		e.started = true
		e.reqMode, e.resMode = bodyModes(m.GetProtocolConfig())
		e.version = e.s.versionOf(m)
		e.s.checkGateway(m, e.version)
	}
	switch r := m.GetRequest().(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		return one(e.requestHeaders(r.RequestHeaders)), nil
	case *extprocv3.ProcessingRequest_RequestBody:
		return e.requestBody(r.RequestBody), nil
	case *extprocv3.ProcessingRequest_RequestTrailers:
		return e.requestTrailers(), nil
	case *extprocv3.ProcessingRequest_ResponseHeaders:
		return one(e.responseHeaders(r.ResponseHeaders)), nil
	case *extprocv3.ProcessingRequest_ResponseBody:
		return e.responseBody(r.ResponseBody), nil
	case *extprocv3.ProcessingRequest_ResponseTrailers:
		e.finish()
		return one(trailersReply(false)), nil
	default:
		return nil, status.Errorf(codes.InvalidArgument, "message of unknown kind %T", m.GetRequest())
	}
}

func one(r *response) []*response { return []*response{r} }

// sent gives back what the last replies were made of: they are on the wire.
func (e *exchange) sent() {
	if e.reply != nil {
		e.reply.Release()
		e.reply = nil
	}
	if e.bodyEnd {
		e.release()
	}
}

// close ends the exchange, however it came to its end.
func (e *exchange) close() {
	e.release()
	if e.kept > 0 {
		e.s.kept.Release(e.kept)
	}
	switch {
	case e.outcome != "":
	case e.res && !e.resEnd, e.concerns && !e.bodyEnd:
		e.outcome = outcomeAborted
	default:
		e.outcome = outcomeDone
	}
	e.s.telemetry.end(e)
}

func (e *exchange) release() {
	if e.held > 0 {
		e.s.giveBack(e.held)
		e.held = 0
	}
}

// finish notes that the response's end was passed on.
func (e *exchange) finish() { e.resEnd = true }

func (e *exchange) requestHeaders(h *extprocv3.HttpHeaders) *response {
	e.headers = h.GetHeaders().GetHeaders()
	if path, query, _ := strings.Cut(e.headers.get(":path"), "?"); e.s.c.ExpandPath != "" && path == e.s.c.ExpandPath {
		a := e.s.c.Expand(e.ctx, e.headers.get(":method"), query, e.headers.all)
		return immediate(a)
	}
	r, why := inspect(e.headers, h.GetEndOfStream(), e.s.c.MaxBody)
	switch {
	case why == optIn && e.continuation():
		why = optOurs
	case why == optIn && e.headers.bypassed():
		why = optBypass
	}
	e.request = r
	e.s.telemetry.start(e, why)
	if why != optIn {
		e.s.warnOptOut(e, why)
		return headersReply(true, e.headers.strip(), leave())
	}
	e.preset = e.asked()
	e.s.telemetry.preset(e)
	e.opted, e.concerns = true, true
	skip := !e.version.canStream() || e.s.observer != nil
	e.override = !skip
	if e.reqMode == filterv3.ProcessingMode_NONE {
		e.reqMode = filterv3.ProcessingMode_BUFFERED
	}
	return headersReply(true, e.headers.strip(), readRequest(skip))
}

// take reserves bytes for a body that is here, waiting for others to finish
// rather than letting a conversation's rewriting flicker with the load. Nothing
// is reserved for what was only announced: whoever announces and never sends
// would keep everybody else out.
func (e *exchange) take(ctx context.Context, need int64) bool {
	if e.s.budget.Acquire(ctx, need) != nil {
		return false
	}
	e.held = need
	e.s.telemetry.inFlight.Add(ctx, need)
	return true
}

// need is how much a body takes of the budget.
func (e *exchange) need(body []byte) int64 {
	if e.request.encoding != "" {
		return e.s.c.MaxBody // what it may unfold to
	}
	return int64(len(body))
}

// giveBack returns reserved bytes to the budget.
func (s *Server) giveBack(n int64) {
	s.budget.Release(n)
	s.telemetry.inFlight.Add(context.Background(), -n) // the exchange may be over
}

func (e *exchange) requestBody(b *extprocv3.HttpBody) []*response {
	if e.reqMode == filterv3.ProcessingMode_FULL_DUPLEX_STREAMED {
		return e.streamedBody(b.GetBody(), b.GetEndOfStream())
	}
	if !e.opted {
		return one(bodyReply(true, nil))
	}
	// A buffered body comes whole, without the end of the stream when trailers
	// follow; anything shorter than announced is a part and stays as it is.
	e.opted = false
	if !b.GetEndOfStream() && int64(len(b.GetBody())) != e.request.length {
		e.override = false
		e.s.telemetry.partial(e)
		e.bodyEnd = true
		return one(bodyReply(true, nil))
	}
	body, decoded := e.rewrite(b.GetBody())
	e.bodyEnd = true
	if body == nil {
		return one(bodyReply(true, nil))
	}
	return one(bodyReply(true, replaceBody(body, decoded, e.carries)))
}

// streamedBody collects a body that arrives in duplex, or echoes it when it
// does not concern us or grows over the cap.
func (e *exchange) streamedBody(piece []byte, end bool) []*response {
	if !e.opted {
		e.bodyEnd = e.bodyEnd || end
		return chunks(true, piece, end)
	}
	e.body = append(e.body, piece...)
	if int64(len(e.body)) > e.s.c.MaxBody {
		e.opted = false
		e.s.telemetry.partial(e)
		return chunks(true, e.body, end)
	}
	if !end {
		return nil
	}
	return e.flush(true)
}

// flush answers a collected body. The headers are gone, so a compressed one
// cannot lose its content coding any more and stays as it is.
func (e *exchange) flush(end bool) []*response {
	e.opted, e.bodyEnd = false, true
	body := e.body
	if e.request.encoding != "" {
		e.s.telemetry.passed(e, string(optEncoding))
	} else if rewritten, _ := e.rewrite(e.body); rewritten != nil {
		body = rewritten
	}
	return chunks(true, body, end)
}

func (e *exchange) requestTrailers() []*response {
	var out []*response
	if e.reqMode == filterv3.ProcessingMode_FULL_DUPLEX_STREAMED && e.opted {
		out = e.flush(false)
	}
	return append(out, trailersReply(true))
}

// rewrite returns the new body, or nil for the client's own, and whether it
// lost its content coding on the way.
func (e *exchange) rewrite(body []byte) (out []byte, decoded bool) {
	if e.s.observer != nil {
		e.s.observer.offer(e, body)
		return nil, false
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(e.ctx, e.s.c.Deadline)
	defer cancel()
	if e.held == 0 && !e.take(ctx, e.need(body)) {
		e.s.warnOverloaded()
		e.s.telemetry.passed(e, reasonOverloaded)
		return nil, false
	}
	if e.request.encoding != "" {
		plain, err := decode(e.request.encoding, body, e.s.c.MaxBody)
		if err != nil {
			e.s.telemetry.passed(e, rewrite.ReasonEncoding)
			return nil, false
		}
		body, decoded = plain, true
	}
	req := rewrite.Request{
		Dialect: e.request.dialect, Body: body, Model: e.request.model, Preset: e.preset, Aside: e.request.aside, Binary: e.request.binary,
		LosslessOnly: e.version.belowFloor(e.s.c.Envoy.SoleExtProc),
	}
	if !req.LosslessOnly {
		req.Tenant = e.s.c.Tenant(e.headers.all)
		if e.s.c.Loop != nil {
			req.Tenants = e.s.c.Loop.Tenants(e.headers.all)
			req.Shed = e.s.full(2 * int64(len(body))) // the client's and ours
		}
	}
	done := make(chan *rewrite.Reply, 1)
	go func() { done <- e.s.c.Rewriter.Rewrite(ctx, req) }()
	select {
	case e.reply = <-done:
		e.s.record(e, &e.reply.Report, time.Since(start))
		e.keep()
		return e.reply.Body, decoded
	case <-ctx.Done():
		// A step that does not look at its context still holds the body: its
		// bytes stay reserved until it is done.
		held := e.held
		e.held = 0
		go func() {
			(<-done).Release()
			e.s.giveBack(held)
		}()
		reason := rewrite.ReasonDeadline
		if e.ctx.Err() != nil {
			reason = rewrite.ReasonCancelled
		}
		e.s.telemetry.passed(e, reason)
		return nil, false
	}
}

// noBody notes a response before the body that was asked for: our override had
// no effect, or Envoy itself answered. Such a response is left alone.
func (e *exchange) noBody(status string) {
	e.s.warnNoBody(e, status)
	e.s.telemetry.passed(e, "no_body")
	e.opted, e.override, e.bodyEnd = false, false, true
}

func (e *exchange) responseHeaders(h *extprocv3.HttpHeaders) *response {
	headers := head(h.GetHeaders().GetHeaders())
	e.s.telemetry.status(e, headers.get(":status"))
	if e.concerns && !e.bodyEnd && e.reqMode != filterv3.ProcessingMode_FULL_DUPLEX_STREAMED {
		e.noBody(headers.get(":status"))
	}
	if h.GetEndOfStream() {
		e.finish()
		return headersReply(false, nil, nil)
	}
	common, mode := streamResponse()
	if e.resMode == filterv3.ProcessingMode_FULL_DUPLEX_STREAMED {
		e.res = true
		if e.reading = e.readable(headers); !e.reading {
			common = nil
		}
		return headersReply(false, common, nil)
	}
	if !e.override || !e.bodyEnd || e.resMode != filterv3.ProcessingMode_NONE {
		return headersReply(false, nil, nil)
	}
	if e.reading = e.readable(headers); !e.reading && e.s.c.Envoy.SoleExtProc {
		return headersReply(false, nil, nil)
	}
	e.res, e.resMode = true, filterv3.ProcessingMode_FULL_DUPLEX_STREAMED
	return headersReply(false, common, mode)
}

func (e *exchange) responseBody(b *extprocv3.HttpBody) []*response {
	if !e.res {
		return one(bodyReply(false, nil))
	}
	if e.resEnd {
		return nil // the end was passed on already: Envoy repeats it at times
	}
	if b.GetEndOfStream() {
		e.finish()
	}
	e.resBytes += int64(len(b.GetBody()))
	return chunks(false, b.GetBody(), b.GetEndOfStream())
}
