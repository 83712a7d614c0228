package extproc

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// maxModels bounds the model names used as metric labels: the name comes from
// the client, and every new one is a new time series.
const maxModels = 64

// telemetry owns the spans and instruments. It records sizes, counts and names
// and never content.
type telemetry struct {
	tracer trace.Tracer
	propag propagation.TextMapPropagator

	exchanges, optOuts, bytes, tokens, edits, saved metric.Int64Counter
	declines, faults, breaks, markers, fresh        metric.Int64Counter
	conflicts, unknownPresets, puts, tool, skipped  metric.Int64Counter
	inFlight                                        metric.Int64UpDownCounter
	rewriting, component                            metric.Float64Histogram
	loop                                            loopTelemetry

	mu     sync.Mutex
	models map[string]bool
	labels labels // of acts
}

func newTelemetry(tracer trace.Tracer, meter metric.Meter, prefix string) (*telemetry, error) {
	t := &telemetry{tracer: tracer, propag: propagation.TraceContext{}, models: map[string]bool{}}
	b := builder{meter: meter, prefix: prefix}
	t.exchanges = b.counter("exchanges", "{exchange}", "Exchanges whose request body was read, by verdict.")
	t.optOuts = b.counter("optouts", "{exchange}", "Exchanges left alone at the headers, by reason.")
	t.bytes = b.counter("request.bytes", "By", "Request body bytes before and after rewriting.")
	t.tokens = b.counter("tokens", "{token}", "Tool output tokens before and after rewriting; basis sent counts every resend, unique counts an output when it is new.")
	t.edits = b.counter("edits", "{edit}", "Edits of new outputs, by component.")
	t.saved = b.counter("tokens.saved", "{token}", "Tokens saved on new outputs, by component.")
	t.declines = b.counter("declines", "{segment}", "New outputs a component left alone, by reason.")
	t.skipped = b.counter("outputs.skipped", "{segment}", "New outputs no component was asked about, by reason.")
	t.faults = b.counter("faults", "{fault}", "Component failures that were undone, by reason.")
	t.breaks = b.counter("lossless_only", "{exchange}", "Exchanges that got lossless edits only, by reason.")
	t.markers = b.counter("markers", "{marker}", "Markers sent.")
	t.conflicts = b.counter("store.conflicts", "{marker}", "Markers not sent because the store holds another value under their ids.")
	t.unknownPresets = b.counter("presets.unknown", "{exchange}", "Exchanges that asked for a preset that does not exist and got the configured one, by who asked.")
	t.puts = b.counter("store.put_failures", "{exchange}", "Exchanges whose originals the store did not take.")
	t.tool = b.counter("expand.tool", "{exchange}", "Exchanges by whether they carry the expand tool, or why not; only with resolver loop.")
	t.fresh = b.counter("memo.misses", "{segment}", "Outputs decided anew rather than remembered.")
	t.inFlight = b.gauge("in_flight.bytes", "By", "Bytes reserved for the bodies held right now.")
	t.rewriting = b.histogram("rewrite.duration", "Time from the whole body to its reply.")
	t.loop = newLoopTelemetry(&b)
	t.component = b.histogram("component.duration", "Time of one component on one new output.")
	return t, b.err
}

// builder keeps the first error of a series of instruments.
type builder struct {
	meter  metric.Meter
	prefix string // of all names
	err    error
}

func (b *builder) counter(name, unit, what string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(what))
	if b.err == nil {
		b.err = err
	}
	return c
}

func (b *builder) gauge(name, unit, what string) metric.Int64UpDownCounter {
	c, err := b.meter.Int64UpDownCounter(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(what))
	if b.err == nil {
		b.err = err
	}
	return c
}

func (b *builder) histogram(name, what string) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(b.prefix+name, metric.WithUnit("s"), metric.WithDescription(what),
		metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5))
	if b.err == nil {
		b.err = err
	}
	return h
}

