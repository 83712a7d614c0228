package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

// attempts bounds how often SetIfAbsent goes back to a server that loses the key
// between its two commands (it is evicting, or the value expires right now).
const attempts = 3

// Store is a [store.Store] on Redis or Valkey. It is safe for concurrent use.
type Store struct {
	o       Options
	codec   *store.Codec
	client  goredis.UniversalClient
	breaker *breaker
	hash    store.Fingerprinter
	known   *known
	closed  atomic.Bool
	healed  atomic.Uint64
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Inspector = (*Store)(nil)
)

// New returns a store for the options, or an error that names every fault in
// them. It does not connect: a server that is down at start is the same to it
// as one that goes down later. Ask [Store.Ping].
func New(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("redis store: %w", err)
	}
	codec, err := store.NewCodec(o.Codec)
	if err != nil {
		return nil, fmt.Errorf("redis store: %w", err)
	}
	o = o.withDefaults()
	return &Store{
		o: o, codec: codec, client: o.client(), breaker: newBreaker(o),
		hash: store.NewFingerprinter(), known: newKnown(o.KnownEntries, o.KnownBytes),
	}, nil
}

// SetClientLogger sends what the Redis client library itself has to say (dials
// that failed, connections it dropped) to l. The library has one logger per
// process, so this belongs into a program's start, not into a store's.
func SetClientLogger(l *slog.Logger) { goredis.SetLogger(clientLogger{l}) }

type clientLogger struct{ l *slog.Logger }

// Printf implements the client library's logger.
func (c clientLogger) Printf(ctx context.Context, format string, v ...any) {
	c.l.DebugContext(ctx, "redis client", slog.String("event", fmt.Sprintf(format, v...)))
}

// SetIfAbsent implements [store.Store].
func (s *Store) SetIfAbsent(ctx context.Context, item store.Item) (current []byte, won bool, err error) {
	if err := item.Validate(); err != nil {
		return nil, false, err
	}
	ctx, cancel, err := s.begin(ctx, s.o.PutTimeout)
	if err != nil {
		return nil, false, fmt.Errorf("set if absent: %w", err)
	}
	defer cancel()

	name := item.Key.String()
	if item, err = item.Loaded(); err != nil {
		return nil, false, err
	}
	encoded, err := s.codec.Encode(name, item.OwnTTL(), item.Value)
	if err != nil {
		return nil, false, fmt.Errorf("set %s: %w", name, err)
	}
	ttl := s.lifetime(item)
	for range attempts {
		var stored string
		won, stored, err = s.claim(ctx, name, encoded, ttl)
		switch {
		case errors.Is(err, goredis.Nil):
			continue // it was there for the SET and gone for the GETEX
		case err != nil:
			return nil, false, fmt.Errorf("set %s: %w", name, err)
		case won:
			return append([]byte{}, item.Value...), true, nil
		}
		value, own, err := s.codec.Decode(name, []byte(stored))
		if err != nil {
			return nil, false, err
		}
		if own = orDefault(own, s.o.TTL); own != ttl {
			s.restoreTTLs(ctx, map[string]time.Duration{name: own})
		}
		return value, false, nil
	}
	return nil, false, fmt.Errorf("set %s: %w: the value vanished %d times between two commands", name, store.ErrUnavailable, attempts)
}

// claim sets the key if it is absent, else reads what it holds, in one round trip.
func (s *Store) claim(ctx context.Context, name string, encoded []byte, ttl time.Duration) (won bool, stored string, err error) {
	gone := false
	err = s.breaker.do(ctx, func(ctx context.Context) error {
		pipe := s.client.Pipeline()
		set := pipe.SetNX(ctx, name, encoded, ttl)
		get := pipe.GetEx(ctx, name, ttl)
		if err := exec(ctx, pipe); err != nil {
			return classify(ctx, err)
		}
		var err error
		if won, err = set.Result(); err != nil || won {
			return classify(ctx, err)
		}
		if stored, err = get.Result(); errors.Is(err, goredis.Nil) {
			gone = true
			return nil
		}
		return classify(ctx, err)
	})
	if err == nil && gone {
		err = goredis.Nil
	}
	return won, stored, err
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel, err := s.begin(ctx, s.o.PutTimeout)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	defer cancel()
	err = s.breaker.do(ctx, func(ctx context.Context) error {
		return classify(ctx, s.client.Ping(ctx).Err())
	})
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Close implements [store.Store].
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close redis client: %w", err)
	}
	return nil
}

// Stats tells how the store is doing.
type Stats struct {
	Breaker      string // closed, half-open or open
	KnownEntries int    // keys this process knows to be stored
	KnownBytes   int64  // what they are counted with
	Healed       uint64 // values known to be stored that had vanished and were written again: evictions, flushes, restarts
}

// Stats returns the counters as of now.
func (s *Store) Stats() Stats {
	entries, bytes := s.known.size()
	return Stats{
		Breaker: s.breaker.cb.State().String(), KnownEntries: entries, KnownBytes: bytes,
		Healed: s.healed.Load(),
	}
}

// begin starts the clock of a call, or refuses it at once.
func (s *Store) begin(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, error) {
	if s.closed.Load() {
		return nil, nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if err := s.breaker.ready(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

func (s *Store) lifetime(item store.Item) time.Duration {
	return orDefault(item.OwnTTL(), s.o.TTL)
}

// exec sends the pipeline. Nil means that each command has a reply of its own,
// which may be an error; otherwise none of them may be trusted.
func exec(ctx context.Context, pipe goredis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[goredis.Error](err); !ok {
		return err // the connection broke or the time ran out
	}
	for _, cmd := range cmds {
		if cmd.Err() != nil {
			return nil
		}
	}
	return err // a reply to the handshake: no command was sent
}
