package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// TestEngineExpands checks that what is configured about originals reaches the
// rewriter.
func TestEngineExpands(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 400)
	for _, tc := range []struct {
		resolver config.Resolver
		inject   config.Inject
		gate     int
		want     tool.State
	}{
		{config.ResolverLoop, config.InjectAuto, 100, tool.NoTools},
		{config.ResolverLoop, config.InjectAuto, 101, rewrite.ToolGateClosed},
		{config.ResolverLoop, config.InjectAlways, 101, tool.Injected},
		{config.ResolverLoop, config.InjectNever, 0, rewrite.ToolNever},
		{config.ResolverExternal, config.InjectAlways, 0, ""},
		{config.ResolverNone, config.InjectAlways, 0, ""},
	} {
		c, err := loadConfig("")
		if err != nil {
			t.Fatal(err)
		}
		c.Expand.Resolver, c.Expand.Inject, c.Expand.GateTokens = tc.resolver, tc.inject, tc.gate
		e, err := newEngine(c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.rewriteAlone(c); err != nil {
			t.Fatal(err)
		}
		reply := e.rewriter.Rewrite(t.Context(), rewrite.Request{
			Dialect: wire.OpenAIChat, Tenant: "t", Body: []byte(`{"messages":[{"role":"user","content":"` + long + `"}]}`),
		})
		if got := reply.Report.Tool; got != tc.want {
			t.Errorf("resolver %s, inject %s, gate %d: %q, want %q", tc.resolver, tc.inject, tc.gate, got, tc.want)
		}
		reply.Release()
		_ = e.store.Close()
	}
}
