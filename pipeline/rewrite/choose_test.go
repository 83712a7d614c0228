package rewrite_test

import (
	"context"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// TestChosenExpand checks that a conversation is prepared as it began, and that a
// service which answers no calls is never asked to.
func TestChosenExpand(t *testing.T) {
	t.Parallel()
	const some = `"tools":[{"type":"function","function":{"name":"f"}}],`
	loop, shut := rewrite.Expand{Resolver: rewrite.ResolverLoop}, rewrite.Expand{Resolver: rewrite.ResolverLoop, GateTokens: 1 << 20}
	none := rewrite.Expand{Resolver: rewrite.ResolverNone}
	for _, c := range []struct {
		name        string
		own, chosen rewrite.Expand
		tool        tool.State
		lossless    string
	}{
		{"as it began", shut, loop, tool.Injected, ""},
		{"without the tool", loop, shut, rewrite.ToolGateClosed, rewrite.LosslessGate},
		{"without anybody", loop, none, "", rewrite.LosslessNoResolver},
		{"nobody answers here", none, loop, "", rewrite.LosslessNoResolver},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(config *rewrite.Config) {
				before := config.Pipeline
				config.Expand = c.own
				config.Choose = func(ctx context.Context, choice rewrite.Choice) (*pipeline.Pipeline, rewrite.Expand) {
					return before(ctx, choice), c.chosen
				}
			})
			_, report := r.do(t, rewrite.Request{Body: chat(400, some), Tenant: "t"})
			if report.Tool != c.tool || report.Lossless != c.lossless {
				t.Errorf("tool %q, lossless %q; want %q, %q", report.Tool, report.Lossless, c.tool, c.lossless)
			}
		})
	}
}
