package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/proc"
)

// loadConfig leaves room for a service that is ten times slower under the race
// detector: what this test is about must not hide behind timeouts. One compressed
// body reserves the whole budget for bodies in flight.
const loadConfig = external + `
limits: {body_bytes: 33554432, in_flight_bytes: 33554432, deadline: 60s}
envoy: {message_timeout: 90s}
store: {redis: {timeout: 20s}}
`

// crowd is many clients at once, a third of which leave early.
type crowd struct {
	t *testing.T
	s *stack.Stack

	stay    sync.WaitGroup // clients that stay
	stalled chan struct{}  // closed when those that stall in their upload may leave

	mu    sync.Mutex
	leave map[string]context.CancelFunc // clients that leave before the answer
	edits []chat.Edit
}

// TestManyClientsAtOnce runs 200 exchanges at a time against a service built
// with the race detector; a third of the clients go away while they upload,
// while the model thinks, or in the middle of the answer. Afterwards nothing of
// them may be left.
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cc"); err != nil && os.Getenv("REQUIRE_E2E") != "1" {
		t.Skip("the race detector needs a C compiler: run make deps")
	}
	c := &crowd{t: t, stalled: make(chan struct{}), leave: map[string]context.CancelFunc{}}
	c.s = stack.New(t, stack.WithRace(), stack.WithConfig(loadConfig), stack.WithRedis(stack.RedisOptions{}), stack.WithEnvoy(stack.MessageTimeout(90*time.Second)),
		stack.WithLLM(fakellm.WithResponder(c.respond)))
	served(t, "at first", c.s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120)), Header: map[string]string{"x-test-tag": "stay"}})
	goroutines := metric(t, c.s, "go_goroutines")

	var leavers sync.WaitGroup
	for i := range 200 {
		group := &leavers
		if kind(i) == "stay" {
			group = &c.stay
		}
		group.Go(func() { c.client(i) })
	}
	c.stay.Wait()
	// Some clients still stall in their uploads. What they only announced must
	// not be reserved: it would keep others out.
	if n := metric(t, c.s, "contextguru_in_flight_bytes"); n != 0 {
		t.Errorf("%v bytes are reserved for bodies that have not come", n)
	}
	close(c.stalled)
	leavers.Wait()
	if t.Failed() {
		return
	}
	c.outcomes()
	c.resolve()
	c.nothingIsLeft(goroutines)
}

// kind is how a client behaves.
func kind(i int) string {
	if i%3 != 2 {
		return "stay"
	}
	return []string{"upload", "stall", "think", "answer"}[i/3%4]
}

// respond makes the model think for ever about what "think" clients ask.
func (c *crowd) respond(r *fakellm.Request) *fakellm.Turn {
	yes := true
	turn := &fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text(strings.Repeat("All work and no play. ", 3000))}, Stream: &yes, DeltaRunes: 200}
	tag := r.Header.Get("x-test-tag")
	switch {
	case strings.HasPrefix(tag, "think"):
		turn.Before = func(ctx context.Context, _ int) {
			c.mu.Lock()
			leave := c.leave[tag]
			c.mu.Unlock()
			leave()
			<-ctx.Done()
		}
	case strings.HasPrefix(tag, "answer"):
		// More follows, however much was read.
		turn.Fault = &fakellm.Fault{Do: fakellm.FaultHang, At: fakellm.AtEvents, N: 200}
	}
	return turn
}

