package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
)

// recorded is where real transcripts are, if they are.
const recorded = "../../../shared/data/transcripts"

// TestReplayOfRecordedConversations holds real conversations to what a replay
// must find, whatever the components: no unplanned break, everything leads back,
// nothing is lost. By default every set is cheaper, and no conversation dearer by
// more than the tool.
func TestReplayOfRecordedConversations(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(recorded); err != nil {
		t.Skip("there are no recorded conversations")
	}
	setups := []string{"off", preset.Default, "general", "agent", "textclean+format+toon+dedup+searchfold+failed_run+extract+smartcrush+collapse+mask+linecap"}
	args := []string{"replay", "-compare", strings.Join(setups, ","), "-format", "json"}
	if testing.Short() {
		args = append(args, "-sample", "1")
	}
	var out, complaints bytes.Buffer
	if code := run(t.Context(), append(args, recorded), nil, &out, &complaints); code != exitOK {
		t.Errorf("exit code %d: %s", code, complaints.String())
	}
	var got struct{ Reports []*report.Report }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Reports) != len(setups) {
		t.Fatalf("%d reports", len(got.Reports))
	}
	for i, r := range got.Reports {
		if !r.Sound() || len(r.Total.PassedThrough) > 0 {
			t.Errorf("%s: breaks %+v, restores %+v, passed through %v", r.Setup, r.Total.Breaks, r.Total.Restores, r.Total.PassedThrough)
		}
		if i < 2 { // off and the default
			bills(t, r, i == 0)
			visible(t, r)
		}
	}
}

// bills checks what the sets cost.
func bills(t *testing.T, r *report.Report, off bool) {
	t.Helper()
	for _, s := range r.Sets {
		for _, b := range s.Bills {
			where := filepath.Join(s.Name, s.Dialect, b.Name)
			if b.BeyondTool > 0 {
				t.Errorf("%s, %s: %d conversations are dearer by more than the tool, %s by %.2f %%", r.Setup, where, b.BeyondTool, b.Worst, -b.WorstSavedPercent)
			}
			if off != (b.SavedPercent == 0) || b.SavedPercent < 0 {
				t.Errorf("%s, %s: saves %.2f %%", r.Setup, where, b.SavedPercent)
			}
		}
	}
}

// visible checks what of the outputs can be read without asking: a saving that
// hides what mattered is none.
func visible(t *testing.T, r *report.Report) {
	t.Helper()
	for _, s := range r.Folders {
		if facts, errors := s.Facts.Readable(), s.ErrorLines.Readable(); facts < 0.75 || errors < 0.99 {
			t.Errorf("%s, %s: %.1f %% of the facts and %.1f %% of the error lines are readable", r.Setup, s.Name, 100*facts, 100*errors)
		}
	}
}
