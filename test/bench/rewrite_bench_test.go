package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// counting adapts the real token counter.
type counting struct{ c *tokens.Counter }

func (c counting) Count(text string) pipeline.Count {
	n := c.c.Count(text)
	return pipeline.Count{N: n.Tokens, Estimated: n.Estimated}
}

func (c counting) Encoding() string { return c.c.Encoding().Name }

// newRewriter is the whole product in process, with the components of the
// default pipeline or with others.
func newRewriter(b testing.TB, memo *pipeline.Memo, steps ...pipeline.Step) *rewrite.Rewriter {
	b.Helper()
	counter, err := tokens.New().ForModel("gpt-4o")
	if err != nil {
		b.Fatal(err)
	}
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		b.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if steps == nil {
		steps = build(b, "textclean", "format", "toon", "dedup", "searchfold", "smartcrush", "extract", "collapse", "linecap")
	}
	p := pipeline.New(pipeline.Settings{
		Steps: steps, Markers: keys, Lossy: true, Hints: true, Counter: counting{counter}, Memo: memo,
		HorizonTokens: pipeline.DefaultHorizonTokens,
	})
	return rewrite.New(rewrite.Config{Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: memory, MaxBody: maxBody})
}

// build makes components ready to run.
func build(b testing.TB, names ...string) (steps []pipeline.Step) {
	b.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		spec, ok := catalog.Find(name)
		if !ok {
			b.Fatalf("no component %s", name)
		}
		step, err := spec.Build(nil, pipeline.Deps{})
		if err != nil {
			b.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

func BenchmarkRewrite(b *testing.B) {
	for _, s := range sizes() {
		body, err := newWorkload(1).grow(s.bytes)
		if err != nil {
			b.Fatal(err)
		}
		req := rewrite.Request{Dialect: wire.OpenAIChat, Body: body, Tenant: "t"}
		for _, state := range []string{"steady", "first-sight"} {
			b.Run(fmt.Sprintf("%s/%s", s.name, state), func(b *testing.B) {
				memo := pipeline.NewMemo(0)
				r := newRewriter(b, memo)
				r.Rewrite(b.Context(), req).Release()
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if state == "first-sight" {
						memo.Flush()
					}
					r.Rewrite(b.Context(), req).Release()
				}
			})
		}
	}
}
