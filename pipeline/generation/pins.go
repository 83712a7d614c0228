package generation

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/store"
)

const (
	// pinsMost is how many conversations a process remembers the pins of, the
	// last used ones. One takes about 500 bytes.
	pinsMost = 1 << 15
	// queueMost is how many pins may wait to be written. More than that is a
	// store that does not answer, and then the next request tries again.
	queueMost = 4096
	// writersMost is how many pins are written at once.
	writersMost = 4
	// writeWait bounds the writing of one pin behind a request.
	writeWait = time.Second
	// renewShare is the part of a TTL for which a renewal is good enough.
	renewShare = 24
)

// pins are the conversations this process knows.
type pins struct {
	seed maphash.Seed

	mu    sync.Mutex
	bytes *simplelru.LRU[opening, string] // roots by the bytes of preambles
	roots *simplelru.LRU[string, *pin]
}

// opening tells the bytes of preambles apart. Its hashes are seeded with what
// never leaves the process, so nobody can aim for a collision.
type opening struct {
	system, messages, whose uint64
	dialect                 string
}

func newPins() *pins {
	p := &pins{seed: maphash.MakeSeed()}
	// The errors are those of a size below 1.
	p.bytes, _ = simplelru.NewLRU[opening, string](pinsMost, nil)
	p.roots, _ = simplelru.NewLRU[string, *pin](pinsMost, nil)
	return p
}

// of returns the pin of a request's conversation, which is id's and not yet
// written if it is unknown. It is nil for a request without a root.
func (p *pins) of(keys *pipeline.Keyring, tenant string, t *pipeline.Transcript, id string) *pin {
	if t == nil || t.Preamble == nil {
		return nil
	}
	at := opening{
		system:   maphash.Bytes(p.seed, t.Body[t.Opening[0].Start:t.Opening[0].End]),
		messages: maphash.Bytes(p.seed, t.Body[t.Opening[1].Start:t.Opening[1].End]),
		whose:    maphash.String(p.seed, tenant), dialect: t.Dialect,
	}
	p.mu.Lock()
	root, known := p.bytes.Get(at)
	p.mu.Unlock()
	if !known {
		root = keys.Root(tenant, t)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !known {
		p.bytes.Add(at, root)
	}
	if root == "" {
		return nil
	}
	found, ok := p.roots.Get(root)
	if !ok {
		found = &pin{key: store.Key{Tenant: tenant, Space: store.Generations, ID: "root/" + root}, id: id}
		p.roots.Add(root, found)
	}
	return found
}

// state says what a process knows of a pin.
type state uint8

const (
	unwritten state = iota // it is what this process would write
	written                // it is what the store holds
)

// pin is the generation of one conversation.
type pin struct {
	key store.Key

	mu      sync.Mutex
	id      string
	state   state
	queued  bool
	uses    int // requests that were, or are about to be, served under id
	renewed time.Time
}

// look returns the generation for one more request.
func (p *pin) look() (string, state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses++
	return p.id, p.state
}

// due reports whether a written pin has to be renewed.
func (m *Manager[T]) due(p *pin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == written && time.Since(p.renewed) > m.c.TTL/renewShare
}

// later has the pin written behind the request.
func (m *Manager[T]) later(p *pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queued {
		return
	}
	select {
	case m.queue <- p:
		p.queued = true
	default:
		m.counts.unwritten.Add(1)
	}
}

// write writes pins until ctx ends, and then those that wait.
func (m *Manager[T]) write(ctx context.Context) {
	for {
		select {
		case p := <-m.queue:
			m.settle(ctx, p)
			continue
		case <-ctx.Done():
		}
		select {
		case p := <-m.queue:
			m.settle(ctx, p)
		default:
			return
		}
	}
}

// settle writes one pin that nobody waits for.
func (m *Manager[T]) settle(ctx context.Context, p *pin) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	_, _, err := m.claim(ctx, p, 0)
	if err != nil {
		m.counts.unwritten.Add(1)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued = false
}

// ask returns the generation the store has for a conversation, written there
// now if there was none. old conversations should have one.
func (m *Manager[T]) ask(ctx context.Context, p *pin, old bool) string {
	ctx, cancel := context.WithTimeout(ctx, m.c.Wait)
	defer cancel()
	id, first, err := m.claim(ctx, p, 1)
	switch {
	case err != nil:
		m.counts.unavailable.Add(1)
	case first && old:
		m.counts.lost.Add(1)
	}
	return id
}

// claim sets the pin in the store if absent, and adopts what the store holds.
// waiting is how many of the pin's uses wait for the answer. first reports that
// the store had no pin and no request was served before.
func (m *Manager[T]) claim(ctx context.Context, p *pin, waiting int) (id string, first bool, err error) {
	p.mu.Lock()
	id = p.id
	p.mu.Unlock()
	held, won, err := m.c.Store.SetIfAbsent(ctx, store.Item{Key: p.key, Value: []byte(id), TTL: m.c.TTL})
	if err == nil && !isID(string(held)) {
		err = store.ErrCorrupt
	}
	if err != nil {
		return id, false, err
	}
	m.counts.pinned.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == unwritten && p.id != string(held) && p.uses > waiting {
		m.counts.late.Add(1)
	}
	first = won && p.uses <= waiting
	p.id, p.state, p.renewed = string(held), written, time.Now()
	return p.id, first, nil
}
