package hidden

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// Defaults of [Config].
const (
	// DefaultDeadline is what a request waits for the store at most: well above
	// one round trip, well below what anybody notices.
	DefaultDeadline = 250 * time.Millisecond
	// DefaultEntries is how many turns are remembered, with a record or without:
	// about 100 bytes each, twice.
	DefaultEntries = 1 << 16
	// DefaultBytes bounds the records that are remembered.
	DefaultBytes = 32 << 20

	// mostAsked bounds what one request may ask the store for. The oldest turns
	// come first, so that a conversation which grows past it keeps what it has.
	mostAsked = 4096
	// renewShare is the part of a TTL after which a remembered record is written
	// again: that renews it, and heals a store that has lost it.
	renewShare = 24
	// missingFor is how long a process believes that a turn has no record. There
	// can be one later only when the store failed as it was to be written.
	missingFor = time.Minute
)

// Config is what a Keeper is made of. Zero fields are the defaults.
type Config struct {
	Store store.Store
	Keys  *pipeline.Keyring
	// TTL is the sliding lifetime of a record; 0 is the store's default.
	TTL time.Duration
	// Deadline bounds each wait for the store.
	Deadline time.Duration
	// Most bounds one record in bytes.
	Most int
	// Entries and Bytes bound what this process remembers.
	Entries, Bytes int
	// Now is the clock that renewals go by; nil is [time.Now].
	Now func() time.Time
}

// Keeper records hidden rounds and restores them. It is safe for concurrent use.
type Keeper struct {
	c    Config
	seed maphash.Seed
	// essences and texts are what elements were found to be, by the hash of their
	// bytes: a history is sent again with every request.
	essences *lru.Cache[uint64, essence]
	texts    *lru.Cache[uint64, sum]

	mu     sync.Mutex
	recent *simplelru.LRU[owned, *entry]
	bytes  int
}

// owned is a name with its owner.
type owned struct {
	tenant string
	name   name
}

// entry is what is known of a name: its record, or that there is none.
type entry struct {
	data    []byte // nil: there is none
	renewed time.Time
}

// New returns a Keeper.
func New(c Config) (*Keeper, error) {
	if c.Store == nil || c.Keys == nil {
		return nil, errors.New("hidden rounds need a store and a service key")
	}
	c.Deadline = defaulted(c.Deadline, DefaultDeadline)
	c.Most, c.Entries, c.Bytes = defaulted(c.Most, DefaultMost), defaulted(c.Entries, DefaultEntries), defaulted(c.Bytes, DefaultBytes)
	if c.Now == nil {
		c.Now = time.Now
	}
	k := &Keeper{c: c, seed: maphash.MakeSeed()} // finds what is known faster, decides nothing
	var errs [3]error
	k.essences, errs[0] = lru.New[uint64, essence](c.Entries)
	k.texts, errs[1] = lru.New[uint64, sum](c.Entries)
	k.recent, errs[2] = simplelru.NewLRU(c.Entries, func(_ owned, e *entry) { k.bytes -= len(e.data) })
	return k, errors.Join(errs[:]...)
}

func defaulted[T time.Duration | int](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}

// remember keeps a record, or that there is none.
func (k *Keeper) remember(o owned, data []byte) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.recent.Remove(o)
	k.bytes += len(data)
	e := &entry{data, k.c.Now()}
	k.recent.Add(o, e)
	for k.bytes > k.c.Bytes && k.recent.Len() > 1 {
		k.recent.RemoveOldest()
	}
	return e
}

// forget drops what is remembered of a name.
func (k *Keeper) forget(o owned) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.recent.Remove(o)
}

// keys are the names' keys in the store, under each service key.
func (k *Keeper) keys(tenants []string, n *name) []store.Key {
	ids := n.ids(k.c.Keys)
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = store.Key{Tenant: tenants[min(i, len(tenants)-1)], Space: store.Exchanges, ID: id}
	}
	return keys
}

// ask reads the records of names that nothing is known of, remembers what it
// learns, and returns the records there are.
func (k *Keeper) ask(ctx context.Context, tenants []string, names []name) (map[name]*entry, error) {
	if len(names) > mostAsked {
		names = names[:mostAsked]
	}
	var keys []store.Key
	var of []int
	for i := range names {
		for _, key := range k.keys(tenants, &names[i]) {
			keys, of = append(keys, key), append(of, i)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, k.c.Deadline)
	defer cancel()
	values, err := k.c.Store.GetAll(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read hidden rounds: %w", err)
	}
	found := make([][]byte, len(names))
	for i, value := range values {
		if found[of[i]] == nil {
			found[of[i]] = value
		}
	}
	records := map[name]*entry{}
	for i := range names {
		e := k.remember(owned{tenants[0], names[i]}, found[i])
		if found[i] != nil {
			records[names[i]] = e
		}
	}
	return records, nil
}

// put writes a record under its names. Names that hold another record keep it:
// the same turn was recorded before, by a request that was sent twice.
func (k *Keeper) put(ctx context.Context, tenants []string, names []name, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, k.c.Deadline)
	defer cancel()
	items := make([]store.Item, len(names))
	for i := range names {
		items[i] = store.Item{Key: k.keys(tenants, &names[i])[0], Value: data, TTL: k.c.TTL}
		k.remember(owned{tenants[0], names[i]}, data)
	}
	err := k.c.Store.PutAll(ctx, items)
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok {
		var rest []store.Item
		for i, item := range items {
			if slices.Contains(conflict.Keys, item.Key) {
				k.forget(owned{tenants[0], names[i]}) //nolint:gosec // there is an item for each name
			} else {
				rest = append(rest, item)
			}
		}
		if err = nil; len(rest) > 0 {
			err = k.c.Store.PutAll(ctx, rest)
		}
	}
	if err != nil {
		for i := range names {
			k.late(owned{tenants[0], names[i]})
		}
		return fmt.Errorf("record hidden rounds: %w", err)
	}
	return nil
}

// late makes the next request write a record again.
func (k *Keeper) late(o owned) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.recent.Peek(o); ok {
		k.recent.Add(o, &entry{data: e.data})
	}
}

// renew writes a remembered record again when it is time to.
func (k *Keeper) renew(ctx context.Context, tenants []string, n name, e *entry) {
	every := defaulted(k.c.TTL, store.DefaultTTL) / renewShare
	if k.c.Now().Sub(e.renewed) >= every {
		_ = k.put(ctx, tenants, []name{n}, e.data) // what is remembered is good without it
	}
}

// essence returns the essence of the turn in a span.
func (k *Keeper) essence(r *reader, elements []wire.Element) (e essence, ok bool) {
	at := pipeline.Span{Start: elements[0].Span.Start, End: elements[len(elements)-1].Span.End}
	var h maphash.Hash
	h.SetSeed(k.seed)
	_, _ = h.WriteString(string(r.dialect))
	_, _ = h.Write(r.value(at))
	key := h.Sum64()
	if e, ok = k.essences.Get(key); ok {
		return e, e != essence{}
	}
	if t, ok := r.turn(elements); ok {
		e = essenceOf(r.dialect, t.pieces)
	}
	k.essences.Add(key, e)
	return e, e != essence{}
}

// textsOf returns the digest of the texts of an element.
func (k *Keeper) textsOf(r *reader, at pipeline.Span) sum {
	key := maphash.Bytes(k.seed, r.value(at))
	if texts, ok := k.texts.Get(key); ok {
		return texts
	}
	texts := r.textsOf(at)
	k.texts.Add(key, texts)
	return texts
}
