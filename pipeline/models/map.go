package models

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxID bounds the ids of models; the longest in use has 76 bytes.
const maxID = 256

// Map is an immutable set of models. It is safe for concurrent use.
type Map struct {
	models []Model          // by Name
	full   map[string]int32 // ids in lower case
	names  map[string]int32 // canonical names, and paths of three segments and more
	digest func() [sha256.Size]byte
}

// newMap builds the tables. Of models with one name the first counts.
func newMap(models []Model) *Map {
	slices.SortStableFunc(models, func(a, b Model) int { return strings.Compare(a.Name, b.Name) })
	models = slices.CompactFunc(models, func(a, b Model) bool { return a.Name == b.Name })
	m := &Map{models: models, full: make(map[string]int32, 2*len(models))}
	var group []contender
	lower := make([]string, len(models))
	for i := range models {
		lower[i] = strings.ToLower(models[i].Name)
		m.full[lower[i]] = cmp.Or(m.full[lower[i]], int32(i)+1)
		group = m.contend(group, lower[i], int32(i))
	}
	// An id without a path is known by its provider's as well, unless that is
	// an id of its own.
	for i, id := range lower {
		if !strings.Contains(id, "/") {
			id = vendor(models[i].Provider) + "/" + id
			m.full[id] = cmp.Or(m.full[id], int32(i)+1)
		}
	}
	m.names = m.elect(group)
	m.digest = sync.OnceValue(m.sum)
	return m
}

// contender is a model that may answer to a name.
type contender struct {
	name  string
	model int32
	steps int // what was taken away from its id, the region included
	rank  int // smaller is better
}

// contend adds the names a model of that id may answer to.
func (m *Map) contend(group []contender, id string, model int32) []contender {
	for path := id; strings.Count(path, "/") > 2; {
		_, path, _ = strings.Cut(path, "/")
		group = append(group, contender{name: path, model: model, rank: m.rank(model, "")})
	}
	steps := 0
	if vendor(m.models[model].Provider) == bedrock {
		steps = strings.Count(id, "/") // bedrock/us-gov-east-1/…
	}
	if last := lastSegment(id); dropRegion(last) != last {
		steps++ // canonical takes it away before reductions does
	}
	for short := range reductions(lastSegment(id)) {
		name := canonical(short)
		group = append(group, contender{name: name, model: model, steps: steps, rank: m.rank(model, name)})
		steps++
	}
	return group
}

// incomplete is the rank of a model without window or price.
const incomplete = 2

// rank is 0 for a model of which all is known from its maker.
func (m *Map) rank(model int32, name string) int {
	rank := 0
	if x := &m.models[model]; x.Window == 0 || !x.Input.Known {
		rank += incomplete
	}
	if by := makerOf(name); by == "" || vendor(m.models[model].Provider) != by {
		rank++
	}
	return rank
}

// elect picks the model of each name.
func (m *Map) elect(group []contender) map[string]int32 {
	slices.SortFunc(group, func(a, b contender) int {
		return cmp.Or(strings.Compare(a.name, b.name), a.rank-b.rank, a.steps-b.steps, int(a.model-b.model))
	})
	names := make(map[string]int32, len(group)/2)
	for len(group) > 0 {
		first := group[0]
		n := 1
		for n < len(group) && group[n].name == first.name {
			n++
		}
		alike := group[:n]
		group = group[n:]
		n = 1
		for n < len(alike) && alike[n].rank == first.rank && alike[n].steps == first.steps {
			n++
		}
		names[first.name] = m.middle(alike[:n]) + 1
	}
	return names
}

// middle picks among contenders that rank alike.
func (m *Map) middle(alike []contender) int32 {
	if len(alike) == 1 {
		return alike[0].model
	}
	if alike[0].rank%2 == 0 { // the maker's: dates grow with the name
		return slices.MaxFunc(alike, func(a, b contender) int {
			return cmp.Or(
				strings.Compare(lastSegment(m.models[a.model].Name), lastSegment(m.models[b.model].Name)),
				int(b.model-a.model),
			)
		}).model
	}
	slices.SortFunc(alike, func(a, b contender) int {
		x, y := &m.models[a.model], &m.models[b.model]
		return cmp.Or(x.Window-y.Window, cmp.Compare(x.Input.USD, y.Input.USD), int(a.model-b.model))
	})
	return alike[(len(alike)-1)/2].model
}

// Find returns the model of an id as clients and gateways write it; the
// package comment says how. It reports false for an id that it does not know.
func (m *Map) Find(model string) (Model, bool) {
	if len(model) > maxID {
		return Model{}, false
	}
	id := tidy(model)
	// A fine-tuned model is its base's with another price: ft:base:organisation:name:id.
	if tuned, ok := strings.CutPrefix(id, "ft:"); ok {
		base, _, _ := strings.Cut(tuned, ":")
		if i := m.find("ft:" + base); i > 0 {
			return m.models[i-1], true
		}
		id = base
	}
	if i := m.find(id); i > 0 {
		return m.models[i-1], true
	}
	return Model{}, false
}

// find returns the index of a model plus one, or 0. A name whose entry lacks
// window or price counts only if no shorter one has both.
func (m *Map) find(id string) (partial int32) {
	path := id[:strings.LastIndexByte(id, '/')+1]
	for short := range reductions(id[len(path):]) {
		for prefix := path; ; {
			whole := prefix + short
			if i := m.full[whole]; i > 0 {
				return i
			}
			if prefix == "" {
				break
			}
			if i := m.names[whole]; i > 0 && strings.Count(prefix, "/") > 1 {
				return i
			}
			_, prefix, _ = strings.Cut(prefix, "/")
		}
		i := m.names[canonical(short)]
		if i > 0 && m.rank(i-1, "") < incomplete {
			return i
		}
		partial = cmp.Or(partial, i)
	}
	return partial
}

// Len returns the number of models.
func (m *Map) Len() int { return len(m.models) }

// All yields every model, by name.
func (m *Map) All() iter.Seq[Model] { return slices.Values(m.models) }

// Digest names what Find and Caches tell about every id as far as edits may
// depend on it: window, output limit and kind of caching, not prices. Equal
// entries have equal digests, in whatever order they were loaded.
func (m *Map) Digest() [sha256.Size]byte { return m.digest() }

func (m *Map) sum() [sha256.Size]byte {
	kinds := make([]CacheKind, len(m.models))
	for i := range m.models {
		kinds[i] = m.models[i].Caching().Kind
	}
	h := sha256.New()
	line := []byte("context-guru model windows 1\n")
	for _, table := range []map[string]int32{m.full, m.names} {
		for _, id := range slices.Sorted(maps.Keys(table)) {
			i := table[id] - 1
			line = fmt.Appendf(line, "%s\t%d\t%d\t%d\n", id, m.models[i].Window, m.models[i].MaxOutput, kinds[i])
			h.Write(line)
			line = line[:0]
		}
		line = append(line, '\n')
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// windows counts the models whose window is known.
func (m *Map) windows() int {
	n := 0
	for i := range m.models {
		if m.models[i].Window > 0 {
			n++
		}
	}
	return n
}
