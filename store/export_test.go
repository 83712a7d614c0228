package store

import "bytes"

// Rewrite replaces the stored bytes of a key, for tests of damaged values.
func (m *Memory) Rewrite(key Key, edit func([]byte) []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.index.find(key.String())
	if e == nil {
		return false
	}
	m.index.bytes -= e.cost()
	e.stored = edit(bytes.Clone(e.stored))
	m.index.bytes += e.cost()
	return true
}

// Cost is what a value counts against the byte bound.
func (m *Memory) Cost(it Item) (int64, error) {
	w := &write{item: it, name: it.Key.String()}
	encoded, err := m.encode(w)
	return cost(w.name, encoded), err
}
