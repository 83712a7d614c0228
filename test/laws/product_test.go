package laws_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest/requesttest"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// The memos of a replica.
const (
	usualMemo = 0       // the default size
	tinyMemo  = 1 << 14 // holds a dozen outcomes, and none of more than 2 KB
)

// subject is what the laws judge: the product, or a broken one.
type subject struct {
	// start brings a replica up; all replicas share keys and store.
	start func(memo int64) *replica
	// original reads what a tenant may read behind an id.
	original func(tenant, id string) (string, error)
	// count counts tokens as a model's encoding does.
	count func(model, text string) int
	parts
	// claims are those of its components.
	claims []claim
	// rekeyed brings up a replica of another installation: with another service
	// key and a store of its own.
	rekeyed func() *replica
	close   func() error
}

// replica is one process of the service.
type replica struct {
	rewrite func(r request) ([]byte, *rewrite.Report)
	// forget flushes the memo.
	forget func()
}

// request is one request of a client.
type request struct {
	dialect wire.Dialect
	body    []byte
	tenant  string
}

// shared loads the vocabularies once for all tests.
var shared = sync.OnceValues(func() (map[tokens.Encoding]*tokens.Counter, error) {
	counters, made := tokens.New(), map[tokens.Encoding]*tokens.Counter{}
	for _, e := range encodings() {
		c, err := counters.For(e)
		if err != nil {
			return nil, err
		}
		made[e] = c
	}
	return made, nil
})

func encodings() []tokens.Encoding {
	return []tokens.Encoding{{Name: tokens.O200kBase}, {Name: tokens.O200kBase, Approximate: true}, {Name: tokens.CL100kBase}}
}

// counting gives the pipeline the token counter.
type counting struct{ *tokens.Counter }

func (c counting) Count(text string) pipeline.Count {
	n := c.Counter.Count(text)
	return pipeline.Count{N: n.Tokens, Estimated: n.Estimated}
}

func (c counting) Encoding() string { return fmt.Sprint(c.Counter.Encoding()) }

// parts is what a subject is put together from.
type parts struct {
	steps []pipeline.Step
	// lossless leaves no marker: nobody could resolve it.
	lossless bool
	// messages says that components count messages, of which dialects need
	// different numbers for the same results.
	messages bool
	// horizon is the distance of horizons in tokens; 0 is the product's default.
	horizon int
	// tools are the rules for outputs by the names of tools.
	tools pipeline.ToolRules
	// bare leaves the hints out.
	bare bool
	// bend, if set, changes what a replica would have sent. It is made anew for
	// every replica and may remember things.
	bend func() func(r request, sent []byte) []byte
	// read, if set, changes what the store gives back.
	read func(text string) string
	// open lets every tenant read what any of them stored.
	open bool
	// limits are the parser's.
	limits wire.Limits
}

func (p *parts) distance() int { return cmp.Or(p.horizon, pipeline.DefaultHorizonTokens) }

// late reports whether a component of this name decides at horizons.
func (p *parts) late(name string) bool {
	return slices.ContainsFunc(p.steps, func(s pipeline.Step) bool { return s.Name == name && s.When == pipeline.AtHorizon })
}

func newSubject(tb testing.TB, p parts) *subject {
	tb.Helper()
	counters, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	other, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.WithoutCancel(tb.Context()) // replicas outlive the set-up
	start := func(secret string, kept store.Store, size int64) *replica {
		keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k1", Secret: []byte(secret)})
		if err != nil {
			panic(err)
		}
		memo := pipeline.NewMemo(size)
		pipelines := map[tokens.Encoding]*pipeline.Pipeline{}
		for e, c := range counters {
			pipelines[e] = pipeline.New(pipeline.Settings{
				Steps: p.steps, Markers: keys, Lossy: !p.lossless, Hints: !p.bare, Counter: counting{c}, Memo: memo,
				HorizonTokens: p.distance(), Tools: p.tools,
			})
		}
		rewriter := rewrite.New(rewrite.Config{
			Pipeline: func(_ context.Context, choice rewrite.Choice) *pipeline.Pipeline {
				return pipelines[tokens.EncodingFor(choice.Model)]
			},
			Store:  kept,
			Limits: p.limits,
		})
		return &replica{rewrite: rewriting(ctx, rewriter, p.bend), forget: memo.Flush}
	}
	var made []claim
	for _, step := range p.steps {
		if j, _ := find(step.Name); j.same != nil {
			made = append(made, j.same)
		}
	}
	return &subject{
		start:   func(size int64) *replica { return start("a service key for the laws", memory, size) },
		rekeyed: func() *replica { return start("another service key", other, usualMemo) },
		parts:   p,
		claims:  made,
		original: func(who, id string) (string, error) {
			if p.open {
				who = tenant
			}
			value, err := memory.Get(ctx, store.Key{Tenant: who, Space: store.Originals, ID: id})
			if p.read != nil {
				return p.read(string(value)), err
			}
			return string(value), err
		},
		count: func(model, text string) int { return counters[tokens.EncodingFor(model)].Count(text).Tokens },
		close: func() error { return errors.Join(memory.Close(), other.Close()) },
	}
}

