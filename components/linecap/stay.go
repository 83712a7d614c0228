package linecap

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/internal/errline"
)

// mustStay reports whether what a reader looks for may be anywhere in a line.
func mustStay(line string) bool {
	return isVerdict(line) || strings.Contains(line, "://") || isFrame(line) || hasPlace(line)
}

// isVerdict reports whether a line tells how something ended.
func isVerdict(line string) bool {
	if errline.Is(line) {
		return true
	}
	for _, words := range []string{
		"PASS", "passed", "Passed", "SUCCESS", "succeeded", "Succeeded",
		"exit code", "Exit code", "Exit Code", "exit status", "Exit status", "exited with", "Exited with", "non-zero exit",
		"Killed", "Segmentation fault", "Aborted", "timed out", "Timed out",
	} {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}

// isFrame reports whether a line is a frame of a stack.
func isFrame(line string) bool {
	frame := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(frame, "at ") {
		return len(frame) < len(line)
	}
	return strings.HasPrefix(frame, `File "`) || strings.HasPrefix(frame, "goroutine ") || len(frame) > 1 && frame[0] == '#' && isDigit(frame[1])
}

// maxPlace is the longest name of a file that is looked at, in bytes.
const maxPlace = 256

// hasPlace reports whether a line names a place in a file: a name with a dot or
// a slash in it, a colon and a number, or Python's way of saying it.
func hasPlace(line string) bool {
	if strings.Contains(line, `", line `) {
		return true
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(line[at:], ':')
		if i < 0 {
			return false
		}
		at += i
		if at+1 < len(line) && isDigit(line[at+1]) && isName(line[max(0, at-maxPlace):at]) {
			return true
		}
	}
}

// isName reports whether a text ends in the name of a file.
func isName(text string) bool {
	name := text[strings.LastIndexAny(text, " \t\"'`=,;:()[]{}<>|")+1:]
	dot := strings.LastIndexAny(name, `./\`)
	return dot >= 0 && dot+1 < len(name) && strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || isLetter(byte(r)) }) >= 0
}

// hitPrefix returns the length of what a search puts in front of a line it
// found, or a listing in front of a line of a file: a path, or nothing, and a
// line number.
func hitPrefix(line string) int {
	const longest = 512
	head := line[:min(len(line), longest)]
	if rest := strings.TrimLeft(head, " \t"); rest != "" && isDigit(rest[0]) {
		n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		// Without a blank in front, a colon or a dash is one of a time or a date.
		if n > 0 && (rest[n] == '\t' || rest[n] == '|' || len(rest) < len(head) && (rest[n] == ':' || rest[n] == '-')) {
			return len(head) - len(rest) + n + 1
		}
		return 0
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(head[at:], ':')
		if i < 0 {
			return 0
		}
		at += i
		n := at + 1
		for n < len(head) && isDigit(head[n]) {
			n++
		}
		if n > at+1 {
			if n < len(head) && head[n] == ':' && !strings.ContainsAny(head[:at], "\t\"{}()") && strings.ContainsAny(head[:at], `/\.`) {
				return n + 1
			}
			return 0
		}
	}
}

// isProse reports whether a line is words and little else.
func isProse(line string) bool {
	letters, blanks := 0, 0
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ':
			blanks++
		case isLetter(c) || c >= utf8.RuneSelf:
			letters++
		}
	}
	const (
		longWord = 12 // a language's words and their blanks are shorter on average
		share    = 85 // percent
	)
	return blanks*longWord >= len(line) && (letters+blanks)*100 >= share*len(line)
}

// isDocument reports whether a line is a document of JSON, behind a word or two
// at most.
func isDocument(line string) bool {
	const inFront = 40
	i := strings.IndexAny(line[:min(len(line), inFront)], "{[")
	return i >= 0 && json.Valid([]byte(line[i:]))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
