package failed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/failed"
)

func TestShown(t *testing.T) {
	t.Parallel()
	const text = "fine\n\x1b[31merror: a\x1b[0m\n0 errors\n  fatal: b  \r\nerror: a\nfine\n"
	long := "error: " + strings.Repeat("much of it ", 100)
	for name, c := range map[string]struct {
		text, view string
		want       bool
	}{
		"all of it":           {text, text, true},
		"without codes":       {text, "error: a\n... 3 lines\nfatal: b\n", true},
		"with numbers":        {text, "2: error: a\n4: fatal: b\n", true},
		"one is missing":      {text, "error: a\n", false},
		"nothing left":        {text, "... 6 lines", false},
		"no errors":           {"fine\n0 errors\n", "", true},
		"the beginning":       {long, long[:170] + "...[cut 900 chars]...", true},
		"not the beginning":   {long, "error: ...", false},
		"in a string":         {`{"stdout":"x\nerror: a\nfatal: b\n"}`, `{"stdout":"error: a\nfatal: b"}`, true},
		"missing in a string": {`{"stdout":"x\nerror: a\nfatal: b\n"}`, `{"stdout":"error: a\n"}`, false},
	} {
		if err := failed.Shown(c.text, c.view); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Many errors that stand inside of other lines take no time to speak of.
func TestShownIsLinear(t *testing.T) {
	t.Parallel()
	var text, view strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "error: %d\n", i)
		fmt.Fprintf(&view, "error: %d, ", i)
	}
	if failed.Shown(text.String(), view.String()) == nil {
		t.Error("each of them was looked for in all of the view")
	}
}
