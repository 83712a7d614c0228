package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/facts"
)

const log = "read cmd/main.go and util.go\nerror: no such file id_77\nkept_name 4096\n"

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output facts.Output
		texts  []string
		facts  map[string]facts.Place
		line   facts.Place
	}{
		"as it came": {
			facts.Output{Original: log},
			nil,
			map[string]facts.Place{"cmd/main.go": facts.InPlace, "util.go": facts.InPlace, "id_77": facts.InPlace, "kept_name": facts.InPlace, "4096": facts.InPlace},
			facts.InPlace,
		},
		"behind a marker, some of it elsewhere": {
			facts.Output{Original: log, Edited: true, Marked: true, Sent: "read … kept_name 4096 <<m>>"},
			[]string{"open util.go", "read … kept_name 4096 <<m>>"},
			map[string]facts.Place{"cmd/main.go": facts.BehindMarker, "util.go": facts.Elsewhere, "id_77": facts.BehindMarker, "kept_name": facts.InPlace, "4096": facts.InPlace},
			facts.BehindMarker,
		},
		"gone": {
			facts.Output{Original: log, Edited: true, Sent: "read cmd/main.go"},
			[]string{"it said error: no such file id_77"},
			map[string]facts.Place{"cmd/main.go": facts.InPlace, "util.go": facts.Lost, "id_77": facts.Elsewhere, "kept_name": facts.Lost, "4096": facts.Lost},
			facts.Elsewhere,
		},
		"a folder named once": {
			facts.Output{Original: log, Edited: true, Sent: "cmd/:\n main.go\nutil.go id_77 kept_name 4096"},
			nil,
			map[string]facts.Place{"cmd/main.go": facts.InPlace, "util.go": facts.InPlace, "id_77": facts.InPlace, "kept_name": facts.InPlace, "4096": facts.InPlace},
			facts.Lost,
		},
		"half a path behind a marker": {
			facts.Output{Original: log, Edited: true, Marked: true, Sent: "cmd/:\n main.go\nutil.go id_77 kept_name 4096 <<m>>"},
			nil,
			map[string]facts.Place{"cmd/main.go": facts.BehindMarker, "util.go": facts.InPlace, "id_77": facts.InPlace, "kept_name": facts.InPlace, "4096": facts.InPlace},
			facts.BehindMarker,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge, scene := facts.NewJudge(100), facts.NewScene(func() []string { return c.texts })
			got := map[string]facts.Place{}
			judge.Facts(scene, c.output, func(fact string, at facts.Place) { got[fact] = at })
			if diff := cmp.Diff(c.facts, got); diff != "" {
				t.Error(diff)
			}
			lines := 0
			judge.ErrorLines(scene, c.output, func(line string, at facts.Place) {
				lines++
				if line != "error: no such file id_77" || at != c.line {
					t.Errorf("%q at %v, want %v", line, at, c.line)
				}
			})
			if lines != 1 {
				t.Errorf("%d error lines", lines)
			}
		})
	}
}
