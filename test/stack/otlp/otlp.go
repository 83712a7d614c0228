// Package otlp receives OpenTelemetry traces and metrics over gRPC, as a
// collector does, and keeps them for a test to look at.
package otlp

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"time"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Span is one finished span.
type Span struct {
	Name string
	// Kind is SERVER, CLIENT, INTERNAL and so on.
	Kind string
	// TraceID, SpanID and ParentID are hex; ParentID is empty for a root.
	TraceID, SpanID, ParentID string
	Start, End                time.Time
	Attributes                map[string]any
	Resource                  map[string]any
	Events                    []Event
	// Failed reports an error status, Message explains it.
	Failed  bool
	Message string
}

// Event is an event of a span.
type Event struct {
	Name       string
	Attributes map[string]any
}

// Point is the newest value of one time series.
type Point struct {
	Metric, Unit, Description string
	Attributes                map[string]any
	Resource                  map[string]any
	// Value is a counter's or gauge's value, or a histogram's sum.
	Value float64
	// Count is a histogram's number of observations.
	Count uint64
}

// Receiver is a running receiver. Its methods are safe for concurrent use.
type Receiver struct {
	collecttrace.UnimplementedTraceServiceServer
	server *grpc.Server
	addr   string

	mu      sync.Mutex
	spans   []Span
	points  map[string]Point
	raw     []string
	headers []metadata.MD
	changed chan struct{}
}

// metricsService gives the receiver its second Export method.
type metricsService struct {
	collectmetrics.UnimplementedMetricsServiceServer
	r *Receiver
}

// Start listens on a TCP address such as 127.0.0.1:0.
func Start(addr string) (*Receiver, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start the telemetry receiver: %w", err)
	}
	r := &Receiver{server: grpc.NewServer(), addr: ln.Addr().String(), points: map[string]Point{}, changed: make(chan struct{})}
	collecttrace.RegisterTraceServiceServer(r.server, r)
	collectmetrics.RegisterMetricsServiceServer(r.server, metricsService{r: r})
	// Serve ends without an error when the server is stopped, and there is
	// nobody to tell about another one: the exports fail then.
	go func() { _ = r.server.Serve(ln) }()
	return r, nil
}

// Addr is the host and port of the receiver.
func (r *Receiver) Addr() string { return r.addr }

// Close stops the receiver. What it received stays readable.
func (r *Receiver) Close() { r.server.Stop() }

// Export takes spans.
func (r *Receiver) Export(ctx context.Context, req *collecttrace.ExportTraceServiceRequest) (*collecttrace.ExportTraceServiceResponse, error) {
	var spans []Span
	for _, rs := range req.GetResourceSpans() {
		resource := attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				spans = append(spans, span(s, resource))
			}
		}
	}
	r.keep(ctx, req, func() { r.spans = append(r.spans, spans...) })
	return &collecttrace.ExportTraceServiceResponse{}, nil
}

// Export takes metrics.
func (m metricsService) Export(ctx context.Context, req *collectmetrics.ExportMetricsServiceRequest) (*collectmetrics.ExportMetricsServiceResponse, error) {
	fresh := map[string]Point{}
	for _, rm := range req.GetResourceMetrics() {
		resource := attributes(rm.GetResource().GetAttributes())
		for _, sm := range rm.GetScopeMetrics() {
			for _, metric := range sm.GetMetrics() {
				for _, p := range points(metric) {
					p.Resource = resource
					fresh[fmt.Sprint(p.Metric, p.Attributes, p.Resource)] = p
				}
			}
		}
	}
	m.r.keep(ctx, req, func() { maps.Copy(m.r.points, fresh) })
	return &collectmetrics.ExportMetricsServiceResponse{}, nil
}

