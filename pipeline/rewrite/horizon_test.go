package rewrite_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// old hides what is in front of a horizon, all of it.
type old struct{}

func (old) Rewrite(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
	return pipeline.Offload(pipeline.Loss{Before: "old "}), nil
}

// horizonRig has a horizon component in front of one that decides at first
// sight, so that what they did is not in the pipeline's order.
func horizonRig(t *testing.T, distance int) *rig {
	t.Helper()
	return newRig(t, func(c *rewrite.Config) {
		first := c.Pipeline(t.Context(), rewrite.Choice{Model: "m"})
		steps := append([]pipeline.Step{{Meta: pipeline.Meta{Name: "old", Kind: pipeline.KindOffload, When: pipeline.AtHorizon}, Component: old{}}}, first.Steps()...)
		keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		p := pipeline.New(pipeline.Settings{Steps: steps, Markers: keys, Lossy: true, Counter: letters{}, Memo: pipeline.NewMemo(0), HorizonTokens: distance})
		c.Pipeline = func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }
	})
}

// conversation is a chat request with so many turns of one output each.
func conversation(turns int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[{"role":"user","content":"go"}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"a%d","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a%d","content":%q}`,
			i, i, fmt.Sprint(i, long()))
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func TestReportTellsTheHorizon(t *testing.T) {
	t.Parallel()
	r := horizonRig(t, 2500) // an output has 1012 letters or so
	type told struct {
		horizon int
		planned bool
	}
	for turns, want := range map[int]told{1: {0, false}, 2: {0, false}, 3: {3, true}, 4: {3, false}, 5: {5, true}, 6: {5, false}, 7: {5, false}, 8: {8, true}} {
		_, report := r.do(t, rewrite.Request{Body: conversation(turns), Tenant: "t"})
		if got := (told{report.Horizon, report.PlannedBreak}); got != want {
			t.Errorf("%d turns: %+v, want %+v", turns, got, want)
		}
		// Nobody could read a hidden output back: nothing happens at a horizon.
		_, report = r.do(t, rewrite.Request{Body: conversation(turns), LosslessOnly: true, Tenant: "t"})
		if report.Horizon != 0 || report.PlannedBreak || report.Markers != 0 {
			t.Errorf("%d turns, lossless: %+v", turns, report)
		}
	}
}

func TestReportCountsWhatHorizonsDid(t *testing.T) {
	t.Parallel()
	r := horizonRig(t, 2500)
	_, report := r.do(t, rewrite.Request{Body: conversation(4), Tenant: "t"})
	edits := map[string]int{}
	saved := 0
	for _, e := range report.Edits {
		edits[e.Component] = e.Segments
		saved += e.TokensBefore - e.TokensAfter
	}
	if edits["old"] != 2 || edits["squeeze"] != 4 || edits["head"] != 4 {
		t.Errorf("edited segments %v", edits)
	}
	if saved != report.TokensBefore-report.TokensAfter {
		t.Errorf("the components saved %d, the request shrank by %d", saved, report.TokensBefore-report.TokensAfter)
	}
}

// The bodies part at horizons and nowhere else.
func TestBodiesPartAtHorizonsOnly(t *testing.T) {
	t.Parallel()
	r := horizonRig(t, 2500)
	requests, err := pipelinetest.Requests(conversation(9))
	if err != nil {
		t.Fatal(err)
	}
	planned := 0
	b := pipelinetest.Bodies{
		Parse: func(body []byte) (*pipeline.Transcript, error) {
			return wire.NewParser(wire.Limits{}).Parse(wire.OpenAIChat, body)
		},
		Rewrite: func(_ context.Context, body []byte) ([]byte, error) {
			out, _ := r.do(t, rewrite.Request{Body: body, Tenant: "t"}) //nolint:contextcheck // takes the test's
			if out == "" {
				return body, nil
			}
			return []byte(out), nil
		},
		Planned: func(request []byte) bool {
			_, report := r.do(t, rewrite.Request{Body: request, Tenant: "t"})
			planned++
			return report.PlannedBreak
		},
	}
	rewritten := b.CheckPrefix(t, requests...)
	if planned == 0 || planned > 3 {
		t.Errorf("%d breaks", planned)
	}
	last := len(requests) - 1
	if edited := b.CheckRestore(t, r.keys, func(string, string) error { return nil }, requests[last], rewritten[last]); edited != 9 {
		t.Errorf("%d outputs edited", edited)
	}
	again, _ := r.do(t, rewrite.Request{Body: rewritten[last], Tenant: "t"})
	if again != "" && !bytes.Equal([]byte(again), rewritten[last]) {
		t.Error("a rewritten request is rewritten again")
	}
}
