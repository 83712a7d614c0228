package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// head keeps the first line of an output, squeeze halves its blanks.
type head struct{}

func (head) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	first, rest, more := strings.Cut(s.Text, "\n")
	if !more || len(rest) < 100 {
		return pipeline.Decline("short"), nil
	}
	return pipeline.Offload(pipeline.Loss{Before: first + "\n[rest omitted] "}), nil
}

type squeeze struct{}

func (squeeze) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	return pipeline.Replace(strings.ReplaceAll(s.Text, "  ", " "), pipeline.Equivalence{
		Name: "same words",
		Check: func(before, after string) error {
			if strings.Join(strings.Fields(before), " ") != strings.Join(strings.Fields(after), " ") {
				return errors.New("words differ")
			}
			return nil
		},
	}), nil
}

type letters struct{}

func (letters) Count(text string) pipeline.Count { return pipeline.Count{N: len(text)} }
func (letters) Encoding() string                 { return "letters" }

type rig struct {
	*rewrite.Rewriter
	store store.Store
	keys  *pipeline.Keyring
	// pipeline is set where a test makes a rewriter of its own of it.
	pipeline *pipeline.Pipeline
}

func newRig(t testing.TB, change func(*rewrite.Config)) *rig {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	p := pipeline.New(pipeline.Settings{
		Steps: []pipeline.Step{
			{Meta: pipeline.Meta{Name: "squeeze", Kind: pipeline.KindReformat}, Component: squeeze{}},
			{Meta: pipeline.Meta{Name: "head", Kind: pipeline.KindOffload}, Component: head{}},
		},
		Markers: keys, Lossy: true, Counter: letters{}, Memo: pipeline.NewMemo(0),
	})
	c := rewrite.Config{Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: memory}
	if change != nil {
		change(&c)
	}
	return &rig{Rewriter: rewrite.New(c), store: c.Store, keys: keys}
}

// body is a chat request with one tool output.
func body(output string) []byte {
	return fmt.Appendf(nil, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":%q}]}`, output)
}

func long() string { return "head  of it\n" + strings.Repeat("word  and ", 100) }

func (r *rig) do(t testing.TB, req rewrite.Request) (string, rewrite.Report) {
	t.Helper()
	if req.Dialect == "" {
		req.Dialect = wire.OpenAIChat
	}
	reply := r.Rewrite(t.Context(), req)
	defer reply.Release()
	return string(reply.Body), reply.Report
}

func TestOriginalIsStoredBeforeItsMarkerIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	out, report := r.do(t, rewrite.Request{Body: body(long()), Tenant: "t"})
	if report.Verdict != rewrite.Rewritten || report.Markers != 1 || report.NewAfter >= report.NewBefore {
		t.Fatalf("report %+v", report)
	}
	for id := range r.keys.Markers(out) {
		got, err := r.store.Get(t.Context(), store.Key{Tenant: "t", Space: store.Originals, ID: id})
		if err != nil || string(got) != long() {
			t.Fatalf("original: %q, %v", got, err)
		}
		if _, err := r.store.Get(t.Context(), store.Key{Tenant: "u", Space: store.Originals, ID: id}); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("another tenant: %v, want not found", err)
		}
		return
	}
	t.Fatalf("no marker in %s", out)
}

// TestLosslessOnly checks every reason to send no marker, and that the lossless
// edits are made all the same.
func TestLosslessOnly(t *testing.T) {
	t.Parallel()
	closed := func(c *rewrite.Config) { _ = c.Store.Close() }
	for _, c := range []struct {
		name   string
		change func(*rewrite.Config)
		req    rewrite.Request
		want   string
	}{
		{"no tenant", nil, rewrite.Request{}, rewrite.LosslessNoTenant},
		{"asked", nil, rewrite.Request{Tenant: "t", LosslessOnly: true}, rewrite.LosslessAsked},
		{"store down", closed, rewrite.Request{Tenant: "t"}, rewrite.LosslessStore},
		{"an earlier response", nil, rewrite.Request{Tenant: "t", Dialect: wire.OpenAIResponses, Body: fmt.Appendf(nil,
			`{"model":"m","previous_response_id":"r","input":[{"type":"function_call_output","call_id":"c","output":%q}]}`, long())}, rewrite.LosslessServerHeld},
		{"a thread", nil, rewrite.Request{Tenant: "t", Dialect: wire.AnthropicMessages, Body: fmt.Appendf(nil,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":%q}]}],"thread":{"type":"continue","previous_message_id":"m"}}`, long())}, rewrite.LosslessServerHeld},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.change)
			if c.req.Body == nil {
				c.req.Body = body(long())
			}
			out, report := r.do(t, c.req)
			if report.Lossless != c.want || report.Markers != 0 || report.Verdict != rewrite.Rewritten {
				t.Fatalf("report %+v", report)
			}
			if strings.Contains(out, "<<cg:") || strings.Contains(out, "  ") {
				t.Fatalf("body %s", out)
			}
			// What was not sent saved nothing.
			stats := rewrite.NewStats()
			stats.Add(&report)
			for _, c := range stats.Snapshot().Components {
				if want := c.Component == "squeeze"; (c.Acts == 1) != want || (c.Tokens.Before > c.Tokens.After) != want {
					t.Errorf("counted %+v", c)
				}
			}
		})
	}
}

// TestModelOfThePath checks that a model is looked for in the body first.
func TestModelOfThePath(t *testing.T) {
	t.Parallel()
	nameless := bytes.Replace(body("short"), []byte(`"model":"m",`), nil, 1)
	for _, c := range []struct {
		name, path, want string
		body             []byte
	}{
		{"both", "p", "m", body("short")},
		{"body", "", "m", body("short")},
		{"path", "p", "p", nameless},
		{"neither", "", "", nameless},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			r := newRig(t, func(config *rewrite.Config) {
				before := config.Pipeline
				config.Pipeline = func(ctx context.Context, choice rewrite.Choice) *pipeline.Pipeline {
					asked = append(asked, choice.Model)
					return before(ctx, choice)
				}
			})
			_, report := r.do(t, rewrite.Request{Body: c.body, Model: c.path, Tenant: "t"})
			if report.Model != c.want || len(asked) != 1 || asked[0] != c.want {
				t.Errorf("report says %q, a pipeline was asked for %q, want %q", report.Model, asked, c.want)
			}
		})
	}
}