func (r *Receiver) keep(ctx context.Context, message proto.Message, add func()) {
	md, _ := metadata.FromIncomingContext(ctx)
	text := protojson.Format(message)
	r.mu.Lock()
	defer r.mu.Unlock()
	add()
	r.raw, r.headers = append(r.raw, text), append(r.headers, md)
	close(r.changed)
	r.changed = make(chan struct{})
}

// Spans returns all spans received, in the order of their arrival.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Points returns the newest value of each time series, in no order.
func (r *Receiver) Points() []Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Point, 0, len(r.points))
	for _, p := range r.points {
		list = append(list, p)
	}
	return list
}

// Raw returns everything received as JSON text: a test can search it for what
// must not be there.
func (r *Receiver) Raw() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.raw, "\n")
}

// Headers returns the gRPC metadata of every export.
func (r *Receiver) Headers() []metadata.MD {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]metadata.MD(nil), r.headers...)
}

// WaitSpan returns the first span that matches, as soon as there is one.
func (r *Receiver) WaitSpan(ctx context.Context, match func(Span) bool) (Span, error) {
	return wait(ctx, r, "span", r.Spans, match)
}

// WaitPoint returns a time series that matches, as soon as there is one.
func (r *Receiver) WaitPoint(ctx context.Context, match func(Point) bool) (Point, error) {
	return wait(ctx, r, "metric", r.Points, match)
}

func wait[T any](ctx context.Context, r *Receiver, what string, list func() []T, match func(T) bool) (T, error) {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		all := list()
		for _, one := range all {
			if match(one) {
				return one, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			var none T
			return none, fmt.Errorf("wait for a %s, none of %d matches: %w", what, len(all), context.Cause(ctx))
		}
	}
}

func span(s *trace.Span, resource map[string]any) Span {
	out := Span{
		Name: s.GetName(), Kind: strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"),
		TraceID: hex.EncodeToString(s.GetTraceId()), SpanID: hex.EncodeToString(s.GetSpanId()), ParentID: hex.EncodeToString(s.GetParentSpanId()),
		Start: moment(s.GetStartTimeUnixNano()), End: moment(s.GetEndTimeUnixNano()),
		Attributes: attributes(s.GetAttributes()), Resource: resource,
		Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR, Message: s.GetStatus().GetMessage(),
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, Event{Name: e.GetName(), Attributes: attributes(e.GetAttributes())})
	}
	return out
}

func moment(nanos uint64) time.Time { return time.Unix(0, int64(nanos)) }

func points(m *metrics.Metric) []Point {
	base := Point{Metric: m.GetName(), Unit: m.GetUnit(), Description: m.GetDescription()}
	var list []Point
	for _, p := range append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...) {
		one := base
		one.Attributes = attributes(p.GetAttributes())
		one.Value = p.GetAsDouble()
		if v, ok := p.GetValue().(*metrics.NumberDataPoint_AsInt); ok {
			one.Value = float64(v.AsInt)
		}
		list = append(list, one)
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		one := base
		one.Attributes, one.Value, one.Count = attributes(p.GetAttributes()), p.GetSum(), p.GetCount()
		list = append(list, one)
	}
	for _, p := range m.GetExponentialHistogram().GetDataPoints() {
		one := base
		one.Attributes, one.Value, one.Count = attributes(p.GetAttributes()), p.GetSum(), p.GetCount()
		list = append(list, one)
	}
	return list
}

func attributes(list []*common.KeyValue) map[string]any {
	out := make(map[string]any, len(list))
	for _, kv := range list {
		out[kv.GetKey()] = value(kv.GetValue())
	}
	return out
}

func value(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BytesValue:
		return v.BytesValue
	case *common.AnyValue_ArrayValue:
		list := make([]any, 0, len(v.ArrayValue.GetValues()))
		for _, element := range v.ArrayValue.GetValues() {
			list = append(list, value(element))
		}
		return list
	case *common.AnyValue_KvlistValue:
		return attributes(v.KvlistValue.GetValues())
	default:
		return nil
	}
}
