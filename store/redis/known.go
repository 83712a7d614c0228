package redis

import (
	"container/list"
	"sync"
	"time"

	"github.com/contextguru/contextguru/store"
)

// renewShare is the part of a TTL for which a renewal is good enough: with a day,
// a key is renewed at most once an hour by each process and lives for at least 23
// hours after its last use. Renewing is a write, which replicas and append-only
// files have to follow; a conversation would cause one per output and turn.
const renewShare = 24

// knownOverhead is what one known key costs besides its name: map slot, list
// element, entry; rounded up.
const knownOverhead = 224

// known remembers, within bounds, which values this process has seen stored
// under which keys. It is safe for concurrent use.
type known struct {
	maxEntries int
	maxBytes   int64

	mu     sync.Mutex
	keys   map[string]*list.Element
	recent *list.List // of *knownKey, front = used last
	bytes  int64
}

type knownKey struct {
	name    string
	print   store.Fingerprint
	ttl     time.Duration // what it was last renewed by
	renewed time.Time
}

func newKnown(maxEntries int, maxBytes int64) *known {
	return &known{
		maxEntries: maxEntries, maxBytes: maxBytes,
		keys: map[string]*list.Element{}, recent: list.New(),
	}
}

// mark sets the mode of every put whose value is remembered under its name.
func (k *known) mark(puts []*put, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range puts {
		el, ok := k.keys[p.name]
		if !ok {
			continue
		}
		key := el.Value.(*knownKey) //nolint:forcetypeassert // the list holds nothing else
		if key.print != p.print {
			continue
		}
		k.recent.MoveToFront(el)
		p.mode = renew
		if key.ttl == p.ttl && now.Sub(key.renewed) < p.ttl/renewShare {
			p.mode = check
		}
	}
}

// add remembers the puts' values as renewed just now and forgets those used
// longest ago beyond the bounds.
func (k *known) add(puts []*put, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range puts {
		fresh := knownKey{name: p.name, print: p.print, ttl: p.ttl, renewed: now}
		if el, ok := k.keys[p.name]; ok {
			*el.Value.(*knownKey) = fresh //nolint:forcetypeassert // the list holds nothing else
			k.recent.MoveToFront(el)
			continue
		}
		k.keys[p.name] = k.recent.PushFront(&fresh)
		k.bytes += int64(len(p.name) + knownOverhead)
	}
	for len(k.keys) > k.maxEntries || k.bytes > k.maxBytes {
		k.drop(k.recent.Back())
	}
}

// forget drops what turned out not to be stored any more.
func (k *known) forget(puts []*put) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range puts {
		if el, ok := k.keys[p.name]; ok {
			k.drop(el)
		}
	}
}

func (k *known) drop(el *list.Element) {
	name := k.recent.Remove(el).(*knownKey).name //nolint:forcetypeassert // the list holds nothing else
	delete(k.keys, name)
	k.bytes -= int64(len(name) + knownOverhead)
}

// size returns the number of keys and the bytes they are counted with.
func (k *known) size() (entries int, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.keys), k.bytes
}
