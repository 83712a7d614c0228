package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/proc"
)

// hangTimeout is Envoy's message_timeout where a hang is awaited: long enough
// that the answer before the hang is never the one that comes too late.
const hangTimeout = 2 * time.Second

// unharmed checks an exchange on which the service failed and Envoy is told to
// let requests through: the provider got the client's bytes, the client the provider's.
func unharmed(t *testing.T, what string, s *stack.Stack, c stack.Call) {
	t.Helper()
	reply, got := exchange(t, s, c)
	equalBytes(t, what+": the provider's request", got.Body, c.Body)
	if got.ContentLength != int64(len(c.Body)) {
		t.Errorf("%s: content-length %d for %d bytes", what, got.ContentLength, len(c.Body))
	}
	sent, err := got.Reply(within(t))
	if err != nil {
		t.Fatal(err)
	}
	equalBytes(t, what+": the client's answer", reply.Body, sent.Body)
}

// refused checks an exchange on which the service failed and Envoy is told to
// refuse: the client gets an error and the provider nothing.
func refused(t *testing.T, what string, s *stack.Stack, c stack.Call, status int) {
	t.Helper()
	before := s.LLM.Count()
	if reply := do(t, s, c); reply.Status != status {
		t.Errorf("%s: status %d, want %d", what, reply.Status, status)
	}
	if got := s.LLM.Count() - before; got != 0 {
		t.Errorf("%s: the provider received %d requests, want none", what, got)
	}
}

// served checks that exchanges are rewritten again.
func served(t *testing.T, what string, s *stack.Stack, c stack.Call) {
	t.Helper()
	_, got := exchange(t, s, c)
	if edits := restored(t, s, c.Body, got.Body); len(edits) != 1 {
		t.Errorf("%s: %d edits afterwards, want 1", what, len(edits))
	}
}

// TestFaultsAtEveryPhase lets the processor die, hang and panic at the messages
// of the request, with an Envoy that lets requests through then and one that refuses them.
func TestFaultsAtEveryPhase(t *testing.T) {
	t.Parallel()
	for mode, edits := range map[string][]stack.Edit{"open": nil, "closed": {stack.FailClosed()}} {
		for kind, wait := range map[string]time.Duration{"dies": time.Minute, "panics": time.Minute, "hangs": hangTimeout} {
			t.Run("fail "+mode+" "+kind, func(t *testing.T) {
				t.Parallel()
				l := startLocal(t)
				s := stack.New(t, stack.WithExtProc(l.addr), stack.WithEnvoy(append(edits, stack.MessageTimeout(wait))...))
				for _, phase := range []struct {
					name string
					is   func(*extprocv3.ProcessingRequest) bool
				}{{"request headers", atRequestHeaders}, {"request body", atRequestBody}} {
					for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
						p := stack.Protocol(d) // both protocols with both dialects would say no more
						what := fmt.Sprintf("%s at %s, %v, %v", kind, phase.name, d, p)
						call := stack.Call{Protocol: p, Path: d.Path(), Body: question(t, d, records(0, 120))}
						l.fail(phase.is, map[string]func(context.Context) error{"dies": l.dies, "panics": l.panics, "hangs": l.hangs}[kind])
						status := 500
						if kind == "hangs" {
							status = 504
						}
						if mode == "open" {
							unharmed(t, what, s, call)
						} else {
							refused(t, what, s, call, status)
						}
						if n := l.heal(); n != 1 {
							t.Errorf("%s: the fault struck %d times", what, n)
						}
						served(t, what, s, call)
					}
				}
				checkFaultCounters(t, s, mode, kind)
			})
		}
	}
}

// checkFaultCounters looks at what an operator would look at.
func checkFaultCounters(t *testing.T, s *stack.Stack, mode, kind string) {
	t.Helper()
	stats, err := s.Envoy.ExtProcStats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"failure_mode_allowed": 0, "message_timeouts": 0, "spurious_msgs_received": 0}
	if mode == "open" {
		want["failure_mode_allowed"] = 4
	}
	if kind == "hangs" {
		want["message_timeouts"] = 4
	}
	for name, n := range want {
		if stats[name] != n {
			t.Errorf("Envoy counts %s %d, want %d", name, stats[name], n)
		}
	}
}

