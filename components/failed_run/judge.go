package failedrun

import (
	"strings"

	"github.com/contextguru/contextguru/components/internal/terminal"
)

// judgement is what an output says about itself.
type judgement struct {
	run, failed bool
	// verdict is the line that says best how it failed, or empty.
	verdict string
}

// weight says how much a line tells about a run.
type weight uint8

const (
	none    weight = iota
	sign           // the line shows that this is a run
	cause          // one thing that failed
	summary        // the outcome of the whole run
)

// judge looks for what test runners, compilers and interpreters print. Of the
// lines that weigh most, the last failing one is the verdict.
func judge(text string) judgement {
	var j judgement
	best := sign
	traceback := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.IndexByte(line, '\x1b') >= 0 {
			line, _ = terminal.Strip(line)
		}
		indented := line != strings.TrimLeft(line, " \t")
		line = strings.TrimSpace(line)
		w, failed := weigh(line)
		switch {
		case w == none && traceback && line != "" && !indented:
			// What follows the calls of a traceback is the exception.
			w, failed, traceback = cause, true, false
		case strings.HasPrefix(line, "Traceback (most recent"):
			traceback = true
		}
		j.run = j.run || w != none
		j.failed = j.failed || failed
		if failed && w >= best && w > sign {
			best, j.verdict = w, line
		}
	}
	return j
}

// weigh recognises one line by how it begins, or by a count in it.
func weigh(line string) (w weight, failed bool) {
	if line == "" {
		return none, false
	}
	for _, m := range marks() {
		if rest, ok := strings.CutPrefix(line, m.begins); ok && (!m.word || rest == "" || !isLetter(rest[0])) {
			return m.weight, m.failed
		}
	}
	switch {
	case strings.HasPrefix(line, "[INFO] BUILD ") || strings.HasPrefix(line, "[ERROR] BUILD "):
		_, line, _ = strings.Cut(line, "] ")
		return weigh(line)
	case strings.HasPrefix(line, "==="):
		switch strings.Trim(line, "= ") {
		case "test session starts":
			return sign, false
		case "FAILURES", "ERRORS":
			return sign, true
		}
	case strings.HasPrefix(line, "make[") && strings.Contains(line, "]: *** "):
		return cause, true
	case strings.HasPrefix(line, "Tests run: "):
		return summary, counted(line, "Failures: ") || counted(line, "Errors: ")
	case strings.HasPrefix(line, "Ran ") && strings.Contains(line, " tests in ") || strings.HasPrefix(line, "Ran 1 test in "):
		return sign, false
	}
	return counts(line)
}

// mark is what a line of a run begins with.
type mark struct {
	begins string
	word   bool // no letter may follow
	weight weight
	failed bool
}

func marks() [19]mark {
	return [...]mark{
		{"BUILD SUCCESS", false, summary, false},
		{"BUILD FAIL", false, summary, true},
		{"Traceback (most recent", false, sign, true},
		{"FAILED (", false, summary, true},
		{"FAILED", true, cause, true},
		{"panic: ", false, cause, true},
		{"npm ERR!", false, cause, true},
		{"npm error", true, cause, true},
		{"--- FAIL: ", false, cause, true},
		{"--- PASS: ", false, sign, false},
		{"--- SKIP: ", false, sign, false},
		{"=== RUN ", false, sign, false},
		{"FAIL\t", false, cause, true},
		{"FAIL: ", false, cause, true},
		{"ok  \t", false, sign, false},
		{"test result: ok", true, summary, false},
		{"test result: FAILED", true, summary, true},
		{"error: could not compile", true, summary, true},
		{"make: *** ", false, cause, true},
	}
}

// counts finds numbers of what passed and failed: "3 failed, 5 passed".
func counts(line string) (w weight, failed bool) {
	for i := 0; i < len(line); i++ {
		if !isDigit(line[i]) {
			continue
		}
		start := i
		for i < len(line) && isDigit(line[i]) {
			i++
		}
		if i == len(line) || line[i] != ' ' || start > 0 && (isLetter(line[start-1]) || strings.IndexByte(".:_-/", line[start-1]) >= 0) {
			continue
		}
		end := i + 1
		for end < len(line) && isLetter(line[end]) {
			end++
		}
		switch line[i+1 : end] {
		case "passed", "passing":
			w = summary
		case "failed", "failing", "failure", "failures", "error", "errors", "errored":
			if end == len(line) || line[end] != ':' { // "line 7 error: ..." counts nothing
				w = summary
				failed = failed || strings.Trim(line[start:i], "0") != ""
			}
		}
		i = end - 1
	}
	return w, failed
}

// counted reports whether a key is followed by a number other than 0.
func counted(line, key string) bool {
	_, rest, found := strings.Cut(line, key)
	return found && rest != "" && rest[0] >= '1' && rest[0] <= '9'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
