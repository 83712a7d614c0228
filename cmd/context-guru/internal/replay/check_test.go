package replay

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// fickle decides in another way each time it is asked, which no component may.
type fickle struct{ asked *atomic.Int64 }

func (f fickle) Rewrite(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
	return pipeline.Offload(pipeline.Loss{Before: fmt.Sprintf("sight %d ", f.asked.Add(1))}), nil
}

func fickleStep(when pipeline.When) pipeline.Step {
	return pipeline.Step{Meta: pipeline.Meta{Name: "fickle", Kind: pipeline.KindOffload, When: when}, Component: fickle{new(atomic.Int64)}}
}

// TestUnplannedBreaks checks that a pipeline whose decisions do not last is found
// out: by the next request where it forgets at once, and by a restart where it
// does not.
func TestUnplannedBreaks(t *testing.T) {
	for memo, least := range map[int64]int{1: 15, 1 << 20: 3} {
		broken := setup(400, fickleStep(pipeline.FirstSight))
		broken.MemoBytes = memo
		r := replay(t, testOptions(), broken)
		if b := r.Total.Breaks; b.Unplanned < least || b.Planned != 0 || r.Sound() || len(r.Total.Failures) == 0 {
			t.Errorf("a memo of %d bytes: breaks %+v, failures %q", memo, b, r.Total.Failures)
		}
	}
}

// TestBreaksAtHorizonsOnly checks that a component which decides late is no
// excuse between two horizons.
func TestBreaksAtHorizonsOnly(t *testing.T) {
	broken := setup(400, fickleStep(pipeline.AtHorizon))
	broken.MemoBytes = 1
	if b := replay(t, testOptions(), broken).Total.Breaks; b.Planned == 0 || b.Unplanned == 0 {
		t.Errorf("breaks %+v", b)
	}
}

// TestPlanned checks what a horizon explains: outputs that were sent before and
// that a component changed which decides there, and no other.
func TestPlanned(t *testing.T) {
	t.Parallel()
	const body = `{"messages":[{"role":"user","content":"q"},` +
		`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"first"},` +
		`{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"second"}]}`
	output := func(text, component string) rewrite.Explanation {
		return rewrite.Explanation{Text: text, Outcome: &pipeline.Outcome{Acts: []pipeline.Act{{Component: component, Acted: true}}}}
	}
	both := func(first, second rewrite.Explanation) []rewrite.Explanation {
		return []rewrite.Explanation{first, second}
	}
	early, late := output("x", "squeeze"), output("y", "hide")
	other := output("z", "squeeze")
	for name, c := range map[string]struct {
		was, now    []rewrite.Explanation
		from, until int // the horizons
		want        bool
	}{
		"decided at the horizon":             {both(early, early), both(late, early), 0, 2, true},
		"no new horizon":                     {both(early, early), both(late, early), 2, 2, false},
		"another component":                  {both(early, early), both(other, early), 0, 2, false},
		"both":                               {both(early, early), both(late, other), 0, 2, false},
		"nothing that was sent is different": {both(early, early), both(early, early), 0, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, x := examined(t, body, body)
			r.p.chosen = r.p.choose(rewrite.Choice{})
			outline, err := prompt.Read(x.body)
			if err != nil {
				t.Fatal(err)
			}
			x.units = prompt.NewReader(nil, 0).Units(outline)
			x.explained, x.horizon = c.now, c.until
			r.recent = []turn{{units: x.units, explained: c.was, horizon: c.from}, {units: x.units[:1]}}
			if got := r.planned(x); got != c.want {
				t.Errorf("planned %v, want %v", got, c.want)
			}
			// What was not sent before may be anything.
			r.recent = []turn{{units: x.units[:len(x.units)-1], explained: c.was, horizon: c.from}}
			x.explained = both(late, other)
			if got := r.planned(x); got != (c.from != c.until) {
				t.Errorf("with a new output: planned %v", got)
			}
		})
	}
}

// TestForeignMarkers checks that an edit whose marker is not the service's counts
// as lost.
func TestForeignMarkers(t *testing.T) {
	broken := testSetup(false, pipeline.MarkerFull)
	sound := broken.Pipelines
	broken.Pipelines = func(_ *pipeline.Keyring, memo *pipeline.Memo) (Choose, error) {
		keys, err := pipeline.NewKeyring(pipeline.Key{ID: "other", Secret: []byte("not the key of this service")})
		if err != nil {
			return nil, err
		}
		return sound(keys, memo)
	}
	r := replay(t, testOptions(), broken)
	if r.Total.Restores.Failed == 0 || r.Sound() || !strings.Contains(strings.Join(r.Total.Failures, "\n"), "carries no marker") {
		t.Errorf("restores %+v, failures %q", r.Total.Restores, r.Total.Failures)
	}
}

