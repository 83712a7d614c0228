package redis

import (
	"container/list"
	"hash/maphash"
	"sync"
)

// knownOverhead is what one known key costs besides its name: map slot, list
// element, entry; rounded up.
const knownOverhead = 224

// fingerprint recognises a value without a digest over every byte of a history
// that is resent each turn. It never says that two values differ: when
// fingerprints do, the full digests are compared in the server.
type fingerprint struct {
	hash uint64
	size int
}

// known remembers, within bounds, which values this process has seen stored
// under which keys. It is safe for concurrent use.
//
// The seed never leaves the process, so nobody can aim for a collision, least
// of all below an id that is itself a keyed hash.
type known struct {
	seed       maphash.Seed
	maxEntries int
	maxBytes   int64

	mu     sync.Mutex
	keys   map[string]*list.Element
	recent *list.List // of *knownKey, front = used last
	bytes  int64
}

type knownKey struct {
	name  string
	print fingerprint
}

func newKnown(maxEntries int, maxBytes int64) *known {
	return &known{
		seed: maphash.MakeSeed(), maxEntries: maxEntries, maxBytes: maxBytes,
		keys: map[string]*list.Element{}, recent: list.New(),
	}
}

func (k *known) print(value []byte) fingerprint {
	return fingerprint{hash: maphash.Bytes(k.seed, value), size: len(value)}
}

// mark sets known on every put whose value is remembered under its name.
func (k *known) mark(puts []*put) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range puts {
		if el, ok := k.keys[p.name]; ok && el.Value.(*knownKey).print == p.print { //nolint:forcetypeassert // the list holds nothing else
			k.recent.MoveToFront(el)
			p.known = true
		}
	}
}

// add remembers the puts' values and forgets those used longest ago beyond the bounds.
func (k *known) add(puts []*put) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range puts {
		if el, ok := k.keys[p.name]; ok {
			el.Value.(*knownKey).print = p.print //nolint:forcetypeassert // the list holds nothing else
			k.recent.MoveToFront(el)
			continue
		}
		k.keys[p.name] = k.recent.PushFront(&knownKey{name: p.name, print: p.print})
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
