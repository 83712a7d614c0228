package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

const (
	// rounds bounds the pipelines of one put: a check that fails, a renewal that
	// finds the key gone, a write, and one more for a key that vanishes meanwhile.
	rounds = 4

	// probeFrom is the size of unknown values from which asking first is cheaper:
	// compressing 256 KB takes about as long as a round trip inside a data centre.
	probeFrom = 256 << 10

	// unseenSize is what a value that is not at hand counts for probeFrom: a large
	// tool output, as it has to be loaded as well.
	unseenSize = 32 << 10

	// batchBytes is the size of new values, before compression, at which a
	// pipeline is sent. It is compressed in about 3 ms, a fraction of the default
	// deadline: a put that can not be finished in time still gets somewhere.
	batchBytes = 1 << 20
)

// mode is what a put asks of the server in the coming pipeline.
type mode int

const (
	write     mode = iota // set if absent, look at the header, renew
	probe                 // look at the header, renew
	renew                 // known to be stored: renew, which proves that it is
	check                 // known to be stored and renewed lately: prove that it is
	overwrite             // same value under newer protection: set
)

// put is one item on its way to the server.
type put struct {
	item  store.Item
	name  string
	ttl   time.Duration
	print store.Fingerprint
	mode  mode

	set   *goredis.BoolCmd
	head  *goredis.StringCmd
	renew *goredis.BoolCmd
	over  *goredis.StatusCmd
	check *checkCmd
}

// checkCmd proves at once that a group of keys exists. The keys of a tenant
// share a slot, so one command may name them all on a cluster, too.
type checkCmd struct {
	names []string
	cmd   *goredis.IntCmd
}

// all reports whether every key of the group exists.
func (c *checkCmd) all() (bool, error) {
	n, err := c.cmd.Result()
	return int(n) == len(c.names), err
}

// PutAll implements [store.Store].
func (s *Store) PutAll(ctx context.Context, items []store.Item) error {
	if len(items) == 0 {
		return nil
	}
	for _, it := range items {
		if err := it.Validate(); err != nil {
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
	for range rounds {
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
		all[i] = put{item: it, name: it.Key.String(), ttl: s.lifetime(it), print: s.hash.Of(it)}
		puts[i] = &all[i]
	}
	s.known.mark(puts, s.o.now())

	unknown := 0
	for _, p := range puts {
		switch {
		case p.mode != write:
		case p.item.Load != nil:
			unknown += unseenSize
		default:
			unknown += len(p.item.Value)
		}
	}
	for _, p := range puts {
		switch {
		case p.mode == write && unknown > probeFrom:
			p.mode = probe
		case p.mode == check && p.item.Key.Tenant == "":
			p.mode = renew // these share no slot
		}
	}
	return puts
}

// round sends the puts, in one pipeline unless there is very much to write, and
// returns those that must be sent again, their modes set.
func (s *Store) round(ctx context.Context, puts []*put, conflict *store.ConflictError) (again []*put, err error) {
	pipe := s.client.Pipeline()
	batch, size := queueChecks(ctx, pipe, puts), 0
	for _, p := range puts {
		if p.mode == check {
			continue
		}
		n, err := s.queue(ctx, pipe, p)
		if err != nil {
			return nil, err
		}
		batch, size = append(batch, p), size+n
		if size < batchBytes {
			continue
		}
		more, err := s.send(ctx, pipe, batch, conflict)
		if err != nil {
			return nil, err
		}
		pipe, batch, size, again = s.client.Pipeline(), nil, 0, append(again, more...)
	}
	if len(batch) == 0 {
		return again, nil
	}
	more, err := s.send(ctx, pipe, batch, conflict)
	return append(again, more...), err
}

// send sends the pipeline and judges the replies to the puts in it.
func (s *Store) send(ctx context.Context, pipe goredis.Pipeliner, puts []*put, conflict *store.ConflictError) (again []*put, err error) {
	// Loading and compressing counts against the deadline but is not the server's fault.
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
			case isThere:
			case isDoubtful:
				p.mode = renew
				again = append(again, p)
			case isGone:
				if p.mode == renew {
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
	s.known.add(stored, s.o.now())
	if len(healed) > 0 {
		s.known.forget(healed)
		s.healed.Add(uint64(len(healed)))
	}
	return again, err
}

// queueChecks adds one command per tenant for the puts to be checked, and returns those.
func queueChecks(ctx context.Context, pipe goredis.Pipeliner, puts []*put) (checked []*put) {
	groups := map[string]*checkCmd{}
	var tenants []string
	for _, p := range puts {
		p.check = nil
		if p.mode != check {
			continue
		}
		g := groups[p.item.Key.Tenant]
		if g == nil {
			g = &checkCmd{}
			groups[p.item.Key.Tenant] = g
			tenants = append(tenants, p.item.Key.Tenant)
		}
		g.names = append(g.names, p.name)
		p.check = g
		checked = append(checked, p)
	}
	for _, t := range tenants {
		groups[t].cmd = pipe.Touch(ctx, groups[t].names...)
	}
	return checked
}

// queue adds the put's commands to the pipeline and returns the size of the
// value it had to write; only here a value is loaded and encoded.
func (s *Store) queue(ctx context.Context, pipe goredis.Pipeliner, p *put) (size int, err error) {
	p.set, p.head, p.renew, p.over = nil, nil, nil, nil
	var encoded []byte
	if p.mode == write || p.mode == overwrite {
		if encoded, size, err = s.encode(ctx, p); err != nil {
			return 0, err
		}
	}
	switch p.mode {
	case overwrite:
		p.over = pipe.Set(ctx, p.name, encoded, p.ttl)
		return size, nil
	case write:
		p.set = pipe.SetNX(ctx, p.name, encoded, p.ttl)
	case renew, probe, check:
	}
	if p.mode != renew {
		p.head = pipe.GetRange(ctx, p.name, 0, store.HeaderLen-1)
	}
	p.renew = pipe.PExpire(ctx, p.name, p.ttl)
	return size, nil
}

func (s *Store) encode(ctx context.Context, p *put) (encoded []byte, size int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("%w: nothing sent: %w", store.ErrUnavailable, err)
	}
	item, err := p.item.Loaded()
	if err != nil {
		return nil, 0, err
	}
	if encoded, err = s.codec.Encode(p.name, item.OwnTTL(), item.Value); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", p.name, err)
	}
	return encoded, len(item.Value), nil
}

// verdict is what the replies say about one put.
type verdict int

const (
	isUnknown  verdict = iota // a reply is an error, or it does not matter any more
	isStored                  // this value is there, renewed just now
	isThere                   // this value is there, renewed not long ago
	isDoubtful                // this value or another of its group is gone
	isStale                   // this value is there under older protection
	isGone                    // the key holds nothing
	isOther                   // another value is there
)

// judge reads the replies to the put's commands.
func (s *Store) judge(p *put) (verdict, error) {
	if p.check != nil {
		all, err := p.check.all()
		switch {
		case err != nil:
			return isUnknown, err
		case all:
			return isThere, nil
		}
		return isDoubtful, nil
	}
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
	switch s.codec.Compare([]byte(head), p.item.Digest()) {
	case store.Same:
		return isStored, nil
	case store.Stale:
		return isStale, nil
	case store.Differs:
	}
	return isOther, nil
}
