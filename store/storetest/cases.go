package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextguru/contextguru/store"
)

func ttl(t *testing.T, f Fixture) {
	put := store.Item{Key: original("put"), Value: []byte("renewed by writing")}
	read := store.Item{Key: original("read"), Value: []byte("renewed by reading")}
	set := store.Item{Key: original("set"), Value: []byte("renewed by losing")}
	idle := store.Item{Key: original("idle"), Value: []byte("not renewed")}
	mustPut(t, f.Store, put, read, set, idle)
	for range 3 {
		f.Advance(t, store.DefaultTTL*2/3)
		mustPut(t, f.Store, put)
		mustGet(t, f.Store, read.Key, read.Value)
		if got, won, err := f.Store.SetIfAbsent(t.Context(), store.Item{Key: set.Key, Value: []byte("late")}); won || err != nil || !bytes.Equal(got, set.Value) {
			t.Fatalf("SetIfAbsent on a live key: %q, %v, %v", got, won, err)
		}
	}
	wantMissing(t, f.Store, idle.Key)
	f.Advance(t, store.DefaultTTL-time.Minute)
	mustPut(t, f.Peer, put)
	f.Advance(t, 2*time.Minute)
	wantMissing(t, f.Store, read.Key)
	wantMissing(t, f.Store, set.Key)
	mustGet(t, f.Store, put.Key, put.Value)
	// What has expired can be stored again, also by the process that knew it.
	mustPut(t, f.Store, read, idle)
	mustGet(t, f.Store, idle.Key, idle.Value)
}

func ownTTL(t *testing.T, f Fixture) {
	short := store.Item{Key: original("short"), Value: []byte("short"), TTL: time.Hour}
	long := store.Item{Key: original("long"), Value: []byte("long"), TTL: 100 * time.Hour}
	claimed := store.Item{Key: original("claimed"), Value: []byte("claimed"), TTL: 100 * time.Hour}
	brief := store.Item{Key: original("brief"), Value: []byte("brief"), TTL: time.Hour}
	mustPut(t, f.Store, short, long)
	for _, it := range []store.Item{claimed, brief} {
		if _, won, err := f.Store.SetIfAbsent(t.Context(), it); !won || err != nil {
			t.Fatalf("SetIfAbsent(%s): won %v, %v", it.Key, won, err)
		}
	}
	f.Advance(t, 50*time.Minute)
	mustGet(t, f.Store, short.Key, short.Value) // renews an hour, not a day
	mustGet(t, f.Store, long.Key, long.Value)   // renews a hundred hours, not a day
	if _, won, err := f.Peer.SetIfAbsent(t.Context(), store.Item{Key: claimed.Key, Value: []byte("late")}); won || err != nil {
		t.Fatalf("SetIfAbsent on a live key: won %v, %v", won, err)
	}
	f.Advance(t, 50*time.Minute)
	wantMissing(t, f.Store, brief.Key)
	mustGet(t, f.Store, short.Key, short.Value)
	f.Advance(t, 70*time.Minute)
	wantMissing(t, f.Store, short.Key)
	f.Advance(t, 90*time.Hour)
	mustGet(t, f.Store, long.Key, long.Value)
	mustGet(t, f.Store, claimed.Key, claimed.Value)
	// Writing renews by the writer's TTL.
	mustPut(t, f.Store, store.Item{Key: long.Key, Value: long.Value, TTL: time.Hour})
	f.Advance(t, 2*time.Hour)
	wantMissing(t, f.Store, long.Key)
}

func setIfAbsent(t *testing.T, f Fixture) {
	for name, v := range values() {
		it := store.Item{Key: store.Key{Tenant: "acme", Space: store.Outcomes, ID: name}, Value: v}
		got, won, err := f.Store.SetIfAbsent(t.Context(), it)
		if err != nil || !won || !bytes.Equal(got, v) {
			t.Fatalf("%s: first SetIfAbsent: %d bytes, won %v, %v", name, len(got), won, err)
		}
		clear(got)
		late := it
		late.Value = []byte("late")
		for _, s := range []store.Store{f.Store, f.Peer} {
			got, won, err = s.SetIfAbsent(t.Context(), late)
			if err != nil || won || !bytes.Equal(got, v) {
				t.Fatalf("%s: second SetIfAbsent: %.60q, won %v, %v; want the first value", name, got, won, err)
			}
		}
		mustGet(t, f.Peer, it.Key, v)
		mustPut(t, f.Peer, it)
	}
}