// start opens the exchange's span and counts an opt-out. Traffic that is not
// for an LLM gets no span.
func (t *telemetry) start(e *exchange, why optOut) {
	if why != optIn {
		t.optOuts.Add(e.ctx, 1, metric.WithAttributes(attribute.String("reason", string(why))))
	}
	switch why {
	case optNotPost, optPath, optNotJSON:
		return
	}
	e.ctx, e.span = t.tracer.Start(t.parent(e), "contextguru.exchange", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(
			attribute.String("contextguru.dialect", string(e.request.dialect)),
			attribute.Int64("http.request.body.size", e.request.length),
		))
	if why != optIn {
		e.span.SetAttributes(attribute.String("contextguru.verdict", string(rewrite.PassThrough)), attribute.String("contextguru.reason", string(why)))
	}
}

// parent finds the caller's trace. Envoy puts its own span into the metadata of
// the side stream; without tracing in Envoy only the client's headers have one.
func (t *telemetry) parent(e *exchange) context.Context {
	if md, ok := metadata.FromIncomingContext(e.ctx); ok && len(md.Get("traceparent")) > 0 {
		return t.propag.Extract(e.ctx, metadataCarrier(md))
	}
	return t.propag.Extract(e.ctx, headerCarrier(e.headers))
}

type metadataCarrier metadata.MD

func (c metadataCarrier) Get(key string) string {
	if v := metadata.MD(c).Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}
func (metadataCarrier) Set(string, string) {}
func (metadataCarrier) Keys() []string     { return nil }

type headerCarrier head

func (c headerCarrier) Get(key string) string { return head(c).get(key) }
func (headerCarrier) Set(string, string)      {}
func (headerCarrier) Keys() []string          { return nil }

// partial counts a body that did not arrive whole.
func (t *telemetry) partial(e *exchange) { t.passed(e, "partial_body") }

// passed counts a body that was passed through before it could be read.
func (t *telemetry) passed(e *exchange, reason string) {
	t.exchanges.Add(e.ctx, 1, metric.WithAttributes(
		attribute.String("dialect", string(e.request.dialect)), attribute.String("verdict", string(rewrite.PassThrough)), attribute.String("reason", reason)))
	e.span.SetAttributes(attribute.String("contextguru.verdict", string(rewrite.PassThrough)), attribute.String("contextguru.reason", reason))
}

// record counts one rewritten body.
func (t *telemetry) record(e *exchange, r *rewrite.Report, took time.Duration) {
	ctx := e.ctx
	dialect := attribute.String("dialect", r.Dialect)
	model := attribute.String("model", t.label(r.Model))
	t.exchanges.Add(ctx, 1, metric.WithAttributes(dialect, model, attribute.String("verdict", string(r.Verdict)), attribute.String("reason", r.Reason)))
	t.rewriting.Record(ctx, took.Seconds(), metric.WithAttributes(dialect))
	t.pair(ctx, t.bytes, r.BytesBefore, r.BytesAfter, dialect, model)
	t.pair(ctx, t.tokens, r.TokensBefore, r.TokensAfter, dialect, model, attribute.String("basis", "sent"))
	t.pair(ctx, t.tokens, r.NewBefore, r.NewAfter, dialect, model, attribute.String("basis", "unique"))
	t.conflicts.Add(ctx, int64(r.Conflicts))
	t.markers.Add(ctx, int64(r.Markers), metric.WithAttributes(dialect))
	t.fresh.Add(ctx, int64(r.Fresh))
	t.hidden(e, r)
	if r.StoreError != nil {
		t.puts.Add(ctx, 1)
	}
	if r.Tool != "" {
		t.tool.Add(ctx, 1, metric.WithAttributes(dialect, attribute.String("state", string(r.Tool))))
	}
	if r.Lossless != "" {
		t.breaks.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", r.Lossless)))
	}
	for _, output := range r.New {
		if why := output.Outcome.Reason; why != "" {
			t.skipped.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", string(why))))
		}
		for act := range output.Acts {
			t.act(ctx, &act)
		}
	}
	for i := range r.Acts {
		t.act(ctx, &r.Acts[i])
	}
	t.describe(e.span, r)
}

func (t *telemetry) pair(ctx context.Context, c metric.Int64Counter, before, after int, attrs ...attribute.KeyValue) {
	attrs = append(attrs, attribute.String("state", "before"))
	c.Add(ctx, int64(before), metric.WithAttributes(attrs...))
	attrs[len(attrs)-1] = attribute.String("state", "after")
	c.Add(ctx, int64(after), metric.WithAttributes(attrs...))
}

