package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/otlp"
)

// canary is what must never be seen outside of the exchange itself. It is a word
// that no encoding of JSON, URLs or headers changes.
const canary = "canaryQ7xZ"

// debugService is a program that runs the service at log level debug.
func debugService(t *testing.T) stack.Option {
	t.Helper()
	binary, err := stack.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "debug")
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" -log-level debug\n", binary)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return stack.WithBinary(script)
}

// secretive is a conversation that has the canary in everything a client says.
func secretive(t *testing.T, d chat.Dialect) [][]byte {
	t.Helper()
	c := chat.New(d, model(d), "System "+canary).User("User " + canary)
	for i, text := range []string{canary + "\n" + testLog(200) + canary, strings.Replace(records(0, 90), "pod-7", canary, 1), strings.Repeat(canary+"\n", 400)} {
		id := fmt.Sprintf("call_%s_%d", canary, i)
		c.Calls("Calling "+canary, chat.Call{ID: id, Name: "run_" + canary, Args: `{"command":"` + canary + `"}`})
		c.Results(chat.Result{ID: id, Text: text})
	}
	bodies, err := c.Assistant("Done " + canary).User("Thanks " + canary).Bodies()
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// broken is what clients send that cannot be read, each with the canary where an
// error message might quote it.
func broken() []string {
	return []string{
		`{"messages":[{"role":"user","content":"` + canary, `{"` + canary + `":`, canary, `{"messages":"` + canary + `"}`, `{"messages":[{"` + canary + `":1}]}`,
		`{"model":{"` + canary + `":1},"messages":[{"role":"tool","tool_call_id":"` + canary + `","content":{"` + canary + `":[]}}]}`,
		`{"messages":[{"role":"tool","tool_call_id":"x","content":"` + canary + `\ud800"}]}`,
		strings.Repeat(`{"`+canary+`":[`, 20_000), `{"messages":[{"role":"` + canary + `","role":"tool","content":"` + canary + "\xff" + `"}]}`,
	}
}

// TestContentStaysInTheExchange: no span, metric, statistic or log line of the
// service, at its most talkative, holds anything that a client or a provider said.
func TestContentStaysInTheExchange(t *testing.T) {
	t.Parallel()
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	s := stack.New(t, debugService(t), stack.WithConfig(externalSole+"pipeline: [format, dedup, extract, collapse]\nstore: {redis: {password: {file: "+password+"}}}\n"), stack.WithOTLP(), stack.WithSecret(canary+"-long-enough-secret"),
		stack.WithRedis(stack.RedisOptions{Args: []string{"--requirepass", canary}}),
		stack.WithLLM(fakellm.WithScript(fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("The model says " + canary)}, Times: -1})))
	header := map[string]string{
		"authorization": "Bearer sk-" + canary, "x-api-key": canary, "api-key": canary, "cookie": canary, "user-agent": canary, "x-" + canary: canary,
		"openai-organization": canary,
	}
	read := func(id string) (string, error) {
		reply, err := s.Do(within(t), stack.Call{Path: "/context-guru/expand?id=" + id, Header: header})
		if err != nil {
			return "", err
		}
		return string(reply.Body), nil
	}
	converse := func() (n int) {
		for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
			for i, body := range secretive(t, d) {
				_, got := exchange(t, s, stack.Call{Protocol: stack.Protocol(i % 2), Path: d.Path() + "?key=" + canary, Body: body, Header: header})
				edits, err := chat.Restore(body, got.Body, read)
				if err != nil {
					t.Error(err)
				}
				n += markers(edits)
			}
		}
		return n
	}
	if n := converse(); n == 0 && lossy(s, true) {
		t.Error("no markers: the test would say nothing about originals")
	}
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		for _, body := range broken() {
			do(t, s, stack.Call{Path: d.Path(), Body: []byte(body), Header: header})
			do(t, s, stack.Call{Path: d.Path(), Body: compress(t, []byte(body)), Header: with(header, "content-encoding", "gzip")})
		}
		do(t, s, stack.Call{Path: d.Path(), Body: []byte(canary), Header: with(header, "content-encoding", "gzip")})
		do(t, s, stack.Call{Path: d.Path(), Stream: strings.NewReader(canary), Header: header})
		do(t, s, stack.Call{Path: "/prefix" + d.Path() + "?" + canary, Body: []byte("{}"), Header: with(header, "content-type", canary)})
		do(t, s, stack.Call{Path: "/prefix" + d.Path() + "?" + canary, Body: []byte("{}"), Header: with(header, "signature", canary)})
	}
	for _, query := range []string{"id=" + canary, "id=<<cg:" + canary + ">>", "grep=" + canary + "(", canary + "=1", "%zz" + canary} {
		do(t, s, stack.Call{Path: "/context-guru/expand?" + url.PathEscape(query), Header: header})
		// The same on the service's own port; its status does not matter here.
		_, _ = s.Service().Get(within(t), "/expand?"+url.PathEscape(query))
	}
	// The store's own errors go onto spans and into logs.
	if err := s.Redis.Kill(); err != nil {
		t.Fatal(err)
	}
	converse()
	nothingLeaked(t, s)
}

// nothingLeaked looks for the canary in all that leaves the service.
func nothingLeaked(t *testing.T, s *stack.Stack) {
	t.Helper()
	// A last exchange whose span and count prove that the others have arrived.
	head, trace, _ := traceparent(1)
	exchange(t, s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120)), Header: map[string]string{"traceparent": head}})
	spanOf(t, s.OTLP, trace)
	requests := metric(t, s, "contextguru_exchanges_total")
	if _, err := s.OTLP.WaitPoint(within(t), func(otlp.Point) bool {
		sum := 0.0
		for _, p := range s.OTLP.Points() {
			if p.Metric == "contextguru.exchanges" {
				sum += p.Value
			}
		}
		return sum == requests
	}); err != nil {
		t.Error(err)
	}
	places := map[string]string{"OTLP": s.OTLP.Raw(), "OTLP headers": fmt.Sprint(s.OTLP.Headers()), "the log": s.Service().Log().String(), "Envoy's log": s.Envoy.Log().String()}
	for _, path := range []string{"/metrics", "/stats", "/readyz", "/healthz"} {
		page, err := s.Service().Get(within(t), path)
		if err != nil {
			t.Fatal(err)
		}
		places[path] = string(page)
	}
	for place, text := range places {
		if len(text) < 10 {
			t.Errorf("%s is empty: the test says nothing about it", place)
		}
		if at := strings.Index(text, canary); at >= 0 {
			t.Errorf("%s holds the canary: …%.200s", place, text[max(0, at-100):])
		}
		for shift := range 3 { // base64 in each of its three alignments
			code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + canary))
			if strings.Contains(text, code[4:len(code)-4]) {
				t.Errorf("%s holds the canary in base64", place)
			}
		}
	}
	if !strings.Contains(places["OTLP"], "store_failed") && lossy(s, true) {
		t.Error("no span tells of the store's failure: the test says nothing about its errors")
	}
	for _, r := range s.LLM.Requests() {
		if bytes.Contains(r.Body, []byte(canary)) {
			return
		}
	}
	t.Error("the provider never saw the canary: nothing was tested")
}

func with(header map[string]string, name, value string) map[string]string {
	out := map[string]string{name: value}
	for n, v := range header {
		if n != name {
			out[n] = v
		}
	}
	return out
}
