package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// squeeze makes one blank of several; head keeps the first and the last lines;
// hide hides what is old.
type (
	squeeze struct{}
	head    struct{ mode pipeline.MarkerMode }
	hide    struct{}
)

func (squeeze) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	short := s.Text
	for strings.Contains(short, "  ") {
		short = strings.ReplaceAll(short, "  ", " ")
	}
	return pipeline.Replace(short, pipeline.Equivalence{Name: "same words", Check: func(before, after string) error {
		if !slices.Equal(strings.Fields(before), strings.Fields(after)) {
			return errors.New("the words differ")
		}
		return nil
	}}), nil
}

func (h head) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	lines := strings.SplitAfter(s.Text, "\n")
	if len(lines) < 25 {
		return pipeline.Decline("few_lines"), nil
	}
	return pipeline.Offload(pipeline.Loss{
		Before: strings.Join(lines[:10], "") + "... ", After: "\n" + strings.Join(lines[len(lines)-4:], ""),
		Hint: pipeline.HintFullOutput, Mode: h.mode,
	}), nil
}

func (hide) Rewrite(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	newest := 0
	for o := range v.Outputs() {
		newest = o.Turn
	}
	if s.Turn > newest-2 {
		return pipeline.Decline("recent"), nil
	}
	return pipeline.Offload(pipeline.Loss{Before: "old "}), nil
}

// counters are loaded once for all tests.
var counters = sync.OnceValue(tokens.New)

// setup builds a setup of steps, as a service would.
func setup(horizon int, steps ...pipeline.Step) Setup {
	s := Setup{Name: "test", Expand: rewrite.Expand{Resolver: rewrite.ResolverLoop}, Pipelines: func(keys *pipeline.Keyring, memo *pipeline.Memo) (Choose, error) {
		c, err := newCounter(counters(), tokens.EncodingFor("gpt-4o"))
		if err != nil {
			return nil, err
		}
		p := pipeline.New(pipeline.Settings{Steps: steps, Markers: keys, Lossy: true, Counter: c, Memo: memo, HorizonTokens: horizon})
		return func(rewrite.Choice) *pipeline.Pipeline { return p }, nil
	}}
	for _, step := range steps {
		s.Components = append(s.Components, step.Name)
	}
	if len(steps) == 0 {
		s.Name = "off"
	}
	return s
}

func testSteps(late bool, mode pipeline.MarkerMode) []pipeline.Step {
	steps := []pipeline.Step{
		{Meta: pipeline.Meta{Name: "squeeze", Kind: pipeline.KindReformat}, Component: squeeze{}},
		{Meta: pipeline.Meta{Name: "head", Kind: pipeline.KindOffload}, Component: head{mode}},
	}
	if late {
		steps = append(steps, pipeline.Step{Meta: pipeline.Meta{Name: "hide", Kind: pipeline.KindOffload, When: pipeline.AtHorizon}, Component: hide{}})
	}
	return steps
}

func testSetup(late bool, mode pipeline.MarkerMode) Setup {
	return setup(400, testSteps(late, mode)...)
}

func testOptions() Options {
	return Options{Counters: counters(), Prices: func(wire.Dialect, string) []bill.Price {
		return []bill.Price{{Name: "explicit", Input: 3e-6, Read: 0.1, Write: 1.25}, {Name: "automatic", Read: 0.5, Write: 1}}
	}}
}

func load(t *testing.T) []*capture.Conversation {
	t.Helper()
	conversations, notes, err := capture.Load("testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "proxy.jsonl:14") || !strings.Contains(notes[1], "proxy.jsonl:15") {
		t.Errorf("notes %q", notes)
	}
	return conversations
}

