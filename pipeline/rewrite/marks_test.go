package rewrite_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/cacheinject"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest/requesttest"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// marking adds the component that marks requests to a rig.
func marking(t testing.TB, most int) (*rig, *pipeline.Memo) {
	t.Helper()
	memo := pipeline.NewMemo(0)
	r := newRig(t, nil)
	p := pipeline.New(pipeline.Settings{
		Steps: []pipeline.Step{
			{Meta: pipeline.Meta{Name: "head", Kind: pipeline.KindOffload}, Component: head{}},
			requesttest.Build(t, cacheinject.Spec(), "{}"),
		},
		Markers: r.keys, Lossy: true, Counter: letters{}, Memo: memo,
	})
	r.pipeline = p
	r.Rewriter = rewrite.New(rewrite.Config{
		Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: r.store, MaxBody: most,
	})
	return r, memo
}

// blocks is an Anthropic request with a number of outputs.
func blocks(outputs int) []byte {
	var b strings.Builder
	b.WriteString(`{"anthropic_version":"x","model":"m","tools":[{"name":"f"}],"messages":[{"role":"user","content":"Go."}`)
	text := strings.ReplaceAll(long(), "\n", `\n`)
	for range outputs {
		b.WriteString(`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"` + text + `"}]}`)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// Marks and edits of the outputs they stand behind go out together, the edits
// first where the body has no room for both.
func TestMarksBesideEdits(t *testing.T) {
	t.Parallel()
	body := blocks(5)
	for name, c := range map[string]struct{ most, marks int }{"room": {0, 4}, "no room": {len(body) + 20, 0}} {
		r, _ := marking(t, c.most)
		out, report := r.do(t, rewrite.Request{Dialect: wire.AnthropicMessages, Body: body, Tenant: "t"})
		if report.Verdict != rewrite.Rewritten || report.Markers != 5 || report.Marks != c.marks || requesttest.Count([]byte(out)) != c.marks {
			t.Errorf("%s: %+v: %s", name, report, out)
		}
		if report.BytesAfter != len(out) || len(report.Acts) != 1 {
			t.Errorf("%s: report %+v for %d bytes", name, report, len(out))
		}
		stats := rewrite.NewStats()
		stats.Add(&report)
		if s := stats.Snapshot(); len(s.Components) == 0 || s.Components[0].Component != "cacheinject" || s.Components[0].Acts != 1 {
			t.Errorf("%s: stats %+v", name, s.Components)
		}
	}
}

// The expand tool goes behind the mark on the client's last tool.
func TestMarksBesideTheTool(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(long(), "\n", `\n`)
	for _, c := range []struct {
		dialect wire.Dialect
		body    string
		head    string
	}{
		{wire.AnthropicMessages, string(blocks(3)), `{"name":"f","cache_control":{"type":"ephemeral"}},{"name":"context_guru_expand"`},
		{
			wire.BedrockConverse, `{"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]},"messages":[{"role":"user","content":[{"text":"Go."}]},` +
				`{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"` + text + `"}]}}]}]}`,
			`{"toolSpec":{"name":"f"}},{"cachePoint":{"type":"default"}},{"toolSpec":{"name":"context_guru_expand"`,
		},
	} {
		r, _ := marking(t, 0)
		loop := rewrite.New(rewrite.Config{
			Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return r.pipeline }, Store: r.store,
			Expand: rewrite.Expand{Resolver: rewrite.ResolverLoop, Inject: rewrite.InjectAlways},
		})
		request := rewrite.Request{Dialect: c.dialect, Model: "anthropic.claude-sonnet-4-5", Body: []byte(c.body), Tenant: "t"}
		reply := loop.Rewrite(t.Context(), request)
		out := string(reply.Body)
		if reply.Report.Marks < 2 || reply.Report.Markers == 0 || !json.Valid(reply.Body) || !strings.Contains(out, c.head) {
			t.Errorf("%s: %+v: %s", c.dialect, reply.Report, out)
		}
		reply.Release()
		request.Body = []byte(out)
		again := loop.Rewrite(t.Context(), request)
		if again.Body != nil {
			t.Errorf("%s: rewritten again: %s", c.dialect, again.Body)
		}
		again.Release()
	}
}

func TestModelsThatTakeMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect wire.Dialect
		model   string
		want    bool
	}{
		{wire.AnthropicMessages, "claude-sonnet-4-5", true},
		{wire.AnthropicMessages, "kimi-k2", true},
		{wire.AnthropicPlatform, "claude-sonnet-4-5@20250929", true},
		{wire.AnthropicPlatform, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true},
		{wire.AnthropicPlatform, "anthropic.claude-3-5-sonnet-20241022-v2:0", true},
		{wire.AnthropicPlatform, "anthropic.claude-3-5-sonnet-20240620-v1:0", false},
		{wire.AnthropicPlatform, "anthropic.claude-3-haiku-20240307-v1:0", false},
		{wire.AnthropicPlatform, "anthropic.claude-v2:1", false},
		{wire.AnthropicPlatform, "a1b2c3d4", false},
		{wire.BedrockConverse, "eu.anthropic.claude-haiku-4-5-20251001-v1:0", true},
		{wire.BedrockConverse, "meta.llama3-70b-instruct-v1:0", false},
		{wire.BedrockConverse, "", false},
		{wire.OpenAIChat, "claude-sonnet-4-5", false},
		{wire.Gemini, "claude-sonnet-4-5", false},
	} {
		if got := wire.TakesMarks(c.dialect, c.model); got != c.want {
			t.Errorf("%s %s: %v", c.dialect, c.model, got)
		}
		if c.dialect != wire.AnthropicPlatform {
			continue
		}
		r, _ := marking(t, 0)
		body := []byte(strings.Replace(string(blocks(1)), `"model":"m",`, "", 1))
		if _, report := r.do(t, rewrite.Request{Dialect: c.dialect, Model: c.model, Body: body, Tenant: "t"}); report.Marks > 0 != c.want {
			t.Errorf("%s %s: %d marks", c.dialect, c.model, report.Marks)
		}
	}
}

// TestMarksAllocate checks that what marking allocates does not grow with the
// conversation, and is nothing where the pipeline does not mark.
func TestMarksAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector makes pools forget at random")
	}
	marks, _ := marking(t, 0)
	plain := newRig(t, nil)
	measure := func(r *rig, outputs int) float64 {
		req := rewrite.Request{Dialect: wire.AnthropicMessages, Body: []byte(strings.ReplaceAll(string(blocks(outputs)), "word  and ", "")), Tenant: "t"}
		run := func() { r.Rewrite(t.Context(), req).Release() }
		run()
		return testing.AllocsPerRun(50, run)
	}
	few, many := measure(marks, 10), measure(marks, 1000)
	without := measure(plain, 1000)
	t.Logf("%v without marks, %v and %v with", without, few, many)
	if many > few+1 || many > without+10 {
		t.Errorf("%v allocations without marks, %v with them and 10 outputs, %v with 1000", without, few, many)
	}
}
