package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/store/storetest"
)

// slack is what a busy machine may add to a deadline before a test calls it missed.
const slack = 2 * time.Second

// calls runs each kind of call once and returns what it gave, having checked
// that none took longer than the limit.
func calls(t *testing.T, s *Store, limit time.Duration) map[string]error {
	t.Helper()
	it := item("a", "alpha")
	out := map[string]error{}
	for name, call := range map[string]func() error{
		"PutAll":      func() error { return s.PutAll(t.Context(), []store.Item{it, item("b", "beta")}) },
		"Get":         func() error { _, err := s.Get(t.Context(), it.Key); return err },
		"GetAll":      func() error { _, err := s.GetAll(t.Context(), []store.Key{it.Key, item("b", "").Key}); return err },
		"SetIfAbsent": func() error { _, _, err := s.SetIfAbsent(t.Context(), item("c", "gamma")); return err },
		"Ping":        func() error { return s.Ping(t.Context()) },
		"Inspect":     func() error { _, err := s.Inspect(t.Context()); return err },
	} {
		start := time.Now()
		out[name] = call()
		if took := time.Since(start); took > limit+slack {
			t.Errorf("%s took %v, its deadline is %v", name, took, limit)
		}
	}
	return out
}

func wantUnavailable(t *testing.T, got map[string]error) {
	t.Helper()
	for name, err := range got {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", name, err)
		}
	}
}

// neverProbe keeps an open breaker open for the length of a test.
const neverProbe = time.Hour

func TestDown(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Addrs: []string{storetest.FreeAddr(t)}, BreakerPause: neverProbe})
	wantUnavailable(t, calls(t, s, s.o.GetTimeout))
	if got := s.Stats().Breaker; got != "open" {
		t.Errorf("after 5 failures the breaker is %s, want open", got)
	}
}

// listen accepts connections, does as told with them and counts them.
func listen(t *testing.T, accepted func(net.Conn)) (addr string, connections func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			accepted(c)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(conns)
	}
}

// TestNothingIsRetried: the next request is the retry.
func TestNothingIsRetried(t *testing.T) {
	t.Parallel()
	addr, connections := listen(t, func(c net.Conn) { _ = c.Close() })
	s := open(t, patient(Options{Addrs: []string{addr}}))
	for i := range 2 {
		if err := s.PutAll(t.Context(), []store.Item{item("a", "alpha")}); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("connection closed at once: %v, want ErrUnavailable", err)
		}
		if got := connections(); got != i+1 {
			t.Fatalf("%d puts made %d connections", i+1, got)
		}
	}
}

// TestStalledCostsNothing: a server that accepts and never answers holds the
// first few calls until their deadline, and then none.
func TestStalledCostsNothing(t *testing.T) { // not parallel: it counts allocations
	addr, connections := listen(t, func(net.Conn) {})
	for name, o := range map[string]Options{"single": {}, "cluster": {Cluster: true}} {
		o.Addrs, o.BreakerPause, o.PutTimeout = []string{addr}, neverProbe, 40*time.Millisecond
		o.GetTimeout, o.DialTimeout = time.Minute, time.Minute // what bounds a put is its own deadline
		s := open(t, o)
		big := batch(200, 10<<10)
		for range s.o.BreakerFailures {
			start := time.Now()
			err := s.PutAll(t.Context(), big[:2])
			if took := time.Since(start); took < o.PutTimeout/2 || took > o.PutTimeout+slack {
				t.Errorf("%s: PutAll took %v, its deadline is %v", name, took, o.PutTimeout)
			}
			if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: PutAll: %v, want ErrUnavailable by deadline", name, err)
			}
		}
		wantUnavailable(t, calls(t, s, 0))
		before := connections()
		allocs := testing.AllocsPerRun(100, func() { _ = s.PutAll(t.Context(), big) })
		if more := connections() - before; more != 0 || allocs > 10 {
			t.Errorf("%s: with the breaker open, 100 puts of 200 values took %d connections and %v allocations each", name, more, allocs)
		}
	}
}

