package generation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextguru/contextguru/store"
)

// flaky is a store that fails at random.
type flaky struct {
	store.Store

	mu   sync.Mutex
	rng  *rand.Rand
	odds int // one in so many calls fails; 0 is none
}

func (f *flaky) fails() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.odds > 0 && f.rng.IntN(f.odds) == 0
}

func (f *flaky) SetIfAbsent(ctx context.Context, item store.Item) ([]byte, bool, error) {
	if f.fails() {
		return nil, false, store.ErrUnavailable
	}
	return f.Store.SetIfAbsent(ctx, item)
}

func (f *flaky) Get(ctx context.Context, key store.Key) ([]byte, error) {
	if f.fails() {
		return nil, store.ErrUnavailable
	}
	return f.Store.Get(ctx, key)
}

func (f *flaky) PutAll(ctx context.Context, items []store.Item) error {
	if f.fails() {
		return store.ErrUnavailable
	}
	return f.Store.PutAll(ctx, items)
}

// TestOneGenerationPerConversation sends conversations to replicas at random
// while these load other configurations, restart and join. Without failures no
// conversation ever changes its generation; with a store that fails at random
// every change is counted.
func TestOneGenerationPerConversation(t *testing.T) {
	t.Parallel()
	for _, odds := range []int{0, 0, 0, 2, 10, 50} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("one in %d fails, seed %d", odds, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { wander(t, odds, seed) })
			})
		}
	}
}

func wander(t *testing.T, odds int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(odds)))
	shared := &flaky{Store: memory(t), rng: rand.New(rand.NewPCG(seed, 1)), odds: odds}
	settings := func() string { return fmt.Sprint("configuration ", rng.IntN(4)) }
	replicas := []*replica{start(t, shared, settings()), start(t, shared, settings())}
	retired := uint64(0)
	was := map[string]string{}
	turns := map[string]int{}
	changes := uint64(0)
	for range 400 {
		at := rng.IntN(len(replicas))
		switch what := rng.IntN(100); {
		case what < 3:
			replicas[at].adopt(t, settings())
		case what < 5:
			replicas[at].stop()
			retired += counted(replicas[at].Stats())
			replicas[at] = start(t, shared, settings())
		case what < 6 && len(replicas) < 4:
			replicas = append(replicas, start(t, shared, settings()))
		case what < 20:
			time.Sleep(time.Duration(rng.IntN(int(10 * time.Minute))))
		default:
			name := fmt.Sprint("conversation ", rng.IntN(30))
			got := replicas[at].serve(t, name, turns[name])
			if before, old := was[name]; old && before != got {
				changes++
			}
			was[name] = got
			turns[name]++
		}
	}
	breaks := retired
	for _, r := range replicas {
		breaks += counted(r.Stats())
	}
	t.Logf("%d conversations, %d changes, %d counted", len(was), changes, breaks)
	switch {
	case odds == 0 && (changes > 0 || breaks > 0):
		t.Errorf("%d changes of a generation, %d counted, want none", changes, breaks)
	case changes > 2*breaks: // there, and back again
		t.Errorf("%d changes of a generation, but only %d counted", changes, breaks)
	}
}
