package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/store"
)

// Fixture is an empty store under test and the levers the suite needs. The
// store's default TTL must be [store.DefaultTTL].
type Fixture struct {
	Store store.Store
	// Peer is a second handle on the same values, as another process has one;
	// the store itself when it can not be shared.
	Peer store.Store
	// MaxValue is the largest value the store takes.
	MaxValue int
	// Advance lets d pass for every stored value.
	Advance func(tb testing.TB, d time.Duration)
	// Rewrite replaces the stored bytes of a key behind the store's back.
	Rewrite func(tb testing.TB, key store.Key, edit func([]byte) []byte)
	// Lose drops every value behind the store's back; nil when that can not happen.
	Lose func(tb testing.TB)
}

// Run runs the suite; open is called once per case.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Fixture)
	}{
		{"round trip", roundTrip},
		{"several at once", severalAtOnce},
		{"caller keeps its bytes", callerKeepsBytes},
		{"keys are apart", keysApart},
		{"put again", putAgain},
		{"large batches", largeBatches},
		{"conflict", conflict},
		{"values on demand", valuesOnDemand},
		{"ttl", ttl},
		{"own ttl", ownTTL},
		{"set if absent", setIfAbsent},
		{"set if absent: one winner", oneWinner},
		{"puts at the same time", concurrentPuts},
		{"numbered slots", numberedSlots},
		{"corruption", corruption},
		{"lost values", lostValues},
		{"refusals", refusals},
		{"finished context", finishedContext},
		{"closed", closed},
		{"random operations", randomOperations},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

func original(id string) store.Key {
	return store.Key{Tenant: "acme", Space: store.Originals, ID: id}
}

// values are texts a tool may print, and bytes none should.
func values() map[string][]byte {
	noise := make([]byte, 100<<10)
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable on purpose
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"empty":          {},
		"one":            []byte("x"),
		"nul":            []byte("a\x00b\x00"),
		"invalid_utf8":   {0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80},
		"crlf":           []byte("one\r\ntwo\rthree\n"),
		"below_1k":       bytes.Repeat([]byte("l"), 1023),
		"at_1k":          bytes.Repeat([]byte("l"), 1024),
		"compressible":   bytes.Repeat([]byte("ok  \tpackage\t0.01s\n"), 20_000),
		"incompressible": noise,
		"cjk":            []byte(strings.Repeat("構造化された出力。", 500)),
	}
}

func mustPut(t *testing.T, s store.Store, items ...store.Item) {
	t.Helper()
	if err := s.PutAll(t.Context(), items); err != nil {
		t.Fatalf("PutAll: %v", err)
	}
}

func mustGet(t *testing.T, s store.Store, key store.Key, want []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%s): %v", key, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("Get(%s): got %d bytes %.60q, want %d bytes %.60q", key, len(got), got, len(want), want)
	}
}

func wantMissing(t *testing.T, s store.Store, key store.Key) {
	t.Helper()
	if got, err := s.Get(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Get(%s): got %.60q, %v, want ErrNotFound", key, got, err)
	}
}

func roundTrip(t *testing.T, f Fixture) {
	if err := f.Store.Ping(t.Context()); err != nil {
		t.Fatalf("Ping: %v", err)
	}
	if err := f.Store.PutAll(t.Context(), nil); err != nil {
		t.Fatalf("PutAll of nothing: %v", err)
	}
	items := make([]store.Item, 0, len(values()))
	for name, v := range values() {
		items = append(items, store.Item{Key: original(name), Value: v})
	}
	mustPut(t, f.Store, items...)
	for name, v := range values() {
		mustGet(t, f.Store, original(name), v)
		mustGet(t, f.Peer, original(name), v)
	}
}

func callerKeepsBytes(t *testing.T, f Fixture) {
	for name, v := range values() {
		mine := slices.Clone(v)
		mustPut(t, f.Store, store.Item{Key: original(name), Value: mine})
		clear(mine)
		got, err := f.Store.Get(t.Context(), original(name))
		if err != nil {
			t.Fatalf("Get(%s): %v", name, err)
		}
		clear(got)
		mustGet(t, f.Store, original(name), v)
	}
}

func keysApart(t *testing.T, f Fixture) {
	keys := []store.Key{
		{Tenant: "a", Space: store.Originals, ID: "id"},
		{Tenant: "b", Space: store.Originals, ID: "id"},
		{Tenant: "a", Space: store.Exchanges, ID: "id"},
		{Tenant: "a", Space: store.Outcomes, ID: "id"},
		{Tenant: "a", Space: store.Generations, ID: "id"},
		{Tenant: "", Space: store.Generations, ID: "id"},
		{Tenant: "a}:o:id", Space: store.Originals, ID: "id"},
		{Tenant: "a%7d:o:id", Space: store.Originals, ID: "id"},
		{Tenant: "a", Space: store.Originals, ID: "id}:o:id"},
		{Tenant: "ä\x00\n", Space: store.Originals, ID: "\xff*?[a]"},
	}
	for i, k := range keys {
		wantMissing(t, f.Store, k)
		mustPut(t, f.Store, store.Item{Key: k, Value: fmt.Append(nil, i)})
	}
	for i, k := range keys {
		mustGet(t, f.Store, k, fmt.Append(nil, i))
	}
}

func putAgain(t *testing.T, f Fixture) {
	a := store.Item{Key: original("a"), Value: []byte("alpha")}
	b := store.Item{Key: original("b"), Value: bytes.Repeat([]byte("beta "), 1000)}
	mustPut(t, f.Store, a)
	mustPut(t, f.Store, a, b, a)
	mustPut(t, f.Peer, b, a)
	mustPut(t, f.Peer, b, a)
	for _, it := range []store.Item{a, b} {
		mustGet(t, f.Store, it.Key, it.Value)
	}
}

