package replay

import (
	"cmp"
	"context"
	"fmt"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// Gate decides which conversations may get markers.
type Gate uint8

// The gates.
const (
	// GateBySize opens for conversations that begin with enough text.
	GateBySize Gate = iota
	// GateOpen opens for every conversation, GateClosed for none.
	GateOpen
	GateClosed
)

// Setup is one configuration of the product.
type Setup struct {
	// Name stands in the report.
	Name string
	// Steps are the components in order.
	Steps []pipeline.Step
	// Lossy permits markers, Hints words behind them.
	Lossy, Hints bool
	// HorizonTokens is the distance of horizons.
	HorizonTokens int
	// Window returns a model's context window, 0 when it is not known. Nil
	// knows none.
	Window func(model string) int
	// Gate and GateTokens say which conversations get markers and the tool that
	// resolves them; GateTokens is the least size of the texts in front of the
	// model's first message.
	Gate       Gate
	GateTokens int
	// ToolTokens is the size of the definition of the tool. It is a part of
	// every request with tools of a conversation that may get markers.
	ToolTokens int
	// MemoBytes, MaxBody and Limits are those of the service.
	MemoBytes int64
	MaxBody   int
	Limits    wire.Limits
}

// tenant owns the originals of a replay.
const tenant = "replay"

// marks reports whether any component could leave a marker: without one there
// is no need for the tool.
func (s *Setup) marks() bool {
	for i := range s.Steps {
		if s.Lossy && s.Steps[i].Kind == pipeline.KindOffload {
			return true
		}
	}
	return false
}

// opens reports whether a conversation that begins with so many tokens may get
// markers.
func (s *Setup) opens(tokens int) bool {
	return s.Gate == GateOpen || s.Gate == GateBySize && tokens >= s.GateTokens
}

// late reports whether a component decides at horizons.
func (s *Setup) late(component string) bool {
	for i := range s.Steps {
		if s.Steps[i].Name == component {
			return s.Steps[i].When == pipeline.AtHorizon
		}
	}
	return false
}

// product is a service for one conversation, as if just started.
type product struct {
	setup    *Setup
	counters *tokens.Counters
	keys     *pipeline.Keyring
	store    store.Store
	memo     *pipeline.Memo
	rewriter *rewrite.Rewriter

	pipelines map[counted]*pipeline.Pipeline
}

// counted is what a pipeline has to know of a model.
type counted struct {
	encoding tokens.Encoding
	window   int
}

// newProduct starts a service. The key is always the same, so that the ids of
// markers are, and with them every figure.
func newProduct(setup *Setup, counters *tokens.Counters) (*product, error) {
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "replay", Secret: []byte("the same for every replay")})
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	// Nothing must be dropped: a conversation fits, whatever the service's bound.
	memory, err := store.NewMemory(store.MemoryOptions{MaxBytes: 8 << 30, MaxEntries: 1 << 24})
	if err != nil {
		return nil, fmt.Errorf("make a store: %w", err)
	}
	p := &product{
		setup: setup, counters: counters, keys: keys, store: memory, memo: pipeline.NewMemo(setup.MemoBytes),
		pipelines: map[counted]*pipeline.Pipeline{},
	}
	p.rewriter = rewrite.New(rewrite.Config{Pipeline: p.pipeline, Store: memory, MaxBody: setup.MaxBody, Limits: setup.Limits})
	return p, nil
}

func (p *product) close() { _ = p.store.Close() }

// pipeline returns the pipeline for a model. Every vocabulary was loaded before.
func (p *product) pipeline(_ context.Context, choice rewrite.Choice) *pipeline.Pipeline {
	key := counted{encoding: tokens.EncodingFor(choice.Model)}
	if p.setup.Window != nil {
		key.window = p.setup.Window(choice.Model)
	}
	if known := p.pipelines[key]; known != nil {
		return known
	}
	counter, err := newCounter(p.counters, key.encoding)
	if err != nil {
		return nil
	}
	made := pipeline.New(pipeline.Settings{
		Steps: p.setup.Steps, Markers: p.keys, Lossy: p.setup.Lossy, Hints: p.setup.Hints, Counter: counter, Memo: p.memo,
		HorizonTokens: p.setup.HorizonTokens, Window: key.window,
	})
	p.pipelines[key] = made
	return made
}

// counter adapts a token counter to the pipeline.
type counter struct{ c *tokens.Counter }

func newCounter(counters *tokens.Counters, encoding tokens.Encoding) (counter, error) {
	c, err := counters.For(encoding)
	return counter{c}, err
}

// Count implements pipeline.Counter.
func (c counter) Count(text string) pipeline.Count {
	n := c.c.Count(text)
	return pipeline.Count{N: n.Tokens, Estimated: n.Estimated}
}

// Encoding implements pipeline.Counter.
func (c counter) Encoding() string { return c.c.Encoding().Name }

// modelOf is the model of a request: that of its body, else that of its path.
func modelOf(t *pipeline.Transcript, c *capture.Conversation) string {
	if t == nil {
		return c.Model
	}
	return cmp.Or(t.Model, c.Model)
}
