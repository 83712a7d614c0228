package store_test

import (
	"errors"
	"testing"

	"github.com/contextguru/contextguru/store"
)

func TestShadowWritesNothing(t *testing.T) {
	t.Parallel()
	live, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	key := func(id string) store.Key { return store.Key{Tenant: "t", Space: store.Originals, ID: id} }
	if err := live.PutAll(ctx, []store.Item{{Key: key("kept"), Value: []byte("live")}}); err != nil {
		t.Fatal(err)
	}
	s := store.Shadow(live)
	if err := s.PutAll(ctx, []store.Item{{Key: key("new"), Value: []byte("x")}}); err != nil {
		t.Error(err)
	}
	if got, won, err := s.SetIfAbsent(ctx, store.Item{Key: key("other"), Value: []byte("y")}); string(got) != "y" || !won || err != nil {
		t.Errorf("an absent key: %q, %v, %v", got, won, err)
	}
	if got, won, err := s.SetIfAbsent(ctx, store.Item{Key: key("kept"), Value: []byte("y")}); string(got) != "live" || won || err != nil {
		t.Errorf("a key that is held: %q, %v, %v", got, won, err)
	}
	for _, id := range []string{"new", "other"} {
		if _, err := live.Get(ctx, key(id)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s was written: %v", id, err)
		}
	}
	if err := s.PutAll(ctx, []store.Item{{}}); !errors.Is(err, store.ErrInvalidKey) {
		t.Errorf("a key the store refuses: %v", err)
	}
	if err := s.Close(); err != nil || live.Ping(ctx) != nil {
		t.Errorf("closing the shadow: %v, the store says %v", err, live.Ping(ctx))
	}
}
