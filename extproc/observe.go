package extproc

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// Observe makes a Server measure what it would do and do nothing: requests and
// responses pass untouched, and their bodies are rewritten behind the traffic.
// What comes of that is recorded as it would be in the traffic, under names of
// its own: metrics begin with contextguru.potential, spans are called
// contextguru.projection.
type Observe struct {
	// MaxQueue is how many bodies may wait; more are dropped and counted. Those
	// that wait count as in flight.
	MaxQueue int
	// Workers is how many are rewritten at once. With one they are in the order
	// of their arrival, and figures of new outputs are exact.
	Workers int
}

// reasonObserve is why bodies go out as they came.
const reasonObserve = "observe"

// Why a body was not measured.
const (
	droppedQueue    = "queue_full"
	droppedInFlight = "in_flight_limit"
)

// observer rewrites bodies behind the traffic.
type observer struct {
	// shadow is the server as far as rewriting goes, with telemetry of its own.
	shadow  *Server
	queue   chan projection
	dropped metric.Int64Counter
	stop    context.CancelFunc
	running sync.WaitGroup
}

// projection is a body that waits.
type projection struct {
	e    *exchange
	body []byte
}

func newObserver(s *Server) (*observer, error) {
	t, err := newTelemetry(s.c.Tracer, s.c.Meter, "contextguru.potential.")
	if err != nil {
		return nil, err
	}
	b := builder{meter: s.c.Meter, prefix: "contextguru."}
	shadow := &Server{c: s.c, budget: s.budget, telemetry: t, warnings: s.warnings}
	shadow.c.Loop = nil // nothing goes out, so nothing is answered
	o := &observer{shadow: shadow, queue: make(chan projection, s.c.Observe.MaxQueue)}
	o.dropped = b.counter("observe.dropped", "{exchange}", "Exchanges that were not measured, by reason.")
	ctx, cancel := context.WithCancel(context.Background())
	o.stop = cancel
	for range s.c.Observe.Workers {
		o.running.Go(func() { o.work(ctx) })
	}
	return o, b.err
}

// offer queues the body of an exchange if there is room. It never waits.
func (o *observer) offer(e *exchange, body []byte) {
	e.s.telemetry.passed(e, reasonObserve)
	need := e.need(body)
	if !e.s.budget.TryAcquire(need) {
		o.drop(e, droppedInFlight)
		return
	}
	x := &exchange{
		s: o.shadow, request: e.request, headers: e.headers, preset: e.preset, version: e.version, held: need,
		ctx: trace.ContextWithSpanContext(context.Background(), e.span.SpanContext()),
	}
	o.shadow.telemetry.inFlight.Add(e.ctx, need)
	select {
	case o.queue <- projection{e: x, body: body}:
	default:
		x.release()
		o.drop(e, droppedQueue)
	}
}

func (o *observer) drop(e *exchange, why string) {
	o.dropped.Add(e.ctx, 1, metric.WithAttributes(attribute.String("reason", why)))
}

func (o *observer) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-o.queue:
			o.project(p) //nolint:contextcheck // what was begun is finished, within the deadline of a body
		}
	}
}

// project rewrites a body and keeps nothing but the figures.
func (o *observer) project(p projection) {
	e := p.e
	e.ctx, e.span = o.shadow.telemetry.tracer.Start(e.ctx, "contextguru.projection", trace.WithAttributes(
		attribute.String("contextguru.dialect", string(e.request.dialect)), attribute.Int64("http.request.body.size", e.request.length)))
	defer func() {
		if recover() != nil {
			e.s.telemetry.passed(e, rewrite.ReasonPanic)
		}
		e.bodyEnd = true
		e.sent()
		e.span.End()
	}()
	e.rewrite(p.body)
}

// Close ends what runs behind the traffic. Bodies in work are
// finished, those that still wait are not measured.
func (s *Server) Close() {
	if s.observer != nil {
		s.observer.stop()
		s.observer.running.Wait()
	}
}