// largeBatches crosses every size at which a store may change its ways.
func largeBatches(t *testing.T, f Fixture) {
	for _, c := range []struct{ n, size int }{{300, 40}, {40, 10 << 10}, {5, 1 << 20}, {3, 3 << 20}} {
		items := make([]store.Item, c.n)
		for i := range items {
			text := strings.Repeat(fmt.Sprintf("line %d of %d\n", i, c.size), c.size/16+1)
			items[i] = store.Item{Key: original(fmt.Sprintf("%d.%d", c.size, i)), Value: []byte(text)}
		}
		half := items[:c.n/2]
		mustPut(t, f.Store, half...)
		mustPut(t, f.Peer, items...)
		mustPut(t, f.Store, items...)
		for _, it := range items {
			mustGet(t, f.Store, it.Key, it.Value)
		}
	}
}

func conflict(t *testing.T, f Fixture) {
	for name, v := range values() {
		free := store.Item{Key: original("free." + name), Value: []byte("free")}
		taken := store.Item{Key: original("taken." + name), Value: v}
		other := taken
		other.Value = append(slices.Clone(v), '!')
		mustPut(t, f.Store, taken)
		for who, s := range map[string]store.Store{"the one that wrote it": f.Store, "a peer": f.Peer} {
			err := s.PutAll(t.Context(), []store.Item{free, other})
			var c *store.ConflictError
			if !errors.As(err, &c) {
				t.Fatalf("%s: %s puts another value: got %v, want a ConflictError", name, who, err)
			}
			if diff := cmp.Diff([]store.Key{taken.Key}, c.Keys); diff != "" {
				t.Fatalf("%s: %s: conflicting keys (-want +got):\n%s", name, who, diff)
			}
			mustGet(t, f.Store, taken.Key, v)
		}
		mustPut(t, f.Peer, free, taken)
	}
	twice := original("twice")
	err := f.Store.PutAll(t.Context(), []store.Item{{Key: twice, Value: []byte("1")}, {Key: twice, Value: []byte("2")}})
	if _, ok := errors.AsType[*store.ConflictError](err); !ok {
		t.Fatalf("two values for one key in one batch: got %v, want a ConflictError", err)
	}
}

// valuesOnDemand: a value that is not at hand is asked for when it has to be
// written, and its digest stands for it otherwise.
func valuesOnDemand(t *testing.T, f Fixture) {
	loads := 0
	lazy := func(id, value string) store.Item {
		return store.Item{
			Key: original(id), Sum: sha256.Sum256([]byte(value)),
			Load: func() ([]byte, error) { loads++; return []byte(value), nil },
		}
	}
	expect := func(what string, want int) {
		t.Helper()
		if loads != want {
			t.Fatalf("%s: loaded %d times, want %d", what, loads, want)
		}
		loads = 0
	}
	mustPut(t, f.Store, lazy("a", "alpha"))
	expect("new value", 1)
	mustPut(t, f.Store, lazy("a", "alpha"), lazy("b", "beta"), lazy("a", "alpha"))
	expect("one known, one new", 1)
	mustPut(t, f.Store, lazy("a", "alpha"), lazy("b", "beta"))
	expect("known values", 0)
	mustGet(t, f.Peer, original("a"), []byte("alpha"))
	mustPut(t, f.Peer, store.Item{Key: original("b"), Value: []byte("beta")})

	// Many at once that a peer has stored: none has to be loaded to see that.
	many := make([]store.Item, 40)
	for i := range many {
		many[i] = lazy(fmt.Sprint("many", i), strings.Repeat(fmt.Sprint(i, " "), 1000))
	}
	mustPut(t, f.Store, many...)
	expect("many new values", len(many))
	mustPut(t, f.Peer, many...)
	expect("many values a peer stored", 0)

	for who, s := range map[string]store.Store{"the one that wrote it": f.Store, "a peer": f.Peer} {
		var c *store.ConflictError
		if err := s.PutAll(t.Context(), []store.Item{lazy("a", "another")}); !errors.As(err, &c) {
			t.Fatalf("%s puts another value: got %v, want a ConflictError", who, err)
		}
	}
	got, won, err := f.Store.SetIfAbsent(t.Context(), lazy("set", "first"))
	if err != nil || !won || string(got) != "first" {
		t.Fatalf("SetIfAbsent: %q, won %v, %v", got, won, err)
	}

	gone := errors.New("gone")
	broken := lazy("broken", "x")
	broken.Load = func() ([]byte, error) { return nil, gone }
	if err := f.Store.PutAll(t.Context(), []store.Item{broken}); !errors.Is(err, gone) {
		t.Errorf("value that can not be loaded: got %v", err)
	}
	broken.Load = func() ([]byte, error) { return []byte("y"), nil }
	if err := f.Store.PutAll(t.Context(), []store.Item{broken}); err == nil {
		t.Error("a value was stored under another's digest")
	}
	wantMissing(t, f.Store, broken.Key)
	broken.Sum = [sha256.Size]byte{}
	if err := f.Store.PutAll(t.Context(), []store.Item{broken}); err == nil {
		t.Error("a value on demand was taken without its digest")
	}
	if _, _, err := f.Store.SetIfAbsent(t.Context(), broken); err == nil {
		t.Error("a value on demand was set without its digest")
	}
}
