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
		if got := exact.ReadsFile(c.tool, []byte(c.args), "package a\n"); got != c.want {
			t.Errorf("%s %.80s: %v", c.tool, c.args, got)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"2026-01-02T03:04:05Z INFO a\n":                    true,
		"2026/01/02 03:04:05 a\n":                          true,
		"[2026-01-02 03:04:05,678] ERROR in x: a\r\n":      true,
		"03:04:05.678 a\n":                                 true,
		"Jan 12 03:04:05 host sshd[1]: a\n":                true,
		"Jan  2 03:04:05 host sshd[1]: a\n":                true,
		"WARN a\n":                                         true,
		"[INFO] a\n":                                       true,
		"time=2026-01-02 level=info\n":                     true,
		"{\"level\":\"info\",\"msg\":\"a\"}\n":             true,
		"   12\t2026-01-02 03:04:05 a\n":                   true,
		"12→[ERROR] a\n":                                   true,
		"03:04:05 Traceback\n  at a\n  at b\n":             true,
		"03:04:05 a\n  b\n  c\n  d\n":                      false,
		"2026-01-02,12,ok\n":                               false,
		"2026-01-02\n":                                     false,
		"ERROR\n":                                          false,
		"level := 1\n":                                     false,
		"if err != nil { return fmt.Errorf(\"error\") }\n": false,
		"INFORMATION a\n":                                  false,
		"\n":                                               false,
	} {
		if got := exact.IsLog(strings.Repeat(text, 9)); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if exact.IsLog(text) {
			t.Errorf("%q alone is a log", text)
		}
	}
	if !exact.ReadsLog("Read", []byte(`{"file_path":"a.log"}`), "a\n") || exact.ReadsLog("Bash", []byte(`{"command":"make a.log"}`), "a\n") {
		t.Error("a log is not told by its name and a call that reads it")
	}
	log := strings.Repeat("2026-01-02T03:04:05Z INFO a\n", 9)
	for _, call := range [][2]string{{"Read", `{"file_path":"/var/log/app/current"}`}, {"Bash", `{"command":"tail -n 500 /var/log/syslog"}`}} {
		if exact.ReadsFile(call[0], []byte(call[1]), log) {
			t.Errorf("%s %s: a log is taken for a file that is edited", call[0], call[1])
		}
		if !exact.ReadsLog(call[0], []byte(call[1]), log) || exact.ReadsLog(call[0], []byte(call[1]), "package a\n") {
			t.Errorf("%s %s: a log is not told from a file that is edited", call[0], call[1])
		}
		if !exact.ReadsFile(call[0], []byte(call[1]), "package a\n") {
			t.Errorf("%s %s: not taken for a file that is edited", call[0], call[1])
		}
	}
}
