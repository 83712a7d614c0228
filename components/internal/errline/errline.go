// Package errline tells the lines of tool output that report an error.
//
// Components that leave lines out ask it first: what went wrong is the part of
// an output that must not be missing. It therefore rather calls a harmless
// line an error than the other way round, and knows only the two ways in which
// tools say that nothing is wrong: a count of none in front ("0 errors",
// "no failures") and an empty value behind ("errors: 0", "error": null).
package errline

import "strings"

// Is reports whether a line holds a word for a failure: error, fail,
// exception, panic, fatal, traceback in their usual forms and in any case,
// alone or as a part of a name ("TypeError", "test_failed"), or npm's "ERR!"; or
// what shells, linkers and loggers say without any of these ("command not
// found", "CRITICAL", "exit status 2"). Terminal codes around it do not hide it.
func Is(line string) bool { return Index(line) >= 0 }

// Index returns where the first word or phrase for a failure begins, or -1 when Is is
// false.
func Index(line string) int {
	for i := 0; i+1 < len(line); i++ {
		// The first two letters rule out nearly everything.
		switch second := line[i+1] | lower; line[i] | lower {
		case 'e':
			if second != 'r' && second != 'x' {
				continue
			}
		case 'f':
			if second != 'a' {
				continue
			}
		case 'p':
			if second != 'a' && second != 'e' {
				continue
			}
		case 't':
			if second != 'r' && second != 'i' {
				continue
			}
		case 'a':
			if second != 'b' {
				continue
			}
		case 'k':
			if second != 'i' {
				continue
			}
		case 'o':
			if second != 'o' && second != 'u' {
				continue
			}
		case 'c':
			if second != 'a' && second != 'o' && second != 'r' {
				continue
			}
		case 'u', 'n':
			if second != 'n' && second != 'o' {
				continue
			}
		case 's':
			if second != 'e' && second != 'i' {
				continue
			}
		default:
			continue
		}
		if says(line, i) {
			return i
		}
		n := word(line[i:])
		if n > 0 && begins(line, i) && ends(line, i+n) && !none(line[max(0, i-near):i]) && !empty(line, i, i+n) {
			return i
		}
	}
	return -1
}

// word returns the length of the word for a failure a text begins with, its
// ending included, or 0.
func word(s string) int {
	switch s[0] | lower {
	case 'e':
		if n := match(s, "error", "s", "ed"); n > 0 {
			return n
		}
		if n := match(s, "exception", "s"); n > 0 {
			return n
		}
		return match(s, "err!")
	case 'f':
		if n := match(s, "fail", "ures", "ure", "ing", "ed", "s"); n > 0 {
			return n
		}
		return match(s, "fatal")
	case 'p':
		return match(s, "panic", "king", "ked", "s")
	case 't':
		return match(s, "traceback", "s")
	default:
		return 0
	}
}

// says reports whether a phrase for a failure begins at i: what shells, linkers
// and programs say without any of the words, the levels of logs that are none,
// and an exit status other than 0.
func says(line string, i int) bool {
	if i > 0 && isLetter(line[i-1]) && !endsTerminalCode(line[:i]) {
		return false
	}
	rest := line[i:]
	for _, phrase := range phrases(rest[0] | lower) {
		if prefixFold(rest, phrase) {
			return strings.HasSuffix(phrase, " ") || len(rest) == len(phrase) || !isLetter(rest[len(phrase)])
		}
	}
	switch rest[0] {
	case 'C':
		return isLevel(rest, "CRITICAL")
	case 'S':
		return isLevel(rest, "SEVERE")
	case 'n':
		return strings.HasPrefix(rest, "not ok ") && len(rest) > len("not ok ") && isDigit(rest[len("not ok ")])
	case 'e', 'E':
		return exits(rest)
	default:
		return false
	}
}

// phrases lists those that begin with a letter.
func phrases(first byte) []string {
	switch first {
	case 'a':
		return []string{"aborted"}
	case 'k':
		return []string{"killed"}
	case 'o':
		return []string{"out of memory", "oomkilled"}
	case 't':
		return []string{"timed out"}
	case 'c':
		return []string{"cannot ", "could not ", "command not found", "connection refused", "core dumped"}
	case 'n':
		return []string{"no such file or directory", "no space left "}
	case 'p':
		return []string{"permission denied"}
	case 's':
		return []string{"segmentation fault", "sigkill", "sigsegv", "sigabrt"}
	case 'u':
		return []string{"unable to ", "undefined reference", "unhandled "}
	default:
		return nil
	}
}

