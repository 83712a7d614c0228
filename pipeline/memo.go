package pipeline

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// DefaultMemoBytes bounds a memo nobody sized: about 30,000 outcomes of 2 KB.
const DefaultMemoBytes = 64 << 20

// memoEntryOverhead is what an entry costs beside its texts: key, list and map
// cells, the outcome itself (measured with the heap profile, rounded up).
const memoEntryOverhead = 512

// memoKey names everything an outcome depends on.
type memoKey struct {
	pipeline Digest // components, order, settings, key, encoding
	segment  Digest // value, call, error flag
	view     Digest // transcript up to the segment's turn; zero if nobody looks
	index    int    // tells equal segments of one turn apart; zero if nobody looks
	horizon  bool   // what was decided at a horizon, view being the horizon's
}

// Memo remembers outcomes, the least recently used dropped first. It is a
// cache: whatever it forgets is computed again to the same result. Safe for
// concurrent use; a nil Memo remembers nothing.
type Memo struct {
	mu           sync.Mutex
	lru          *simplelru.LRU[memoKey, *Outcome]
	bytes, bound int64
	hits, misses uint64
}

// NewMemo returns a memo bounded by bytes; 0 or less means DefaultMemoBytes.
func NewMemo(bound int64) *Memo {
	if bound <= 0 {
		bound = DefaultMemoBytes
	}
	m := &Memo{bound: bound}
	// The entry bound cannot be reached before the byte bound.
	lru, err := simplelru.NewLRU(int(bound/memoEntryOverhead)+1, func(_ memoKey, o *Outcome) { m.bytes -= o.size() })
	if err != nil {
		return nil // only for a size below 1, which the line above rules out
	}
	m.lru = lru
	return m
}

// MemoStats are a memo's counters.
type MemoStats struct {
	Hits, Misses uint64
	Entries      int
	Bytes        int64
}

// Stats returns the counters since the start.
func (m *Memo) Stats() MemoStats {
	if m == nil {
		return MemoStats{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return MemoStats{Hits: m.hits, Misses: m.misses, Entries: m.lru.Len(), Bytes: m.bytes}
}

// Flush forgets everything.
func (m *Memo) Flush() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Purge()
}

func (m *Memo) get(k *memoKey) *Outcome {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.lru.Get(*k)
	if !ok {
		m.misses++
		return nil
	}
	m.hits++
	return o
}

func (m *Memo) put(k *memoKey, o *Outcome) {
	if m == nil || o.size() > m.bound/8 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.lru.Peek(*k); ok {
		return
	}
	m.lru.Add(*k, o)
	m.bytes += o.size()
	for m.bytes > m.bound {
		m.lru.RemoveOldest()
	}
}