func oneWinner(t *testing.T, f Fixture) {
	const racers = 24
	for round := range 5 {
		key := store.Key{Tenant: "acme", Space: store.Generations, ID: fmt.Sprint("race", round)}
		var got [racers]string
		var won [racers]bool
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range racers {
			s := f.Store
			if i%2 == 1 {
				s = f.Peer
			}
			wg.Go(func() {
				<-start
				v, w, err := s.SetIfAbsent(t.Context(), store.Item{Key: key, Value: fmt.Append(nil, "racer ", i)})
				if err != nil {
					t.Errorf("racer %d: %v", i, err)
				}
				got[i], won[i] = string(v), w
			})
		}
		close(start)
		wg.Wait()
		winner := ""
		for i := range racers {
			if won[i] {
				if winner != "" {
					t.Fatalf("two winners: %q and %q", winner, got[i])
				}
				winner = got[i]
				if want := fmt.Sprint("racer ", i); winner != want {
					t.Fatalf("%s won with %q", want, winner)
				}
			}
		}
		for i := range racers {
			if got[i] != winner || winner == "" {
				t.Fatalf("racer %d adopted %q, the winner is %q", i, got[i], winner)
			}
		}
	}
}

// numberedSlots claims slots that belong to no tenant, as generations are
// announced: every claimant gets one of its own, and none stays empty between.
func numberedSlots(t *testing.T, f Fixture) {
	const claimants = 12
	slot := func(n int) store.Key {
		return store.Key{Space: store.Generations, ID: fmt.Sprintf("live/493021/%d", n)}
	}
	var wg sync.WaitGroup
	for i := range claimants {
		s, mine := f.Store, fmt.Sprint("claimant ", i)
		if i%2 == 1 {
			s = f.Peer
		}
		wg.Go(func() {
			for n := range claimants {
				held, won, err := s.SetIfAbsent(t.Context(), store.Item{Key: slot(n), Value: []byte(mine), TTL: time.Hour})
				if err != nil || won != (string(held) == mine) {
					t.Errorf("%s at slot %d: %q, %v, %v", mine, n, held, won, err)
				}
				if won || err != nil {
					return
				}
			}
			t.Errorf("%s got no slot", mine)
		})
	}
	wg.Wait()
	owners := map[string]bool{}
	for n := range claimants {
		held, err := f.Peer.Get(t.Context(), slot(n))
		if err != nil {
			t.Fatalf("slot %d: %v", n, err)
		}
		owners[string(held)] = true
	}
	if len(owners) != claimants {
		t.Errorf("%d owners of %d slots", len(owners), claimants)
	}
	wantMissing(t, f.Store, slot(claimants))
	err := f.Store.PutAll(t.Context(), []store.Item{{Key: slot(0), Value: []byte("another")}})
	if conflict, ok := errors.AsType[*store.ConflictError](err); !ok || len(conflict.Keys) != 1 || conflict.Keys[0] != slot(0) {
		t.Errorf("a slot was put over: %v", err)
	}
}

