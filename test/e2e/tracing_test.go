package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/otlp"
)

// optional returns a block of the shipped configuration that is commented out
// with "#|", without the comment's marks and the block's own indentation. It begins
// with the given line.
func optional(t *testing.T, first string) string {
	t.Helper()
	root, err := stack.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "envoy", "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var block []string
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "#|")
		switch {
		case ok && (len(block) > 0 || strings.TrimSpace(rest) == first):
			block = append(block, rest)
		case len(block) > 0:
			return strings.Join(block, "")
		}
	}
	if len(block) == 0 {
		t.Fatalf("envoy.yaml has no optional block %q", first)
	}
	return strings.Join(block, "")
}

// withTracing switches the optional tracing of the shipped configuration on,
// with the receiver in the collector's place.
func withTracing(t *testing.T, receiver string) stack.Edit {
	t.Helper()
	host, portText, err := net.SplitHostPort(receiver)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		t.Fatal(err)
	}
	_, tracing, _ := strings.Cut(optional(t, "tracing:"), "\n")
	cluster := " " + strings.TrimPrefix(optional(t, "- name: otel_collector"), "-")
	return func(c *stack.Config) {
		c.Set(stack.ManagerPath().Then("tracing"), stack.YAML(tracing))
		c.Insert(stack.Path{"static_resources", "clusters"}, -1, stack.YAML(cluster))
		address := stack.ClusterPath("otel_collector").Then("load_assignment", "endpoints", 0, "lb_endpoints", 0, "endpoint", "address", "socket_address")
		c.Set(address.Then("address"), host)
		c.Set(address.Then("port_value"), port)
		// By itself Envoy hands its spans over after five seconds.
		c.Set(stack.Path{"layered_runtime"}, stack.YAML("layers: [{name: test, static_layer: {tracing.opentelemetry.min_flush_spans: 1}}]"))
	}
}

// TestSpanBelowEnvoys switches Envoy's own tracing on: the exchange's span then
// hangs below Envoy's, in the client's trace.
func TestSpanBelowEnvoys(t *testing.T) {
	t.Parallel()
	receiver, err := otlp.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(receiver.Close)
	config := external + fmt.Sprintf("telemetry: {otlp: {endpoint: %q, insecure: true}}\n", receiver.Addr())
	s := stack.New(t, stack.WithConfig(config), stack.WithEnvoy(withTracing(t, receiver.Addr())), stack.WithServiceEnv("OTEL_BSP_SCHEDULE_DELAY=100"))
	for i, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		header, trace, client := traceparent(i)
		exchange(t, s, stack.Call{Path: d.Path(), Body: question(t, d, records(0, 120)), Header: map[string]string{"traceparent": header}})
		ours := spanOf(t, receiver, trace)
		envoys, err := receiver.WaitSpan(within(t), func(span otlp.Span) bool { return span.TraceID == trace && span.SpanID == ours.ParentID })
		if err != nil {
			t.Fatalf("the parent %s of our span: %v", ours.ParentID, err)
		}
		if envoys.Resource["service.name"] != "envoy" {
			t.Errorf("the parent is of %v, want Envoy", envoys.Resource["service.name"])
		}
		// Envoy may make spans of its own in between; the client's is at the top.
		for envoys.ParentID != client {
			parent := envoys.ParentID
			if envoys, err = receiver.WaitSpan(within(t), func(span otlp.Span) bool { return span.SpanID == parent }); err != nil {
				t.Fatalf("the way up to the client's span ends at %s: %v", parent, err)
			}
		}
	}
}
