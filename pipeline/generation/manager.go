package generation

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/store"
)

const (
	// DefaultWait bounds what a request waits for its pin: as long as for the
	// acknowledgement of its originals.
	DefaultWait = 50 * time.Millisecond
	// fetchWait bounds what a request waits for a generation that has to be
	// fetched and built, which happens once per generation and process.
	fetchWait = 250 * time.Millisecond
	// fetchMost bounds the fetch itself, which goes on when a request gives up.
	fetchMost = 5 * time.Second
	// loadedMost is how many generations a process keeps built.
	loadedMost = 8
)

// Config is what a Manager is made of.
type Config[T any] struct {
	// Store is shared by the replicas.
	Store store.Store
	// Keys name the conversations.
	Keys *pipeline.Keyring
	// TTL is how long a pin lives after its last use; 0 is store.DefaultTTL.
	TTL time.Duration
	// Wait bounds what a request waits for the store; 0 is DefaultWait.
	Wait time.Duration
	// Build makes the plan of a document of another replica. models returns the
	// text of the model map that was stored with it; Build checks its digest.
	// An error means that this replica cannot serve the generation.
	Build func(d Document, models func() ([]byte, error)) (T, error)
	// Log hears of generations that come and of what went wrong; nil is nobody.
	Log *slog.Logger
}

// Generation is a plan and what it was made from.
type Generation[T any] struct {
	Document
	// ModelMap returns the text of the model map, for other replicas.
	ModelMap func() ([]byte, error)
	// Plan is what the caller works with.
	Plan T

	id string
}

// Stats counts what happened to conversations, since the start.
type Stats struct {
	// Live generations are in use somewhere; Loaded ones are built here.
	Live, Loaded int
	// Pinned conversations were found or begun in the store.
	Pinned uint64
	// Other requests were served under another generation than the current one.
	Other uint64
	// Lost conversations had no pin though they are not new.
	Lost uint64
	// Unavailable requests were not told their pin in time.
	Unavailable uint64
	// Unloaded requests are pinned to a generation that cannot be had here.
	Unloaded uint64
	// Late pins were written after requests had been served under another
	// generation than the one that was there.
	Late uint64
	// Unwritten pins were not written behind a request, and are by the next.
	Unwritten uint64
	// Unannounced counts looks at the announcements that failed.
	Unannounced uint64
}

// Manager knows the generation of every conversation. It is safe for
// concurrent use. T is what a generation is to the caller.
type Manager[T any] struct {
	c       Config[T]
	current atomic.Pointer[Generation[T]]
	many    atomic.Bool // more than one generation is or may be live
	pins    *pins
	queue   chan *pin
	built   *shelf[T]
	peers   *peers

	counts struct {
		pinned, other, lost, unavailable, unloaded, late, unwritten atomic.Uint64
	}

	adopting chan struct{} // holds a token while one is adopted
}

