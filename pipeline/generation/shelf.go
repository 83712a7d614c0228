package generation

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// fetchPause is how long a generation that could not be had is not asked for
// again.
const fetchPause = 5 * time.Second

// shelf holds the generations that are built, the last used ones.
type shelf[T any] struct {
	mu      sync.Mutex
	built   *simplelru.LRU[string, *Generation[T]]
	flights map[string]chan struct{}
	failed  *simplelru.LRU[string, time.Time]
}

func newShelf[T any]() *shelf[T] {
	s := &shelf[T]{flights: map[string]chan struct{}{}}
	// The errors are those of a size below 1.
	s.built, _ = simplelru.NewLRU[string, *Generation[T]](loadedMost, nil)
	s.failed, _ = simplelru.NewLRU[string, time.Time](8*loadedMost, nil)
	return s
}

func (s *shelf[T]) add(g *Generation[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.built.Add(g.id, g)
}

// peek returns a generation that is there, or nil.
func (s *shelf[T]) peek(id string) *Generation[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, _ := s.built.Get(id)
	return g
}

// find returns a generation that is there. Else it has it fetched by one
// goroutine for all who ask, and returns what to wait for; that is nil while
// fetching it again would be too soon.
func (s *shelf[T]) find(id string, fetch func() (*Generation[T], error)) (*Generation[T], <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.built.Get(id); ok {
		return g, nil
	}
	if flight, ok := s.flights[id]; ok {
		return nil, flight
	}
	if at, ok := s.failed.Get(id); ok && time.Since(at) < fetchPause || len(s.flights) >= loadedMost {
		return nil, nil
	}
	flight := make(chan struct{})
	s.flights[id] = flight
	go func() {
		g, err := fetch()
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.built.Add(id, g)
			s.failed.Remove(id)
		} else {
			s.failed.Add(id, time.Now())
		}
		delete(s.flights, id)
		close(flight)
	}()
	return nil, flight
}

func (s *shelf[T]) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.built.Len()
}