func rewriting(ctx context.Context, r *rewrite.Rewriter, bend func() func(request, []byte) []byte) func(request) ([]byte, *rewrite.Report) {
	bent := func(_ request, sent []byte) []byte { return sent }
	if bend != nil {
		bent = bend()
	}
	return func(q request) ([]byte, *rewrite.Report) {
		reply := r.Rewrite(ctx, rewrite.Request{Dialect: q.dialect, Body: q.body, Tenant: q.tenant, Explain: true})
		defer reply.Release()
		sent := q.body
		if reply.Body != nil {
			sent = unmarked(q.body, bytes.Clone(reply.Body), &reply.Report)
		}
		return bent(q, sent), &reply.Report
	}
}

// unmarked takes the cache marks that were added out of what is sent, and out of
// the report: the laws hold marks aside. Marks that are not reported, or more than
// a request may carry, stay, and break the laws.
func unmarked(client, sent []byte, r *rewrite.Report) []byte {
	if r.Marks == 0 || requesttest.Count(sent) != r.Marks || r.Marks > 4 || requesttest.Count(client) > 0 {
		return sent
	}
	plain := requesttest.Unmark(sent)
	r.BytesAfter -= len(sent) - len(plain)
	if bytes.Equal(plain, client) {
		r.Verdict = rewrite.Unchanged
	}
	return plain
}

// steps builds the components there are, in the order of the laws. settings
// gives some of them other settings than their defaults, as JSON.
func steps(tb testing.TB, settings map[string]string) []pipeline.Step {
	tb.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		tb.Fatal(err)
	}
	var made []pipeline.Step
	for _, j := range judgedComponents() {
		name := j.name
		spec, ok := catalog.Find(name)
		if !ok {
			continue
		}
		var decode func(any) error
		if s := settings[name]; s != "" {
			decode = func(into any) error { return json.Unmarshal([]byte(s), into) }
		}
		step, err := spec.Build(decode, pipeline.Deps{})
		if err != nil {
			tb.Fatalf("build %s: %v", name, err)
		}
		made = append(made, step)
	}
	if len(made) == 0 {
		tb.Fatal("no component")
	}
	return made
}

// eager are settings under which the components look at everything, so that
// small conversations have many edits.
func eager() map[string]string {
	return map[string]string{
		"format":     `{"min_tokens": 0}`,
		"toon":       `{"min_tokens": 0}`,
		"dedup":      `{"min_tokens": 0}`,
		"smartcrush": `{"min_tokens": 0, "keep_first": 1, "keep_last": 1, "min_items": 3}`,
		"mask":       `{"min_tokens": 0, "keep_recent": 1, "keep_errors": true, "keep_names": 20}`,
		"extract":    `{"min_tokens": 0}`,
		"collapse":   `{"max_tokens": 60, "head_lines": 3, "tail_lines": 2, "keep_names": 20}`,
	}
}

// gated are settings under which a component waits for the request to have
// grown, and then works on what is new only.
func gated() map[string]string {
	return map[string]string{
		"dedup":    `{"min_tokens": 0}`,
		"extract":  `{"min_tokens": 0, "trigger": {"min_messages": 8}}`,
		"collapse": `{"max_tokens": 60, "head_lines": 3, "tail_lines": 2}`,
	}
}