// examined returns a replayer and an exchange as they are when a request is
// looked at.
func examined(t *testing.T, client, sent string) (*replayer, *exchange) {
	t.Helper()
	p, err := newProduct(new(testSetup(true, pipeline.MarkerFull)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	r := &replayer{
		c: capture.New("set", "id", wire.OpenAIChat, []byte(client)), p: p, verified: map[verified]bool{}, added: additions(wire.OpenAIChat),
		client: wire.NewParser(wire.Limits{}), provider: wire.NewParser(wire.Limits{}),
		out: report.Conversation{Figures: report.NewFigures()},
	}
	x := &exchange{body: []byte(client), sent: []byte(sent)}
	if x.before, err = r.client.Parse(wire.OpenAIChat, x.body); err != nil {
		t.Fatal(err)
	}
	return r, x
}

func TestRestoresFail(t *testing.T) {
	t.Parallel()
	const body = `{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"the output"}],"model":"m"}`
	for name, c := range map[string]struct{ sent, want string }{
		"in front of an output": {strings.Replace(body, `"q"`, `"r"`, 1), "in front of output 0"},
		"behind an output":      {strings.Replace(body, `"m"`, `"n"`, 1), "behind the outputs"},
		"an output is gone":     {strings.Replace(body, `"role":"tool"`, `"role":"user"`, 1), "1 outputs became 0"},
		"broken JSON":           {strings.TrimSuffix(body, "}"), "cannot be read"},
		"no marker":             {strings.Replace(body, "the output", "other", 1), "carries no marker"},
		"half a character":      {strings.Replace(body, "the output", `\ud83d`, 1), "no exact text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, x := examined(t, body, c.sent)
			x.explained = []rewrite.Explanation{{Outcome: &pipeline.Outcome{}}}
			if err := r.restores(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			if r.out.Restores.Failed == 0 || !strings.Contains(strings.Join(r.out.Failures, "\n"), c.want) {
				t.Errorf("restores %+v, failures %q", r.out.Restores, r.out.Failures)
			}
		})
	}
}

func TestMarkersThatLeadNowhere(t *testing.T) {
	t.Parallel()
	const body = `{"messages":[{"role":"user","content":"q"}]}`
	r, x := examined(t, body, body)
	put := func(id, text string) {
		err := r.p.store.PutAll(t.Context(), []store.Item{{
			Key: store.Key{Tenant: tenant, Space: store.Originals, ID: id}, Value: []byte(text),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("right", "text")
	put("wrong", "another text")
	for id, want := range map[string]string{"right": "", "wrong": "leads to another text", "none": "nothing behind its marker"} {
		r.out = report.Conversation{Figures: report.NewFigures()}
		if err := r.resolve(t.Context(), x, 0, []string{id}, "text"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.out.Failures, "\n"); r.out.Restores.Checked != 1 || (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: restores %+v, failures %q", id, r.out.Restores, got)
		}
	}
}

// TestPassesThrough checks that a request which cannot be parsed is counted and
// billed as it is.
func TestPassesThrough(t *testing.T) {
	body := []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"` + strings.Repeat("word ", 2000) + `"},{"role":"tool","tool_call_id":"none","content":"x"}]}`)
	limited := testSetup(false, pipeline.MarkerFull)
	limited.Limits = wire.Limits{Depth: 2}
	r, err := Run(t.Context(), testOptions(), limited, []*capture.Conversation{capture.New("s", "c", wire.OpenAIChat, body)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Total.PassedThrough) != 1 || r.Total.Bills[0].Before == 0 || r.Total.Bills[0].Before != r.Total.Bills[0].After {
		t.Errorf("passed through %v, bill %+v", r.Total.PassedThrough, r.Total.Bills[0])
	}
}

// TestAdditions checks that marks and the tool may be put in, and nothing else.
func TestAdditions(t *testing.T) {
	t.Parallel()
	const mark = `,"cache_control":{"type":"ephemeral"}`
	r := &replayer{added: additions(wire.AnthropicMessages)}
	definition := tool.Definition(wire.AnthropicMessages)
	for _, c := range []struct {
		client, sent string
		want         bool
	}{
		{`{"text":"a"}`, `{"text":"a"}`, true},
		{`{"text":"a"}`, `{"text":"a"` + mark + `}`, true},
		{`{"a":1},{"b":2}]`, `{"a":1` + mark + `},{"b":2,"cache_control":{"type":"ephemeral","ttl":"1h"}}]`, true},
		{`{"a":1,"cache":2}`, `{"a":1` + mark + `,"cache":2}`, true},
		{`[{"a":1}]`, `[{"a":1},` + definition + `]`, true},
		{`[]`, `[` + definition + `]`, true},
		{`[{"text":"x"}]`, `[{"text":"x"},{"cachePoint":{"type":"default"}}]`, true},
		{`{"text":"a"}`, `{"text":"b"` + mark + `}`, false},
		{`{"text":"a"}`, `{"text":"a","cache_control":{"type":"other"}}`, false},
		{`{"text":"a"` + mark + `}`, `{"text":"a"}`, false},
		{`{"text":"a"}`, `{"text":"a"` + mark, false},
		{`[{"a":1}]`, `[{"a":1},` + definition[:20] + `]`, false},
		{`a`, ``, false},
	} {
		if got := r.same([]byte(c.client), []byte(c.sent)); got != c.want {
			t.Errorf("%s and %s: %v", c.client, c.sent, got)
		}
	}
}
