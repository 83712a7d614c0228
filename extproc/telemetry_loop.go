package extproc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/contextguru/contextguru/pipeline/expand/loop"
)

// loopTelemetry counts what answering the model's calls comes to.
type loopTelemetry struct {
	responses, rounds, expands, expandBytes, expandTokens, unread, usage, records metric.Int64Counter
}

func newLoopTelemetry(b *builder) loopTelemetry {
	return loopTelemetry{
		responses:   b.counter("loop.responses", "{response}", "Responses read for calls of the expand tool, by outcome and reason."),
		rounds:      b.counter("loop.rounds", "{round}", "Continuations sent to the provider and answered."),
		expands:     b.counter("loop.expands", "{call}", "Calls of the expand tool that were answered, by result and by the component that had hidden what was read."),
		expandBytes: b.counter("loop.expand.bytes", "By", "Bytes of the results of those calls."),
		expandTokens: b.counter("loop.expand.tokens", "{token}",
			"Tokens of the results of those calls, by the component that had hidden what was read: to be taken off what it saved."),
		unread:  b.counter("loop.unread", "{response}", "Responses to requests with the expand tool that could not be read, by reason."),
		usage:   b.counter("loop.usage", "{token}", "Tokens the provider reported for all rounds of responses with calls, by kind."),
		records: b.counter("loop.record_failures", "{response}", "Responses whose hidden rounds were not recorded: the next request starts a new prefix."),
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
