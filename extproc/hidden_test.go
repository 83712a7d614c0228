package extproc_test

import (
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// TestHiddenIsTold checks that an echoed marker and a healed call are counted, and
// that a store which cannot say what was hidden is.
func TestHiddenIsTold(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		reader := sdkmetric.NewManualReader()
		h := start(t, setup{
			rewriter: func(c *rewrite.Config) {
				c.Expand.Resolver = rewrite.ResolverLoop
				keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k1", Secret: []byte("0123456789abcdef")})
				if err != nil {
					t.Fatal(err)
				}
				if c.Hidden, err = hidden.New(hidden.Config{Store: c.Store, Keys: keys}); err != nil {
					t.Fatal(err)
				}
				if down {
					_ = c.Store.Close()
				}
			},
			server: func(c *extproc.Config) {
				c.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("")
			},
		})
		_, output, _ := strings.Cut(chat, `"c1","content":"`)
		output, _, _ = strings.Cut(output, `"`)
		id := h.keys.Mint(strings.ReplaceAll(output, `\n`, "\n"))
		body := strings.Replace(chat, "{", `{"tools":[{"type":"function","function":{"name":"f"}}],`, 1)
		body = strings.TrimSuffix(body, "]}") +
			`,{"role":"assistant","content":"See ` + pipeline.Marker(id) + `.","tool_calls":[{"id":"l","type":"function","function":{"name":"context_guru_expand","arguments":"{\"id\":\"` + id + `\"}"}}]},` +
			`{"role":"tool","tool_call_id":"l","content":"unsupported call"}]}`
		s := h.open(t, t.Context())
		s.send(reqHeaders(chatHeaders(len(body)), false))
		s.recv()
		s.send(reqBody(body, true))
		out := string(s.recv().GetRequestBody().GetResponse().GetBodyMutation().GetBody())
		if strings.Contains(out, "unsupported call") || strings.Count(out, output) != 1 {
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
				if sum, ok := m.Data.(metricdata.Sum[int64]); ok && strings.HasPrefix(m.Name, "contextguru.loop.") {
					for _, p := range sum.DataPoints {
						got[strings.TrimPrefix(m.Name, "contextguru.loop.")] += p.Value
					}
				}
			}
		}
		if got["healed"] != 1 || got["marker_echoes"] != 1 || (got["lookup_failures"] == 1) != down {
			t.Errorf("down %v: counted %v", down, got)
		}
	}
}
