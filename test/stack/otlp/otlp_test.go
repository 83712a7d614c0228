package otlp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/contextguru/contextguru/test/stack/otlp"
)

// TestRealExportersAreUnderstood sends through the exporters every Go program uses.
func TestRealExportersAreUnderstood(t *testing.T) {
	t.Parallel()
	r, err := otlp.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(r.Addr()), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithHeaders(map[string]string{"x-team": "blue"}))
	if err != nil {
		t.Fatal(err)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "unit"))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithResource(res))
	parent, outer := tracer.Tracer("t").Start(ctx, "outer")
	_, inner := tracer.Tracer("t").Start(parent, "inner", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.Int("n", 3), attribute.String("s", "text"), attribute.Bool("b", true), attribute.Float64("f", 1.5), attribute.StringSlice("l", []string{"x", "y"})))
	inner.AddEvent("happened", trace.WithAttributes(attribute.String("what", "this")))
	inner.SetStatus(codes.Error, "sad")
	inner.End()
	outer.End()

	got, err := r.WaitSpan(ctx, func(s otlp.Span) bool { return s.Name == "inner" })
	if err != nil {
		t.Fatal(err)
	}
	if got.ParentID != outer.SpanContext().SpanID().String() || got.TraceID != outer.SpanContext().TraceID().String() || got.Kind != "SERVER" {
		t.Errorf("inner is %+v, want a server span below outer", got)
	}
	if a := got.Attributes; a["n"] != int64(3) || a["s"] != "text" || a["b"] != true || a["f"] != 1.5 || len(a["l"].([]any)) != 2 {
		t.Errorf("attributes %v", a)
	}
	if !got.Failed || got.Message != "sad" || len(got.Events) != 1 || got.Events[0].Attributes["what"] != "this" || got.Resource["service.name"] != "unit" {
		t.Errorf("got %+v", got)
	}
	if h := r.Headers(); len(h) == 0 || strings.Join(h[0].Get("x-team"), "") != "blue" {
		t.Errorf("headers %v", h)
	}

	exporter, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(r.Addr()), otlpmetricgrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)), sdkmetric.WithResource(res))
	count, err := meters.Meter("t").Int64Counter("count")
	if err != nil {
		t.Fatal(err)
	}
	took, err := meters.Meter("t").Float64Histogram("took")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second export replaces the first
		count.Add(ctx, 2, metric.WithAttributes(attribute.String("kind", "a")))
		took.Record(ctx, 0.5)
		if err := meters.ForceFlush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.WaitPoint(ctx, func(p otlp.Point) bool { return p.Metric == "count" && p.Attributes["kind"] == "a" && p.Value == 4 }); err != nil {
		t.Error(err)
	}
	if _, err := r.WaitPoint(ctx, func(p otlp.Point) bool { return p.Metric == "took" && p.Value == 1 && p.Count == 2 }); err != nil {
		t.Error(err)
	}
	if n := len(r.Points()); n != 2 {
		t.Errorf("%d time series, want 2", n)
	}
	if !strings.Contains(r.Raw(), `"happened"`) {
		t.Error("the raw text lacks the event")
	}

	gone, stop := context.WithCancel(ctx)
	stop()
	if _, err := r.WaitSpan(gone, func(otlp.Span) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
