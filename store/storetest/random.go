package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/store"
)

// held is a value in the model.
type held struct {
	value   string
	own     time.Duration
	expires time.Duration
}

// model is what a store of unlimited size does, in the plainest terms.
type model struct {
	rng    *rand.Rand
	now    time.Duration
	values map[string]*held
}

func lifetime(own time.Duration) time.Duration {
	if own == 0 {
		return store.DefaultTTL
	}
	return own
}

func (m *model) live(id string) *held {
	if h := m.values[id]; h != nil && m.now < h.expires {
		return h
	}
	delete(m.values, id)
	return nil
}

func (m *model) keep(id string, it store.Item) {
	m.values[id] = &held{value: string(it.Value), own: it.TTL, expires: m.now + lifetime(it.TTL)}
}

func (m *model) renew(h *held) { h.expires = m.now + lifetime(h.own) }

// item is a value for the id: its own, as ids name contents, or while that one
// is there now and then another, which must be refused.
func (m *model) item(id string) store.Item {
	text := strings.Repeat(id+".", 1+len(id)*2000*(int(id[0])%2))
	if m.live(id) != nil && m.rng.IntN(3) == 0 {
		text += "!"
	}
	ttls := []time.Duration{0, time.Hour, 100 * time.Hour}
	return store.Item{Key: original(id), Value: []byte(text), TTL: ttls[m.rng.IntN(len(ttls))]}
}

// randomOperations compares the store, seen through two handles, with the model.
func randomOperations(t *testing.T, f Fixture) {
	const seed, keys, steps = 20260107, 8, 400
	m := &model{rng: rand.New(rand.NewPCG(seed, seed)), values: map[string]*held{}} //nolint:gosec // repeatable on purpose
	handles := []store.Store{f.Store, f.Peer}
	for step := range steps {
		s, id := handles[m.rng.IntN(2)], strconv.Itoa(m.rng.IntN(keys))
		var err error
		switch m.rng.IntN(5) {
		case 0:
			d := time.Duration(m.rng.IntN(30)) * time.Hour / 2
			m.now += d
			f.Advance(t, d)
		case 1:
			err = m.get(t, s, id)
		case 2:
			err = m.setIfAbsent(t, s, id)
		default:
			err = m.put(t, s, id)
		}
		if err != nil {
			t.Fatalf("seed %d, step %d at %v: %v", seed, step, m.now, err)
		}
	}
}

func (m *model) get(t *testing.T, s store.Store, id string) error {
	got, err := s.Get(t.Context(), original(id))
	h := m.live(id)
	if h == nil {
		if !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("get %s: %.40q, %w; the model has none", id, got, err)
		}
		return nil
	}
	if err != nil || string(got) != h.value {
		return fmt.Errorf("get %s: %.40q, %w; the model has %.40q", id, got, err, h.value)
	}
	m.renew(h)
	return nil
}

func (m *model) setIfAbsent(t *testing.T, s store.Store, id string) error {
	it := m.item(id)
	got, won, err := s.SetIfAbsent(t.Context(), it)
	h := m.live(id)
	if err != nil || won != (h == nil) || h != nil && string(got) != h.value {
		return fmt.Errorf("set %s: %.40q, won %v, %w; the model has %.40q", id, got, won, err, fmt.Sprint(h))
	}
	if h == nil {
		m.keep(id, it)
	} else {
		m.renew(h)
	}
	return nil
}

// put writes one item: what a refused batch leaves behind is not part of the contract.
func (m *model) put(t *testing.T, s store.Store, id string) error {
	it := m.item(id)
	err := s.PutAll(t.Context(), []store.Item{it})
	h := m.live(id)
	switch {
	case h == nil && err == nil:
		m.keep(id, it)
		return nil
	case h != nil && h.value == string(it.Value) && err == nil:
		h.expires = m.now + lifetime(it.TTL)
		return nil
	}
	var c *store.ConflictError
	if h == nil || h.value == string(it.Value) || !errors.As(err, &c) {
		return fmt.Errorf("put %s %.40q: %w; the model has %.40q", id, it.Value, err, fmt.Sprint(h))
	}
	// Whether a refused write renews is left open; reading settles it.
	return m.get(t, s, id)
}
