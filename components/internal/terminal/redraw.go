package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/internal/errline"
)

// DrawsOver reports whether a text is a newer state of the text in front of it
// on the same line, so that the older one says nothing more. One that reports
// an error always says something.
func DrawsOver(before, after string) bool {
	if errline.Is(before) {
		return false
	}
	f := Look(before, true)
	switch {
	case f.letters && sameLetters(before, after), f.bar:
		return true
	case !f.letters:
		return f.percent || f.clock || f.spinner || len(strings.TrimSpace(before)) == 1
	default:
		return (f.percent || f.ratio) && firstWord(before) == firstWord(after)
	}
}

// sameLetters reports whether two texts differ in nothing but digits, blanks
// and signs.
func sameLetters(a, b string) bool {
	for {
		x, restA := nextLetter(a)
		y, restB := nextLetter(b)
		if x != y {
			return false
		}
		if x == 0 {
			return true
		}
		a, b = restA, restB
	}
}

func nextLetter(s string) (rune, string) {
	for i, r := range s {
		if unicode.IsLetter(r) {
			return r, s[i+utf8.RuneLen(r):]
		}
	}
	return 0, ""
}

func firstWord(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		return s
	}
	return s[:end]
}
