package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Default bounds of a [Memory] store.
const (
	DefaultMemoryBytes   = 256 << 20
	DefaultMemoryEntries = 1 << 20
)

// MemoryOptions configures a [Memory]. The zero value is usable.
type MemoryOptions struct {
	MaxBytes   int64            // bound on everything kept, bookkeeping included; 0 = [DefaultMemoryBytes]
	MaxEntries int              // bound on the number of values; 0 = [DefaultMemoryEntries]
	TTL        time.Duration    // sliding TTL of items without one; 0 = [DefaultTTL]
	Codec      CodecOptions     // maximum value size, encryption
	Now        func() time.Time // clock; nil = [time.Now]
}

// Memory is a [Store] in this process, bounded by bytes and by entries. When it
// is full it drops expired values first, then those used longest ago. Values do
// not survive the process and are not shared with other replicas.
type Memory struct {
	codec *Codec
	ttl   time.Duration
	now   func() time.Time
	hash  Fingerprinter

	mu     sync.Mutex
	index  index
	closed bool
	hits   uint64
	misses uint64
}

var (
	_ Store     = (*Memory)(nil)
	_ Inspector = (*Memory)(nil)
)

// NewMemory returns an empty store, or an error that names the option at fault.
func NewMemory(o MemoryOptions) (*Memory, error) {
	switch {
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("memory store: max bytes: must not be negative, got %d", o.MaxBytes)
	case o.MaxEntries < 0:
		return nil, fmt.Errorf("memory store: max entries: must not be negative, got %d", o.MaxEntries)
	case o.TTL < 0:
		return nil, fmt.Errorf("memory store: ttl: must not be negative, got %v", o.TTL)
	}
	codec, err := NewCodec(o.Codec)
	if err != nil {
		return nil, fmt.Errorf("memory store: %w", err)
	}
	m := &Memory{codec: codec, ttl: o.TTL, now: o.Now, hash: NewFingerprinter()}
	if m.ttl == 0 {
		m.ttl = DefaultTTL
	}
	if m.now == nil {
		m.now = time.Now
	}
	m.index = newIndex(o.MaxBytes, o.MaxEntries)
	return m, nil
}

// write is an item on its way into the index.
type write struct {
	item    Item
	name    string
	print   Fingerprint
	encoded []byte
}

// PutAll implements [Store]. A batch that can not fit as a whole gives
// [ErrFull] and leaves the store as it was, as does a conflict.
func (m *Memory) PutAll(ctx context.Context, items []Item) error {
	if err := alive(ctx); err != nil {
		return err
	}
	writes, err := m.prepare(items)
	if err != nil {
		return err
	}
	// Compressing happens outside the lock, for the values that are not there.
	// One can expire in between, so look again until nothing is missing.
	for {
		missing, err := m.commit(writes)
		if err != nil || len(missing) == 0 {
			return err
		}
		for _, w := range missing {
			if err := alive(ctx); err != nil {
				return err
			}
			if w.encoded, err = m.encode(w); err != nil {
				return err
			}
		}
	}
}

// prepare validates, names and fingerprints the items and merges repetitions.
// Most batches hold what is stored already, so they share their memory.
func (m *Memory) prepare(items []Item) ([]*write, error) {
	writes, all := make([]*write, 0, len(items)), make([]write, len(items))
	var names []byte
	ends := make([]int, len(items))
	for i, it := range items {
		if err := it.Validate(); err != nil {
			return nil, err
		}
		if names = it.Key.appendTo(names); i == 0 {
			names = slices.Grow(names, len(items)*(len(names)+1)) // the others are about as long
		}
		ends[i] = len(names)
	}
	named, from := string(names), 0
	seen := make(map[string]*write, len(items))
	for i, it := range items {
		w := &all[i]
		*w = write{item: it, name: named[from:ends[i]], print: m.hash.Of(it)}
		from = ends[i]
		if first, ok := seen[w.name]; ok {
			if first.print != w.print && first.item.Digest() != it.Digest() {
				return nil, &ConflictError{Keys: []Key{it.Key}}
			}
			first.item.TTL = it.TTL
			continue
		}
		seen[w.name] = w
		writes = append(writes, w)
	}
	return writes, nil
}

// commit puts all writes into the index, or returns those that must be encoded
// first and changes nothing.
func (m *Memory) commit(writes []*write) (missing []*write, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	now := m.now()
	m.index.reclaim(now)

	var conflict ConflictError
	var need int64
	for _, w := range writes {
		e := m.index.find(w.name)
		switch {
		case e == nil && w.encoded == nil:
			missing = append(missing, w)
		case e == nil:
			need += cost(w.name, w.encoded)
		case e.print != w.print && m.codec.Compare(e.stored, w.item.Digest()) == Differs:
			conflict.Keys = append(conflict.Keys, w.item.Key)
		default:
			need += e.cost()
		}
	}
	switch {
	case len(conflict.Keys) > 0:
		return nil, &conflict
	case len(missing) > 0:
		return missing, nil
	case need > m.index.maxBytes || len(writes) > m.index.maxEntries:
		return nil, fmt.Errorf("%w: %d values need %d bytes, the memory store holds at most %d values and %d bytes",
			ErrFull, len(writes), need, m.index.maxEntries, m.index.maxBytes)
	}
	// Renew before adding: what this batch relies on must not be what makes room for it.
	for _, w := range writes {
		if e := m.index.find(w.name); e != nil {
			m.index.renew(e, now, m.lifetime(w.item.OwnTTL()))
		}
	}
	for _, w := range writes {
		if m.index.find(w.name) == nil {
			m.index.add(m.entry(w), now)
		}
	}
	return nil, nil
}

