package main

import (
	"context"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// BenchmarkResolver compares what it costs to prepare a request, history
// remembered, for somebody outside who reads originals back and for the service
// itself: the difference is the gate, the tool and the note of where originals
// stand. The conversation has a system prompt of 20 KB and
// 24 tools of 3 KB more than others.
func BenchmarkResolver(b *testing.B) {
	body, err := newWorkload(1).grow(1 << 20)
	if err != nil {
		b.Fatal(err)
	}
	declared := `{"type":"function","function":{"name":"f","description":"` + strings.Repeat("what it does ", 230) + `","parameters":{}}}`
	body = []byte(strings.Replace(string(body), `"tools":[`, `"tools":[`+strings.Repeat(declared+",", 24), 1))
	body = []byte(strings.Replace(string(body), `"messages":[`, `"messages":[{"role":"system","content":"`+strings.Repeat(`you are \"it\" `, 1500)+`"},`, 1))
	counter, err := tokens.New().ForModel("gpt-4o")
	if err != nil {
		b.Fatal(err)
	}
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		b.Fatal(err)
	}
	for name, resolver := range map[string]rewrite.Resolver{"external": rewrite.ResolverExternal, "loop": rewrite.ResolverLoop} {
		b.Run(name, func(b *testing.B) {
			memory, err := store.NewMemory(store.MemoryOptions{})
			if err != nil {
				b.Fatal(err)
			}
			p := pipeline.New(pipeline.Settings{
				Steps: build(b, "format", "dedup", "extract", "collapse"), Markers: keys, Lossy: true,
				Counter: counting{counter}, Memo: pipeline.NewMemo(0), HorizonTokens: pipeline.DefaultHorizonTokens,
			})
			r := rewrite.New(rewrite.Config{
				Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: memory,
				Expand: rewrite.Expand{Resolver: resolver, GateTokens: rewrite.DefaultGateTokens},
			})
			req := rewrite.Request{Dialect: wire.OpenAIChat, Body: body, Tenant: "t"}
			reply := r.Rewrite(b.Context(), req)
			b.Logf("%d outputs, %d markers, tool %q", reply.Report.Segments, reply.Report.Markers, reply.Report.Tool)
			reply.Release()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				r.Rewrite(b.Context(), req).Release()
			}
		})
	}
}