// New returns a manager whose current generation is first, which is in use at
// once. [Manager.Adopt] tells the others of it, and of those that follow.
func New[T any](c Config[T], first Generation[T]) (*Manager[T], error) {
	if c.Store == nil || c.Keys == nil || c.Build == nil {
		return nil, errors.New("generation manager: store, keys and a way to build are needed")
	}
	if c.TTL <= 0 {
		c.TTL = store.DefaultTTL
	}
	if c.Wait <= 0 {
		c.Wait = DefaultWait
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager[T]{c: c, pins: newPins(), queue: make(chan *pin, queueMost), built: newShelf[T](), peers: newPeers(c.Store, c.TTL), adopting: make(chan struct{}, 1)}
	first.id = first.ID()
	m.current.Store(&first)
	m.built.add(&first)
	m.many.Store(true) // until somebody has looked
	return m, nil
}

// Current returns the plan new conversations get.
func (m *Manager[T]) Current() T { return m.current.Load().Plan }

// CurrentID returns the id of the current generation.
func (m *Manager[T]) CurrentID() string { return m.current.Load().id }

// For returns the plan of the conversation that a request belongs to. It never
// fails: what cannot be told is the current plan, and counted.
func (m *Manager[T]) For(ctx context.Context, tenant string, t *pipeline.Transcript) T {
	current := m.current.Load()
	p := m.pins.of(m.c.Keys, tenant, t, current.id)
	if p == nil {
		return current.Plan
	}
	id, state := p.look()
	switch {
	case state == unwritten && m.many.Load():
		id = m.ask(ctx, p, t.Turn > 0)
	case state == unwritten, m.due(p):
		m.later(p)
	}
	if id == current.id {
		return current.Plan
	}
	if g := m.load(ctx, id); g != nil {
		m.counts.other.Add(1)
		return g.Plan
	}
	m.counts.unloaded.Add(1)
	return current.Plan
}

// Note pins a conversation that needs no plan now, without waiting.
func (m *Manager[T]) Note(tenant string, t *pipeline.Transcript) {
	if p := m.pins.of(m.c.Keys, tenant, t, m.current.Load().id); p != nil {
		if _, state := p.look(); state == unwritten || m.due(p) {
			m.later(p)
		}
	}
}

// load returns a generation, fetched if need be, or nil.
func (m *Manager[T]) load(ctx context.Context, id string) *Generation[T] {
	m.peers.use(id)
	g, wait := m.built.find(id, func() (*Generation[T], error) {
		// The next request needs it even if this one goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchMost)
		defer cancel()
		return m.fetch(ctx, id)
	})
	if g != nil || wait == nil {
		return g
	}
	timer := time.NewTimer(fetchWait)
	defer timer.Stop()
	select {
	case <-wait:
	case <-timer.C:
	case <-ctx.Done():
	}
	return m.built.peek(id)
}

// fetch reads a generation from the store and builds it.
func (m *Manager[T]) fetch(ctx context.Context, id string) (*Generation[T], error) {
	data, err := m.c.Store.Get(ctx, documentKey(id))
	var d Document
	if err == nil {
		d, err = parseDocument(id, data)
	}
	g := &Generation[T]{Document: d, id: id}
	if err == nil {
		g.ModelMap = func() ([]byte, error) { return m.c.Store.Get(ctx, modelsKey(d.Models)) }
		g.Plan, err = m.c.Build(d, g.ModelMap)
	}
	if err != nil {
		m.c.Log.Warn("generation_not_loaded", "generation", id, "error", err.Error())
		return nil, err
	}
	g.ModelMap = nil // it is in the store already
	m.c.Log.Info("generation_loaded", "generation", id)
	return g, nil
}

// Adopt makes a generation the current one: it is stored and announced, the
// other replicas get the time to notice, and then it is in use. It returns
// early, and adopts nothing, only when ctx ends. A store that does not answer
// is tried again by Run.
func (m *Manager[T]) Adopt(ctx context.Context, next Generation[T]) error {
	select {
	case m.adopting <- struct{}{}:
		defer func() { <-m.adopting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	next.id = next.ID()
	m.built.add(&next)
	m.peers.use(next.id)
	m.poll(ctx)
	if m.peers.others(next.id) && !m.peers.blind() {
		timer := time.NewTimer(settle)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if old := m.current.Swap(&next); old.id != next.id {
		m.c.Log.Info("generation_adopted", "generation", next.id, "before", old.id)
	}
	return ctx.Err()
}

// Run keeps announcements, documents and pins up to date until ctx ends, and
// then writes the pins that are still to be written.
func (m *Manager[T]) Run(ctx context.Context) {
	var writers sync.WaitGroup
	for range writersMost {
		writers.Go(func() { m.write(ctx) })
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			m.poll(ctx)
		}
	}
	writers.Wait()
}

// poll looks at the announcements, makes those that are due, stores the
// documents behind them, and fetches what others use before a request needs it.
func (m *Manager[T]) poll(ctx context.Context) {
	m.peers.use(m.current.Load().id)
	m.peers.poll(ctx, func(id string) error { return m.publish(ctx, id) })
	m.many.Store(m.peers.many())
	for _, id := range m.peers.wanted(loadedMost - 1) {
		if m.built.peek(id) == nil {
			m.built.find(id, func() (*Generation[T], error) {
				ctx, cancel := context.WithTimeout(ctx, fetchMost)
				defer cancel()
				return m.fetch(ctx, id)
			})
		}
	}
}

// publish stores what a generation is made of, or renews it.
func (m *Manager[T]) publish(ctx context.Context, id string) error {
	g := m.built.peek(id)
	if g == nil {
		return nil
	}
	items := []store.Item{{Key: documentKey(id), Value: g.marshal(), TTL: m.peers.keep}}
	if g.ModelMap == nil {
		_, err := m.c.Store.Get(ctx, modelsKey(g.Models)) // which renews it
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	} else {
		text, err := g.ModelMap()
		if err != nil {
			return err
		}
		items = append(items, store.Item{Key: modelsKey(g.Models), Value: text, TTL: m.peers.keep})
	}
	for _, item := range items {
		// Maps with equal digests may differ in what does not matter here.
		err := m.c.Store.PutAll(ctx, []store.Item{item})
		if _, other := errors.AsType[*store.ConflictError](err); err != nil && !other {
			return err
		}
	}
	return nil
}

// Stats returns the counts as of now.
func (m *Manager[T]) Stats() Stats {
	live, failed := m.peers.counts()
	return Stats{
		Live: live, Loaded: m.built.size(), Unannounced: failed,
		Pinned: m.counts.pinned.Load(), Other: m.counts.other.Load(), Lost: m.counts.lost.Load(),
		Unavailable: m.counts.unavailable.Load(), Unloaded: m.counts.unloaded.Load(), Late: m.counts.late.Load(),
		Unwritten: m.counts.unwritten.Load(),
	}
}

func documentKey(id string) store.Key {
	return store.Key{Space: store.Generations, ID: "doc/" + id}
}
