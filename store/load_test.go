package store_test

import (
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/contextguru/contextguru/store"
)

// TestLoadedOnlyWhenNeeded checks that a value at hand only on demand is asked
// for once, and that its digest tells it from another value under its key.
func TestLoadedOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	m, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	loads := 0
	item := func(value string) store.Item {
		return store.Item{
			Key:  store.Key{Tenant: "t", Space: store.Originals, ID: "a"},
			Load: func() ([]byte, error) { loads++; return []byte(value), nil },
			Sum:  sha256.Sum256([]byte(value)),
		}
	}
	for range 3 {
		if err := m.PutAll(t.Context(), []store.Item{item("text")}); err != nil {
			t.Fatal(err)
		}
	}
	if loads != 1 {
		t.Errorf("loaded %d times, want once", loads)
	}
	var conflict *store.ConflictError
	if err := m.PutAll(t.Context(), []store.Item{item("other")}); !errors.As(err, &conflict) {
		t.Errorf("another value: %v, want a conflict", err)
	}
	broken := item("text")
	broken.Key.ID, broken.Load = "b", func() ([]byte, error) { return nil, errors.New("gone") }
	if err := m.PutAll(t.Context(), []store.Item{broken}); err == nil {
		t.Error("a value that cannot be loaded was stored")
	}
}
