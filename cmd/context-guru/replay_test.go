package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
)

// recorded is where real transcripts are, if they are.
const recorded = "../../../shared/data/transcripts"

// TestReplayOfRecordedConversations holds real conversations to what a replay
// must find, whatever the components: no unplanned break, everything leads
// back, nothing is lost, and no conversation is dearer by more than the tool.
func TestReplayOfRecordedConversations(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(recorded); err != nil {
		t.Skip("there are no recorded conversations")
	}
	setups := []string{"off", "format+dedup+extract+collapse", "textclean+format+toon+dedup+searchfold+failed_run+extract+smartcrush+collapse+mask+linecap"}
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
		for _, s := range r.Sets {
			where := filepath.Join(s.Name, s.Dialect)
			for _, b := range s.Bills {
				if b.BeyondTool > 0 {
					t.Errorf("%s, %s, %s: %d conversations are dearer by more than the tool, %s by %.2f %%", r.Setup, where, b.Name, b.BeyondTool, b.Worst, -b.WorstSavedPercent)
				}
				if off := i == 0; off != (b.SavedPercent == 0) || b.SavedPercent < 0 {
					t.Errorf("%s, %s, %s: saves %.2f %%", r.Setup, where, b.Name, b.SavedPercent)
				}
			}
		}
	}
}
