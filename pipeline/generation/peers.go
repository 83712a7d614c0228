package generation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/contextguru/contextguru/store"
)

const (
	// lookEvery is the time between two looks at the announcements.
	lookEvery = time.Second
	// settle is how long a new generation is announced before it is used: two
	// looks of everybody, and a little.
	settle = 2*lookEvery + 500*time.Millisecond
	// hour is how long an announcement counts for; after it there is a new one.
	hour = time.Hour
	// skew is how far the clocks of replicas may be apart.
	skew = time.Minute
	// backMost bounds the hours that a replica reads when it starts.
	backMost = 7 * 24
	// slotsMost bounds the generations announced in one hour.
	slotsMost = 64
	// blindAfter is how many looks in a row have to fail until a replica knows
	// nothing of the others any more.
	blindAfter = 3
)

// peers knows the generations that are live anywhere.
type peers struct {
	store store.Store
	ttl   time.Duration // of a pin
	keep  time.Duration // of announcements and documents

	polling sync.Mutex // one look at a time

	mu       sync.Mutex
	live     map[string]time.Time // until when
	used     map[string]time.Time // by this process, and when
	hours    map[int64]*slots
	failures int // in a row
	failed   uint64
	read     bool // every hour that matters was read
}

// slots are the announcements of one hour.
type slots struct {
	next int             // the first that was empty
	ids  map[string]bool // announced
}

func newPeers(s store.Store, ttl time.Duration) *peers {
	return &peers{
		store: s, ttl: ttl, keep: ttl + 2*hour,
		live: map[string]time.Time{}, used: map[string]time.Time{}, hours: map[int64]*slots{},
	}
}

// use notes that this process serves a generation.
func (p *peers) use(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.used[id] = now
	p.see(id, now)
}

// see notes that a generation was live at a time.
func (p *peers) see(id string, at time.Time) {
	if until := at.Add(p.ttl); until.After(p.live[id]) {
		p.live[id] = until
	}
}

// many reports whether more than one generation is or may be live.
func (p *peers) many() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live) > 1 || !p.read || p.failures >= blindAfter
}

// blind reports whether the last look failed.
func (p *peers) blind() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures > 0
}

// others reports whether a generation beside one is live.
func (p *peers) others(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, self := p.live[id]
	return len(p.live) > 1 || len(p.live) == 1 && !self
}

// wanted lists the live generations, those seen last first.
func (p *peers) wanted(most int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(p.live), func(a, b string) int { return p.live[b].Compare(p.live[a]) })
	return ids[:min(most, len(ids))]
}

func (p *peers) counts() (live int, failed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live), p.failed
}

// poll looks at what others announced and announces what this process uses;
// publish is called in front of an announcement.
func (p *peers) poll(ctx context.Context, publish func(id string) error) {
	p.polling.Lock()
	defer p.polling.Unlock()
	now := time.Now()
	p.forget(now)
	err := p.look(ctx, now)
	for _, at := range around(now) {
		for _, id := range p.unannounced(at, now) {
			if err == nil {
				err = publish(id)
			}
			if err == nil {
				err = p.announce(ctx, at, id)
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.failures, p.read = 0, true
	} else if ctx.Err() == nil {
		p.failures++
		p.failed++
	}
}

// around lists the hours that count at a time: one, or two around the full hour.
func around(now time.Time) []int64 {
	return slices.Compact([]int64{number(now.Add(-skew)), number(now.Add(skew))})
}

func number(at time.Time) int64 { return at.Unix() / int64(hour/time.Second) }

// forget drops what is over.
func (p *peers) forget(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.live, func(_ string, until time.Time) bool { return until.Before(now) })
	maps.DeleteFunc(p.used, func(_ string, at time.Time) bool { return now.Sub(at) > hour })
	maps.DeleteFunc(p.hours, func(at int64, _ *slots) bool { return at < number(now)-p.back()-2 })
}

// back is how many hours ago a generation that is live now was announced at most.
func (p *peers) back() int64 { return min(int64(p.ttl/hour)+1, backMost) }

// look reads the announcements that are new, of all hours at first and of this
// one later.
func (p *peers) look(ctx context.Context, now time.Time) error {
	hours := around(now)
	p.mu.Lock()
	read := p.read
	p.mu.Unlock()
	if !read {
		for at := hours[0] - 1; at >= hours[0]-p.back(); at-- {
			hours = append(hours, at)
		}
	}
	for _, at := range hours {
		s := p.slots(at)
		for s.next < slotsMost {
			id, err := p.store.Get(ctx, slotKey(at, s.next))
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			p.note(at, s, string(id))
		}
	}
	return nil
}

func (p *peers) slots(at int64) *slots {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hours[at] == nil {
		p.hours[at] = &slots{ids: map[string]bool{}}
	}
	return p.hours[at]
}

// note takes over the next slot of an hour.
func (p *peers) note(at int64, s *slots, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.next++
	if isID(id) {
		s.ids[id] = true
		p.see(id, time.Unix(0, 0).Add(time.Duration(at+1)*hour))
	}
}

// unannounced lists what this process uses and nobody announced in an hour.
func (p *peers) unannounced(at int64, now time.Time) []string {
	s := p.slots(at)
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for id, used := range p.used {
		if !s.ids[id] && now.Sub(used) <= hour {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// announce puts a generation into the first empty slot of an hour.
func (p *peers) announce(ctx context.Context, at int64, id string) error {
	s := p.slots(at)
	for s.next < slotsMost {
		held, _, err := p.store.SetIfAbsent(ctx, store.Item{Key: slotKey(at, s.next), Value: []byte(id), TTL: p.keep})
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		p.note(at, s, string(held))
		if string(held) == id {
			return nil
		}
	}
	return fmt.Errorf("more than %d generations in one hour", slotsMost)
}

func slotKey(at int64, slot int) store.Key {
	return store.Key{Space: store.Generations, ID: fmt.Sprintf("live/%d/%d", at, slot)}
}

func modelsKey(digest [sha256.Size]byte) store.Key {
	return store.Key{Space: store.Generations, ID: "models/" + hex.EncodeToString(digest[:])}
}
