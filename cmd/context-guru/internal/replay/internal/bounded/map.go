// Package bounded has a map that forgets what was not used for long, so that
// whoever sees endless traffic can remember the recent past.
package bounded

// Map is a map of bounded size. The zero value must not be used, and neither
// may one map by two goroutines at once.
type Map[K comparable, V any] struct {
	size        int
	young, aged map[K]V
}

// New returns a map that keeps at least the last size keys that were used, and
// at most twice as many; 0 keeps every one.
func New[K comparable, V any](size int) *Map[K, V] {
	return &Map[K, V]{size: size, young: map[K]V{}}
}

// Get returns what is known under a key, and counts as a use of it.
func (m *Map[K, V]) Get(key K) (V, bool) {
	if v, ok := m.young[key]; ok {
		return v, true
	}
	v, ok := m.aged[key]
	if ok {
		m.Put(key, v)
	}
	return v, ok
}

// Put sets what is known under a key.
func (m *Map[K, V]) Put(key K, v V) {
	if _, known := m.young[key]; !known && m.size > 0 && len(m.young) == m.size {
		m.young, m.aged = make(map[K]V, m.size), m.young
	}
	m.young[key] = v
}
