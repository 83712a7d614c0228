package generation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/generation"
	"github.com/contextguru/contextguru/store"
)

// replica is a manager whose plans are the settings of their generations.
type replica struct {
	*generation.Manager[string]

	stop func()
}

func document(settings string) generation.Generation[string] {
	return generation.Generation[string]{
		Document: generation.Document{Settings: []byte(settings), Models: [32]byte{1}},
		ModelMap: func() ([]byte, error) { return []byte("map"), nil },
		Plan:     settings,
	}
}

func keyring(t testing.TB) *pipeline.Keyring {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// start starts a replica on settings and waits until it may serve.
func start(t testing.TB, s store.Store, settings string) *replica {
	t.Helper()
	m, err := generation.New(generation.Config[string]{
		Store: s, Keys: keyring(t),
		Build: func(d generation.Document, models func() ([]byte, error)) (string, error) {
			if text, err := models(); err != nil || string(text) != "map" {
				return "", fmt.Errorf("models %q, %w", text, err)
			}
			if string(d.Settings) == "strange" {
				return "", errors.New("a setting nobody knows")
			}
			return string(d.Settings), nil
		},
	}, document(settings))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	r := &replica{Manager: m, stop: func() { cancel(); <-done }}
	t.Cleanup(r.stop)
	if err := m.Adopt(ctx, document(settings)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *replica) adopt(t testing.TB, settings string) {
	t.Helper()
	if err := r.Adopt(t.Context(), document(settings)); err != nil {
		t.Fatal(err)
	}
}

// request is a request of a conversation, whose turns so far are counted.
func request(conversation string, turn int) *pipeline.Transcript {
	body := []byte(conversation)
	return &pipeline.Transcript{
		Body: body, Turn: turn, Opening: [2]pipeline.Span{{}, {End: len(body)}},
		Preamble: slices.Values([]string{conversation}),
	}
}

// serve asks for the plan of a request and lets what happens behind it happen.
func (r *replica) serve(t testing.TB, conversation string, turn int) string {
	t.Helper()
	plan := r.For(t.Context(), "tenant", request(conversation, turn))
	synctest.Wait()
	return plan
}

func memory(t testing.TB) *store.Memory {
	t.Helper()
	s, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// counted is what a manager counted as possible breaks.
func counted(s generation.Stats) uint64 { return s.Lost + s.Unavailable + s.Unloaded + s.Late }

// TestReload checks that a conversation stays with its generation when the
// configuration is loaded anew, and that a new one gets the new.
func TestReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, memory(t), "one")
		if got := r.serve(t, "a", 0); got != "one" {
			t.Fatalf("a begins with %q", got)
		}
		r.adopt(t, "two")
		for turn := range 3 {
			if a, b := r.serve(t, "a", turn), r.serve(t, "b", turn); a != "one" || b != "two" {
				t.Errorf("turn %d: a has %q, b has %q", turn, a, b)
			}
		}
		r.adopt(t, "one") // and back
		if a, b, c := r.serve(t, "a", 3), r.serve(t, "b", 3), r.serve(t, "c", 0); a != "one" || b != "two" || c != "one" {
			t.Errorf("a has %q, b has %q, c has %q", a, b, c)
		}
		if s := r.Stats(); counted(s) != 0 || s.Live != 2 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestRollout checks two replicas on two configurations: whoever is asked, a
// conversation has the generation it began with.
func TestRollout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory(t)
		a := start(t, shared, "one")
		a.serve(t, "begun before", 0)
		b := start(t, shared, "two")
		if got := b.serve(t, "begun before", 1); got != "one" {
			t.Errorf("begun before has %q", got)
		}
		if got := b.serve(t, "begun on b", 0); got != "two" {
			t.Errorf("begun on b has %q", got)
		}
		if got := a.serve(t, "begun on b", 1); got != "two" {
			t.Errorf("begun on b has %q on a", got)
		}
		if got := a.serve(t, "begun on a", 0); got != "one" {
			t.Errorf("begun on a has %q", got)
		}
		a.stop()
		c := start(t, shared, "two") // has seen nothing of it
		for conversation, want := range map[string]string{"begun before": "one", "begun on a": "one", "begun on b": "two", "new": "two"} {
			if got := c.serve(t, conversation, 2); got != want {
				t.Errorf("%s has %q, want %q", conversation, got, want)
			}
		}
		if n := counted(a.Stats()) + counted(b.Stats()); n != 0 {
			t.Errorf("%d breaks", n)
		}
		if s := c.Stats(); s.Lost != 1 || counted(s) != 1 { // "new" in turn 2 was
			t.Errorf("stats %+v", s)
		}
	})
}

// hung is a store that answers nothing to requests.
type hung struct {
	store.Store

	off   atomic.Bool
	calls atomic.Int32
}

func (h *hung) SetIfAbsent(ctx context.Context, item store.Item) ([]byte, bool, error) {
	if !h.off.Load() && item.Key.Tenant != "" {
		h.calls.Add(1)
		<-ctx.Done()
		return nil, false, store.ErrUnavailable
	}
	return h.Store.SetIfAbsent(ctx, item)
}