func isLevel(rest, level string) bool {
	return strings.HasPrefix(rest, level) && ends(rest, len(level))
}

// exits reports whether a text begins like "exit status 2" or "exited with code 1".
func exits(rest string) bool {
	if !prefixFold(rest, "exit") {
		return false
	}
	rest = rest[len("exit"):]
	for _, word := range []string{"ed", " with", " status", " code", ":"} {
		if prefixFold(rest, word) {
			rest = rest[len(word):]
		}
	}
	number := strings.TrimLeft(rest, " ")
	return len(number) < len(rest) && number != "" && number[0] >= '1' && number[0] <= '9'
}

// near is how many bytes around a word can say that it means nothing. The bound
// keeps the time linear on lines made of such words.
const near = 24

// lower is the bit in which the cases of a letter differ.
const lower = 0x20

func match(s, stem string, endings ...string) int {
	if !prefixFold(s, stem) {
		return 0
	}
	for _, ending := range endings {
		if prefixFold(s[len(stem):], ending) && ends(s, len(stem)+len(ending)) {
			return len(stem) + len(ending)
		}
	}
	return len(stem)
}

func prefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// begins reports whether a word can begin at i: behind anything but a letter,
// at a capital inside a name, behind a terminal code or an escaped line end.
func begins(line string, i int) bool {
	if i == 0 || !isLetter(line[i-1]) {
		return true
	}
	capital := isUpper(line[i])
	switch {
	case capital && !isUpper(line[i-1]): // typeError
		return true
	case capital && i+1 < len(line) && !isUpper(line[i+1]): // OSError
		return true
	case i > 1 && line[i-2] == '\\' && strings.IndexByte("nrt", line[i-1]) >= 0:
		return true
	default:
		return endsTerminalCode(line[:i])
	}
}

// ends reports whether a word can end at i.
func ends(line string, i int) bool {
	return i == len(line) || !isLetter(line[i]) || isUpper(line[i]) && !isUpper(line[i-1])
}

// endsTerminalCode reports whether a text ends in ESC [ numbers letter.
func endsTerminalCode(s string) bool {
	i := len(s) - 2
	for i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == ';') {
		i--
	}
	return i > 0 && s[i] == '[' && s[i-1] == '\x1b'
}

// none reports whether a text ends in a count of none and a blank.
func none(before string) bool {
	counted := strings.TrimRight(before, " \t")
	if counted == before {
		return false
	}
	start := len(counted)
	for start > 0 && (isLetter(counted[start-1]) || strings.IndexByte("0123456789.,", counted[start-1]) >= 0) {
		start--
	}
	switch strings.ToLower(counted[start:]) {
	case "0", "no", "zero", "without":
		return true
	default:
		return false
	}
}

// empty reports whether the name that holds the word from start to end is
// given an empty value: "errors: 0", "error_count=0", `"error": null,`. What
// follows the name of a class is a message, whatever it says.
func empty(line string, start, end int) bool {
	if start > 0 && (isLetter(line[start-1]) || line[start-1] == '.') {
		return false
	}
	window := min(len(line), end+2*near)
	whole := window == len(line)
	rest := strings.TrimLeft(line[end:window], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
	rest = strings.TrimLeft(rest, `"'`)
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || rest[0] != ':' && rest[0] != '=' {
		return false
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	if number, found := strings.CutPrefix(rest, "0"); found {
		return number == "" && whole || number != "" && !isLetter(number[0]) && strings.IndexByte("0123456789._", number[0]) < 0
	}
	for _, value := range []string{"null", "none", "nil", "false", "[]", "{}", `""`} {
		if prefixFold(rest, value) {
			behind := strings.TrimLeft(rest[len(value):], " \t\r\n")
			return behind == "" && whole || behind != "" && strings.IndexByte(",;)]}|", behind[0]) >= 0
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|lower >= 'a' && c|lower <= 'z' }

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
