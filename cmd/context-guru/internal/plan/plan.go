// Package plan turns a configuration into pipelines: one for every preset in
// use, every way of counting tokens and every context window that models have.
package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/generation"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
)

// Maker makes plans that share what does not depend on a configuration.
type Maker struct {
	// Keys mint the markers.
	Keys *pipeline.Keyring
	// Memo is shared by all pipelines.
	Memo *pipeline.Memo
	// Unknown hears of every request whose model is in no map; it may be nil.
	Unknown func(model string)

	counters map[tokens.Encoding]pipeline.Counter
}

// NewMaker loads both vocabularies, so that a broken one is found now and no
// request pays for loading.
func NewMaker(keys *pipeline.Keyring, memo *pipeline.Memo) (*Maker, error) {
	m := &Maker{Keys: keys, Memo: memo, counters: map[tokens.Encoding]pipeline.Counter{}}
	all := tokens.New()
	for _, enc := range []tokens.Encoding{
		{Name: tokens.O200kBase}, {Name: tokens.O200kBase, Approximate: true}, {Name: tokens.CL100kBase},
	} {
		counter, err := all.For(enc)
		if err != nil {
			return nil, fmt.Errorf("load a vocabulary: %w", err)
		}
		m.counters[enc] = counting{counter}
	}
	return m, nil
}

// counting adapts a token counter to the pipeline.
type counting struct{ c *tokens.Counter }

func (c counting) Count(text string) pipeline.Count {
	n := c.c.Count(text)
	return pipeline.Count{N: n.Tokens, Estimated: n.Estimated}
}

func (c counting) Encoding() string { return c.c.Encoding().Name }

// Plan chooses pipelines. It is safe for concurrent use.
type Plan struct {
	maker  *Maker
	config *config.Config
	models *models.Map

	mu    sync.RWMutex
	built map[kind]*pipeline.Pipeline
}

// kind is what pipelines of one plan differ in. There are as many as the map
// has windows, a few dozen, times the ways of counting, times the presets.
type kind struct {
	preset   string // empty for the pipeline in force
	encoding tokens.Encoding
	window   int
}

// With returns a maker as of a service of its own: with other keys, and a memo
// that knows other things.
func (m *Maker) With(keys *pipeline.Keyring, memo *pipeline.Memo) *Maker {
	other := *m
	other.Keys, other.Memo = keys, memo
	return &other
}

// New makes the plan of a configuration, with the windows of a map.
func (m *Maker) New(c *config.Config, windows *models.Map) *Plan {
	return &Plan{maker: m, config: c, models: windows, built: map[kind]*pipeline.Pipeline{}}
}

// Expand says how requests are prepared for who reads originals back.
func Expand(c *config.Config) rewrite.Expand {
	x := rewrite.Expand{GateTokens: c.Expand.GateTokens}
	switch c.Expand.Resolver {
	case config.ResolverNone:
		x.Resolver = rewrite.ResolverNone
	case config.ResolverLoop:
		x.Resolver = rewrite.ResolverLoop
	case config.ResolverExternal:
	}
	switch c.Expand.Inject {
	case config.InjectAlways:
		x.Inject = rewrite.InjectAlways
	case config.InjectNever:
		x.Inject = rewrite.InjectNever
	case config.InjectAuto:
	}
	return x
}

// settings is the document of a generation.
type settings struct {
	// Key is the id of the service key that mints.
	Key      string          `json:"key"`
	Settings json.RawMessage `json:"settings"`
}

// Generation makes the generation of a configuration, with the windows of a map.
func (m *Maker) Generation(c *config.Config, windows *models.Map) (g generation.Generation[*Plan], err error) {
	s := settings{Key: m.Keys.ID()}
	if s.Settings, err = c.Settings(); err != nil {
		return g, err
	}
	g.Plan, g.Models, g.ModelMap = m.New(c, windows), windows.Digest(), windows.MarshalText
	g.Settings, err = json.Marshal(s)
	return g, err
}

// Rebuild makes the plan of another replica's generation.
func (m *Maker) Rebuild(d generation.Document, modelMap func() ([]byte, error), catalog pipeline.Catalog) (*Plan, error) {
	var s settings
	if err := json.Unmarshal(d.Settings, &s); err != nil {
		return nil, fmt.Errorf("read a generation: %w", err)
	}
	keys, ok := m.Keys.Minting(s.Key)
	if !ok {
		return nil, fmt.Errorf("read a generation: its key %q is none of ours", s.Key)
	}
	c, err := config.FromSettings(s.Settings, catalog)
	if err != nil {
		return nil, err
	}
	text, err := modelMap()
	if err != nil {
		return nil, fmt.Errorf("read a generation's models: %w", err)
	}
	windows, err := models.Parse(string(text))
	if err != nil {
		return nil, err
	}
	if windows.Digest() != d.Models {
		return nil, errors.New("read a generation's models: they are not those it names")
	}
	return m.With(keys, m.Memo).New(c, windows), nil
}

// Expand says how requests of this plan are prepared for who reads originals
// back.
func (p *Plan) Expand() rewrite.Expand { return Expand(p.config) }

// Choose returns the pipeline of a request.
func (p *Plan) Choose(choice rewrite.Choice) *pipeline.Pipeline {
	k := kind{encoding: tokens.EncodingFor(choice.Model)}
	// The names are the client's to choose: only those that are known are kept.
	if _, known := p.config.Line(choice.Preset); known && choice.Preset != p.config.Preset {
		k.preset = choice.Preset
	}
	if model, known := p.models.Find(choice.Model); known && model.Window > 0 {
		k.window = model.Window
	} else if p.maker.Unknown != nil {
		p.maker.Unknown(choice.Model)
	}
	p.mu.RLock()
	found := p.built[k]
	p.mu.RUnlock()
	if found != nil {
		return found
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.built[k] == nil {
		p.built[k] = p.build(k)
	}
	return p.built[k]
}

func (p *Plan) build(k kind) *pipeline.Pipeline {
	line, _ := p.config.Line(k.preset)
	return pipeline.New(pipeline.Settings{
		Steps: line.Steps, Tools: p.config.Tools, Markers: p.maker.Keys, Lossy: p.config.Lossy(), Hints: p.config.Hints(),
		Counter: p.maker.counters[k.encoding], Memo: p.maker.Memo,
		HorizonTokens: p.config.Cache.HorizonTokens.Tokens(k.window), Window: k.window,
	})
}
