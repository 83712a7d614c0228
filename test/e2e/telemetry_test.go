package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/otlp"
)

// traceparent is a caller's trace context with a trace id of its own.
func traceparent(n int) (header, trace, span string) {
	trace, span = fmt.Sprintf("%032x", 0xabc000+n), fmt.Sprintf("%016x", 0xdef000+n)
	return "00-" + trace + "-" + span + "-01", trace, span
}

// spanOf waits for the one span of a trace that is ours.
func spanOf(t *testing.T, r *otlp.Receiver, trace string) otlp.Span {
	t.Helper()
	span, err := r.WaitSpan(within(t), func(s otlp.Span) bool { return s.TraceID == trace && s.Name == "contextguru.exchange" })
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range r.Spans() {
		if other.TraceID == trace && other.Name == span.Name && other.SpanID != span.SpanID {
			t.Errorf("trace %s has more than one span of an exchange", trace)
		}
	}
	return span
}

// dialectName is how spans and metrics call a dialect.
func dialectName(d chat.Dialect) string {
	if d == chat.Anthropic {
		return "anthropic.messages"
	}
	return "openai.chat"
}

// TestSpanPerExchange compares the spans with what was seen to happen.
func TestSpanPerExchange(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithOTLP())
	for i, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		header, trace, parent := traceparent(i)
		body := question(t, d, records(0, 120))
		reply, got := exchange(t, s, stack.Call{Protocol: stack.Protocol(i), Path: d.Path(), Body: body, Header: map[string]string{"traceparent": header}})
		edits := restored(t, s, body, got.Body)
		span := spanOf(t, s.OTLP, trace)
		if span.ParentID != parent || span.Kind != "SERVER" || span.Failed {
			t.Errorf("%v: parent %s, want %s; kind %s, failed %v", d, span.ParentID, parent, span.Kind, span.Failed)
		}
		want := map[string]any{
			"contextguru.dialect": dialectName(d), "gen_ai.request.model": model(d), "contextguru.verdict": "rewritten", "contextguru.outcome": "done",
			"contextguru.bytes.before": int64(len(body)), "contextguru.bytes.after": int64(len(got.Body)), "http.request.body.size": int64(len(body)),
			"contextguru.segments": int64(1), "contextguru.turn": span.Attributes["contextguru.turn"], "contextguru.stream": false,
			"contextguru.markers": int64(markers(edits)), "contextguru.memo.misses": int64(1),
		}
		// Where responses are not read, nothing is known of them.
		if s.Envoy.Minor() >= 40 {
			want["http.response.status_code"], want["http.response.body.size"] = int64(200), int64(len(reply.Body))
		}
		told := map[string]any{}
		for name := range want {
			told[name] = span.Attributes[name]
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%v: span (-want +got):\n%s", d, diff)
		}
		checkTokens(t, d, span)
		if span.Resource["service.name"] != "context-guru" || span.Resource["service.version"] == nil {
			t.Errorf("resource %v", span.Resource)
		}
	}
}

// checkTokens checks that a span's figures about tokens agree with each other.
func checkTokens(t *testing.T, d chat.Dialect, span otlp.Span) {
	t.Helper()
	number := func(name string) int64 {
		n, ok := span.Attributes[name].(int64)
		if !ok {
			t.Errorf("%v: no %s on the span", d, name)
		}
		return n
	}
	before, after := number("contextguru.tokens.before"), number("contextguru.tokens.after")
	if after <= 0 || after >= before || number("contextguru.new_tokens.before") != before || number("contextguru.new_tokens.after") != after {
		t.Errorf("%v: tokens %d → %d, new %v → %v", d, before, after, span.Attributes["contextguru.new_tokens.before"], span.Attributes["contextguru.new_tokens.after"])
	}
	var edits, saved int64
	for name := range span.Attributes {
		if component, ok := strings.CutPrefix(name, "contextguru.edits."); ok {
			edits += number(name)
			saved += number("contextguru.tokens.saved." + component)
		}
	}
	if edits == 0 || saved != before-after {
		t.Errorf("%v: %d edits that saved %d tokens, want %d", d, edits, saved, before-after)
	}
}