func replay(t *testing.T, opts Options, with Setup) *report.Report {
	t.Helper()
	r, err := Run(t.Context(), opts, with, load(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestText(t *testing.T) {
	opts := testOptions()
	opts.Diff = true
	r := replay(t, opts, testSetup(true, pipeline.MarkerFull))
	r.Diffs = r.Diffs[:3]
	var out bytes.Buffer
	if err := report.WriteText(&out, r); err != nil {
		t.Fatal(err)
	}
	checkFile(t, "report.txt", out.Bytes())
}

func TestJSON(t *testing.T) {
	out, err := json.MarshalIndent(replay(t, testOptions(), testSetup(true, pipeline.MarkerFull)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, "report.json", append(out, '\n'))
}

func TestComparison(t *testing.T) {
	var out bytes.Buffer
	opts := testOptions()
	if err := report.WriteComparison(&out, []*report.Report{replay(t, opts, setup(400)), replay(t, opts, testSetup(false, pipeline.MarkerFull))}); err != nil {
		t.Fatal(err)
	}
	checkFile(t, "comparison.txt", out.Bytes())
}

// TestDoesNotDependOnWorkers checks that a report is a function of what is
// replayed.
func TestDoesNotDependOnWorkers(t *testing.T) {
	var reports []string
	for _, workers := range []int{1, 4} {
		opts := testOptions()
		opts.Workers = workers
		out, err := json.Marshal(replay(t, opts, testSetup(true, pipeline.MarkerFull)))
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, string(out))
	}
	if reports[0] != reports[1] {
		t.Error("the reports differ")
	}
}

// TestOff checks that without a component nothing changes and nothing is billed
// beside the conversation.
func TestOff(t *testing.T) {
	total := replay(t, testOptions(), setup(400)).Total
	for _, b := range total.Bills {
		if b.Before == 0 || b.Before != b.After || b.Dearer != 0 {
			t.Errorf("bill %+v", b)
		}
	}
	if total.Facts.InPlace != total.Facts.Total || total.Facts.Total == 0 || total.ErrorLines.InPlace != total.ErrorLines.Total || total.ErrorLines.Total == 0 {
		t.Errorf("facts %+v, error lines %+v", total.Facts, total.ErrorLines)
	}
	if total.RequestTokens.Before != total.RequestTokens.After || !total.Sound() {
		t.Errorf("total %+v", total)
	}
}

// TestPlannedBreaks checks that what a horizon changes is no fault, and counts.
func TestPlannedBreaks(t *testing.T) {
	for _, horizon := range []int{0, 400, 1 << 20} {
		r := replay(t, testOptions(), setup(horizon, testSteps(true, pipeline.MarkerFull)...))
		if b := r.Total.Breaks; b.Unplanned != 0 || (b.Planned > 0) != (horizon < 1<<20) {
			t.Errorf("horizons every %d tokens: breaks %+v", horizon, b)
		}
		if r.Total.Restores.Checked == 0 || r.Total.Restores.Failed != 0 || !r.Sound() {
			t.Errorf("horizons every %d tokens: restores %+v, failures %q", horizon, r.Total.Restores, r.Total.Failures)
		}
	}
}

// TestLostFacts checks that text which is gone for good is noticed.
func TestLostFacts(t *testing.T) {
	r := replay(t, testOptions(), testSetup(false, pipeline.MarkerOff))
	if r.Sound() || r.Total.Facts.Lost == 0 || r.Total.Restores.Irreversible == 0 || len(r.Total.Failures) == 0 {
		t.Errorf("facts %+v, restores %+v", r.Total.Facts, r.Total.Restores)
	}
	if r.Total.ErrorLines.Lost != 0 {
		t.Errorf("the errors stand at the end, which is kept: %+v", r.Total.ErrorLines)
	}
}

// TestGate checks that a conversation that begins with little gets neither
// markers nor the tool.
func TestGate(t *testing.T) {
	gated := testSetup(false, pipeline.MarkerFull)
	gated.Expand.GateTokens = 500 // more than the chats begin with, less than the captured ones
	r := replay(t, testOptions(), gated)
	captured, chats := r.Sets[0], r.Sets[1]
	if captured.Name != "captured" || captured.LosslessOnly[rewrite.LosslessGate] != 0 || captured.Restores.Checked == 0 {
		t.Errorf("the gate is closed: %+v", captured.Figures)
	}
	if chats.LosslessOnly[rewrite.LosslessGate] != chats.Requests || chats.Restores.Checked != 0 || chats.Bills[0].Dearer != 0 {
		t.Errorf("the gate is open: %+v", chats.Figures)
	}
}

// TestCancelled checks that a replay ends when it is told to.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, testOptions(), setup(400), load(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	opts := testOptions()
	if err := report.WriteMarkdown(&out, []*report.Report{replay(t, opts, setup(400)), replay(t, opts, testSetup(true, pipeline.MarkerFull))}); err != nil {
		t.Fatal(err)
	}
	checkFile(t, "table.md", out.Bytes())
}
