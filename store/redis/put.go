package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

const (
	// probeFrom is the size of unknown values from which asking first is cheaper:
	// compressing 256 KB takes about as long as a round trip inside a data centre.
	probeFrom = 256 << 10

	// batchBytes is the size of new values, before compression, at which a
	// pipeline is sent. It is compressed in about 3 ms, a fraction of the default
	// deadline: a put that can not be finished in time still gets somewhere.
	batchBytes = 1 << 20
)

// mode is what a put asks of the server in the coming pipeline.
type mode int

const (
	touch     mode = iota // renew what this process knows to be stored
	probe                 // look at the header, renew
	write                 // set if absent, look at the header, renew
	overwrite             // same value under newer protection: set
)

// put is one item on its way to the server.
type put struct {
	item  store.Item
	name  string
	ttl   time.Duration
	print fingerprint
	known bool
	mode  mode

	set   *goredis.BoolCmd
	head  *goredis.StringCmd
	renew *goredis.BoolCmd
	over  *goredis.StatusCmd
}

// PutAll implements [store.Store].
func (s *Store) PutAll(ctx context.Context, items []store.Item) error {
	if len(items) == 0 {
		return nil
	}
	for _, it := range items {
		if err := it.Key.Validate(); err != nil {
			return err
		}
	}
	ctx, cancel, err := s.begin(ctx, s.o.PutTimeout)
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	defer cancel()

	var conflict store.ConflictError
	puts := s.plan(items)
	for range attempts {
		var lost []*put
		if lost, err = s.round(ctx, puts, &conflict); err != nil {
			return fmt.Errorf("put %d values: %w", len(items), err)
		}
		if len(lost) == 0 {
			if len(conflict.Keys) > 0 {
				return &conflict
			}
			return nil
		}
		puts = lost
	}
	return fmt.Errorf("put %d values: %w: %d vanished as soon as they were written", len(items), store.ErrUnavailable, len(puts))
}

// plan names the items and decides how the first pipeline treats each of them.
func (s *Store) plan(items []store.Item) []*put {
	all := make([]put, len(items))
	puts := make([]*put, len(items))
	for i, it := range items {
		all[i] = put{item: it, name: it.Key.String(), ttl: s.lifetime(it), print: s.known.print(it.Value)}
		puts[i] = &all[i]
	}
	s.known.mark(puts)

	unknown := 0
	for _, p := range puts {
		if !p.known {
			unknown += len(p.item.Value)
		}
	}
	for _, p := range puts {
		switch {
		case p.known:
			p.mode = touch
		case unknown > probeFrom:
			p.mode = probe
		default:
			p.mode = write
		}
	}
	return puts
}

// round sends the puts, in one pipeline unless there is very much to write, and
// returns those that must be sent again, their modes set.
func (s *Store) round(ctx context.Context, puts []*put, conflict *store.ConflictError) (again []*put, err error) {
	for len(puts) > 0 {
		n, size := 0, 0
		for n < len(puts) && (size == 0 || size < batchBytes) {
			if puts[n].mode >= write {
				size += len(puts[n].item.Value)
			}
			n++
		}
		more, err := s.pipeline(ctx, puts[:n], conflict)
		if err != nil {
			return nil, err
		}
		again = append(again, more...)
		puts = puts[n:]
	}
	return again, nil
}

// pipeline sends the puts as one pipeline and judges the replies.
func (s *Store) pipeline(ctx context.Context, puts []*put, conflict *store.ConflictError) (again []*put, err error) {
	pipe := s.client.Pipeline()
	for _, p := range puts {
		if err := s.queue(ctx, pipe, p); err != nil {
			return nil, err
		}
	}
	// Compressing counts against the deadline but is not the server's fault.
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: nothing sent: %w", store.ErrUnavailable, err)
	}
	var stored, healed []*put
	err = s.breaker.do(ctx, func(ctx context.Context) error {
		if err := exec(ctx, pipe); err != nil {
			return classify(ctx, err)
		}
		var first error
		for _, p := range puts {
			verdict, err := s.judge(p)
			if err != nil && first == nil {
				first = classify(ctx, err)
			}
			switch verdict {
			case isStored:
				stored = append(stored, p)
			case isStale:
				p.mode = overwrite
				again = append(again, p)
			case isGone:
				if p.mode == touch {
					healed = append(healed, p)
				}
				p.mode = write
				again = append(again, p)
			case isOther:
				conflict.Keys = append(conflict.Keys, p.item.Key)
			case isUnknown:
			}
		}
		return first
	})
	s.known.add(stored)
	if len(healed) > 0 {
		s.known.forget(healed)
		s.healed.Add(uint64(len(healed)))
	}
	return again, err
}

// queue adds the put's commands to the pipeline; only here a value is encoded.
func (s *Store) queue(ctx context.Context, pipe goredis.Pipeliner, p *put) error {
	p.set, p.head, p.renew, p.over = nil, nil, nil, nil
	var encoded []byte
	if p.mode >= write {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: nothing sent: %w", store.ErrUnavailable, err)
		}
		var err error
		if encoded, err = s.codec.Encode(p.name, p.item.OwnTTL(), p.item.Value); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	switch p.mode {
	case overwrite:
		p.over = pipe.Set(ctx, p.name, encoded, p.ttl)
		return nil
	case write:
		p.set = pipe.SetNX(ctx, p.name, encoded, p.ttl)
	case touch, probe:
	}
	if p.mode != touch {
		p.head = pipe.GetRange(ctx, p.name, 0, store.HeaderLen-1)
	}
	p.renew = pipe.PExpire(ctx, p.name, p.ttl)
	return nil
}

// verdict is what the replies say about one put.
type verdict int

const (
	isUnknown verdict = iota // a reply is an error, or it does not matter any more
	isStored                 // this value is there
	isStale                  // this value is there under older protection
	isGone                   // the key holds nothing
	isOther                  // another value is there
)

// judge reads the replies to the put's commands.
func (s *Store) judge(p *put) (verdict, error) {
	if p.over != nil {
		// The value was there before; failing to protect it better is no reason
		// to call it lost. It stays unknown, so the next put tries again.
		if p.over.Err() != nil {
			return isUnknown, nil
		}
		return isStored, nil
	}
	if p.set != nil {
		set, err := p.set.Result()
		if err != nil {
			return isUnknown, err
		}
		if set {
			return isStored, nil // what was looked at next is our own
		}
	}
	if renewed, err := p.renew.Result(); err != nil || !renewed {
		if err != nil {
			return isUnknown, err
		}
		return isGone, nil
	}
	if p.head == nil {
		return isStored, nil
	}
	head, err := p.head.Result()
	switch {
	case err != nil:
		return isUnknown, err
	case head == "":
		return isGone, nil // it came back between the two commands
	}
	switch s.codec.Compare([]byte(head), p.item.Value) {
	case store.Same:
		return isStored, nil
	case store.Stale:
		return isStale, nil
	case store.Differs:
	}
	return isOther, nil
}