// describe puts the report on the span.
func (t *telemetry) describe(span trace.Span, r *rewrite.Report) {
	attrs := []attribute.KeyValue{
		attribute.String("gen_ai.request.model", r.Model),
		attribute.Bool("contextguru.stream", r.Stream),
		attribute.String("contextguru.verdict", string(r.Verdict)),
		attribute.Int("contextguru.messages", r.Messages),
		attribute.Int("contextguru.segments", r.Segments),
		attribute.Int("contextguru.turn", r.Turn),
		attribute.Int("contextguru.bytes.before", r.BytesBefore),
		attribute.Int("contextguru.bytes.after", r.BytesAfter),
		attribute.Int("contextguru.tokens.before", r.TokensBefore),
		attribute.Int("contextguru.tokens.after", r.TokensAfter),
		attribute.Bool("contextguru.tokens.estimated", r.Estimated),
		attribute.Int("contextguru.new_tokens.before", r.NewBefore),
		attribute.Int("contextguru.new_tokens.after", r.NewAfter),
		attribute.Int("contextguru.markers", r.Markers),
		attribute.Int("contextguru.cache_marks", r.Marks),
		attribute.Int("contextguru.memo.misses", r.Fresh),
	}
	if r.Reason != "" {
		attrs = append(attrs, attribute.String("contextguru.reason", r.Reason))
	}
	if r.Horizon > 0 {
		attrs = append(attrs, attribute.Int("contextguru.horizon", r.Horizon), attribute.Bool("contextguru.planned_break", r.PlannedBreak))
	}
	if r.Lossless != "" {
		attrs = append(attrs, attribute.String("contextguru.lossless_only", r.Lossless))
	}
	if r.Tool != "" {
		attrs = append(attrs, attribute.String("contextguru.expand.tool", string(r.Tool)), attribute.Int("contextguru.expand.tool_tokens", r.ToolTokens))
	}
	if r.Gate != "" {
		attrs = append(attrs, attribute.String("contextguru.expand.gate", string(r.Gate)), attribute.Int("contextguru.expand.preamble_tokens", r.Preamble))
	}
	for _, e := range r.Edits {
		attrs = append(attrs,
			attribute.Int("contextguru.edits."+e.Component, e.Segments),
			attribute.Int("contextguru.tokens.saved."+e.Component, e.TokensBefore-e.TokensAfter))
	}
	span.SetAttributes(attrs...)
	if r.StoreError != nil {
		span.AddEvent("store_failed", trace.WithAttributes(attribute.String("error", r.StoreError.Error())))
	}
}

// preset notes what was asked for.
func (t *telemetry) preset(e *exchange) {
	if e.preset != "" {
		e.span.SetAttributes(attribute.String("contextguru.preset", e.preset))
	}
}

// status notes the response's status code.
func (t *telemetry) status(e *exchange, code string) {
	if n, err := strconv.Atoi(code); err == nil && e.span != nil {
		e.span.SetAttributes(attribute.Int("http.response.status_code", n))
	}
}

// end closes the span.
func (t *telemetry) end(e *exchange) {
	if e.span == nil {
		return
	}
	e.span.SetAttributes(attribute.String("contextguru.outcome", e.outcome))
	if e.resBytes > 0 {
		e.span.SetAttributes(attribute.Int64("http.response.body.size", e.resBytes))
	}
	if e.outcome == outcomePanic || e.outcome == outcomeBroken {
		e.span.SetStatus(otelcodes.Error, e.outcome)
	}
	e.span.End()
}

// label bounds the model names used as labels.
func (t *telemetry) label(model string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.models[model] {
		if len(t.models) >= maxModels || len(model) > 100 {
			return "other"
		}
		t.models[model] = true
	}
	return model
}

// record counts a report in every place that wants it.
func (s *Server) record(e *exchange, r *rewrite.Report, took time.Duration) {
	if r.Conflicts > 0 {
		s.warnings.once("conflict", "store_holds_other_values", "effect", "the markers of these originals are not sent",
			"cure", "if store.encryption_key was changed or removed: put the old key back, or flush the store's originals")
	}
	s.telemetry.record(e, r, took)
	if s.c.Stats != nil {
		s.c.Stats.Add(r)
	}
}
