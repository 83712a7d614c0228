package bounded_test

import (
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/internal/bounded"
)

func TestMapKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	m := bounded.New[int, int](10)
	m.Put(-1, 7)
	for i := range 1000 {
		m.Put(i, i)
		if v, ok := m.Get(-1); !ok || v != 7 {
			t.Fatalf("after %d keys what was used is forgotten", i)
		}
		for j := max(0, i-8); j <= i; j++ {
			if v, ok := m.Get(j); !ok || v != j {
				t.Fatalf("after %d keys, %d is forgotten", i, j)
			}
		}
	}
	if _, ok := m.Get(0); ok {
		t.Error("what was not used for long is remembered")
	}
}

func TestMapWithoutBound(t *testing.T) {
	t.Parallel()
	m := bounded.New[int, int](0)
	for i := range 1000 {
		m.Put(i, i)
	}
	if v, ok := m.Get(0); !ok || v != 0 {
		t.Error("the first key is forgotten")
	}
}
