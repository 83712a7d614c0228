package live_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/live"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// words counts words.
type words struct{}

func (words) Count(text string) pipeline.Count { return pipeline.Count{N: len(strings.Fields(text))} }
func (words) Encoding() string                 { return "words" }

// head keeps the first words.
type head struct{}

func (head) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	list := strings.Fields(s.Text)
	if len(list) < 50 {
		return pipeline.Decline("short"), nil
	}
	return pipeline.Offload(pipeline.Loss{Before: strings.Join(list[:10], " ") + " "}), nil
}

func steps() []pipeline.Step {
	return []pipeline.Step{{Meta: pipeline.Meta{Name: "head", Kind: pipeline.KindOffload}, Component: head{}}}
}

func price(wire.Dialect, string) bill.Price {
	return bill.Price{Name: "p", Input: 1e-6, Read: 0.1, Write: 1.25}
}

// rig is a service that observes.
type rig struct {
	rewriter *rewrite.Rewriter
	meter    *live.Meter
	now      time.Time
}

func newRig(t *testing.T, counter pipeline.Counter, o live.Options) *rig {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("the same for every replay")})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	p := pipeline.New(pipeline.Settings{Steps: steps(), Markers: keys, Lossy: true, Counter: counter, Memo: pipeline.NewMemo(0), HorizonTokens: 1000})
	r := &rig{now: time.Unix(0, 0)}
	r.rewriter = rewrite.New(rewrite.Config{Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: memory})
	o.Counter = func(string) (pipeline.Counter, error) { return counter, nil }
	o.Price, o.Now = price, func() time.Time { return r.now }
	r.meter = live.New(o)
	return r
}

