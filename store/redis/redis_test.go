package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/store/storetest"
)

func TestMain(m *testing.M) {
	SetClientLogger(slog.New(slog.DiscardHandler)) // failed dials are what the tests are about
	goleak.VerifyTestMain(m)
}

// suiteMaxValue is the largest value in the suite's stores.
const suiteMaxValue = 5 << 20

// patient options are for tests that are not about deadlines: a busy machine
// under the race detector must not fail them.
func patient(o Options) Options {
	o.PutTimeout, o.GetTimeout, o.DialTimeout = 20*time.Second, 20*time.Second, 20*time.Second
	o.Codec.MaxValue = suiteMaxValue
	return o
}

func open(tb testing.TB, o Options) *Store {
	tb.Helper()
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return s
}

// admin is a client that reaches behind the store's back.
func admin(tb testing.TB, o Options) goredis.UniversalClient {
	tb.Helper()
	c := patient(o).withDefaults().client()
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func fixture(tb testing.TB, o Options, advance func(testing.TB, time.Duration)) storetest.Fixture {
	tb.Helper()
	var passed atomic.Int64
	o = patient(o)
	o.now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	c := admin(tb, o)
	f := storetest.Fixture{
		Store: open(tb, o), Peer: open(tb, o), MaxValue: suiteMaxValue,
		Rewrite: func(tb testing.TB, key store.Key, edit func([]byte) []byte) {
			tb.Helper()
			b, err := c.Get(tb.Context(), key.String()).Bytes()
			if err != nil {
				tb.Fatalf("read %s: %v", key, err)
			}
			if err := c.Set(tb.Context(), key.String(), edit(b), goredis.KeepTTL).Err(); err != nil {
				tb.Fatalf("rewrite %s: %v", key, err)
			}
		},
		Lose: func(tb testing.TB) {
			tb.Helper()
			if err := c.FlushDB(tb.Context()).Err(); err != nil {
				tb.Fatalf("flush: %v", err)
			}
		},
	}
	if advance == nil {
		advance = func(tb testing.TB, d time.Duration) { tb.Helper(); age(tb, c, d) }
	}
	f.Advance = func(tb testing.TB, d time.Duration) {
		tb.Helper()
		passed.Add(int64(d))
		advance(tb, d)
	}
	return f
}

// age makes every key of a real server d older.
func age(tb testing.TB, c goredis.UniversalClient, d time.Duration) {
	tb.Helper()
	keys, err := c.Keys(tb.Context(), "*").Result()
	if err != nil {
		tb.Fatalf("list keys: %v", err)
	}
	for _, k := range keys {
		left, err := c.PTTL(tb.Context(), k).Result()
		if err != nil || left < 0 {
			tb.Fatalf("%s has TTL %v, %v; every key must have one", k, left, err)
		}
		if left -= d; left > 0 {
			err = c.PExpire(tb.Context(), k, left).Err()
		} else {
			err = c.Del(tb.Context(), k).Err()
		}
		if err != nil {
			tb.Fatalf("age %s: %v", k, err)
		}
	}
}

func TestSuiteOnMiniredis(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		m := miniredis.RunT(t)
		return fixture(t, Options{Addrs: []string{m.Addr()}}, func(_ testing.TB, d time.Duration) { m.FastForward(d) })
	})
}

func TestSuiteOnRedis(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t)
	key := []byte(strings.Repeat("k", 32))
	var db atomic.Int32
	for name, codec := range map[string]store.CodecOptions{"plain": {}, "encrypted": {EncryptionKeys: [][]byte{key}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Fixture {
				return fixture(t, Options{Addrs: []string{server.Socket}, DB: int(db.Add(1)), Codec: codec}, nil)
			})
		})
	}
}

func item(id, value string) store.Item {
	return store.Item{Key: store.Key{Tenant: "acme", Space: store.Originals, ID: id}, Value: []byte(value)}
}

func batch(n, size int) []store.Item {
	items := make([]store.Item, n)
	for i := range items {
		text := strings.Repeat(fmt.Sprintf("%d: ok  \texample.org/module/package%d\t0.%03ds\n", i, i, i*7), size/40+1)
		items[i] = item(fmt.Sprint("id", i), text[:size])
	}
	return items
}

func mustPut(t *testing.T, s *Store, items ...store.Item) {
	t.Helper()
	if err := s.PutAll(t.Context(), items); err != nil {
		t.Fatalf("PutAll: %v", err)
	}
}

func mustGet(t *testing.T, s *Store, it store.Item) {
	t.Helper()
	if got, err := s.Get(t.Context(), it.Key); err != nil || string(got) != string(it.Value) {
		t.Fatalf("Get(%s): %d bytes, %v; want %d bytes", it.Key, len(got), err, len(it.Value))
	}
}

// recorder is a client hook that notes what goes to the server.
type recorder struct {
	mu    sync.Mutex
	trips [][]string // one per round trip: the commands' names
}

func (r *recorder) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (r *recorder) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		r.note([]goredis.Cmder{cmd})
		return next(ctx, cmd)
	}
}

