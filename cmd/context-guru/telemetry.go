package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/pipeline"
)

// scope names our instrumentation in spans and metrics.
const scope = "github.com/contextguru/contextguru"

// telemetry is the OpenTelemetry SDK of the process. Metrics always have the
// Prometheus endpoint; OTLP is added by the configuration or by the standard
// OTEL_EXPORTER_OTLP_* variables.
type telemetry struct {
	tracer     trace.Tracer
	meter      metric.Meter
	prometheus http.Handler
	stop       func(context.Context) error
}

func newTelemetry(ctx context.Context, c *config.Telemetry, env func(string) string) (*telemetry, error) {
	res, err := resource.Merge(resource.Default(), resource.NewSchemaless(semconv.ServiceName(c.ServiceName), semconv.ServiceVersion(version)))
	if err != nil {
		return nil, fmt.Errorf("describe the service: %w", err)
	}
	spans, reader, err := exporters(ctx, &c.OTLP, env)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	err = errors.Join(registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return nil, fmt.Errorf("build the prometheus endpoint: %w", err)
	}
	pull, err := otelprom.New(otelprom.WithRegisterer(registry))
	if err != nil {
		return nil, fmt.Errorf("build the prometheus endpoint: %w", err)
	}
	metricOptions := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(pull), sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter)}
	if reader != nil {
		metricOptions = append(metricOptions, sdkmetric.WithReader(reader))
	}
	meters := sdkmetric.NewMeterProvider(metricOptions...)
	traceOptions := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(res),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.SampleRatio))),
	}
	if spans != nil {
		traceOptions = append(traceOptions, sdktrace.WithBatcher(spans))
	} else {
		// Nobody listens: spans are not even begun.
		traceOptions = append(traceOptions, sdktrace.WithSampler(sdktrace.NeverSample()))
	}
	traces := sdktrace.NewTracerProvider(traceOptions...)
	return &telemetry{
		tracer: traces.Tracer(scope), meter: meters.Meter(scope),
		prometheus: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		stop:       func(ctx context.Context) error { return errors.Join(traces.Shutdown(ctx), meters.Shutdown(ctx)) },
	}, nil
}

// exporters returns where spans and metrics are pushed to, nil for nowhere.
func exporters(ctx context.Context, c *config.OTLP, env func(string) string) (sdktrace.SpanExporter, sdkmetric.Reader, error) {
	if c.Endpoint == "" {
		return standardExporters(ctx, env)
	}
	headers := make(map[string]string, len(c.Headers))
	for name, secret := range c.Headers {
		headers[name] = secret.Value()
	}
	traceOptions := []otlptracegrpc.Option{otlptracegrpc.WithHeaders(headers)}
	metricOptions := []otlpmetricgrpc.Option{otlpmetricgrpc.WithHeaders(headers)}
	if strings.Contains(c.Endpoint, "://") {
		traceOptions = append(traceOptions, otlptracegrpc.WithEndpointURL(c.Endpoint))
		metricOptions = append(metricOptions, otlpmetricgrpc.WithEndpointURL(c.Endpoint))
	} else {
		traceOptions = append(traceOptions, otlptracegrpc.WithEndpoint(c.Endpoint))
		metricOptions = append(metricOptions, otlpmetricgrpc.WithEndpoint(c.Endpoint))
		if c.Insecure {
			traceOptions = append(traceOptions, otlptracegrpc.WithInsecure())
			metricOptions = append(metricOptions, otlpmetricgrpc.WithInsecure())
		}
	}
	spans, err := otlptracegrpc.New(ctx, traceOptions...)
	if err != nil {
		return nil, nil, fmt.Errorf("build the span exporter: %w", err)
	}
	metrics, err := otlpmetricgrpc.New(ctx, metricOptions...)
	if err != nil {
		return nil, nil, fmt.Errorf("build the metric exporter: %w", err)
	}
	return spans, sdkmetric.NewPeriodicReader(metrics), nil
}

// standardExporters follows the OTEL_* variables, and exports nothing when none
// names a receiver: their own default would retry a collector that is not there.
func standardExporters(ctx context.Context, env func(string) string) (sdktrace.SpanExporter, sdkmetric.Reader, error) {
	asked := func(names ...string) bool {
		for _, n := range names {
			if env(n) != "" {
				return true
			}
		}
		return false
	}
	var (
		spans   sdktrace.SpanExporter
		metrics sdkmetric.Reader
		err     error
	)
	if asked("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
		if spans, err = autoexport.NewSpanExporter(ctx); err != nil {
			return nil, nil, fmt.Errorf("build the span exporter from OTEL_* variables: %w", err)
		}
	}
	if asked("OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") {
		if metrics, err = autoexport.NewMetricReader(ctx); err != nil {
			return nil, nil, fmt.Errorf("build the metric exporter from OTEL_* variables: %w", err)
		}
	}
	return spans, metrics, nil
}

// watchMemo exports the memo's counters. They are read when a reader asks.
func watchMemo(meter metric.Meter, memo *pipeline.Memo) error {
	hits, err1 := meter.Int64ObservableCounter("contextguru.memo.hits", metric.WithUnit("{segment}"), metric.WithDescription("Outputs whose outcome was remembered."))
	entries, err2 := meter.Int64ObservableGauge("contextguru.memo.entries", metric.WithUnit("{segment}"), metric.WithDescription("Outcomes remembered right now."))
	size, err3 := meter.Int64ObservableGauge("contextguru.memo.bytes", metric.WithUnit("By"), metric.WithDescription("Bytes the remembered outcomes take."))
	_, err4 := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := memo.Stats()
		o.ObserveInt64(hits, int64(s.Hits))
		o.ObserveInt64(entries, int64(s.Entries))
		o.ObserveInt64(size, s.Bytes)
		return nil
	}, hits, entries, size)
	return errors.Join(err1, err2, err3, err4)
}
