package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/proc"
)

// externalSole lets the service leave markers behind the older Envoys as well,
// which are good enough where no other external processor stands in the chain.
const externalSole = external + "envoy: {sole_ext_proc: true}\n"

// needsMarkers skips a test that is about markers behind an Envoy that gets none.
func needsMarkers(t *testing.T, s *stack.Stack) {
	t.Helper()
	if !lossy(s, true) {
		t.Skip("below Envoy 1.37 there are lossless edits only")
	}
}

// outage is a conversation during which the store fails and comes back. It
// remembers every marker that was ever sent and the client's text behind it.
type outage struct {
	t      *testing.T
	s      *stack.Stack
	d      chat.Dialect
	bodies [][]byte
	next   int
	known  map[string]string // id → the client's text
}

func newOutage(t *testing.T, s *stack.Stack, d chat.Dialect) *outage {
	t.Helper()
	needsMarkers(t, s)
	return &outage{t: t, s: s, d: d, bodies: journey(t, d, 3, 10), known: map[string]string{}}
}

// turn sends the next turn, which must be answered with what the provider said.
func (o *outage) turn() []chat.Edit {
	o.t.Helper()
	body := o.bodies[o.next]
	o.next++
	return o.send(body)
}

// again sends the latest turn once more, as a client that retries.
func (o *outage) again() []chat.Edit {
	o.t.Helper()
	return o.send(o.bodies[o.next-1])
}

