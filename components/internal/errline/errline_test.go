package errline_test

import (
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"error: cannot open file",
		"ERROR something",
		"Error",
		"2 errors found",
		"10 errors",
		"1,000 errors",
		"1.0 errors per second",
		"it errored",
		"--- FAIL: TestX (0.00s)",
		"3 failed, 0 errors",
		"no error handler: fatal",
		"BUILD FAILED",
		"test_foo ... failed",
		"testFailed",
		"assertion failure",
		"failing tests: 3",
		"java.lang.NullPointerException: null",
		"TypeError: x is undefined",
		"OSError: [Errno 2]",
		"IOException",
		"error_code: 17",
		"errorHandler threw",
		"panic: runtime error: index out of range",
		"the kernel panicked",
		"fatal: not a git repository",
		"FATAL",
		"Traceback (most recent call last):",
		"npm ERR! code E404",
		"\x1b[1m\x1b[31merror\x1b[0m: oops",
		"\x1b[mfatal",
		`{"stdout":"line\nerror: here"}`,
		`"errors": ["x"]`,
		`"error": "null pointer"`,
		"error: none of the above",
		"error: no such file",
		"error = 0x7f",
		"errors: 0.5 per second",
		"status=500 error=true",
		"错误 error 发生",
		"bash: foo: command not found",
		"ls: x: No such file or directory",
		"open /etc/shadow: permission denied",
		"main.o: undefined reference to `f'",
		"Segmentation fault (core dumped)",
		"dial tcp: connection refused",
		"Killed",
		"  Reason: OOMKilled",
		"java: out of memory",
		"dial tcp 10.0.0.1:80: i/o: timed out",
		"signal: SIGKILL",
		"Aborted (core dumped)",
		"(node:1) Unhandled promise rejection",
		"write: no space left on device",
		"cannot open shared object file",
		"Could not resolve host",
		"unable to connect",
		"2024-01-01 CRITICAL disk full",
		"SEVERE: thread died",
		"not ok 3 - works",
		"exit status 2",
		"Process exited with code 1",
		"Exit code: 127",
		"\x1b[31mcannot find it",
	} {
		if !errline.Is(line) {
			t.Errorf("%q is not an error", line)
		}
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"",
		"all is well",
		"0 errors",
		"0 failed, 12 passed",
		"no errors found",
		"No error",
		"zero failures",
		"finished without errors",
		"Tests run: 4, Failures: 0, Errors: 0, Skipped: 0",
		`"error": null,`,
		`"error":null}`,
		`'errors': []`,
		`"errors": {},`,
		"error: none",
		"error=nil",
		"error_count: 0",
		"errors=0 warnings=2",
		`"failed": false,`,
		"terror and mirrors",
		"the failover worked",
		"FAILSAFE",
		"ERRORLEVEL",
		"exceptional",
		"fatality",
		"panicle",
		"stderr: nothing",
		"exit status 0",
		"Process exited with code 0",
		"it exited early",
		"exit",
		"scannot find",
		"CRITICALLY",
		"not ok",
		"nothing to see",
		"no such luck",
	} {
		if errline.Is(line) {
			t.Errorf("%q is an error", line)
		}
	}
}

func TestIndexIsTheFirstWordThatCounts(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"":                              -1,
		"fine":                          -1,
		"error: x":                      0,
		"0 errors, 1 failed":            12,
		`{"error": null, "fatal": "x"}`: 17,
	} {
		if got := errline.Index(line); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

// Whatever a second detector, written apart, calls an error is one here too.
func FuzzNeverMissesWhatTheOracleSees(f *testing.F) {
	f.Add("0 errors, 1 failed")
	f.Add("error:0 error")
	f.Add("\x1b[31mfatal\x1b[0m no panic")
	f.Add("error=null,")
	f.Add(`no failures" : 0`)
	for _, words := range []string{"error", "Failures", "panic ", "no ", "0 ", ": 0", "=null", "xx", "\t", "E", "_", "\r"} {
		f.Add(strings.Repeat(words, 3) + "error: " + words + " failed")
	}
	f.Fuzz(func(t *testing.T, line string) {
		if pipelinetest.ErrorLine(line) && !errline.Is(line) {
			t.Errorf("%q is missed", line)
		}
	})
}

func BenchmarkIs(b *testing.B) {
	line := "2024-05-01T12:00:00Z INFO request finished path=/api/items status=200 duration=12ms peer=10.0.0.1"
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if errline.Is(line) {
			b.Fatal("an error")
		}
	}
}

func TestLongLinesTakeLinearTime(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"0 errors ", "errors: 0, ", "1;", " ", "error=null,", "errorerror", "error_" + strings.Repeat("_", 30)} {
		if line := strings.Repeat(piece, 5<<20/len(piece)); errline.Is(line) != strings.HasPrefix(piece, "error_") {
			t.Errorf("%q, repeated: %v", piece, errline.Is(line))
		}
	}
	// What is cut off by the bound is not taken for an empty value.
	for n := range 60 {
		blanks := strings.Repeat(" ", n)
		for _, line := range []string{"error:" + blanks + "0.5", "error:" + blanks + "null" + blanks + " pointer"} {
			if !errline.Is(line) {
				t.Errorf("%q is not an error", line)
			}
		}
	}
}
