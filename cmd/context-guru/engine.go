package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/plan"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/store/redis"
)

// engine is everything a configuration builds that is not a listener.
type engine struct {
	keys     *pipeline.Keyring
	store    store.Store
	memo     *pipeline.Memo
	maker    *plan.Maker
	rewriter *rewrite.Rewriter
	hidden   *hidden.Keeper // nil unless the service answers the model's calls
}

// newEngine builds the engine, all but the rewriter. Both vocabularies are
// loaded here, so that a broken one stops the start and no request pays for
// loading.
func newEngine(c *config.Config, log *slog.Logger) (*engine, error) {
	e := &engine{keys: c.Keyring(), memo: pipeline.NewMemo(c.Memo.Bytes)}
	if e.keys == nil {
		// A memory store dies with the process, so a key that does too loses nothing.
		log.Warn("service_key_generated", "effect", "markers are not recognised by other replicas or after a restart",
			"cure", "set keys: [{id, file}]")
		key, err := generatedKey()
		if err != nil {
			return nil, err
		}
		e.keys = key
	}
	var err error
	if e.maker, err = plan.NewMaker(e.keys, e.memo); err != nil {
		return nil, err
	}
	if e.store, err = openStore(c, log); err != nil {
		return nil, err
	}
	if c.Expand.Resolver == config.ResolverLoop {
		if e.hidden, err = hidden.New(hidden.Config{Store: e.store, Keys: e.keys, TTL: c.Store.TTL.Std()}); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// rewrite builds the rewriter on what chooses for a request.
func (e *engine) rewrite(c *config.Config, choose func(context.Context, rewrite.Choice) (*pipeline.Pipeline, rewrite.Expand)) {
	e.rewriter = rewrite.New(rewrite.Config{
		Choose:  choose,
		Store:   written(c, e.store),
		TTL:     c.Store.TTL.Std(),
		MaxBody: int(c.Limits.BodyBytes),
		Limits:  wire.Limits{Segments: c.Limits.Segments},
		Expand:  plan.Expand(c),
		Hidden:  e.hidden,
	})
}

// rewriteAlone builds the rewriter on one configuration that never changes.
func (e *engine) rewriteAlone(c *config.Config) error {
	windows, err := c.ModelMap()
	if err != nil {
		return err
	}
	only := e.maker.New(c, windows)
	e.rewrite(c, func(_ context.Context, choice rewrite.Choice) (*pipeline.Pipeline, rewrite.Expand) {
		return only.Choose(choice), only.Expand()
	})
	return nil
}

// written is the store that requests write to: none where they are only measured.
func written(c *config.Config, s store.Store) store.Store {
	if c.Mode == config.ModeObserve {
		return store.Shadow(s)
	}
	return s
}

func generatedKey() (*pipeline.Keyring, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("generate a service key: %w", err)
	}
	return pipeline.NewKeyring(pipeline.Key{ID: "generated", Secret: secret})
}

// openStore connects nothing yet: a store that is down must not keep the
// service from starting.
func openStore(c *config.Config, log *slog.Logger) (store.Store, error) {
	// An original is at most as long as the body it came in.
	codec := store.CodecOptions{MaxValue: max(store.DefaultMaxValue, int(c.Limits.BodyBytes))}
	if key := c.Store.Key(); key != nil {
		codec.EncryptionKeys = [][]byte{key}
	}
	if c.Store.Type == config.StoreMemory {
		return store.NewMemory(store.MemoryOptions{
			MaxBytes: c.Store.Memory.Bytes, MaxEntries: c.Store.Memory.Entries, TTL: c.Store.TTL.Std(), Codec: codec,
		})
	}
	redis.SetClientLogger(log)
	r := &c.Store.Redis
	o := redis.Options{
		Addrs: r.Addresses, Username: r.Username, Password: redis.Secret(r.Password.Value()), DB: r.DB,
		SentinelMaster: r.MasterName, Cluster: r.Cluster, PutTimeout: r.Timeout.Std(), TTL: c.Store.TTL.Std(),
		Codec: codec, Logger: log,
	}
	secure, err := c.RedisTLS()
	if err != nil {
		return nil, err
	}
	o.TLS = secure
	return redis.New(o)
}
