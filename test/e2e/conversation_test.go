package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// TestConversationKeepsTheLaws sends whole conversations turn by turn, from
// clients of both protocols, and judges what the provider received.
func TestConversationKeepsTheLaws(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]stack.Option{
		"memory":       {stack.WithConfig(steady)},
		soleExtProc:    {stack.WithConfig(steady + "envoy: {sole_ext_proc: true}\n")},
		"redis socket": {stack.WithConfig(steady), stack.WithRedis(stack.RedisOptions{}), stack.WithSocket(), stack.WithSecret("open-sesame-open-sesame")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, opts...)
			for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
				for _, p := range []stack.Protocol{stack.H1, stack.H2} {
					t.Run(fmt.Sprint(d, " ", p), func(t *testing.T) { converse(t, s, d, p, lossy(s, name == soleExtProc)) })
				}
			}
			// An Envoy too old for markers is told so, once.
			want := 1
			if lossy(s, name == soleExtProc) {
				want = 0
			}
			if n := strings.Count(s.Service().Log().String(), "envoy_too_old"); n != want {
				t.Errorf("Envoy %s: %d warnings about its age, want %d", s.Envoy.Version(), n, want)
			}
		})
	}
}

const soleExtProc = "sole ext_proc"

func converse(t *testing.T, s *stack.Stack, d chat.Dialect, p stack.Protocol, lossy bool) {
	t.Helper()
	bodies, err := work(d).Bodies()
	if err != nil {
		t.Fatal(err)
	}
	var previous *fakellm.Request
	var edits []chat.Edit
	for i, body := range bodies {
		reply, got := exchange(t, s, stack.Call{Protocol: p, Path: d.Path(), Body: body})
		if got.ContentLength != int64(len(got.Body)) || got.BodyError != "" {
			t.Errorf("turn %d: content-length %d for %d bytes, %s", i+1, got.ContentLength, len(got.Body), got.BodyError)
		}
		sent, err := got.Reply(within(t))
		if err != nil {
			t.Fatal(err)
		}
		equalBytes(t, fmt.Sprintf("turn %d: the answer", i+1), reply.Body, sent.Body)
		edits = restored(t, s, body, got.Body)
		if previous != nil {
			if err := chat.Prefix(previous.Body, got.Body); err != nil {
				t.Errorf("turn %d: %v", i+1, err)
			}
		}
		previous = got
	}
	// The laws hold trivially for a service that does nothing.
	before, after := len(bodies[len(bodies)-1]), len(previous.Body)
	enough := markers(edits) == 0 && after < before
	if lossy {
		enough = markers(edits) >= 4 && after*2 < before
	}
	if !enough {
		t.Errorf("the last turn has %d markers and %d of %d bytes: not what has to happen for this test to mean anything", markers(edits), after, before)
	}
	t.Logf("%d turns, last one %d → %d bytes, %d edits, %d markers", len(bodies), before, after, len(edits), markers(edits))
}

// TestReplicasAgree sends each turn to the replica whose turn it is and to the
// other one, through a restart of one and a loss of every remembered decision.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(steady), stack.WithRedis(stack.RedisOptions{}), stack.WithPinnedReplicas(2))
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		bodies, err := work(d).Bodies()
		if err != nil {
			t.Fatal(err)
		}
		var previous []byte
		for i, body := range bodies {
			if i == len(bodies)/2 {
				if err := s.Services[1].Restart(within(t)); err != nil {
					t.Fatal(err)
				}
			}
			_, one := exchange(t, s, stack.Call{Path: d.Path(), Body: body, Replica: 1 + i%2})
			_, other := exchange(t, s, stack.Call{Path: d.Path(), Body: body, Replica: 2 - i%2})
			equalBytes(t, fmt.Sprintf("%v turn %d on the other replica", d, i+1), other.Body, one.Body)
			if previous != nil {
				if err := chat.Prefix(previous, one.Body); err != nil {
					t.Errorf("%v turn %d: %v", d, i+1, err)
				}
			}
			previous = one.Body
		}
		if edits := restored(t, s, bodies[len(bodies)-1], previous); len(edits) == 0 || lossy(s, false) != (markers(edits) > 0) {
			t.Errorf("%v: %d edits, %d markers", d, len(edits), markers(edits))
		}
	}
	for i, service := range s.Services {
		stats, err := service.Stats(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if stats.Totals.Requests == 0 {
			t.Errorf("replica %d rewrote nothing: the turns did not alternate", i+1)
		}
	}
}

// TestSmallBodiesGoOutAsTheyCame sends bodies with nothing to save in every
// spelling JSON allows.
func TestSmallBodiesGoOutAsTheyCame(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	for name, c := range map[string]struct{ path, body string }{
		"white space":    {chatPath, "{ \"model\" : \"gpt-4o\" ,\r\n\t\"messages\":[ {\"role\":\"user\",\"content\":\"hi\"} ]\n}\n"},
		"duplicate keys": {chatPath, `{"model":"a","model":"gpt-4o","messages":[{"role":"user","role":"user","content":"hi","content":"hi"}]}`},
		"large numbers":  {chatPath, `{"model":"gpt-4o","seed":12345678901234567890123,"temperature":1.0e0,"top_p":0.10,"messages":[{"role":"user","content":"hi"}]}`},
		"escapes":        {chatPath, `{"model":"gpt-4o","messages":[{"role":"tool","tool_call_id":"x","content":"\u0041\/\ud83d\ude00 \ud800 \u003c"}]}`},
		"unknown fields": {messagesPath, `{"x":{"deep":[[[[{"y":null}]]]]},"model":"claude-sonnet-4-5","max_tokens":1,"messages":[{"role":"user","content":[{"type":"new","z":1}]}]}`},
		"images":         {messagesPath, `{"model":"claude-sonnet-4-5","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"small"}]}]}]}`},
		"no messages":    {chatPath, `{"model":"gpt-4o"}`},
		"prefixed path":  {"/openai/deployments/x" + chatPath + "?api-version=1", `{"model":"gpt-4o","messages":[]}`},
	} {
		_, got := exchange(t, s, stack.Call{Path: c.path, Body: []byte(c.body)})
		equalBytes(t, name, got.Body, []byte(c.body))
	}
	// What is no request at all goes out too: refusing it is the provider's business.
	for name, body := range map[string]string{"text": "hello", "array": "[1,2]", "cut": `{"messages":[{"role":"user","con`, "nul": "{\"a\":\"\x00\"}"} {
		reply := do(t, s, stack.Call{Path: chatPath, Body: []byte(body)})
		if reply.Status != 400 {
			t.Errorf("%s: status %d, want the provider's own refusal", name, reply.Status)
		}
		equalBytes(t, name, last(t, s).Body, []byte(body))
	}
}
