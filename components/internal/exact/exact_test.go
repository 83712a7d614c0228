package exact_test

import (
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/exact"
)

func TestIsDiff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"commit 1\n\ndiff --git a/x b/x\n": true,
		"@@ -1 +1 @@\n":                    true,
		"--- a\r\n+++ b\r\n@@ -1 +1 @@":    true,
		"@@@ -1 -1 +1 @@@\n":               true,
		" @@ -1 +1 @@\n":                   false,
		"- a\n+ b\n":                       false,
		"":                                 false,
		"@@ -":                             true,
	} {
		if got := exact.IsDiff(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestIsNumbered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1\ta\n2\tb\n3\tc\n":                true,
		"  98: a\r\n  99: b\r\n\n 100: c":   true,
		"1 a\n2 b\n":                        false,
		"1 a\n3 b\n5 c\n7 d\n":              false,
		"1a\n2b\n3c\n4d\n":                  false,
		"x\ny\nz\n1: a\n2: b\n3: c\n4: d\n": true,
		"x\ny\nz\n1: a\n2: b\n3: c\n":       false,
		"99999999: a\n99999999: b\n":        false,
		"":                                  false,
	} {
		if got := exact.IsNumbered(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestReadsFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, args string
		want       bool
	}{
		{"Read", `{"file_path":"a.go"}`, true},
		{"mcp__fs__read_file", `{"path":"a.go"}`, true},
		{"read-file", ``, true},
		{"Read", `{"file_path":"a.log"}`, false},
		{"Bash", `{"command":"cat a.go"}`, true},
		{"Bash", `{"command":["bash","-lc","cd /x && sed -n 1,9p a.go"]}`, true},
		{"Bash", `{"command":"/bin/cat 'a.err'"}`, false},
		{"Bash", `{"command":"cat a.go | wc"}`, false},
		{"Bash", `{"command":"cat"}`, false},
		{"Bash", `{"command":"make"}`, false},
		{"Bash", `{"command":`, false},
		{"Bash", `{"command":"cat ` + strings.Repeat("a", 1<<16) + `"}`, false},
	} {
		if got := exact.ReadsFile(c.tool, []byte(c.args)); got != c.want {
			t.Errorf("%s %.80s: %v", c.tool, c.args, got)
		}
	}
}
