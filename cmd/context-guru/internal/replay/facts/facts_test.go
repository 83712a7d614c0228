package facts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/facts"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"words of a language are none", "the build of it went well, in 12 s", nil},
		{"paths, names, numbers", "see ./cmd/main.go:120 in parseBody of x_test at 4096 B (v1.2.3, sha 0cf03d3)", []string{"./cmd/main.go", "120", "parseBody", "x_test", "4096", "v1.2.3", "0cf03d3"}},
		{"each once", "a_b1 a_b1 a_b1", []string{"a_b1"}},
		{"ends of sentences", "read main.go. Then (util.go).", []string{"main.go", "util.go"}},
		{"scalars of a document", `{"id": 12, "ok": true, "name": "Mia Li", "x": "a", "price": 1.50, "none": null}`, []string{"12", "Mia Li", "1.50"}},
		{"names of a document are none", `[{"first_name": "Ada"}]`, []string{"Ada"}},
		{"a document in a string", `{"stdout": "{\"user_id\": \"ada_1\"}"}`, []string{"ada_1"}},
		{"a long string is words", `{"out": "` + strings.Repeat("word ", 30) + `in main.go"}`, []string{"main.go"}},
		{"terminal codes", "\x1b[38;5;196mmain.go\x1b[0m \x1b]8;;http://h/x\x07util.go\x1b]8;;\x1b\\", []string{"main.go", "util.go"}},
		{"what is overwritten", "1000 of 3000\r2000 of 3000\r\n", []string{"2000", "3000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, facts.Find(c.text, 100)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindSpreadsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "id_%d\n", i)
	}
	if diff := cmp.Diff([]string{"id_0", "id_250", "id_500", "id_750"}, facts.Find(text.String(), 4)); diff != "" {
		t.Error(diff)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, fact string
		want             bool
	}{
		{"there", "at main.go:12", "main.go", true},
		{"absent", "at main.go:12", "util.go", false},
		{"part of a word", "at domain.go:12", "main.go", false},
		{"part of a number", "port 80801", "8080", false},
		{"a path behind another folder", "/repo/cmd/main.go", "cmd/main.go", true},
		{"several words", `["Mia Li",1]`, "Mia Li", true},
		{"behind an escape", `"out\nmain.go\tx"`, "main.go", true},
		{"escaped twice", `"{\"a\": \"x\\nmain.go\"}"`, "main.go", true},
		{"spelled as an escape", `"K\u00e9vin"`, "Kévin", true},
		{"spelled as two escapes", `"a \ud83d\ude00 b"`, "a \U0001f600 b", true},
		{"half an escape", `"a \ud83d b \u12"`, "b", true},
		{"colored", "\x1b[1mmain\x1b[0m.go", "main.go", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := facts.NewIndex(c.text).Has(c.fact); got != c.want {
				t.Errorf("%q in %q: %v, want %v", c.fact, c.text, got, c.want)
			}
		})
	}
}

func TestHasPath(t *testing.T) {
	t.Parallel()
	x := facts.NewIndex("cmd/app/:\n  main.go\n  util.go\n")
	for path, want := range map[string]bool{"cmd/app/main.go": true, "cmd/app/none.go": false, "lib/main.go": false} {
		if got := x.HasPath(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	d := facts.NewDetector()
	for _, line := range []string{
		"error: cannot find crate", "Error: payment amount does not add up", "main.go:3:2: error: undefined: x",
		"2024-05-01 12:00:00 ERROR dfs.DataNode: lost block", `{"level":"error","msg":"boom"`, "ValueError: no such key",
		"java.io.IOException: Broken pipe", "Traceback (most recent call last):", "--- FAIL: TestX (0.00s)", "FAILED tests/test_a.py::test_b",
		"not ok 3 - works", "npm ERR! code E404", "panic: runtime error", "make: *** [all] exit status 2", "3 failed, 0 errors in 2s",
		"fatal: not a git repository", "bash: foo: command not found", "[ERROR] build stopped",
		"- F821 undefined name 'x'", "[!] partial_d internal error...", "===== Failed Tests 1 =====",
	} {
		if got := d.Lines("fine\n  "+line+"\nfine\n", 9); !cmp.Equal(got, []string{line}) {
			t.Errorf("%q: %q", line, got)
		}
	}
	for _, line := range []string{
		"0 errors, 0 failed", "no failures", "errors: 0", `"error": null,`, "modules/errors.go", "fix error handling in proxy",
		`	return fmt.Errorf("failed to open: %w", err)`, "if err != nil {", "// error: is returned", "raise ValueError: x",
		`util.go:12:	panic: x := 1`, "exit status 0", "a most fatal poem",
	} {
		if got := d.Lines("fine\n"+line+"\n", 9); got != nil {
			t.Errorf("%q is no error: %q", line, got)
		}
	}
}

func TestLinesOfWholes(t *testing.T) {
	t.Parallel()
	d := facts.NewDetector()
	long := "error: " + strings.Repeat("é", 100)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"in a document", `{"code": 1, "stdout": "ok\nerror: no disk\n", "error": "gone", "note": "gone"}`, []string{"error: no disk", "gone"}},
		{"a numbered file", "  1\terror: a\n  2\terror: b\n  3\terror: c\n  4\terror: d\n", nil},
		{"a file numbered otherwise", "1: a = 1\n2: raise ValueError:\n3:\n4:     error: b\n5: c = 2\n", nil},
		{"code", "x = 1\nreturn x\nif x:\nerror: a\nimport y\n", nil},
		{"a diff", "diff --git a b\n@@ -1 +1 @@\n-error: old\n+error: new\n error: kept\n", []string{"error: kept"}},
		{"each once", "error: a\nerror: a\n", []string{"error: a"}},
		{"a long line", long, []string{long[:159]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, d.Lines(c.text, 9)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if x := facts.NewIndex("kept:\n   " + long + " (x2)"); !x.HasLine(long[:159]) || x.HasLine("error: other") {
		t.Error("HasLine")
	}
}