// TestPausedServer: a real server stops in mid-operation and comes back.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t)
	s := open(t, Options{Addrs: []string{server.Socket}, BreakerPause: time.Millisecond, PutTimeout: 100 * time.Millisecond})
	it := item("a", "alpha")
	storetest.Eventually(t, 10*time.Second, "a first put", func() bool { return s.PutAll(t.Context(), []store.Item{it}) == nil })
	server.Pause(t)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			start := time.Now()
			if err := s.PutAll(t.Context(), []store.Item{it}); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("paused: %v, want ErrUnavailable", err)
			}
			if took := time.Since(start); took > s.o.PutTimeout+slack {
				t.Errorf("paused: put took %v, its deadline is %v", took, s.o.PutTimeout)
			}
		})
	}
	wg.Wait()
	server.Resume(t)
	storetest.Eventually(t, 10*time.Second, "a put after the pause", func() bool { return s.PutAll(t.Context(), []store.Item{it}) == nil })
	mustGet(t, s, it)
}

func TestRestarted(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t)
	s := open(t, patient(Options{Addrs: []string{server.Socket}}))
	items := batch(50, 2000)
	mustPut(t, s, items...)
	mustPut(t, s, items...)
	server.Kill()
	server.Start(t)
	mustPut(t, s, items...) // one call: dead connections, empty server
	for _, it := range items {
		mustGet(t, s, it)
	}
	if got := s.Stats().Healed; got != uint64(len(items)) {
		t.Errorf("healed %d values, want %d", got, len(items))
	}
}

// TestOutage: killed, calls while it is down, started again.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t)
	o := patient(Options{Addrs: []string{server.Socket}, BreakerPause: time.Millisecond})
	s := open(t, o)
	items := batch(10, 2000)
	mustPut(t, s, items...)
	server.Kill()
	for range 10 {
		if err := s.PutAll(t.Context(), items); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("down: %v, want ErrUnavailable", err)
		}
	}
	server.Start(t)
	storetest.Eventually(t, 20*time.Second, "a put after the outage", func() bool { return s.PutAll(t.Context(), items) == nil })
	for _, it := range items {
		mustGet(t, s, it)
	}
}

func random(id string, size int) store.Item {
	b := make([]byte, size)
	rng := rand.New(rand.NewPCG(uint64(len(id)), uint64(size)))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return item(id, string(b))
}

// fill puts random values until the server refuses ten in a row: the buffers of
// its connections come and go beside them. It returns those it took.
func fill(t *testing.T, s *Store) []store.Item {
	t.Helper()
	var stored []store.Item
	refused := 0
	for i := range 1000 {
		it := random(fmt.Sprintf("fill%03d", i), 16<<10+i)
		switch err := s.PutAll(t.Context(), []store.Item{it}); {
		case errors.Is(err, store.ErrFull):
			if refused++; refused == 10 {
				return stored
			}
		case err != nil:
			t.Fatalf("filling up: %v", err)
		default:
			refused = 0
			stored = append(stored, it)
		}
	}
	t.Fatal("16 MB fitted into a server of 3 MB")
	return nil
}

func TestFull(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"1mb", "3mb"} {
		server := storetest.StartRedis(t, storetest.WithArgs("--maxmemory", limit, "--maxmemory-policy", "noeviction"))
		s := open(t, patient(Options{Addrs: []string{server.Socket}}))
		stored := fill(t, s)
		if limit == "3mb" && len(stored) == 0 {
			t.Fatal("nothing fits into 3 MB")
		}
		refused := 0
		for i := range 20 {
			_, _, err := s.SetIfAbsent(t.Context(), random(fmt.Sprintf("set%03d", i), 16<<10+i))
			switch {
			case errors.Is(err, store.ErrFull):
				refused++
			case err != nil:
				t.Fatalf("%s: set in a full server: %v, want ErrFull", limit, err)
			}
		}
		if refused == 0 {
			t.Errorf("%s: a full server refused no set", limit)
		}
		// What it holds it still gives, and renews.
		mustPut(t, s, stored...)
		for _, it := range stored {
			mustGet(t, s, it)
		}
		if got := s.Stats().Breaker; got != "closed" {
			t.Errorf("%s: a full server opened the breaker: %s", limit, got)
		}
	}
}

