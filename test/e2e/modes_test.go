package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// TestStaticBodyModes runs behind an Envoy that was given body modes other than
// those of the shipped configuration, with and without the right to override
// them. Nothing may break: bodies arrive rewritten or as they came, answers as
// they were sent, and the log says once what is wrong with the mode.
func TestStaticBodyModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"NONE", "BUFFERED", "BUFFERED_PARTIAL", "STREAMED", "FULL_DUPLEX_STREAMED"} {
		for _, override := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s override %v", mode, override), func(t *testing.T) {
				t.Parallel()
				edits := []stack.Edit{stack.BodyModes(mode, mode)}
				if !override {
					edits = append(edits, stack.NoModeOverride())
				}
				s := stack.New(t, stack.WithConfig(external), stack.WithEnvoy(edits...), stack.WithOTLP())
				for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
					for _, p := range []stack.Protocol{stack.H1, stack.H2} {
						staticMode(t, s, d, p)
					}
				}
				checkMode(t, s, mode, override)
			})
		}
	}
}

// staticMode sends what concerns the service and what does not, small and large.
func staticMode(t *testing.T, s *stack.Stack, d chat.Dialect, p stack.Protocol) {
	t.Helper()
	yes := true
	answers := map[string]fakellm.Turn{
		"json": {Blocks: []fakellm.Block{fakellm.Text(strings.Repeat("All work and no play. ", 200))}},
		"events": {
			Blocks: []fakellm.Block{fakellm.Text(strings.Repeat("All work and no play. ", 200))}, Stream: &yes,
			Split: fakellm.Split{Mode: fakellm.SplitRandom, Size: 3000, Seed: 1},
		},
		"empty": {Status: 204},
	}
	bodies := map[string][]byte{
		"small": question(t, d, "ok"), "records": question(t, d, records(0, 120)), "log": question(t, d, testLog(300)),
		"large": question(t, d, strings.Repeat(testLog(300), 15)),
	}
	for answer, turn := range answers {
		for name, body := range bodies {
			what := fmt.Sprintf("%v, %v, %s, %s", d, p, name, answer)
			turn.Times = -1
			s.LLM.SetScript(turn)
			before := s.LLM.Count()
			reply := do(t, s, stack.Call{Protocol: p, Path: d.Path(), Body: body})
			if got := s.LLM.Count() - before; got != 1 {
				t.Errorf("%s: status %d, and the provider received %d requests: %.200s", what, reply.Status, got, reply.Body)
				continue
			}
			sameAnswer(t, what, reply, last(t, s))
			restored(t, s, body, last(t, s).Body)
		}
		_, got := plain(t, s, stack.Call{Protocol: p, Path: "/v1/files", Body: bodies["large"]})
		equalBytes(t, "other traffic", got.Body, bodies["large"])
		_, got = plain(t, s, stack.Call{Protocol: p, Path: d.Path(), Stream: strings.NewReader(string(bodies["log"]))})
		equalBytes(t, "no length", got.Body, bodies["log"])
	}
	plain(t, s, stack.Call{Protocol: p, Method: "GET", Path: "/v1/models"})
}

// plain is [exchange] for whatever the provider answers.
func plain(t *testing.T, s *stack.Stack, c stack.Call) (*stack.Reply, *fakellm.Request) {
	t.Helper()
	before := s.LLM.Count()
	reply := do(t, s, c)
	if got := s.LLM.Count() - before; got != 1 {
		t.Fatalf("%s: status %d, and the provider received %d requests: %.200s", c.Path, reply.Status, got, reply.Body)
	}
	got := last(t, s)
	sameAnswer(t, c.Path, reply, got)
	return reply, got
}

// checkMode looks at what the service and Envoy have to say about the mode.
func checkMode(t *testing.T, s *stack.Stack, mode string, override bool) {
	t.Helper()
	log := s.Service().Log().String()
	want := map[string]int{"envoy_request_body_mode": 1, "envoy_response_body_mode": 1}
	if mode == "NONE" {
		want = map[string]int{"envoy_request_body_mode": 0, "envoy_response_body_mode": 0, "envoy_sent_no_body": 1}
		if override {
			want["envoy_sent_no_body"] = 0
		}
	}
	for message, n := range want {
		if got := strings.Count(log, message); got != n {
			t.Errorf("%d lines of %s in the log, want %d", got, message, n)
		}
	}
	stats, err := s.Envoy.ExtProcStats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"spurious_msgs_received", "failure_mode_allowed", "message_timeouts", "streams_failed"} {
		if stats[name] != 0 {
			t.Errorf("Envoy counts %s %d", name, stats[name])
		}
	}
	// Whole exchanges are told as whole, whatever was seen of them.
	header, trace, _ := traceparent(1)
	s.LLM.SetScript()
	exchange(t, s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, "the last one"), Header: map[string]string{"traceparent": header}})
	spanOf(t, s.OTLP, trace)
	outcomes := map[any]int{}
	for _, span := range s.OTLP.Spans() {
		outcomes[span.Attributes["contextguru.outcome"]]++
	}
	if len(outcomes) != 1 || outcomes["done"] == 0 {
		t.Errorf("exchanges ended as %v, want all done", outcomes)
	}
	rewritten := metric(t, s, "contextguru_exchanges_total", "verdict", "rewritten")
	t.Logf("%v bodies rewritten", rewritten)
	if none := metric(t, s, "contextguru_exchanges_total", "reason", "no_body"); (none > 0) != (mode == "NONE" && !override) {
		t.Errorf("%v exchanges were counted as without a body", none)
	}
	if mayRewrite := override || mode == "BUFFERED" || mode == "FULL_DUPLEX_STREAMED"; mayRewrite && rewritten == 0 {
		t.Error("no body was rewritten")
	}
}
