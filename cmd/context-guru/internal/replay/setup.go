package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// Choose returns the pipeline of a request.
type Choose func(rewrite.Choice) *pipeline.Pipeline

// Setup is one configuration of the product.
type Setup struct {
	// Name stands in the report, and so do the names of the components.
	Name       string
	Components []string
	// Pipelines makes the pipelines of a service that has just started, with
	// these keys and this memo. They need not be safe for concurrent use.
	Pipelines func(keys *pipeline.Keyring, memo *pipeline.Memo) (Choose, error)
	// Expand says who resolves markers, and which conversations get the tool.
	Expand rewrite.Expand
	// LosslessOnly forbids markers.
	LosslessOnly bool
	// MemoBytes, MaxBody and Limits are those of the service.
	MemoBytes int64
	MaxBody   int
	Limits    wire.Limits
}

// tenant owns the originals of a replay.
const tenant = "replay"

// product is a service for one conversation, as if just started.
type product struct {
	keys     *pipeline.Keyring
	store    store.Store
	choose   Choose
	chosen   *pipeline.Pipeline // by the last request
	rewriter *rewrite.Rewriter
}

// newProduct starts a service. The key is always the same, so that the ids of
// markers are, and with them every figure.
func newProduct(setup *Setup) (*product, error) {
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "replay", Secret: []byte("the same for every replay")})
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	// Nothing must be dropped: a conversation fits, whatever the service's bound.
	memory, err := store.NewMemory(store.MemoryOptions{MaxBytes: 8 << 30, MaxEntries: 1 << 24})
	if err != nil {
		return nil, fmt.Errorf("make a store: %w", err)
	}
	p := &product{keys: keys, store: memory}
	if p.choose, err = setup.Pipelines(keys, pipeline.NewMemo(setup.MemoBytes)); err != nil {
		return nil, err
	}
	p.rewriter = rewrite.New(rewrite.Config{
		Pipeline: func(_ context.Context, choice rewrite.Choice) *pipeline.Pipeline {
			p.chosen = p.choose(choice)
			return p.chosen
		},
		Store: memory, MaxBody: setup.MaxBody, Limits: setup.Limits, Expand: setup.Expand,
	})
	return p, nil
}

func (p *product) close() { _ = p.store.Close() }

// late reports whether a component decides at horizons.
func (p *product) late(component string) bool {
	return p.chosen != nil && slices.ContainsFunc(p.chosen.Steps(), func(s pipeline.Step) bool {
		return s.Name == component && s.When == pipeline.AtHorizon
	})
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
