// Package e2e tests the product the way it is used: the built service behind a
// real Envoy with the shipped configuration, a real Redis where originals are
// kept in one, and a provider that records what it receives.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

const (
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
	// external lets the service leave markers: the tests read originals back.
	external = "expand: {resolver: external}\n"
	// steady is the same with horizons too far away to come: nothing that was
	// sent may ever change.
	steady = external + "cache: {horizon_tokens: 100000000}\n" +
		// auto without toon, which the laws about whole requests cannot read
		"pipeline: [textclean, format, dedup, searchfold, failed_run, mask, smartcrush, extract, collapse, linecap]\n"
)

// patience bounds every wait of a test: far longer than anything takes, so that
// only what never happens runs into it.
const patience = 90 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// do makes a call that must be answered.
func do(t *testing.T, s *stack.Stack, c stack.Call) *stack.Reply {
	t.Helper()
	reply, err := s.Do(within(t), c)
	if err != nil {
		t.Fatalf("%s: %v", c.Path, err)
	}
	return reply
}

// exchange makes a call that must succeed and returns what the provider received.
// Calls of one stack must not run side by side.
func exchange(t *testing.T, s *stack.Stack, c stack.Call) (*stack.Reply, *fakellm.Request) {
	t.Helper()
	before := s.LLM.Count()
	reply := do(t, s, c)
	if reply.Status != 200 {
		t.Fatalf("%s: status %d: %.300s", c.Path, reply.Status, reply.Body)
	}
	if got := s.LLM.Count() - before; got != 1 {
		t.Fatalf("%s: the provider received %d requests, want 1", c.Path, got)
	}
	return reply, s.LLM.Last()
}

// last is the newest request the provider received.
func last(t *testing.T, s *stack.Stack) *fakellm.Request {
	t.Helper()
	r := s.LLM.Last()
	if r == nil {
		t.Fatal("the provider received nothing")
	}
	return r
}

// originals reads originals back through Envoy with the tests' credential.
func originals(t *testing.T, s *stack.Stack) func(id string) (string, error) {
	t.Helper()
	return func(id string) (string, error) {
		reply, err := s.Do(within(t), stack.Call{Path: "/context-guru/expand?id=" + url.QueryEscape(id)})
		if err != nil {
			return "", err
		}
		if reply.Status != 200 {
			return "", fmt.Errorf("expand %s: status %d: %.200s", id, reply.Status, reply.Body)
		}
		return string(reply.Body), nil
	}
}

// restored checks the restore law and returns the edits.
func restored(t *testing.T, s *stack.Stack, client, sent []byte) []chat.Edit {
	t.Helper()
	edits, err := chat.Restore(client, sent, originals(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return edits
}

// markers counts the markers of edits.
func markers(edits []chat.Edit) (n int) {
	for _, edit := range edits {
		n += len(edit.IDs)
	}
	return n
}

// lossy reports whether the service may leave markers behind this Envoy. Where
// it may not, all laws hold the same, with lossless edits alone.
func lossy(s *stack.Stack, sole bool) bool {
	floor := 39
	if sole {
		floor = 37
	}
	return s.Envoy.Minor() >= floor
}

// metric sums the series of a Prometheus metric, over all services, whose labels
// include those given as name, value, name, value.
func metric(t *testing.T, s *stack.Stack, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for _, service := range s.Services {
		page, err := service.Get(within(t), "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(page)) {
			if n, ok := series(line, name, labels); ok {
				sum += n
			}
		}
	}
	return sum
}

// series reads one line of a metrics page.
func series(line, name string, labels []string) (float64, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
	if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
		return 0, false
	}
	for i := 0; i+1 < len(labels); i += 2 {
		if !strings.Contains(rest, labels[i]+`="`+labels[i+1]+`"`) {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
	return n, err == nil
}

// question is a conversation with one tool output.
func question(t *testing.T, d chat.Dialect, output string) []byte {
	t.Helper()
	body, err := chat.New(d, model(d), "You are a coding agent.").User("What happened?").
		Calls("", chat.Call{ID: "call_1", Name: "run", Args: `{"command":"make test"}`}).
		Results(chat.Result{ID: "call_1", Text: output}).Body(false)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func model(d chat.Dialect) string {
	if d == chat.Anthropic {
		return "claude-sonnet-4-5"
	}
	return "gpt-4o"
}

// equalBytes reports where two texts first differ.
func equalBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	around := func(s []byte) []byte { return s[max(0, min(at-30, len(s))):min(len(s), at+60)] }
	t.Errorf("%s: %d bytes, want %d; they differ at byte %d:\ngot  %q\nwant %q", what, len(got), len(want), at, around(got), around(want))
}
