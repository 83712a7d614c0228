package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newMemory(tb testing.TB, o store.MemoryOptions) *store.Memory {
	tb.Helper()
	m, err := store.NewMemory(o)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestMemorySuite(t *testing.T) {
	t.Parallel()
	const maxValue = 5 << 20
	key := []byte("0123456789abcdef0123456789abcdef")
	for name, codec := range map[string]store.CodecOptions{
		"plain":     {MaxValue: maxValue},
		"encrypted": {MaxValue: maxValue, EncryptionKeys: [][]byte{key}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Fixture {
				c := newClock()
				m := newMemory(t, store.MemoryOptions{Codec: codec, Now: c.Now})
				return storetest.Fixture{
					Store: m, Peer: m, MaxValue: maxValue,
					Advance: func(_ testing.TB, d time.Duration) { c.Advance(d) },
					Rewrite: func(tb testing.TB, key store.Key, edit func([]byte) []byte) {
						tb.Helper()
						if !m.Rewrite(key, edit) {
							tb.Fatalf("nothing stored under %s", key)
						}
					},
				}
			})
		})
	}
}

// TestMemoryClock runs the TTL on the real clock's type, inside a time bubble.
func TestMemoryClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, store.MemoryOptions{TTL: time.Minute})
		it := item("a", "alpha")
		put(t, m, it)
		time.Sleep(time.Minute - time.Nanosecond)
		if _, err := m.Get(t.Context(), it.Key); err != nil {
			t.Fatalf("just before its TTL: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := m.Get(t.Context(), it.Key); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("a TTL after the last read: %v, want ErrNotFound", err)
		}
	})
}

func item(id, value string) store.Item {
	return store.Item{Key: store.Key{Tenant: "acme", Space: store.Originals, ID: id}, Value: []byte(value)}
}

func put(t *testing.T, s store.Store, items ...store.Item) {
	t.Helper()
	if err := s.PutAll(t.Context(), items); err != nil {
		t.Fatalf("PutAll: %v", err)
	}
}

func TestMemoryOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]store.MemoryOptions{
		"max bytes":        {MaxBytes: -1},
		"max entries":      {MaxEntries: -1},
		"ttl":              {TTL: -1},
		"max value":        {Codec: store.CodecOptions{MaxValue: -1}},
		"encryption key 1": {Codec: store.CodecOptions{EncryptionKeys: [][]byte{make([]byte, 32), make([]byte, 16)}}},
	} {
		if _, err := store.NewMemory(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewMemory with a bad %s: got %v", want, err)
		}
	}
}

func TestMemoryFull(t *testing.T) {
	t.Parallel()
	m := newMemory(t, store.MemoryOptions{MaxBytes: 4000, MaxEntries: 3})
	kept := item("kept", "kept")
	put(t, m, kept)
	before := m.Stats()

	big := item("big", string(noise(5000)))
	many := []store.Item{item("1", "1"), item("2", "2"), item("3", "3"), item("4", "4")}
	wide := []store.Item{item("5", string(noise(1800))), item("6", string(noise(1801)))}
	for name, items := range map[string][]store.Item{"one large": {big}, "too many": many, "too large together": wide} {
		if err := m.PutAll(t.Context(), items); !errors.Is(err, store.ErrFull) {
			t.Errorf("%s: got %v, want ErrFull", name, err)
		}
	}
	if _, _, err := m.SetIfAbsent(t.Context(), big); !errors.Is(err, store.ErrFull) {
		t.Errorf("SetIfAbsent of one large: got %v, want ErrFull", err)
	}
	if diff := cmp.Diff(before, m.Stats()); diff != "" {
		t.Errorf("a refused batch changed the store (-before +after):\n%s", diff)
	}
	if _, err := m.Get(t.Context(), kept.Key); err != nil {
		t.Errorf("refused batches cost a stored value: %v", err)
	}
}

// TestMemoryBatchStaysWhole: what a batch relies on is not what makes room for the rest of it.
func TestMemoryBatchStaysWhole(t *testing.T) {
	t.Parallel()
	m := newMemory(t, store.MemoryOptions{MaxEntries: 4})
	old := item("old", "old")
	put(t, m, old)
	put(t, m, item("x", "x"), item("y", "y"), item("z", "z"))
	batch := []store.Item{item("1", "1"), item("2", "2"), item("3", "3"), old}
	put(t, m, batch...)
	for _, it := range batch {
		if _, err := m.Get(t.Context(), it.Key); err != nil {
			t.Errorf("acknowledged value: %v", err)
		}
	}
	if got := m.Stats(); got.Evictions != 3 || got.Entries != 4 {
		t.Errorf("got %+v, want 3 evictions and 4 entries", got)
	}
}

func TestMemoryReclaimsExpiredFirst(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := newMemory(t, store.MemoryOptions{MaxEntries: 3, Now: c.Now})
	oldest := item("oldest", "used longest ago, but alive")
	put(t, m, oldest)
	brief := item("brief", "used last, but expired")
	brief.TTL = time.Minute
	put(t, m, item("middle", "alive"), brief)
	c.Advance(time.Minute)
	put(t, m, item("new", "new"))
	if _, err := m.Get(t.Context(), oldest.Key); err != nil {
		t.Errorf("a live value was dropped while an expired one was there: %v", err)
	}
	if got := m.Stats(); got.Evictions != 0 || got.Expired != 1 || got.Entries != 3 {
		t.Errorf("got %+v, want no eviction, 1 expired, 3 entries", got)
	}
}

