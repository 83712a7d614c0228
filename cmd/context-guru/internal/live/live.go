// Package live runs a configuration that changes: its file is edited, newer
// model maps come, other replicas run other ones. Every change is a new
// generation for new conversations, and none for those under way.
package live

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/plan"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/generation"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/store"
)

// lookEvery is the time between two looks at the configuration file. One that
// changed is loaded when two looks in a row found the same: who writes a file
// in place may be half done.
const lookEvery = 2 * time.Second

// Options is what a Live is made of.
type Options struct {
	// Config is the configuration to begin with, as it was loaded.
	Config *config.Config
	// File is where it came from; empty when it came from no file.
	File string
	// Catalog has the components.
	Catalog pipeline.Catalog
	Maker   *plan.Maker
	Store   store.Store
	Log     *slog.Logger
}

// Live knows the pipeline of every request.
type Live struct {
	o       Options
	manager *generation.Manager[*plan.Plan]
	refresh *models.Refresher
	reloads struct{ adopted, unchanged, refused atomic.Uint64 }

	changing chan struct{} // holds a token while something is changed
	config   *config.Config
	held     *models.Map // of the current generation
}

// New returns what runs a configuration. The caller calls Start before the
// first request, and Run beside them.
func New(o Options) (*Live, error) {
	held, err := o.Config.ModelMap()
	if err != nil {
		return nil, err
	}
	l := &Live{o: o, config: o.Config, held: held, changing: make(chan struct{}, 1)}
	l.refresh, err = models.NewRefresher(held, models.RefreshConfig{
		URL: o.Config.Models.URL, Interval: o.Config.Models.Refresh.Std(), Logger: o.Log,
	})
	if err != nil {
		return nil, err
	}
	first, err := o.Maker.Generation(o.Config, held)
	if err != nil {
		return nil, err
	}
	l.manager, err = generation.New(generation.Config[*plan.Plan]{
		Store: o.Store, Keys: o.Maker.Keys, TTL: o.Config.Store.TTL.Std(), Log: o.Log,
		Build: func(d generation.Document, modelMap func() ([]byte, error)) (*plan.Plan, error) {
			return o.Maker.Rebuild(d, modelMap, o.Catalog)
		},
	}, first)
	return l, err
}

// Choose returns the pipeline of a request and how it is prepared, as in the
// generation its conversation began with. Where the current configuration has
// nothing to do, nothing is done.
func (l *Live) Choose(ctx context.Context, choice rewrite.Choice) (*pipeline.Pipeline, rewrite.Expand) {
	current := l.manager.Current()
	chosen := current.Choose(choice)
	if len(chosen.Steps()) == 0 {
		l.manager.Note(choice.Tenant, choice.Transcript)
		return chosen, current.Expand()
	}
	if begun := l.manager.For(ctx, choice.Tenant, choice.Transcript); begun != current {
		return begun.Choose(choice), begun.Expand()
	}
	return chosen, current.Expand()
}

// Start tells other replicas of the configuration. It takes a few seconds while
// they run another one, and returns early when ctx ends.
func (l *Live) Start(ctx context.Context) error {
	l.changing <- struct{}{}
	defer func() { <-l.changing }()
	return l.adopt(ctx, l.config, l.held)
}

// Run follows changes until ctx ends; reload asks for one at once.
func (l *Live) Run(ctx context.Context, reload <-chan os.Signal) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { l.manager.Run(ctx) })
	running.Go(func() { l.refresh.Run(ctx) })
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	// The file may have changed since it was loaded, so the first look counts
	// as a change.
	var loaded, before [sha256.Size]byte
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-reload:
			loaded, _ = l.look()
			before = loaded
			l.Reload(ctx)
		case <-ticker.C:
			now, err := l.look()
			if err == nil && now != loaded && now == before {
				loaded = now
				l.Reload(ctx)
			}
			before = now
			l.remodel(ctx)
		}
	}
}

// look returns the digest of the file.
func (l *Live) look() (digest [sha256.Size]byte, err error) {
	if l.o.File == "" {
		return digest, nil
	}
	f, err := os.Open(l.o.File)
	if err != nil {
		return digest, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, strict.MaxBytes+1))
	return sha256.Sum256(data), err
}

// Reload loads the file anew. One that is at fault changes nothing.
func (l *Live) Reload(ctx context.Context) {
	l.changing <- struct{}{}
	defer func() { <-l.changing }()
	if l.o.File == "" {
		l.o.Log.Warn("config_not_reloaded", "cause", "the service was started without -config")
		return
	}
	next, err := config.Load(l.o.File, l.o.Catalog)
	if err == nil {
		err = l.change(ctx, next)
	}
	if err != nil {
		l.reloads.refused.Add(1)
		l.o.Log.Error("config_refused", "file", l.o.File, "error", err.Error(), "effect", "the configuration before it stays in force")
	}
}

// change makes a configuration the current one.
func (l *Live) change(ctx context.Context, next *config.Config) error {
	if keys := l.config.NeedRestart(next); len(keys) > 0 {
		l.o.Log.Warn("config_needs_restart", "keys", keys, "effect", "they stay as they were when the service started")
	}
	next.KeepExpand(l.config)
	before := l.manager.CurrentID()
	if err := l.adopt(ctx, next, l.held); err != nil {
		return fmt.Errorf("not adopted: %w", err)
	}
	if l.manager.CurrentID() == before {
		l.reloads.unchanged.Add(1)
		return nil
	}
	l.reloads.adopted.Add(1)
	l.o.Log.Info("config_reloaded", "file", l.o.File, "generation", l.manager.CurrentID(), "pipeline", next.Pipeline)
	return nil
}

// adopt makes a generation the current one.
func (l *Live) adopt(ctx context.Context, c *config.Config, held *models.Map) error {
	next, err := l.o.Maker.Generation(c, held)
	if err != nil {
		return err
	}
	if err := l.manager.Adopt(ctx, next); err != nil {
		return err
	}
	l.config, l.held = c, held
	return nil
}

// remodel adopts a model map that brought other windows.
func (l *Live) remodel(ctx context.Context) {
	l.changing <- struct{}{}
	defer func() { <-l.changing }()
	fresh := l.refresh.Current()
	if fresh == l.held || fresh.Digest() == l.held.Digest() {
		return
	}
	if err := l.adopt(ctx, l.config, fresh); err != nil && ctx.Err() == nil {
		l.o.Log.Error("models_not_adopted", "error", err.Error())
	}
}
