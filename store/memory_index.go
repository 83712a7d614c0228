package store

import (
	"container/heap"
	"container/list"
	"time"
)

// entryOverhead is what one entry costs besides its name and value: map slot,
// list element, heap slot, entry and string and slice headers, rounded up.
// TestMemoryOverheadIsHonest holds it against the heap.
const entryOverhead = 336

// entry is one value in an index. name and stored never change.
type entry struct {
	name    string
	stored  []byte
	print   Fingerprint
	ttl     time.Duration
	expires time.Time
	recent  *list.Element // its place in index.recent
	slot    int           // its place in index.expiry
}

func (e *entry) cost() int64 { return cost(e.name, e.stored) }

// cost is what an entry counts against the byte bound. The slice's capacity is
// what the heap pays for.
func cost(name string, stored []byte) int64 {
	return int64(len(name) + cap(stored) + entryOverhead)
}

// index holds the entries by name, by recency and by expiry. It is not safe for
// concurrent use.
type index struct {
	maxBytes   int64
	maxEntries int

	entries map[string]*entry
	recent  *list.List // front = used last
	expiry  expiryHeap
	bytes   int64

	evictions, expired uint64
}

func newIndex(maxBytes int64, maxEntries int) index {
	if maxBytes == 0 {
		maxBytes = DefaultMemoryBytes
	}
	if maxEntries == 0 {
		maxEntries = DefaultMemoryEntries
	}
	return index{maxBytes: maxBytes, maxEntries: maxEntries, entries: map[string]*entry{}, recent: list.New()}
}

func (x *index) find(name string) *entry { return x.entries[name] }

// reclaim drops every entry that has expired by now, so that room is made from
// the dead before the living.
func (x *index) reclaim(now time.Time) {
	for len(x.expiry) > 0 && !now.Before(x.expiry[0].expires) {
		x.remove(x.expiry[0])
		x.expired++
	}
}

// renew makes e the entry used last and lets it live for ttl from now.
func (x *index) renew(e *entry, now time.Time, ttl time.Duration) {
	e.expires = now.Add(ttl)
	x.recent.MoveToFront(e.recent)
	heap.Fix(&x.expiry, e.slot)
}

// add inserts a new entry and evicts those used longest ago until the bounds
// hold. The caller made sure that e fits by itself.
func (x *index) add(e *entry, now time.Time) {
	e.expires = now.Add(e.ttl)
	x.entries[e.name] = e
	e.recent = x.recent.PushFront(e)
	heap.Push(&x.expiry, e)
	x.bytes += e.cost()
	for x.bytes > x.maxBytes || len(x.entries) > x.maxEntries {
		oldest, ok := x.recent.Back().Value.(*entry)
		if !ok || oldest == e {
			return
		}
		x.remove(oldest)
		x.evictions++
	}
}

func (x *index) remove(e *entry) {
	delete(x.entries, e.name)
	x.recent.Remove(e.recent)
	heap.Remove(&x.expiry, e.slot)
	x.bytes -= e.cost()
}

// expiryHeap is a heap of entries, the next to expire on top.
type expiryHeap []*entry

func (h expiryHeap) Len() int           { return len(h) }
func (h expiryHeap) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }
func (h expiryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

// Push implements [heap.Interface].
func (h *expiryHeap) Push(x any) {
	if e, ok := x.(*entry); ok {
		e.slot = len(*h)
		*h = append(*h, e)
	}
}

// Pop implements [heap.Interface].
func (h *expiryHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