func (c *crowd) client(i int) {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	tag := fmt.Sprintf("%s-%d", kind(i), i)
	ctx, leave := context.WithCancel(within(c.t))
	defer leave()
	c.mu.Lock()
	c.leave[tag] = leave
	c.mu.Unlock()
	d := chat.Dialect(i % 2)
	body := question(c.t, d, fmt.Sprintf("client %d\n", i)+testLog(50+r.IntN(300)))
	call := stack.Call{Protocol: stack.Protocol(i / 2 % 2), Path: d.Path(), Body: body, Header: map[string]string{"x-test-tag": tag}}
	if kind(i) == "upload" || kind(i) == "stall" {
		call.Body, call.Length = nil, int64(len(body))
		call.Stream = io.MultiReader(bytes.NewReader(body[:r.IntN(len(body))]), readerFunc(func([]byte) (int, error) {
			if kind(i) == "stall" {
				<-c.stalled
			}
			leave()
			return 0, errors.New("the client goes away")
		}))
	}
	resp, err := c.s.Open(ctx, call)
	switch kind(i) {
	case "upload", "stall", "think":
		if err == nil {
			c.t.Errorf("%s: an answer with status %d to a client that left", tag, resp.StatusCode)
		}
	case "answer":
		if err == nil {
			_, err = io.CopyN(io.Discard, resp.Body, int64(1+r.IntN(20_000)))
			resp.Body.Close()
		}
		if err != nil {
			c.t.Errorf("%s: %v", tag, err)
		}
	default:
		c.whole(tag, body, resp, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// whole reads the answer to its end and compares both directions.
func (c *crowd) whole(tag string, body []byte, resp *http.Response, err error) {
	if err != nil {
		c.t.Errorf("%s: %v", tag, err)
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	got := c.request(tag)
	if err != nil || resp.StatusCode != 200 || got == nil {
		c.t.Errorf("%s: status %d, %v, received %v", tag, resp.StatusCode, err, got != nil)
		return
	}
	sent, err := got.Reply(within(c.t))
	if err != nil || !bytes.Equal(answer, sent.Body) {
		c.t.Errorf("%s: %d bytes of answer, the provider sent %d (%v)", tag, len(answer), len(sent.Body), err)
	}
	edits, err := chat.Edits(body, got.Body)
	if err != nil {
		c.t.Errorf("%s: %v", tag, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edits = append(c.edits, edits...)
}

// request is what the provider received of a client, nil for nothing.
func (c *crowd) request(tag string) *fakellm.Request {
	for _, r := range c.s.LLM.Requests() {
		if r.Header.Get("x-test-tag") == tag {
			return r
		}
	}
	return nil
}

// outcomes checks what the provider saw of those who left.
func (c *crowd) outcomes() {
	for i := range 200 {
		tag := fmt.Sprintf("%s-%d", kind(i), i)
		r := c.request(tag)
		switch kind(i) {
		case "upload", "stall":
			if r != nil {
				c.t.Errorf("%s: the provider received %d bytes of a body that never was whole", tag, r.Size)
			}
		case "think", "answer":
			if r == nil {
				c.t.Errorf("%s: the provider received nothing", tag)
				continue
			}
			sent, err := r.Reply(within(c.t))
			if err != nil || sent.Outcome != fakellm.ClientGone {
				c.t.Errorf("%s: the provider's answer ended as %s (%v), want that it was told that the client is gone", tag, sent.Outcome, err)
			}
		}
	}
}

// resolve reads back every original that was named in the rush.
func (c *crowd) resolve() {
	read := originals(c.t, c.s)
	for _, e := range c.edits {
		for _, id := range e.IDs {
			if text, err := read(id); err != nil || text != e.Client {
				c.t.Errorf("%s: %d bytes, want %d (%v)", id, len(text), len(e.Client), err)
			}
		}
	}
	if n := markers(c.edits); n < 100 && lossy(c.s, false) {
		c.t.Errorf("%d markers from 134 exchanges: too little happened for this test to mean anything", n)
	}
}

// nothingIsLeft waits until memory and goroutines of the exchanges are given
// back, and lets the service end.
func (c *crowd) nothingIsLeft(goroutines float64) {
	t, s := c.t, c.s
	t.Helper()
	stats, err := s.Envoy.ExtProcStats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"spurious_msgs_received", "failure_mode_allowed", "message_timeouts"} {
		if stats[name] != 0 {
			t.Errorf("Envoy counts %s %d", name, stats[name])
		}
	}
	err = proc.Until(within(t), nil, func(context.Context) error {
		now, held := metric(t, s, "go_goroutines"), metric(t, s, "contextguru_in_flight_bytes") //nolint:contextcheck // it bounds itself
		// Envoy's second worker may have connected meanwhile; 200 exchanges would be many more.
		if now > goroutines+20 || held != 0 {
			return fmt.Errorf("%v goroutines, %v before; %v bytes in flight", now, goroutines, held)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	body := question(t, chat.OpenAI, records(0, 121))
	_, got := exchange(t, s, stack.Call{Path: chatPath, Body: compress(t, body), Header: map[string]string{"content-encoding": "gzip"}})
	if edits := restored(t, s, body, got.Body); len(edits) != 1 {
		t.Errorf("a body that takes the whole budget got %d edits, want 1", len(edits))
	}
	if err := s.Service().Term(within(t)); err != nil {
		t.Errorf("the service ended with %v, want exit status 0", err)
	}
	if log := s.Service().Log().String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		t.Errorf("the log:\n%s", s.Service().Log().Tail(6000))
	}
}