func concurrentPuts(t *testing.T, f Fixture) {
	items := make([]store.Item, 20)
	for i := range items {
		items[i] = store.Item{Key: original(strconv.Itoa(i)), Value: []byte(strings.Repeat(fmt.Sprint(i, " "), 1000))}
	}
	var wg sync.WaitGroup
	for i := range 16 {
		s := f.Store
		if i%2 == 1 {
			s = f.Peer
		}
		wg.Go(func() {
			for range 5 {
				if err := s.PutAll(t.Context(), items); err != nil {
					t.Errorf("PutAll: %v", err)
				}
				if _, err := s.Get(t.Context(), items[i].Key); err != nil {
					t.Errorf("Get: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// corruption flips each byte of a small value and a sample of a large one's.
func corruption(t *testing.T, f Fixture) {
	for _, name := range []string{"crlf", "compressible"} {
		v := values()[name]
		key := original(name)
		mustPut(t, f.Store, store.Item{Key: key, Value: v})
		var kept []byte
		f.Rewrite(t, key, func(b []byte) []byte { kept = bytes.Clone(b); return b })
		step := max(1, len(kept)/64)
		for i := 0; i < len(kept); i += step {
			if i == 33 {
				continue // the TTL's first byte: another TTL is no damage to the value
			}
			f.Rewrite(t, key, func(b []byte) []byte { c := bytes.Clone(kept); c[i] ^= 0x41; return c })
			if got, err := f.Store.Get(t.Context(), key); !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("%s: byte %d flipped: got %.60q, %v, want ErrCorrupt", name, i, got, err)
			}
		}
		for _, n := range []int{0, 1, 32, 33, len(kept) - 1} {
			f.Rewrite(t, key, func([]byte) []byte { return bytes.Clone(kept[:n]) })
			if got, err := f.Store.Get(t.Context(), key); !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("%s: cut to %d bytes: got %.60q, %v, want ErrCorrupt", name, n, got, err)
			}
		}
		f.Rewrite(t, key, func([]byte) []byte { c := bytes.Clone(kept); c[5] ^= 1; return c })
		if _, won, err := f.Store.SetIfAbsent(t.Context(), store.Item{Key: key, Value: v}); won || !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("%s: SetIfAbsent on a corrupt value: won %v, %v, want ErrCorrupt", name, won, err)
		}
		f.Rewrite(t, key, func([]byte) []byte { return kept })
		mustGet(t, f.Store, key, v)
	}
}

func lostValues(t *testing.T, f Fixture) {
	if f.Lose == nil {
		t.Skip("this store loses nothing behind its back")
	}
	items := make([]store.Item, 0, len(values()))
	for name, v := range values() {
		items = append(items, store.Item{Key: original(name), Value: v})
	}
	mustPut(t, f.Store, items...)
	mustPut(t, f.Store, items...)
	f.Lose(t)
	wantMissing(t, f.Store, items[0].Key)
	mustPut(t, f.Store, items...)
	for _, it := range items {
		mustGet(t, f.Peer, it.Key, it.Value)
	}
}

func refusals(t *testing.T, f Fixture) {
	ctx := t.Context()
	good := store.Item{Key: original("good"), Value: []byte("good")}
	for name, key := range map[string]store.Key{
		"no tenant":   {Space: store.Originals, ID: "id"},
		"no space":    {Tenant: "a", ID: "id"},
		"other space": {Tenant: "a", Space: 'q', ID: "id"},
		"no id":       {Tenant: "a", Space: store.Originals},
		"long id":     {Tenant: "a", Space: store.Originals, ID: strings.Repeat("i", store.MaxIDBytes+1)},
		"long tenant": {Tenant: strings.Repeat("t", store.MaxTenantBytes+1), Space: store.Originals, ID: "id"},
	} {
		if err := f.Store.PutAll(ctx, []store.Item{good, {Key: key}}); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("PutAll with %s: got %v, want ErrInvalidKey", name, err)
		}
		if _, err := f.Store.Get(ctx, key); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("Get with %s: got %v, want ErrInvalidKey", name, err)
		}
		if _, _, err := f.Store.SetIfAbsent(ctx, store.Item{Key: key}); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("SetIfAbsent with %s: got %v, want ErrInvalidKey", name, err)
		}
	}
	wantMissing(t, f.Store, good.Key)

	huge := store.Item{Key: original("huge"), Value: make([]byte, f.MaxValue+1)}
	if err := f.Store.PutAll(ctx, []store.Item{huge}); !errors.Is(err, store.ErrFull) {
		t.Errorf("PutAll of %d bytes: got %v, want ErrFull", len(huge.Value), err)
	}
	if _, _, err := f.Store.SetIfAbsent(ctx, huge); !errors.Is(err, store.ErrFull) {
		t.Errorf("SetIfAbsent of %d bytes: got %v, want ErrFull", len(huge.Value), err)
	}
	huge.Value = huge.Value[1:]
	mustPut(t, f.Store, huge)
	mustGet(t, f.Store, huge.Key, huge.Value)
}

func finishedContext(t *testing.T, f Fixture) {
	it := store.Item{Key: original("a"), Value: []byte("alpha")}
	mustPut(t, f.Store, it)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, getErr := f.Store.Get(ctx, it.Key)
	_, getAllErr := f.Store.GetAll(ctx, []store.Key{it.Key})
	_, _, setErr := f.Store.SetIfAbsent(ctx, it)
	for name, err := range map[string]error{
		"PutAll": f.Store.PutAll(ctx, []store.Item{it}), "Get": getErr, "GetAll": getAllErr, "SetIfAbsent": setErr, "Ping": f.Store.Ping(ctx),
	} {
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: got %v, want ErrUnavailable wrapping context.Canceled", name, err)
		}
	}
	for range 10 { // callers that left are no reason to call the store down
		_, _ = f.Store.Get(ctx, it.Key)
	}
	mustGet(t, f.Store, it.Key, it.Value)
}