func (m *Memory) encode(w *write) ([]byte, error) {
	item, err := w.item.Loaded()
	if err != nil {
		return nil, err
	}
	encoded, err := m.codec.Encode(w.name, item.OwnTTL(), item.Value)
	if err != nil {
		return nil, fmt.Errorf("put %s: %w", w.name, err)
	}
	// Kept for a day, so the room the encoder allowed itself must not stay with it.
	return slices.Clone(encoded), nil
}

func (m *Memory) entry(w *write) *entry {
	return &entry{name: strings.Clone(w.name), stored: w.encoded, print: w.print, ttl: m.lifetime(w.item.OwnTTL())}
}

func (m *Memory) lifetime(own time.Duration) time.Duration {
	if own > 0 {
		return own
	}
	return m.ttl
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key Key) ([]byte, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	if err := key.Validate(); err != nil {
		return nil, err
	}
	name := key.String()
	stored, err := m.fetch(name)
	if err != nil {
		return nil, err
	}
	value, _, err := m.codec.Decode(name, stored)
	return value, err
}

// GetAll implements [Store].
func (m *Memory) GetAll(ctx context.Context, keys []Key) ([][]byte, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			return nil, err
		}
	}
	values := make([][]byte, len(keys))
	for i, key := range keys {
		value, err := m.Get(ctx, key)
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

// fetch returns the encoded value, which is immutable, and renews its TTL.
func (m *Memory) fetch(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	now := m.now()
	m.index.reclaim(now)
	e := m.index.find(name)
	if e == nil {
		m.misses++
		return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	m.hits++
	m.index.renew(e, now, e.ttl)
	return e.stored, nil
}

// SetIfAbsent implements [Store].
func (m *Memory) SetIfAbsent(ctx context.Context, item Item) (current []byte, won bool, err error) {
	if err := alive(ctx); err != nil {
		return nil, false, err
	}
	if err := item.Validate(); err != nil {
		return nil, false, err
	}
	w := &write{item: item, name: item.Key.String(), print: m.hash.Of(item)}
	if w.encoded, err = m.encode(w); err != nil {
		return nil, false, err
	}
	stored, won, err := m.claim(w)
	if err != nil {
		return nil, false, err
	}
	current, _, err = m.codec.Decode(w.name, stored)
	return current, won && err == nil, err
}

// claim returns what the key holds afterwards and whether it is w's value.
func (m *Memory) claim(w *write) (stored []byte, won bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, false, ErrClosed
	}
	now := m.now()
	m.index.reclaim(now)
	if e := m.index.find(w.name); e != nil {
		m.index.renew(e, now, e.ttl)
		return e.stored, false, nil
	}
	if need := cost(w.name, w.encoded); need > m.index.maxBytes {
		return nil, false, fmt.Errorf("%w: value needs %d bytes, the memory store holds at most %d",
			ErrFull, need, m.index.maxBytes)
	}
	m.index.add(m.entry(w), now)
	return w.encoded, true, nil
}

// Ping implements [Store]; a memory store answers until it is closed.
func (m *Memory) Ping(ctx context.Context) error {
	if err := alive(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return nil
}

// Close implements [Store] and drops every value.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.index = newIndex(m.index.maxBytes, m.index.maxEntries)
	return nil
}

// Inspect implements [Inspector].
func (m *Memory) Inspect(context.Context) ([]Warning, error) {
	return []Warning{{
		Code: "memory_not_shared",
		Text: "the memory store is lost with the process and unknown to other replicas",
		Cure: "use a Redis store for more than one replica or for conversations that outlive a restart",
	}}, nil
}

// MemoryStats counts what a [Memory] holds and what happened to it.
type MemoryStats struct {
	Entries   int    // values held
	Bytes     int64  // bytes held, bookkeeping included
	Evictions uint64 // live values dropped to make room
	Expired   uint64 // values dropped because nobody asked for them during their TTL
	Hits      uint64 // reads that found a value
	Misses    uint64 // reads that found none
}

// Stats returns the counters as of now.
func (m *Memory) Stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.index.reclaim(m.now())
	return MemoryStats{
		Entries: len(m.index.entries), Bytes: m.index.bytes,
		Evictions: m.index.evictions, Expired: m.index.expired,
		Hits: m.hits, Misses: m.misses,
	}
}

// alive turns a finished context into the error a store promises.
func alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