func (r *rig) observe(t *testing.T, tenant string, body []byte) live.Potential {
	t.Helper()
	reply := r.rewriter.Rewrite(t.Context(), rewrite.Request{Dialect: wire.OpenAIChat, Body: body, Tenant: "replay", Explain: true})
	defer reply.Release()
	p, err := r.meter.Measure(live.Exchange{Tenant: tenant, Dialect: wire.OpenAIChat, Client: body, Rewritten: reply.Body, Report: &reply.Report})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// body is a conversation of turns with an output of 201 words each.
func body(name string, turns int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":"m","messages":[{"role":"system","content":"%s"},{"role":"user","content":"go %s"}`, strings.Repeat("word ", 2000), name)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":"%[2]sat main_%[1]d.go"}`, i, strings.Repeat("line ", 199))
	}
	b.WriteString("]}")
	return b.Bytes()
}

// TestMeter follows two callers with the same conversation, mixed.
func TestMeter(t *testing.T) {
	t.Parallel()
	r := newRig(t, words{}, live.Options{PerOutput: 10})
	for i := range 3 {
		for _, tenant := range []string{"a", "b"} {
			p := r.observe(t, tenant, body("x", i))
			// A turn has the words f, {}, and 201 of its output, which become
			// 10 and a marker.
			const prompt, client, ours = 2002, 203, 13
			want := bill.Amount{Before: prompt * 1.25, After: prompt * 1.25}
			if i > 0 {
				want = bill.Amount{
					Before: float64(prompt+client*(i-1))*0.1 + client*1.25,
					After:  float64(prompt+ours*(i-1))*0.1 + ours*1.25,
				}
			}
			want.USDBefore, want.USDAfter = want.Before*1e-6, want.After*1e-6
			if diff := cmp.Diff(want, p.Bill, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("request %d of %s: %s", i+1, tenant, diff)
			}
			if p.RequestTokens != (report.Pair{Before: prompt + i*client, After: prompt + i*ours}) || p.Breaks != (report.Breaks{}) {
				t.Errorf("request %d of %s: %+v", i+1, tenant, p.Figures)
			}
			if seen := p.Facts.Total; tenant == "a" && seen != min(i, 1) || p.Facts.BehindMarker != seen || p.Facts.Lost != 0 {
				t.Errorf("request %d of %s: facts %+v", i+1, tenant, p.Facts)
			}
		}
	}
	total := r.meter.Total()
	if total.Requests != 6 || total.OutputsUnique != (report.Pair{Before: 402, After: 22}) || total.Component("head").Edits != 2 {
		t.Errorf("total %+v, head %+v", total.Figures, total.Component("head"))
	}
	r.now = r.now.Add(live.DefaultLifetime + time.Second)
	if p := r.observe(t, "a", body("x", 3)); p.Bill.Before < 2500*1.25 {
		t.Errorf("the provider has forgotten it, but the bill is %+v", p.Bill)
	}
}

// TestBreaks checks what is planned and what is not.
func TestBreaks(t *testing.T) {
	t.Parallel()
	for _, planned := range []bool{true, false} {
		r := newRig(t, words{}, live.Options{})
		one := live.Exchange{Dialect: wire.OpenAIChat, Client: body("x", 1), Report: &rewrite.Report{Model: "m"}}
		two := live.Exchange{
			Dialect: wire.OpenAIChat, Client: body("x", 2), Rewritten: bytes.Replace(body("x", 2), []byte("line "), []byte("row "), 1),
			Report: &rewrite.Report{Model: "m", PlannedBreak: planned},
		}
		if p, err := r.meter.Measure(one); err != nil || p.Breaks != (report.Breaks{}) {
			t.Errorf("breaks %+v, %v", p.Breaks, err)
		}
		want := report.Breaks{Unplanned: 1}
		if planned {
			want = report.Breaks{Planned: 1}
		}
		if p, err := r.meter.Measure(two); err != nil || p.Breaks != want {
			t.Errorf("breaks %+v, %v, want %+v", p.Breaks, err, want)
		}
	}
}

// TestTool checks that the definition of the tool is told apart in the bill.
func TestTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, words{}, live.Options{})
	client := []byte(`{"tools":[{"name":"f"}],` + string(body("x", 0)[1:]))
	x := live.Exchange{
		Dialect: wire.OpenAIChat, Client: client, Rewritten: bytes.Replace(client, []byte(`"f"}`), []byte(`"f"}, {"name": "g"}`), 1),
		Report: &rewrite.Report{Model: "m", ToolTokens: 2},
	}
	p, err := r.meter.Measure(x)
	if want := 2 * 1.25; err != nil || p.Bill.Tool != want || p.Bill.After-p.Bill.Before != want || !p.Bill.Dearer() || p.Bill.BeyondTool() {
		t.Errorf("%+v, %v", p.Bill, err)
	}
}

// TestUnreadable checks that what cannot be measured counts for nothing.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	r := newRig(t, words{}, live.Options{})
	for _, x := range []live.Exchange{
		{Client: []byte(`{"messages":[`)},
		{Client: []byte(`{"messages":[]}`), Rewritten: []byte(`{}`)},
		{Client: []byte(`null`)},
	} {
		x.Dialect, x.Report = wire.OpenAIChat, &rewrite.Report{}
		if _, err := r.meter.Measure(x); err == nil {
			t.Errorf("%s was measured", x.Client)
		}
	}
	if total := r.meter.Total(); total.Requests != 0 {
		t.Errorf("total %+v", total)
	}
}

// TestAgreesWithReplay checks that both say the same of the same conversation.
func TestAgreesWithReplay(t *testing.T) {
	t.Parallel()
	counters := tokens.New()
	c, err := counters.For(tokens.Encoding{Name: tokens.O200kBase})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, real{c}, live.Options{PerOutput: 10})
	var bodies [][]byte
	for i := range 5 {
		bodies = append(bodies, body("x", i))
		r.observe(t, "", bodies[i])
	}
	setup := replay.Setup{Name: "test", Pipelines: func(keys *pipeline.Keyring, memo *pipeline.Memo) (replay.Choose, error) {
		p := pipeline.New(pipeline.Settings{Steps: steps(), Markers: keys, Lossy: true, Counter: real{c}, Memo: memo, HorizonTokens: 1000})
		return func(rewrite.Choice) *pipeline.Pipeline { return p }, nil
	}}
	options := replay.Options{Counters: counters, PerOutput: 10, Prices: func(d wire.Dialect, m string) []bill.Price { return []bill.Price{price(d, m)} }}
	replayed, err := replay.Run(t.Context(), options, setup, []*capture.Conversation{capture.New("s", "c", wire.OpenAIChat, bodies...)})
	if err != nil {
		t.Fatal(err)
	}
	got, want := r.meter.Total(), replayed.Total
	if got.RequestTokens != want.RequestTokens || got.OutputsSent != want.OutputsSent || got.OutputsUnique != want.OutputsUnique || got.Facts != want.Facts || want.Facts.Total == 0 {
		t.Errorf("live %+v, replayed %+v", got.Figures, want.Figures)
	}
	if diff := cmp.Diff(want.Bills[0].After, got.Bill.After, cmpopts.EquateApprox(0, 0.1)); diff != "" {
		t.Error(diff)
	}
}

// real counts tokens.
type real struct{ c *tokens.Counter }

func (r real) Count(text string) pipeline.Count {
	n := r.c.Count(text)
	return pipeline.Count{N: n.Tokens, Estimated: n.Estimated}
}
func (r real) Encoding() string { return r.c.Encoding().Name }

// TestMeterInParallel lets the race detector look.
func TestMeterInParallel(t *testing.T) {
	t.Parallel()
	r := newRig(t, words{}, live.Options{PerOutput: 10})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 4 {
				r.observe(t, "", body(strconv.Itoa(i), n))
				r.meter.Total()
			}
		})
	}
	group.Wait()
	if total := r.meter.Total(); total.Requests != 16 || total.Breaks != (report.Breaks{}) {
		t.Errorf("total %+v", total.Figures)
	}
}