func (o *outage) send(body []byte) []chat.Edit {
	o.t.Helper()
	reply, got := exchange(o.t, o.s, stack.Call{Path: o.d.Path(), Body: body})
	sameAnswer(o.t, fmt.Sprintf("turn %d", o.next), reply, got)
	edits, err := chat.Edits(body, got.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range edits {
		for _, id := range e.IDs {
			o.known[id] = e.Client
		}
	}
	return edits
}

// markers sends the next turn and wants some.
func (o *outage) markers() {
	o.t.Helper()
	if edits := o.turn(); markers(edits) == 0 {
		o.t.Errorf("turn %d: no marker among %d edits", o.next, len(edits))
	}
}

// lossless sends the next turn, whose originals the store does not acknowledge:
// there must be edits and none of them may lean on the store.
func (o *outage) lossless() {
	o.t.Helper()
	edits := o.turn()
	if n := markers(edits); n != 0 {
		o.t.Errorf("turn %d: %d markers, and the store acknowledged none", o.next, n)
	}
	if len(edits) == 0 {
		o.t.Errorf("turn %d: not even the edits that need no store", o.next)
	}
}

// recovers sends the latest turn until its markers are back.
func (o *outage) recovers() {
	o.t.Helper()
	err := proc.Until(within(o.t), nil, func(context.Context) error {
		if markers(o.again()) == 0 { //nolint:contextcheck // it bounds itself
			return errors.New("no markers yet")
		}
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

// resolves reads back every original that was ever named.
func (o *outage) resolves() {
	o.t.Helper()
	read := originals(o.t, o.s)
	for id, want := range o.known {
		got, err := read(id)
		if err != nil {
			o.t.Error(err)
		} else {
			equalBytes(o.t, "the original of "+id, []byte(got), []byte(want))
		}
	}
}

// storeState waits until /readyz, which must always be 200, tells a state of the store.
func storeState(t *testing.T, s *stack.Service, want string) {
	t.Helper()
	err := proc.Until(within(t), nil, func(ctx context.Context) error {
		page, err := s.Get(ctx, "/readyz")
		if err != nil {
			t.Error(err)
			return nil
		}
		var state struct{ Status, Store string }
		if err := json.Unmarshal(page, &state); err != nil {
			return err
		}
		if state.Status != "ok" || state.Store != want {
			return fmt.Errorf("/readyz says %+v, want the store %s", state, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRedisFailsInAConversation breaks the store in the middle of a conversation
// in each way a Redis can break, and mends it before the end.
func TestRedisFailsInAConversation(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		fail, mend func(context.Context, *stack.Stack) error
		// state is what /readyz says meanwhile.
		state string
	}{
		"killed": {
			func(_ context.Context, s *stack.Stack) error { return s.Redis.Kill() },
			func(ctx context.Context, s *stack.Stack) error { return s.Redis.Start(ctx) },
			"unavailable",
		},
		"stalled": {
			func(ctx context.Context, s *stack.Stack) error { return s.Redis.Stall(ctx) },
			func(_ context.Context, s *stack.Stack) error { return s.Redis.Resume() },
			"unavailable",
		},
		// A full server answers, so it is there; it only takes nothing new.
		"full": {
			func(ctx context.Context, s *stack.Stack) error {
				return s.Redis.Client().ConfigSet(ctx, "maxmemory", "1").Err()
			},
			func(ctx context.Context, s *stack.Stack) error {
				return s.Redis.Client().ConfigSet(ctx, "maxmemory", "0").Err()
			},
			"ok",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, stack.WithConfig(externalSole), stack.WithRedis(stack.RedisOptions{MaxMemory: "100mb"}))
			for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
				o := newOutage(t, s, d)
				o.turn() // a question without tool outputs
				o.markers()
				o.markers()
				if err := way.fail(within(t), s); err != nil {
					t.Fatal(err)
				}
				breaks := metric(t, s, "contextguru_lossless_only_total", "reason", "store")
				if edits := o.again(); name == "full" && markers(edits) == 0 {
					// A full server still knows what it holds, and acknowledges it.
					t.Error("a turn with nothing new to store has no markers")
				}
				for range 4 {
					o.lossless()
				}
				storeState(t, s.Service(), way.state)
				if n := metric(t, s, "contextguru_lossless_only_total", "reason", "store") - breaks; n != map[string]float64{"killed": 5, "stalled": 5, "full": 4}[name] {
					t.Errorf("%v exchanges were counted as without a store", n)
				}
				if err := way.mend(within(t), s); err != nil {
					t.Fatal(err)
				}
				o.recovers()
				storeState(t, s.Service(), "ok")
				for o.next < len(o.bodies) {
					o.markers()
				}
				o.resolves()
			}
			notHeldUp(t, s)
		})
	}
}

// notHeldUp checks that no request waited for the store longer than a put may
// take: far below the safety net, which would have sent the client's bytes.
func notHeldUp(t *testing.T, s *stack.Stack) {
	t.Helper()
	if n := metric(t, s, "contextguru_exchanges_total", "verdict", "passthrough"); n != 0 {
		t.Errorf("%v bodies were passed through, want none", n)
	}
	all := metric(t, s, "contextguru_rewrite_duration_seconds_count")
	if quick := metric(t, s, "contextguru_rewrite_duration_seconds_bucket", "le", "2.5"); all == 0 || quick != all {
		t.Errorf("%v of %v rewrites took less than 2.5 s", quick, all)
	}
	stats, err := s.Envoy.ExtProcStats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if stats["message_timeouts"] != 0 || stats["failure_mode_allowed"] != 0 {
		t.Errorf("Envoy counts %v", stats)
	}
}

// TestRedisLosesItsData restarts the server empty: what the service believes to
// be stored is not any more, and has to be found out before a marker leans on it.
func TestRedisLosesItsData(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(externalSole), stack.WithRedis(stack.RedisOptions{}))
	o := newOutage(t, s, chat.Anthropic)
	o.turn()
	o.markers()
	o.markers()
	for name, lose := range map[string]func() error{
		"restarted": func() error { return s.Redis.Restart(within(t)) },
		"flushed":   func() error { return s.Redis.Flush(within(t)) },
	} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		keys, err := s.Redis.Keys(within(t), "*")
		if err != nil || len(keys) != 0 {
			t.Fatalf("%s: keys %v, %v", name, keys, err)
		}
		// Whatever this turn sends must already be there again.
		sent := o.turn()
		for _, e := range sent {
			for _, id := range e.IDs {
				if text, err := originals(t, s)(id); err != nil || text != e.Client {
					t.Errorf("%s: %s: %d bytes, %v", name, id, len(text), err)
				}
			}
		}
		o.recovers()
		o.resolves()
	}
	notHeldUp(t, s)
}

// TestRedisStartsLater starts the service first: it serves without its store
// and takes it into use when it is there.
func TestRedisStartsLater(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(externalSole), stack.WithRedis(stack.RedisOptions{}))
	o := newOutage(t, s, chat.OpenAI)
	o.turn()
	o.markers()
	if err := s.Redis.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Service().Restart(within(t)); err != nil {
		t.Fatal(err)
	}
	reaches(t, s)
	o.lossless()
	o.lossless()
	storeState(t, s.Service(), "unavailable")
	// An original that cannot be read now is another thing than one that is not there.
	for id := range o.known {
		reply := do(t, s, stack.Call{Path: "/context-guru/expand?id=" + id})
		if reply.Status != 503 || reply.Header.Get("Retry-After") == "" {
			t.Errorf("expand without the store: status %d, headers %v", reply.Status, reply.Header)
		}
	}
	if err := s.Redis.Start(within(t)); err != nil {
		t.Fatal(err)
	}
	o.recovers()
	storeState(t, s.Service(), "ok")
	o.markers()
	o.resolves()
	notHeldUp(t, s)
}

// reaches waits until Envoy has found the restarted services: until then it may
// meet connections of their former lives, and lets requests through.
func reaches(t *testing.T, s *stack.Stack) {
	t.Helper()
	body := question(t, chat.OpenAI, "ok")
	for i := range s.Services {
		err := proc.Until(within(t), nil, func(ctx context.Context) error {
			before, err := s.Services[i].Stats(ctx)
			if err != nil {
				return err
			}
			if _, err := s.Do(ctx, stack.Call{Path: chatPath, Body: body, Replica: i + 1}); err != nil {
				return err
			}
			after, err := s.Services[i].Stats(ctx)
			if err != nil {
				return err
			}
			if after.Totals.Requests == before.Totals.Requests {
				return fmt.Errorf("replica %d did not see the request", i+1)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