// TestNobodyWaitsWhileOneIsLive checks that a store is not on the way of a
// request while there is one generation, and not for longer than the wait when
// there are two.
func TestNobodyWaitsWhileOneIsLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &hung{Store: memory(t)}
		r := start(t, s, "one")
		begun := time.Now()
		for i := range 100 {
			r.For(t.Context(), "tenant", request(strconv.Itoa(i), 1))
		}
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("100 requests waited for %v", waited)
		}
		r.adopt(t, "two")
		begun = time.Now()
		if got := r.For(t.Context(), "tenant", request("new", 0)); got != "two" {
			t.Errorf("got %q", got)
		}
		if waited := time.Since(begun); waited != generation.DefaultWait {
			t.Errorf("a request waited for %v", waited)
		}
		if got := r.For(t.Context(), "tenant", request("1", 2)); got != "one" || r.Stats().Unavailable != 2 {
			t.Errorf("a conversation that is known has %q, stats %+v", got, r.Stats())
		}
		s.off.Store(true)
		if got := r.serve(t, "1", 3); got != "one" || counted(r.Stats()) != 2 {
			t.Errorf("got %q, stats %+v", got, r.Stats())
		}
	})
}

// TestSteadyState checks that a conversation costs one write and no read.
func TestSteadyState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, memory(t), "one")
		for turn := range 50 {
			r.serve(t, "a", turn)
		}
		if s := r.Stats(); s.Pinned != 1 || s.Live != 1 {
			t.Errorf("stats %+v", s)
		}
		time.Sleep(2 * time.Hour) // a pin has to be renewed while it is in use
		r.serve(t, "a", 50)
		r.serve(t, "a", 51)
		if s := r.Stats(); s.Pinned != 2 || counted(s) != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestLiveAsLongAsPins checks how long a generation counts as live after the
// last replica that had it is gone.
func TestLiveAsLongAsPins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory(t)
		a := start(t, shared, "one")
		a.serve(t, "a", 0)
		time.Sleep(3 * time.Hour)
		a.serve(t, "a", 1)
		a.stop()
		time.Sleep(22 * time.Hour)
		b := start(t, shared, "two")
		if got := b.serve(t, "a", 1); got != "one" {
			t.Errorf("22 hours later a has %q", got)
		}
		time.Sleep(20 * time.Hour)
		if got := b.serve(t, "a", 2); got != "one" || b.Stats().Live != 2 {
			t.Errorf("another 20 hours later a has %q, stats %+v", got, b.Stats())
		}
		time.Sleep(26 * time.Hour)
		if s := b.Stats(); s.Live != 1 || counted(s) != 0 {
			t.Errorf("a day after its last use: %+v", s)
		}
	})
}

// TestCounted checks every way to miss a generation: each is counted, and each
// gives the current one.
func TestCounted(t *testing.T) {
	t.Parallel()
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			shared := memory(t)
			start(t, shared, "one")
			b := start(t, shared, "two")
			if got := b.serve(t, "a", 5); got != "two" || b.Stats().Lost != 1 {
				t.Errorf("got %q, stats %+v", got, b.Stats())
			}
		})
	})
	t.Run("unloaded", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			shared := memory(t)
			start(t, shared, "strange").serve(t, "a", 0)
			b := start(t, shared, "two")
			for range 3 {
				if got := b.serve(t, "a", 1); got != "two" {
					t.Errorf("got %q", got)
				}
			}
			if s := b.Stats(); s.Unloaded != 3 || counted(s) != 3 {
				t.Errorf("stats %+v", s)
			}
		})
	})
	t.Run("garbage", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			shared := memory(t)
			key := store.Key{Tenant: "tenant", Space: store.Generations, ID: "root/" + keyring(t).Root("tenant", request("a", 0))}
			if err := shared.PutAll(t.Context(), []store.Item{{Key: key, Value: []byte("../../etc")}}); err != nil {
				t.Fatal(err)
			}
			start(t, shared, "one")
			b := start(t, shared, "two")
			if got := b.serve(t, "a", 1); got != "two" || b.Stats().Unavailable != 1 {
				t.Errorf("got %q, stats %+v", got, b.Stats())
			}
		})
	})
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			shared := &hung{Store: memory(t)}
			a := start(t, shared, "one")
			a.For(t.Context(), "tenant", request("a", 0)) // its pin hangs
			b := start(t, shared.Store, "two")
			if got := b.serve(t, "a", 0); got != "two" {
				t.Errorf("got %q", got)
			}
			shared.off.Store(true)
			if got := a.serve(t, "a", 1); got != "two" || a.Stats().Late != 1 {
				t.Errorf("got %q, stats %+v", got, a.Stats())
			}
		})
	})
}

// TestNoRoot checks requests that belong to no conversation.
func TestNoRoot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, memory(t), "one")
		for _, none := range []*pipeline.Transcript{nil, {}, {Preamble: slices.Values[[]string](nil)}} {
			if got := r.For(t.Context(), "tenant", none); got != "one" {
				t.Errorf("got %q", got)
			}
		}
		synctest.Wait()
		if s := r.Stats(); s.Pinned != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestTenantsDoNotShare checks that a tenant's conversation is its own.
func TestTenantsDoNotShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, memory(t), "one")
		r.For(t.Context(), "a", request("same", 0))
		r.adopt(t, "two")
		if a, b := r.For(t.Context(), "a", request("same", 1)), r.For(t.Context(), "b", request("same", 0)); a != "one" || b != "two" {
			t.Errorf("a has %q, b has %q", a, b)
		}
	})
}