func closed(t *testing.T, f Fixture) {
	it := store.Item{Key: original("a"), Value: []byte("alpha")}
	mustPut(t, f.Store, it)
	for range 2 {
		if err := f.Store.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	ctx := t.Context()
	_, getErr := f.Store.Get(ctx, it.Key)
	_, getAllErr := f.Store.GetAll(ctx, []store.Key{it.Key})
	_, _, setErr := f.Store.SetIfAbsent(ctx, it)
	for name, err := range map[string]error{
		"PutAll": f.Store.PutAll(ctx, []store.Item{it}), "Get": getErr, "GetAll": getAllErr, "SetIfAbsent": setErr, "Ping": f.Store.Ping(ctx),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: got %v, want ErrClosed", name, err)
		}
	}
}

// severalAtOnce reads in one go what is there, what is not, and what is damaged.
func severalAtOnce(t *testing.T, f Fixture) {
	if got, err := f.Store.GetAll(t.Context(), nil); err != nil || len(got) != 0 {
		t.Fatalf("GetAll of nothing: %v, %v", got, err)
	}
	var keys []store.Key
	var want [][]byte
	for name, v := range values() {
		mustPut(t, f.Store, store.Item{Key: original(name), Value: v, TTL: time.Hour})
		keys, want = append(keys, original(name), original("no "+name)), append(want, v, nil)
	}
	keys, want = append(keys, keys[0], store.Key{Tenant: "b", Space: store.Originals, ID: "empty"}), append(want, want[0], nil)
	mustPut(t, f.Store, store.Item{Key: original("damaged"), Value: []byte("damaged")})
	f.Rewrite(t, original("damaged"), func(b []byte) []byte { b = bytes.Clone(b); b[5] ^= 1; return b })
	keys, want = append(keys, original("damaged")), append(want, nil)
	for _, s := range []store.Store{f.Store, f.Peer} {
		got, err := s.GetAll(t.Context(), keys)
		if err != nil {
			t.Fatalf("GetAll: %v", err)
		}
		for i := range keys {
			if !bytes.Equal(got[i], want[i]) || (got[i] == nil) != (want[i] == nil) {
				t.Fatalf("GetAll(%s): got %d bytes %.60q, want %d bytes %.60q", keys[i], len(got[i]), got[i], len(want[i]), want[i])
			}
		}
	}
	if _, err := f.Store.GetAll(t.Context(), []store.Key{keys[0], {}}); !errors.Is(err, store.ErrInvalidKey) {
		t.Fatalf("GetAll of an invalid key: %v", err)
	}
	// Reading renews by the value's own TTL.
	for range 3 {
		f.Advance(t, 50*time.Minute)
		if got, err := f.Store.GetAll(t.Context(), keys[:1]); err != nil || got[0] == nil {
			t.Fatalf("GetAll after 50 minutes: %v, %v", got, err)
		}
	}
	f.Advance(t, 61*time.Minute)
	if got, err := f.Store.GetAll(t.Context(), keys[:1]); err != nil || got[0] != nil {
		t.Fatalf("GetAll after the TTL: %v, %v", got, err)
	}
}
