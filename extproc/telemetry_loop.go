package extproc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// loopTelemetry counts what answering the model's calls comes to.
type loopTelemetry struct {
	responses, rounds, expands, expandBytes, expandTokens, unread, usage, records metric.Int64Counter

	restored, unfit, healed, echoes, lookups metric.Int64Counter
}

func newLoopTelemetry(b *builder) loopTelemetry {
	return loopTelemetry{
		responses:   b.counter("loop.responses", "{response}", "Responses read for calls of the expand tool, by outcome and reason."),
		rounds:      b.counter("loop.rounds", "{round}", "Continuations sent to the provider and answered."),
		expands:     b.counter("loop.expands", "{call}", "Calls of the expand tool that were answered, by result and by the component that had hidden what was read."),
		expandBytes: b.counter("loop.expand.bytes", "By", "Bytes of the results of those calls."),
		expandTokens: b.counter("loop.expand.tokens", "{token}",
			"Tokens of the results of those calls, by the component that had hidden what was read: to be taken off what it saved."),
		unread:   b.counter("loop.unread", "{response}", "Responses to requests with the expand tool that could not be read, by reason."),
		usage:    b.counter("loop.usage", "{token}", "Tokens the provider reported for all rounds of responses with calls, by kind."),
		restored: b.counter("loop.restored", "{answer}", "Earlier answers in requests that got back what the client did not see of them."),
		unfit:    b.counter("loop.unfit", "{answer}", "Earlier answers whose record does not fit what the client sent of them, so that they went out without it."),
		healed:   b.counter("loop.healed", "{result}", "Results of expand calls that had reached the client, and that were replaced by what the model asked for."),
		echoes:   b.counter("loop.marker_echoes", "{marker}", "Markers that a model repeated in its answer to the client."),
		lookups:  b.counter("loop.lookup_failures", "{request}", "Requests for which the store could not say what clients did not see: they may start a new prefix."),
		records:  b.counter("loop.record_failures", "{response}", "Responses whose hidden rounds were not recorded: the next request starts a new prefix."),
	}
}

// hidden counts what became of earlier answers in a request.
func (t *telemetry) hidden(e *exchange, r *rewrite.Report) {
	for _, c := range []struct {
		counter metric.Int64Counter
		name    string
		n       int
	}{
		{t.loop.restored, "restored", r.Restored},
		{t.loop.unfit, "unfit", r.Unfit},
		{t.loop.healed, "healed", r.Healed},
		{t.loop.echoes, "marker_echoes", r.Echoes},
	} {
		if c.n > 0 {
			c.counter.Add(e.ctx, int64(c.n))
			e.span.SetAttributes(attribute.Int("contextguru.loop."+c.name, c.n))
		}
	}
	if r.HiddenError != nil {
		t.loop.lookups.Add(e.ctx, 1)
		e.span.AddEvent("hidden_rounds_not_read", trace.WithAttributes(attribute.String("error", r.HiddenError.Error())))
	}
}

// notRead counts a response that could not be looked into.
func (t *telemetry) notRead(e *exchange, reason string) {
	t.loop.unread.Add(e.ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
	e.span.SetAttributes(attribute.String("contextguru.loop.unread", reason))
}

// ledger counts what became of one response.
func (t *telemetry) ledger(e *exchange, l *loop.Ledger) {
	ctx := e.ctx
	t.loop.responses.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", string(l.Outcome)), attribute.String("reason", l.Reason)))
	if l.Blind {
		t.notRead(e, "over_limit")
	}
	if l.Outcome == loop.Untouched {
		return
	}
	t.loop.rounds.Add(ctx, int64(l.Rounds))
	for _, x := range l.Expands {
		result := "found"
		if x.Missed {
			result = "missed"
		}
		component := attribute.String("component", x.Component)
		t.loop.expands.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result), component))
		t.loop.expandTokens.Add(ctx, int64(x.Tokens), metric.WithAttributes(component))
		t.loop.expandBytes.Add(ctx, int64(x.Bytes))
	}
	for kind, n := range map[string]int64{"input": l.Sum.Input, "cache_read": l.Sum.CacheRead, "cache_write": l.Sum.CacheWrite, "output": l.Sum.Output} {
		t.loop.usage.Add(ctx, n, metric.WithAttributes(attribute.String("kind", kind)))
	}
	if l.RecordError != nil {
		t.loop.records.Add(ctx, 1)
		e.span.AddEvent("hidden_rounds_not_recorded", trace.WithAttributes(attribute.String("error", l.RecordError.Error())))
	}
	e.span.SetAttributes(
		attribute.String("contextguru.loop.outcome", string(l.Outcome)),
		attribute.String("contextguru.loop.reason", l.Reason),
		attribute.Int("contextguru.loop.rounds", l.Rounds),
		attribute.Int("contextguru.loop.expands", len(l.Expands)),
		attribute.Int64("contextguru.loop.usage.input", l.Sum.Input),
		attribute.Int64("contextguru.loop.usage.output", l.Sum.Output),
	)
	if l.Err != nil {
		e.span.AddEvent("loop_failed", trace.WithAttributes(attribute.String("reason", l.Reason)))
	}
}
