package extproc_test

import (
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// TestToolIsTold checks that an exchange whose calls are answered here carries
// the tool, and that metric and span say so, and that its store failed.
func TestToolIsTold(t *testing.T) {
	t.Parallel()
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	h := start(t, setup{
		rewriter: func(c *rewrite.Config) {
			c.Expand.Resolver = rewrite.ResolverLoop
			_ = c.Store.Close()
		},
		server: func(c *extproc.Config) {
			c.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("")
			c.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("")
		},
	})
	body := strings.Replace(chat, "{", `{"tools":[{"type":"function","function":{"name":"f"}}],`, 1)
	s := h.open(t, t.Context())
	s.send(reqHeaders(chatHeaders(len(body)), false))
	s.recv()
	s.send(reqBody(body, true))
	out := string(s.recv().GetRequestBody().GetResponse().GetBodyMutation().GetBody())
	if !strings.Contains(out, `"name":"f"}},{"type":"function","function":{"name":"context_guru_expand"`) || len(h.markers(out)) != 1 {
		t.Errorf("sent %s", out)
	}
	s.send(resHeaders(true, ":status", "200"))
	s.recv()
	s.ends()

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, p := range sum.DataPoints {
					state, _ := p.Attributes.Value("state")
					got[m.Name+" "+state.AsString()] += p.Value
				}
			}
		}
	}
	if got["contextguru.expand.tool injected"] != 1 || got["contextguru.store.put_failures "] != 1 || got["contextguru.markers "] != 1 {
		t.Errorf("counted %v", got)
	}
	attrs := map[string]attribute.Value{}
	for _, a := range spans.Ended()[0].Attributes() {
		attrs[string(a.Key)] = a.Value
	}
	if attrs["contextguru.expand.tool"].AsString() != "injected" || attrs["contextguru.expand.tool_tokens"].AsInt64() == 0 || attrs["contextguru.expand.gate"].AsString() != "open" {
		t.Errorf("span %v", attrs)
	}
}

// TestToolByPath checks that what asks about a conversation gets what the
// conversation gets, though it does not say what the provider keeps, and that what
// is answered in binary gets no tool.
func TestToolByPath(t *testing.T) {
	t.Parallel()
	const responses = `{"tools":[{"type":"function","name":"f"}],"input":"hi"}`
	const converse = `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}}`
	for path, want := range map[string]bool{
		"/v1/responses/input_tokens": true, "/v1/responses": false,
		"/model/m/converse": true, "/model/m/converse-stream": false,
	} {
		h := start(t, setup{rewriter: func(c *rewrite.Config) { c.Expand.Resolver = rewrite.ResolverLoop }})
		body := responses
		if strings.Contains(path, "/model/") {
			body = converse
		}
		s := h.open(t, t.Context())
		s.send(reqHeaders(headers(":method", "POST", ":path", path, "content-type", "application/json",
			"content-length", strconv.Itoa(len(body)), "authorization", "Bearer a"), false))
		s.recv()
		s.send(reqBody(body, true))
		out := string(s.recv().GetRequestBody().GetResponse().GetBodyMutation().GetBody())
		if strings.Contains(out, "context_guru_expand") != want {
			t.Errorf("%s: sent %q", path, out)
		}
		s.send(resHeaders(true, ":status", "200"))
		s.recv()
		s.ends()
	}
}

// markers lists the markers of ours in a text.
func (h *harness) markers(text string) []string {
	var ids []string
	for id := range h.keys.Markers(text) {
		ids = append(ids, id)
	}
	return ids
}
