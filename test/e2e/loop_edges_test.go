package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// TestLoopEdges is about who takes part in the loop, and who leaves it.
func TestLoopEdges(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithLoop(), stack.WithConfig("preset: auto\n"))
	if !lossy(s, false) {
		t.Skipf("Envoy %s gets lossless edits only", s.Envoy.Version())
	}
	call := stack.Call{Path: chat.Anthropic.Path(), Body: asking{chat.Anthropic, true}.body()}
	_, plain := exchange(t, s, call)
	id := marker(t, plain.Body)

	t.Run("forged hop headers", func(t *testing.T) {
		for _, value := range []string{"", "1", "1.1.1.aaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaa", "1.1.9999999999.aaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaa"} {
			forged := call
			forged.Header = map[string]string{"x-context-guru-hop": value}
			_, sent := exchange(t, s, forged)
			equalBytes(t, "a request with a forged hop header", sent.Body, plain.Body)
			if _, ok := sent.Header["X-Context-Guru-Hop"]; ok {
				t.Errorf("the provider got %q", value)
			}
		}
	})

	t.Run("token counts", func(t *testing.T) {
		count := call
		count.Path += "/count_tokens"
		reply, sent := exchange(t, s, count)
		answered, err := sent.Reply(within(t))
		if err != nil {
			t.Fatal(err)
		}
		equalBytes(t, "a token count", reply.Body, answered.Body)
	})

	t.Run("client gone", func(t *testing.T) {
		before := s.LLM.Count()
		s.LLM.SetScript(
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.Tool("context_guru_expand", `{"id":"`+id+`"}`)}},
			fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultHang}},
		)
		ctx, leave := context.WithCancel(within(t))
		defer leave()
		over := make(chan error, 1)
		go func() {
			_, err := s.Do(ctx, call)
			over <- err
		}()
		requests, err := s.LLM.Wait(within(t), before+2)
		if err != nil {
			t.Fatal(err)
		}
		left := time.Now()
		leave()
		if err := <-over; err == nil {
			t.Error("the client that left got an answer")
		}
		reply, err := requests[before+1].Reply(within(t))
		if err != nil || reply.Outcome != fakellm.ClientGone {
			t.Fatalf("the continuation ended with %q, %v", reply.Outcome, err)
		}
		// Far more than it takes, and far less than the next sign of life.
		if took := reply.Finished.Sub(left); took > time.Second {
			t.Errorf("the continuation ended %v behind its client", took)
		}
		if n := s.LLM.Count() - before; n != 2 {
			t.Errorf("%d requests for a client that left", n)
		}
	})
}
