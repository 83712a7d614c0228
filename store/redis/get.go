package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, error) {
	values, errs, err := s.getAll(ctx, []store.Key{key})
	if err == nil {
		err = errs[0]
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return values[0], nil
}

// GetAll implements [store.Store].
func (s *Store) GetAll(ctx context.Context, keys []store.Key) ([][]byte, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	values, _, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("get %d values: %w", len(keys), err)
	}
	return values, nil
}

// getAll returns a value or an error per key, or an error for all of them.
func (s *Store) getAll(ctx context.Context, keys []store.Key) (values [][]byte, errs []error, err error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		if err := key.Validate(); err != nil {
			return nil, nil, err
		}
		names[i] = key.String()
	}
	ctx, cancel, err := s.begin(ctx, s.o.GetTimeout)
	if err != nil {
		return nil, nil, err
	}
	defer cancel()
	var stored []*goredis.StringCmd
	err = s.breaker.do(ctx, func(ctx context.Context) (err error) {
		stored, err = s.fetch(ctx, names)
		return classify(ctx, err)
	})
	if err != nil {
		return nil, nil, err
	}
	values, errs = make([][]byte, len(keys)), make([]error, len(keys))
	renewed := map[string]time.Duration{}
	for i, cmd := range stored {
		encoded, err := cmd.Result()
		if errors.Is(err, goredis.Nil) {
			errs[i] = store.ErrNotFound
			continue
		}
		if err != nil { // not a value of ours
			errs[i] = classify(ctx, err)
			continue
		}
		var own time.Duration
		if values[i], own, errs[i] = s.codec.Decode(names[i], []byte(encoded)); errs[i] == nil && orDefault(own, s.o.TTL) != s.o.TTL {
			renewed[names[i]] = own
		}
	}
	s.restoreTTLs(ctx, renewed)
	return values, errs, nil
}

// fetch reads the keys and renews their TTLs in one round trip. Each command has
// a reply: a value, none, or that the key is not of our making.
func (s *Store) fetch(ctx context.Context, names []string) ([]*goredis.StringCmd, error) {
	read := func(get func(goredis.Pipeliner, string) *goredis.StringCmd) ([]*goredis.StringCmd, error) {
		pipe := s.client.Pipeline()
		cmds := make([]*goredis.StringCmd, len(names))
		for i, name := range names {
			cmds[i] = get(pipe, name)
		}
		if err := exec(ctx, pipe); err != nil {
			return nil, err
		}
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil && !errors.Is(err, goredis.Nil) && !goredis.HasErrorPrefix(err, "WRONGTYPE") {
				return nil, err
			}
		}
		return cmds, nil
	}
	cmds, err := read(func(p goredis.Pipeliner, name string) *goredis.StringCmd { return p.GetEx(ctx, name, s.o.TTL) })
	if writeRefused(err) {
		// The values are still good on a server that takes no writes; only their
		// TTLs can not be renewed.
		cmds, err = read(func(p goredis.Pipeliner, name string) *goredis.StringCmd { return p.Get(ctx, name) })
	}
	return cmds, err
}

// restoreTTLs corrects the TTLs that reading renewed to the store's own where
// items were stored with another. The values are good whether or not this works.
func (s *Store) restoreTTLs(ctx context.Context, own map[string]time.Duration) {
	if len(own) == 0 {
		return
	}
	_ = s.breaker.do(ctx, func(ctx context.Context) error {
		pipe := s.client.Pipeline()
		for name, ttl := range own {
			pipe.PExpire(ctx, name, ttl)
		}
		_, err := pipe.Exec(ctx)
		return classify(ctx, err)
	})
}