// TestEvicting: a server that drops live keys loses values, but an acknowledged
// batch that fits was there when it was acknowledged.
func TestEvicting(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t, storetest.WithArgs("--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru"))
	s := open(t, patient(Options{Addrs: []string{server.Socket}}))
	first := make([]store.Item, 20)
	for i := range first {
		first[i] = random(fmt.Sprint("first", i), 16<<10+i)
	}
	mustPut(t, s, first...)
	for i := range 400 {
		mustPut(t, s, random(fmt.Sprint("more", i), 16<<10+i))
	}
	// Which keys go is the server's choice, up to the one just written.
	i := slices.IndexFunc(first, func(it store.Item) bool {
		_, err := s.Get(t.Context(), it.Key)
		return errors.Is(err, store.ErrNotFound)
	})
	if i < 0 {
		t.Fatal("after 6 MB more, a server of 3 MB still has all of the first values")
	}
	storetest.Eventually(t, 10*time.Second, "the lost value is back", func() bool {
		mustPut(t, s, first[i])
		got, err := s.Get(t.Context(), first[i].Key)
		return err == nil && string(got) == string(first[i].Value)
	})
	if s.Stats().Healed == 0 {
		t.Error("nothing counted as healed")
	}
	warnings, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !hasWarning(warnings, "eviction_drops_live_values", true) {
		t.Errorf("no warning about allkeys-lru in %v", warnings)
	}
}

func TestReadOnlyReplica(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t)
	o := patient(Options{Addrs: []string{server.Socket}})
	s := open(t, o)
	it := item("a", "alpha")
	mustPut(t, s, it)
	host, port, err := net.SplitHostPort(storetest.FreeAddr(t)) // a master that is not there
	if err != nil {
		t.Fatal(err)
	}
	if err := admin(t, o).SlaveOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := s.PutAll(t.Context(), []store.Item{it, item("b", "beta")}); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("put to a replica: %v, want ErrUnavailable", err)
		}
		if _, _, err := s.SetIfAbsent(t.Context(), item("c", "gamma")); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("set on a replica: %v, want ErrUnavailable", err)
		}
	}
	mustGet(t, s, it) // it can still be read, and the breaker lets us
	warnings, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !hasWarning(warnings, "read_only_replica", true) {
		t.Errorf("no warning about the replica in %v", warnings)
	}
}

func TestForeignType(t *testing.T) {
	t.Parallel()
	o := patient(Options{Addrs: []string{storetest.StartRedis(t).Socket}})
	s, it := open(t, o), item("a", "alpha")
	if err := admin(t, o).HSet(t.Context(), it.Key.String(), "field", "value").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), it.Key); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Get: %v, want ErrCorrupt", err)
	}
	if err := s.PutAll(t.Context(), []store.Item{it}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("PutAll: %v, want ErrCorrupt", err)
	}
}

// TestLargePutGetsFurther: a put that runs out of time says so in time, and gets
// further when it is repeated.
func TestLargePutGetsFurther(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t)
	s := open(t, Options{Addrs: []string{server.Socket}, PutTimeout: 30 * time.Millisecond, BreakerPause: time.Millisecond})
	storetest.Eventually(t, 10*time.Second, "a connection", func() bool { return s.Ping(t.Context()) == nil })
	items := make([]store.Item, 64)
	for i := range items {
		items[i] = random(fmt.Sprint("big", i), 512<<10+i)
	}
	known, failures := 0, 0
	storetest.Eventually(t, 60*time.Second, "32 MB stored by repeating a put of 30 ms", func() bool {
		err := s.PutAll(t.Context(), items)
		if err != nil {
			failures++
		}
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("got %v, want ErrUnavailable", err)
		}
		if n := s.Stats().KnownEntries; n < known {
			t.Fatalf("knew %d values, now %d", known, n)
		} else {
			known = n
		}
		return err == nil
	})
	t.Logf("stored after %d puts that ran out of time", failures)
}