func (r *recorder) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		r.note(cmds)
		return next(ctx, cmds)
	}
}

func (r *recorder) note(cmds []goredis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, c := range cmds {
		names = append(names, c.Name())
	}
	r.trips = append(r.trips, names)
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, names := range r.trips {
		lines = append(lines, strings.Join(names, " "))
	}
	r.trips = nil
	return strings.Join(lines, " | ")
}

// TestRoundTrips pins down what each situation costs.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	o := patient(Options{Addrs: []string{storetest.StartRedis(t).Socket}})
	o.now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	s, peer, back := open(t, o), open(t, o), admin(t, o)
	rec := &recorder{}
	for _, s := range []*Store{s, peer} {
		if err := s.Ping(t.Context()); err != nil { // the handshake is over before anything is recorded
			t.Fatal(err)
		}
		s.client.AddHook(rec)
	}
	expect := func(what, want string) {
		t.Helper()
		if got := rec.take(); got != want {
			t.Errorf("%s: sent %q, want %q", what, got, want)
		}
	}
	a, b := item("a", "alpha"), item("b", "beta")
	mustPut(t, s, a)
	expect("new value", "set getrange pexpire")
	mustPut(t, s, a, b)
	expect("known and new value", "touch set getrange pexpire")
	mustPut(t, s, a, b)
	expect("known values", "touch")
	other := item("a", "the same id with another tenant")
	other.Key.Tenant = "other"
	mustPut(t, s, other)
	rec.take()
	mustPut(t, s, a, other, b)
	expect("known values of two tenants", "touch touch")
	mustPut(t, peer, a)
	expect("value a peer stored", "set getrange pexpire")
	mustPut(t, peer, a)
	expect("value a peer stored, known now", "touch")

	passed.Add(int64(store.DefaultTTL / renewShare))
	mustPut(t, s, a, b)
	expect("known values whose renewal is an hour old", "pexpire pexpire")
	mustPut(t, s, a, b)
	expect("known values just renewed", "touch")
	hour := a
	hour.TTL = time.Hour
	mustPut(t, s, hour, b)
	expect("known value with another TTL", "touch pexpire")

	if err := back.Del(t.Context(), b.Key.String()).Err(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, hour, b)
	expect("known value that vanished", "touch | pexpire pexpire | set getrange pexpire")
	if got := s.Stats(); got.Healed != 1 || got.KnownEntries != 3 {
		t.Errorf("got %+v, want 1 healed and 3 known", got)
	}

	large := batch(3, 100<<10)
	mustPut(t, s, large...)
	expect("much that is new", "getrange pexpire getrange pexpire getrange pexpire | set getrange pexpire set getrange pexpire set getrange pexpire")
	mustPut(t, peer, large...)
	expect("much that a peer stored", "getrange pexpire getrange pexpire getrange pexpire")

	huge := batch(6, 512<<10)
	for i := range huge {
		huge[i].Key.Tenant = "huge"
	}
	mustPut(t, s, huge...)
	expect("more than one pipeline holds", "getrange pexpire getrange pexpire getrange pexpire getrange pexpire getrange pexpire getrange pexpire"+
		strings.Repeat(" | set getrange pexpire set getrange pexpire", 3))

	mustGet(t, s, a)
	expect("read", "getex")
	if _, _, err := s.SetIfAbsent(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	expect("set if absent", "set getex")
}

// TestEncryptionIsSwitchedOn: values stored unsealed, or under an old key, are
// sealed under the new one when they are written again, without changing hands.
func TestEncryptionIsSwitchedOn(t *testing.T) {
	t.Parallel()
	o := patient(Options{Addrs: []string{storetest.StartRedis(t).Socket}})
	back := admin(t, o)
	it := item("a", strings.Repeat("some output ", 200))
	keyA, keyB := []byte(strings.Repeat("a", 32)), []byte(strings.Repeat("b", 32))
	format := func() byte {
		t.Helper()
		b, err := back.Get(t.Context(), it.Key.String()).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return b[0]
	}
	mustPut(t, open(t, o), it)
	plain := format()

	o.Codec.EncryptionKeys = [][]byte{keyA}
	first := open(t, o)
	mustGet(t, first, it)
	mustPut(t, first, it)
	if got := format(); got == plain {
		t.Errorf("written again with encryption on: still format %d", got)
	}

	o.Codec.EncryptionKeys = [][]byte{keyB, keyA}
	second := open(t, o)
	mustPut(t, second, it)
	o.Codec.EncryptionKeys = [][]byte{keyB}
	mustGet(t, open(t, o), it)
	if _, err := first.Get(t.Context(), it.Key); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("read with the old key alone: %v, want ErrCorrupt", err)
	}
	if ttl, err := back.PTTL(t.Context(), it.Key.String()).Result(); err != nil || ttl < store.DefaultTTL-time.Minute {
		t.Errorf("TTL after sealing: %v, %v", ttl, err)
	}
}
