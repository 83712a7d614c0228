package extproc_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
)

// TestDeadline checks the safety net: a step that is stuck and does not look
// at its context must not hold the request, and its bytes stay reserved for as
// long as it holds them.
func TestDeadline(t *testing.T) {
	t.Parallel()
	stuck, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h := start(t, setup{
		component: shorten{before: func(pipeline.Segment) {
			once.Do(func() { close(stuck) })
			<-release
		}},
		server: func(c *extproc.Config) {
			c.Deadline = 20 * time.Millisecond
			c.MaxInFlight = int64(len(chat)) // one body at a time
		},
	})
	s := h.open(t, t.Context())
	s.send(reqHeaders(chatHeaders(len(chat)), false))
	s.recv()
	s.send(reqBody(chat, true))
	if m := s.recv(); m.GetRequestBody() == nil || m.GetRequestBody().GetResponse() != nil {
		t.Fatalf("reply %v, want unchanged", m)
	}
	s.ends()
	<-stuck
	// The stuck body still fills the budget: the next one waits in vain.
	s = h.open(t, t.Context())
	s.send(reqHeaders(chatHeaders(len(chat)), false))
	s.recv()
	s.send(reqBody(chat, true))
	if m := s.recv(); m.GetRequestBody() == nil || m.GetRequestBody().GetResponse() != nil {
		t.Fatalf("reply %v, want unchanged", m)
	}
	s.ends()
	close(release)
	// Its bytes come back once it is done.
	for {
		s = h.open(t, t.Context())
		s.send(reqHeaders(chatHeaders(len(chat)), false))
		s.recv()
		s.send(reqBody(chat, true))
		m := s.recv()
		s.ends()
		if m.GetRequestBody().GetResponse() != nil {
			rewritten(t, m)
			return
		}
	}
}

// TestAnnouncedBodiesReserveNothing checks that clients who announce bodies and
// never send them keep nobody else out.
func TestAnnouncedBodiesReserveNothing(t *testing.T) {
	t.Parallel()
	h := start(t, setup{server: func(c *extproc.Config) { c.MaxInFlight = c.MaxBody }})
	for range 20 {
		idle := h.open(t, t.Context())
		idle.send(reqHeaders(chatHeaders(1<<20), false))
		if m := idle.recv(); m.GetModeOverride().GetRequestBodyMode() != buffered {
			t.Fatalf("reply %v, want the body asked for", m)
		}
	}
	s := h.open(t, t.Context())
	s.send(reqHeaders(chatHeaders(len(chat)), false))
	s.recv()
	s.send(reqBody(chat, true))
	rewritten(t, s.recv())
	s.ends()
}

// TestConcurrentExchanges runs many exchanges at once, a third of which the
// client leaves in the middle, and checks that no goroutine stays behind.
func TestConcurrentExchanges(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("run", func(t *testing.T) {
		h := start(t, setup{})
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				body := strings.Replace(chat, "first line", fmt.Sprintf("first line %d", i%20), 1)
				s := h.open(t, ctx)
				s.send(reqHeaders(chatHeaders(len(body)), false))
				if i%3 == 0 {
					return // gone before the body
				}
				if m, err := s.Recv(); err != nil || m.GetRequestHeaders() == nil {
					t.Errorf("headers: %v, %v", m, err)
					return
				}
				s.send(reqBody(body, true))
				m, err := s.Recv()
				if err != nil || !strings.Contains(string(m.GetRequestBody().GetResponse().GetBodyMutation().GetBody()), fmt.Sprintf("first line %d\\n", i%20)) {
					t.Errorf("body: %v, %v", m, err)
					return
				}
				if err := s.CloseSend(); err != nil {
					t.Error(err)
				}
				_, _ = s.Recv()
			})
		}
		all.Wait()
	})
}