// TestConflict checks that a text whose id is taken by another text keeps its
// own bytes, while the rest of the request is rewritten.
func TestConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	key := store.Key{Tenant: "t", Space: store.Originals, ID: r.keys.Mint(long())}
	if err := r.store.PutAll(t.Context(), []store.Item{{Key: key, Value: []byte("another text")}}); err != nil {
		t.Fatal(err)
	}
	out, report := r.do(t, rewrite.Request{Body: body(long()), Tenant: "t"})
	if strings.Contains(out, "<<cg:") || report.Markers != 0 || report.Conflicts != 1 {
		t.Fatalf("a marker names another text: %s", out)
	}
}

func TestPassThrough(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, want string
		ctx        context.Context
		change     func(*rewrite.Config)
		body       []byte
	}{
		{name: "not json", want: "not_json", body: []byte("{")},
		{name: "cancelled", want: rewrite.ReasonCancelled, ctx: cancelled, body: body(long())},
		{name: "over limit", want: rewrite.ReasonOverLimit, change: func(c *rewrite.Config) { c.MaxBody = 10 }, body: body(long())},
		{name: "panic", want: rewrite.ReasonPanic, change: func(c *rewrite.Config) { c.Pipeline = nil }, body: body(long())},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			reply := newRig(t, c.change).Rewrite(ctx, rewrite.Request{Dialect: wire.OpenAIChat, Body: c.body, Tenant: "t"})
			defer reply.Release()
			if reply.Body != nil || reply.Report.Verdict != rewrite.PassThrough || reply.Report.Reason != c.want {
				t.Fatalf("body %q, report %+v", reply.Body, reply.Report)
			}
		})
	}
}

// TestSteadyStateAllocations checks that an agent's history costs nothing to
// resend: what is allocated does not grow with the outputs left alone.
func TestSteadyStateAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector makes pools forget at random")
	}
	r := newRig(t, nil)
	measure := func(outputs int) float64 {
		var b strings.Builder
		b.WriteString(`{"messages":[`)
		for i := range outputs {
			fmt.Fprintf(&b, `{"role":"tool","tool_call_id":"x","content":"short %d"},`, i)
		}
		b.WriteString(`{"role":"assistant","content":"ok"},{"role":"user","content":"go on"}]}`)
		req := rewrite.Request{Dialect: wire.OpenAIChat, Body: []byte(b.String()), Tenant: "t"}
		run := func() { r.Rewrite(t.Context(), req).Release() }
		run()
		return testing.AllocsPerRun(50, run)
	}
	few, many := measure(10), measure(1000)
	if many > few+1 {
		t.Errorf("%v allocations with 10 outputs, %v with 1000", few, many)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	r, stats := newRig(t, nil), rewrite.NewStats()
	for range 2 {
		_, report := r.do(t, rewrite.Request{Body: body(long()), Tenant: "t"})
		stats.Add(&report)
	}
	_, report := r.do(t, rewrite.Request{Body: []byte("{"), Tenant: "t"})
	stats.Add(&report)
	_, report = r.do(t, rewrite.Request{Body: body("short"), Tenant: "t"})
	stats.Add(&report)
	s := stats.Snapshot()
	if s.Totals.Requests != 4 || s.Totals.Verdicts[rewrite.Rewritten] != 2 || s.Totals.Reasons["not_json"] != 1 || s.Totals.MemoMisses != 2 {
		t.Errorf("totals %+v", s.Totals)
	}
	if len(s.Components) != 2 || s.Components[0].Acts != 1 /* sent twice, new once */ || s.Components[0].Refusals["short"] != 1 || s.TopPassthrough[0].Passthrough != 1 {
		t.Errorf("components %+v", s.Components)
	}
}
