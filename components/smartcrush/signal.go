package smartcrush

import (
	"bytes"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/rawjson"
)

// severity is how an item reports an error.
type severity uint8

const (
	errorNone severity = iota
	errorMentioned
	errorReported
)

// meaning is what a field says about failure.
type meaning uint8

const (
	meansNothing meaning = iota
	meansFailure         // error, failed_count: anything but an empty value is one
	meansSuccess         // ok, success: false is a failure
	meansLevel           // level, severity: some words and numbers are
	meansState           // state, type, outcome: some words are
	meansStatus          // status, http_code: some numbers are, too
	meansExit            // exit_code: anything but 0 is
)

// errorScan looks for errors in items. It remembers what the names of fields
// mean, which are the same in most items.
type errorScan struct{ meanings map[string]meaning }

// maxMeanings bounds how many names are remembered.
const maxMeanings = 256

// item reports whether an item reports an error by one of its fields, however
// deep, or else mentions one in a text. It is given twice: errline reads text.
func (s *errorScan) item(item []byte, text string) severity {
	found := errorNone
	var about meaning // of the field whose value comes next
	inside := 0       // depth of the value of a field that means failure, or 0
	depth := 0
	for i := 0; i < len(item); {
		switch c := item[i]; {
		case c == '{' || c == '[':
			depth++
			if about == meansFailure && inside == 0 {
				inside = depth
			}
			about = meansNothing
			i++
		case c == '}' || c == ']':
			if depth == inside {
				inside = 0
			}
			depth--
			about = meansNothing
			i++
		case c == ',' || c == ':' || rawjson.Blank(c):
			i++
		default:
			start := i
			i = rawjson.ValueEnd(item, i)
			value := item[start:i]
			if c == '"' && rawjson.IsName(item[i:]) {
				about = s.meaning(value[1 : len(value)-1])
				continue
			}
			if inside > 0 && !empty(value) || about.failedBy(value) {
				return errorReported
			}
			if c == '"' && errline.Is(text[start:i]) {
				found = errorMentioned
			}
			about = meansNothing
		}
	}
	return found
}

func (s *errorScan) meaning(name []byte) meaning {
	if m, known := s.meanings[string(name)]; known {
		return m
	}
	m := meaningOf(string(name))
	if len(s.meanings) < maxMeanings {
		s.meanings[string(name)] = m
	}
	return m
}

// maxName is the length of the longest name that is read.
const maxName = 48

// meaningOf reads a name: snake_case, camelCase or words.
func meaningOf(name string) meaning {
	if len(name) > maxName {
		return meansNothing
	}
	words := splitWords(name)
	if len(words) == 0 {
		return meansNothing
	}
	last := words[len(words)-1]
	switch joined := strings.Join(words, ""); {
	case slices.ContainsFunc(words, setsPolicy):
		return meansNothing
	case slices.Contains([]string{"exitcode", "exitstatus", "exitvalue", "exit", "returncode", "retcode", "rc"}, joined):
		return meansExit
	case slices.ContainsFunc(words, saysFailure):
		return meansFailure
	}
	switch last {
	case "level", "lvl", "severity", "levelname", "loglevel":
		return meansLevel
	case "success", "ok", "succeeded", "successful", "passed", "healthy":
		return meansSuccess
	case "state", "result", "outcome", "conclusion", "phase", "health", "verdict", "type", "kind", "event", "action":
		return meansState
	case "status", "statuscode":
		return meansStatus
	case "code":
		if len(words) == 1 || slices.Contains([]string{"status", "http", "response"}, words[len(words)-2]) {
			return meansStatus
		}
	}
	return meansNothing
}

// setsPolicy reports whether a word makes a name one of a setting: what to do
// on error, how many failures to allow.
func setsPolicy(word string) bool {
	switch word {
	case "on", "no", "without", "ignore", "ignored", "allow", "allowed", "continue", "max", "limit", "threshold", "policy", "handler", "handling", "fast", "expected":
		return true
	default:
		return false
	}
}

func saysFailure(word string) bool {
	switch word {
	case "error", "errors", "errored", "err", "errs", "errno", "exception", "exceptions", "fail", "fails", "failed", "failing", "failure", "failures",
		"fatal", "panic", "traceback", "stacktrace", "fault", "faults", "crash", "crashed", "crashes":
		return true
	default:
		return false
	}
}

// failedBy reports whether a plain value of a field with this meaning reports
// a failure.
func (m meaning) failedBy(value []byte) bool {
	switch m {
	case meansNothing:
		return false
	case meansFailure:
		return !empty(value)
	}
	text := strings.ToLower(string(bytes.Trim(value[:min(len(value), maxValue)], `"`)))
	switch m {
	case meansExit:
		return text != "0" && text != "null" && text != ""
	case meansSuccess:
		return text == "false"
	case meansLevel:
		if n, ok := number(text); ok {
			// Node's loggers count 50 and 60, Google's from 500 on.
			return n == 50 || n == 60 || n >= 500 && n <= 800
		}
		return slices.Contains([]string{"error", "err", "e", "fatal", "f", "critical", "crit", "emergency", "emerg", "alert", "panic", "severe", "failure"}, text)
	case meansStatus, meansState:
		if n, ok := number(text); ok {
			return m == meansStatus && n >= 400 && n < 1000 // HTTP
		}
		return slices.ContainsFunc(splitWords(string(value[:min(len(value), maxValue)])), saysBadState)
	default:
		return false
	}
}

// maxValue is how much of a value is read: a state is a word or two.
const maxValue = 64

func saysBadState(word string) bool {
	switch word {
	case "timeout", "timedout", "timed", "unhealthy", "rejected", "denied", "aborted", "killed", "oomkilled", "oom", "critical", "broken", "unavailable", "backoff", "unreachable":
		return true
	default:
		return saysFailure(word)
	}
}

// empty reports whether a plain value says that there is nothing: null, false,
// zero in any spelling, no text, or a word for none.
func empty(value []byte) bool {
	text := strings.ToLower(string(bytes.TrimSpace(bytes.Trim(value[:min(len(value), maxValue)], `"`))))
	switch text {
	case "", "null", "none", "nil", "false", "no", "ok", "success", "n/a", "-", "undefined":
		return true
	}
	mantissa, _, _ := strings.Cut(text, "e")
	return strings.Trim(mantissa, "-+0.") == "" && strings.Contains(mantissa, "0")
}

// number reads a whole number of at most a few digits.
func number(text string) (int, bool) {
	if text == "" || len(text) > 4 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// splitWords cuts a name into its words, in lower case: at everything but
// letters and at the capitals of camelCase.
func splitWords(name string) []string {
	var words []string
	start := -1
	for i := 0; i <= len(name); i++ {
		letter := i < len(name) && isLetter(name[i])
		if start >= 0 && (!letter || startsWord(name, i)) {
			words = append(words, strings.ToLower(name[start:i]))
			start = -1
		}
		if letter && start < 0 {
			start = i
		}
	}
	return words
}

// startsWord reports whether the letter at i begins a word inside a name:
// lastError, HTTPStatus.
func startsWord(name string, i int) bool {
	if !isUpper(name[i]) {
		return false
	}
	return !isUpper(name[i-1]) || i+1 < len(name) && isLetter(name[i+1]) && !isUpper(name[i+1])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