// TestFaultsInTheResponse: at the response headers nothing of the answer went
// out yet and all of it can be given; behind them a cut answer must be seen to be cut.
func TestFaultsInTheResponse(t *testing.T) {
	t.Parallel()
	l := startLocal(t)
	s := stack.New(t, stack.WithExtProc(l.addr), stack.WithEnvoy(stack.MessageTimeout(time.Minute)))
	if s.Envoy.Minor() < 40 {
		t.Skip("below Envoy 1.40 the service does not read responses: those without a body could hang")
	}
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		for kind, fault := range map[string]func(context.Context) error{"dies": l.dies, "panics": l.panics} {
			what := fmt.Sprintf("%s, %v", kind, p)
			call := stack.Call{Protocol: p, Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120))}

			l.fail(atResponseHeaders, fault)
			reply, got := exchange(t, s, call)
			sent, err := got.Reply(within(t))
			if err != nil {
				t.Fatal(err)
			}
			equalBytes(t, what+" at response headers", reply.Body, sent.Body)

			l.fail(atResponseBody, fault)
			if reply, err := s.Do(within(t), call); err == nil && reply.Status == 200 {
				t.Errorf("%s at the response body: a clean answer of %d bytes", what, len(reply.Body))
			}
			if n := l.heal(); n != 2 {
				t.Errorf("%s: the faults struck %d times, want 2", what, n)
			}
			served(t, what, s, call)
		}
	}
}

// TestServiceProcessFails does to the built service what happens to processes:
// it is away, it is stopped in the middle of an exchange, it is killed there.
func TestServiceProcessFails(t *testing.T) {
	t.Parallel()
	for mode, edits := range map[string][]stack.Edit{"open": nil, "closed": {stack.FailClosed()}} {
		t.Run("fail "+mode, func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, stack.WithConfig(external), stack.WithEnvoy(append(edits, stack.MessageTimeout(hangTimeout))...))
			call := stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120))}
			check := func(what string, status int) {
				t.Helper()
				if mode == "open" {
					unharmed(t, what, s, call)
				} else {
					refused(t, what, s, call, status)
				}
			}
			served(t, "at first", s, call)
			if err := s.Service().Pause(within(t)); err != nil {
				t.Fatal(err)
			}
			check("stopped", 504)
			killAtHeaders(t, s, func() { check("killed at the headers", 500) })
			check("away", 500)
			if err := s.Service().Start(within(t)); err != nil {
				t.Fatal(err)
			}
			servedAgain(t, s, call)
		})
	}
}

// killAtHeaders kills the stopped service as soon as Envoy has begun to talk to
// it about an exchange.
func killAtHeaders(t *testing.T, s *stack.Stack, exchange func()) {
	t.Helper()
	ctx := within(t)
	sent := func() int64 {
		stats, err := s.Envoy.ExtProcStats(ctx)
		if err != nil {
			t.Error(err)
		}
		return stats["stream_msgs_sent"]
	}
	before, killed := sent(), make(chan error, 1)
	go func() {
		err := proc.Until(ctx, nil, func(context.Context) error {
			if n := sent(); n <= before {
				return fmt.Errorf("%d messages sent", n)
			}
			return nil
		})
		if err == nil {
			err = s.Service().Kill()
		}
		killed <- err
	}()
	exchange()
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
}

// servedAgain waits until Envoy has found a restarted service.
func servedAgain(t *testing.T, s *stack.Stack, c stack.Call) {
	t.Helper()
	err := proc.Until(within(t), nil, func(ctx context.Context) error {
		before := s.LLM.Count()
		reply, err := s.Do(ctx, c)
		if err != nil {
			return err
		}
		if reply.Status != 200 || s.LLM.Count() != before+1 || len(s.LLM.Last().Body) >= len(c.Body) {
			return fmt.Errorf("status %d, not rewritten", reply.Status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	served(t, "after the restart", s, c)
}

// troublemaker is a component that does what no component may.
type troublemaker struct {
	panics, blocks bool
	release        chan struct{}
}

func (c *troublemaker) Rewrite(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
	if c.panics {
		panic("a fault of the test")
	}
	if c.blocks {
		<-c.release // whatever its context says
	}
	return pipeline.Edit{}, errors.New("a fault of the test")
}

// TestComponentFails: a component that fails or panics costs its own edit and
// nothing else; one that hangs costs the request's edits, and the client's bytes go out.
func TestComponentFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*troublemaker{"fails": {}, "panics": {panics: true}, "blocks": {blocks: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.release = make(chan struct{})
			l := startLocal(t, pipeline.Step{Meta: pipeline.Meta{Name: "trouble", Kind: pipeline.KindReformat}, Component: c})
			s := stack.New(t, stack.WithExtProc(l.addr), stack.WithEnvoy(stack.MessageTimeout(time.Minute)))
			for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
				call := stack.Call{Protocol: stack.Protocol(d), Path: d.Path(), Body: question(t, d, records(0, 120))}
				if !c.blocks {
					served(t, name, s, call)
					continue
				}
				unharmed(t, name, s, call)
			}
			close(c.release)
			stats, err := s.Envoy.ExtProcStats(within(t))
			if err != nil || stats["failure_mode_allowed"] != 0 || stats["message_timeouts"] != 0 {
				t.Errorf("Envoy counts %v, %v: the processor itself should have answered", stats, err)
			}
		})
	}
}
