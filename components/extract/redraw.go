package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextguru/contextguru/components/internal/errline"
)

// guard stands behind a line while codes are taken out of it: a code that does
// not end in its line would swallow it, or a part of it.
const guard = "$$cg"

// stripCodes takes the terminal codes out of a line. It returns false when a
// code has no end, when a character would be torn, or when an error would
// vanish with the codes.
func stripCodes(text string) (string, bool) {
	if plain, ok := stripPlain(text); ok {
		return plain, true
	}
	plain, whole := strings.CutSuffix(ansi.Strip(text+guard), guard)
	if !whole || strings.Contains(text, guard) || !utf8.ValidString(plain) {
		return text, false
	}
	return plain, !errline.Is(text) || errline.Is(plain)
}

// stripPlain does it for lines with no codes but control sequences, which are
// nearly all there are (colours), many times faster than the parser. It
// returns false for any other line.
func stripPlain(text string) (string, bool) {
	var b strings.Builder
	b.Grow(len(text))
	for {
		before, code, found := strings.Cut(text, "\x1b[")
		if strings.IndexByte(before, '\x1b') >= 0 {
			return "", false
		}
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		i := 0
		for i < len(code) && code[i] >= '0' && code[i] <= '?' {
			i++ // parameters
		}
		if i == len(code) || code[i] < '@' || code[i] > '~' {
			return "", false // no end, or something rare
		}
		text = code[i+1:]
	}
}

// lastDrawn returns what stays visible of a line that was drawn over itself,
// and how often it was. It returns false when the parts are not states of one
// and the same thing: lines that end in a bare carriage return, say.
func lastDrawn(text string) (last string, redraws int, ok bool) {
	for part := range strings.SplitSeq(text, "\r") {
		if isBlank(part) {
			continue
		}
		if last != "" {
			if !drawsOver(last, part) {
				return text, 0, false
			}
			redraws++
		}
		last = part
	}
	return last, redraws, true
}

// drawsOver reports whether a part of a line is a newer state of the part in
// front of it.
func drawsOver(before, after string) bool {
	if errline.Is(before) {
		return false
	}
	f := look(before, true)
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