// TestSpanSaysWhyNothingHappened sends exchanges that cannot be rewritten.
func TestSpanSaysWhyNothingHappened(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithOTLP())
	whole := string(question(t, chat.OpenAI, records(0, 120)))
	for i, c := range []struct {
		verdict, reason, body string
		header                map[string]string
	}{
		{"unchanged", "", string(question(t, chat.OpenAI, "ok")), nil},
		{"passthrough", "not_json", `{"messages":[`, nil},
		{"passthrough", "body_signature", whole, map[string]string{"signature": "x"}},
		{"passthrough", "content_encoding", whole, map[string]string{"content-encoding": "br"}},
		{"passthrough", "bad_encoding", whole, map[string]string{"content-encoding": "gzip"}},
	} {
		header, trace, parent := traceparent(100 + i)
		call := stack.Call{Path: chatPath, Body: []byte(c.body), Header: map[string]string{"traceparent": header}}
		maps.Copy(call.Header, c.header)
		do(t, s, call)
		span := spanOf(t, s.OTLP, trace)
		reason, _ := span.Attributes["contextguru.reason"].(string)
		if span.ParentID != parent || span.Attributes["contextguru.verdict"] != c.verdict || reason != c.reason {
			t.Errorf("%s, %s: span %v", c.verdict, c.reason, span.Attributes)
		}
	}
	// What is not for a model gets no span at all; the next exchange's span proves
	// that it would have arrived.
	none, noTrace, _ := traceparent(200)
	do(t, s, stack.Call{Method: "GET", Path: "/v1/models", Header: map[string]string{"traceparent": none}})
	next, nextTrace, _ := traceparent(201)
	do(t, s, stack.Call{Path: chatPath, Body: []byte(whole), Header: map[string]string{"traceparent": next}})
	spanOf(t, s.OTLP, nextTrace)
	for _, span := range s.OTLP.Spans() {
		if span.TraceID == noTrace {
			t.Errorf("a span for other traffic: %v", span.Attributes)
		}
	}
}

// TestFailuresAreOnTheSpan: a store that is away is told, with its error.
func TestFailuresAreOnTheSpan(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(externalSole), stack.WithOTLP(), stack.WithRedis(stack.RedisOptions{}))
	needsMarkers(t, s)
	if err := s.Redis.Kill(); err != nil {
		t.Fatal(err)
	}
	header, trace, _ := traceparent(1)
	exchange(t, s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, testLog(300)), Header: map[string]string{"traceparent": header}})
	span := spanOf(t, s.OTLP, trace)
	if span.Attributes["contextguru.lossless_only"] != "store" || span.Attributes["contextguru.markers"] != int64(0) {
		t.Errorf("span %v", span.Attributes)
	}
	if len(span.Events) != 1 || span.Events[0].Name != "store_failed" || span.Events[0].Attributes["error"] == "" {
		t.Errorf("events %v, want one about the store", span.Events)
	}
}

// TestMetricNames keeps the names and units that dashboards are built on. A name
// that disappears breaks somebody's alert.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithOTLP())
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		exchange(t, s, stack.Call{Path: d.Path(), Body: question(t, d, records(0, 120))})
	}
	exchange(t, s, stack.Call{Path: chatPath, Stream: strings.NewReader(string(question(t, chat.OpenAI, "ok")))})
	want := map[string]string{
		"contextguru.exchanges": "{exchange}", "contextguru.optouts": "{exchange}", "contextguru.request.bytes": "By",
		"contextguru.tokens": "{token}", "contextguru.tokens.saved": "{token}", "contextguru.edits": "{edit}", "contextguru.declines": "{segment}",
		"contextguru.markers": "{marker}", "contextguru.store.conflicts": "{marker}", "contextguru.rewrite.duration": "s", "contextguru.component.duration": "s", "contextguru.in_flight.bytes": "By",
		"contextguru.memo.hits": "{segment}", "contextguru.memo.misses": "{segment}", "contextguru.memo.entries": "{segment}", "contextguru.memo.bytes": "By",
		"contextguru.config.reloads": "{reload}", "contextguru.models.refreshes": "{refresh}", "contextguru.generation.breaks": "{exchange}",
		"contextguru.generation.live": "{generation}", "contextguru.generation.loaded": "{generation}", "contextguru.generation.pins": "{pin}",
	}
	if !lossy(s, false) {
		// Below the floor every exchange is counted as lossless only.
		want["contextguru.lossless_only"] = "{exchange}"
	}
	// What was counted last proves that all is there: an export is a picture of one moment.
	if _, err := s.OTLP.WaitPoint(within(t), func(p otlp.Point) bool { return p.Metric == "contextguru.optouts" && p.Value == 1 }); err != nil {
		t.Fatal(err)
	}
	pushed := map[string]string{}
	for _, p := range s.OTLP.Points() {
		pushed[p.Metric] = p.Unit
		if p.Description == "" {
			t.Errorf("%s has no description", p.Metric)
		}
	}
	if diff := cmp.Diff(want, pushed); diff != "" {
		t.Errorf("OTLP metrics (-want +got):\n%s", diff)
	}
	page, err := s.Service().Get(within(t), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	wantPage := []string{
		"contextguru_config_reloads_total counter", "contextguru_generation_breaks_total counter", "contextguru_generation_live gauge",
		"contextguru_generation_loaded gauge", "contextguru_generation_pins_total counter", "contextguru_models_refreshes_total counter",
		"contextguru_component_duration_seconds histogram", "contextguru_declines_total counter", "contextguru_edits_total counter",
		"contextguru_exchanges_total counter", "contextguru_in_flight_bytes gauge", "contextguru_markers_total counter", "contextguru_memo_bytes gauge",
		"contextguru_memo_entries gauge", "contextguru_memo_hits_total counter", "contextguru_memo_misses_total counter", "contextguru_optouts_total counter", "contextguru_request_bytes_total counter", "contextguru_rewrite_duration_seconds histogram",
		"contextguru_store_conflicts_total counter", "contextguru_tokens_saved_total counter", "contextguru_tokens_total counter", "go_goroutines gauge", "process_resident_memory_bytes gauge", "target_info gauge",
	}
	if !lossy(s, false) {
		wantPage = append(wantPage, "contextguru_lossless_only_total counter")
	}
	var pulled []string
	for line := range strings.Lines(string(page)) {
		// Of the process's own metrics, two stand for all: which there are is decided by
		// the library and by the system.
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "# TYPE ")
		if ok && (!strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") || slices.Contains(wantPage, name)) {
			pulled = append(pulled, name)
		}
	}
	slices.Sort(wantPage)
	slices.Sort(pulled)
	if diff := cmp.Diff(wantPage, pulled); diff != "" {
		t.Errorf("/metrics (-want +got):\n%s", diff)
	}
}