// lruModel is a bounded store in the plainest terms: a list, the value used last at its end.
type lruModel struct {
	maxBytes   int64
	maxEntries int
	held       []lruEntry
}

type lruEntry struct {
	id, value string
	cost      int64
	ttl       time.Duration
	expires   time.Time
}

// use is any access; renew is the writer's TTL, 0 for a read.
func (m *lruModel) use(id string, now time.Time, renew time.Duration) (lruEntry, bool) {
	m.held = slices.DeleteFunc(m.held, func(e lruEntry) bool { return !now.Before(e.expires) })
	i := slices.IndexFunc(m.held, func(e lruEntry) bool { return e.id == id })
	if i < 0 {
		return lruEntry{}, false
	}
	e := m.held[i]
	if renew == 0 {
		renew = e.ttl
	}
	e.expires = now.Add(renew)
	m.held = append(slices.Delete(m.held, i, i+1), e)
	return e, true
}

func (m *lruModel) add(e lruEntry) {
	m.held = append(m.held, e)
	for m.bytes() > m.maxBytes || len(m.held) > m.maxEntries {
		m.held = m.held[1:]
	}
}

func (m *lruModel) bytes() (sum int64) {
	for _, e := range m.held {
		sum += e.cost
	}
	return sum
}

// TestMemoryAgainstModel runs random operations on a small store and on the model.
func TestMemoryAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		c := newClock()
		m := newMemory(t, store.MemoryOptions{MaxBytes: 6000, MaxEntries: 8, TTL: time.Hour, Now: c.Now})
		model := &lruModel{maxBytes: 6000, maxEntries: 8}
		for step := range 300 {
			id := strconv.Itoa(rng.IntN(14))
			it := item(id, strings.Repeat(id, 1+int(seed%3)*40))
			ttl := time.Hour
			if rng.IntN(3) == 0 {
				it.TTL = time.Duration(1+rng.IntN(120)) * time.Minute
				ttl = it.TTL
			}
			size, err := m.Cost(it)
			if err != nil {
				t.Fatal(err)
			}
			fresh := lruEntry{id: id, value: string(it.Value), cost: size, ttl: ttl, expires: c.Now().Add(ttl)}
			switch rng.IntN(4) {
			case 0:
				c.Advance(time.Duration(rng.IntN(30)) * time.Minute)
				model.use("", c.Now(), 0)
			case 1:
				e, ok := model.use(id, c.Now(), 0)
				got, err := m.Get(t.Context(), it.Key)
				if ok != (err == nil) || ok && string(got) != e.value {
					t.Fatalf("seed %d step %d: Get(%s) = %q, %v; model has it: %v", seed, step, id, got, err, ok)
				}
			case 2:
				_, ok := model.use(id, c.Now(), 0)
				if !ok {
					model.add(fresh)
				}
				if _, won, err := m.SetIfAbsent(t.Context(), it); err != nil || won == ok {
					t.Fatalf("seed %d step %d: SetIfAbsent(%s): won %v, %v; model has it: %v", seed, step, id, won, err, ok)
				}
			default:
				if _, ok := model.use(id, c.Now(), ttl); !ok {
					model.add(fresh)
				}
				if err := m.PutAll(t.Context(), []store.Item{it}); err != nil {
					t.Fatalf("seed %d step %d: PutAll(%s): %v", seed, step, id, err)
				}
			}
			if got := m.Stats(); got.Entries != len(model.held) || got.Bytes != model.bytes() {
				t.Fatalf("seed %d step %d: %d entries, %d bytes; model %d, %d", seed, step, got.Entries, got.Bytes, len(model.held), model.bytes())
			}
		}
	}
}

// TestMemoryOverheadIsHonest holds the accounting against the heap.
func TestMemoryOverheadIsHonest(t *testing.T) { // not parallel: it measures the heap
	m := newMemory(t, store.MemoryOptions{})
	const n = 50_000
	heap := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	before := heap()
	for i := range n {
		put(t, m, item(fmt.Sprintf("%020d", i), "a short tool output"))
	}
	used, counted := heap()-before, m.Stats().Bytes
	t.Logf("%d entries: heap %d bytes each, counted %d", n, used/n, counted/n)
	if counted < used || counted > 2*used {
		t.Errorf("heap grew by %d bytes, counted %d; want counted between once and twice that", used, counted)
	}
	runtime.KeepAlive(m)
}

func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func BenchmarkMemoryPutAllKnown(b *testing.B) {
	m := newMemory(b, store.MemoryOptions{})
	items := make([]store.Item, 20)
	for i := range items {
		items[i] = item(strconv.Itoa(i), strings.Repeat(fmt.Sprintf("line %d of a tool output\n", i), 10<<10/24))
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := m.PutAll(b.Context(), items); err != nil {
				b.Fatal(err)
			}
		}
	})
}