// TestEveryCountAgrees compares /stats, /metrics and OTLP after the same traffic.
func TestEveryCountAgrees(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithOTLP())
	var before, after, sentMarkers int64
	for i, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		for _, body := range journey(t, d, uint64(i), 6) {
			_, got := exchange(t, s, stack.Call{Path: d.Path(), Body: body})
			edits, err := chat.Edits(body, got.Body)
			if err != nil {
				t.Fatal(err)
			}
			before, after, sentMarkers = before+int64(len(body)), after+int64(len(got.Body)), sentMarkers+int64(markers(edits))
		}
	}
	stats, err := s.Service().Stats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	totals := stats.Totals
	if totals.Bytes.Before != before || totals.Bytes.After != after || totals.Markers != sentMarkers {
		t.Errorf("/stats says %+v with %d markers; seen %d → %d with %d", totals.Bytes, totals.Markers, before, after, sentMarkers)
	}
	if int64(s.LLM.Count()) != totals.Requests || totals.Verdicts["rewritten"]+totals.Verdicts["unchanged"] != totals.Requests {
		t.Errorf("/stats says %+v after %d requests", totals, s.LLM.Count())
	}
	if u, sent := totals.TokensUnique, totals.TokensSent; u.After >= u.Before || sent.After >= sent.Before || u.Before >= sent.Before {
		t.Errorf("tokens: unique %+v, sent %+v", u, sent)
	}
	for name, want := range map[string]int64{"before": before, "after": after} {
		if n := metric(t, s, "contextguru_request_bytes_total", "state", name); int64(n) != want {
			t.Errorf("/metrics says %v bytes %s, want %d", n, name, want)
		}
		for basis, pair := range map[string]stack.BeforeAfter{"sent": totals.TokensSent, "unique": totals.TokensUnique} {
			want := map[string]int64{"before": pair.Before, "after": pair.After}[name]
			if n := metric(t, s, "contextguru_tokens_total", "state", name, "basis", basis); int64(n) != want {
				t.Errorf("/metrics says %v tokens %s, basis %s, and /stats %d", n, name, basis, want)
			}
		}
	}
	checkComponents(t, s, stats)
	_, err = s.OTLP.WaitPoint(within(t), func(p otlp.Point) bool {
		return p.Metric == "contextguru.rewrite.duration" && p.Attributes["dialect"] == dialectName(chat.OpenAI) && p.Count > 0
	})
	if err != nil {
		t.Error(err)
	}
}

// checkComponents compares what /stats says of each component with the metrics,
// and wants every refusal to have a reason and the list of idlers in its order.
func checkComponents(t *testing.T, s *stack.Stack, stats stack.Stats) {
	t.Helper()
	if len(stats.Components) < 4 || len(stats.TopPassthrough) == 0 {
		t.Fatalf("/stats lists %d components and %d in top_passthrough", len(stats.Components), len(stats.TopPassthrough))
	}
	acts := int64(0)
	for _, c := range stats.Components {
		acts += c.Acts
		var refused int64
		for reason, n := range c.Refusals {
			refused += n
			if m := metric(t, s, "contextguru_declines_total", "component", c.Component, "reason", reason); int64(m) != n {
				t.Errorf("%s refused for %s: /metrics %v, /stats %d", c.Component, reason, m, n)
			}
		}
		if refused != c.Passthrough || c.Faults != 0 {
			t.Errorf("%s: %+v", c.Component, c)
		}
		if n := metric(t, s, "contextguru_edits_total", "component", c.Component); int64(n) != c.Acts {
			t.Errorf("%s acted: /metrics %v, /stats %d", c.Component, n, c.Acts)
		}
		if n := metric(t, s, "contextguru_tokens_saved_total", "component", c.Component); int64(n) != c.Tokens.Before-c.Tokens.After {
			t.Errorf("%s saved: /metrics %v, /stats %+v", c.Component, n, c.Tokens)
		}
	}
	if acts == 0 {
		t.Error("no component acted")
	}
	if !slices.IsSortedFunc(stats.TopPassthrough, func(a, b stack.Component) int { return int(b.Passthrough - a.Passthrough) }) {
		t.Errorf("top_passthrough is not in order: %+v", stats.TopPassthrough)
	}
}
