package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Features is what a line shows of a progress display.
type Features struct {
	// Value is the first number with a percent sign.
	Value   int
	percent bool
	bar     bool // a bar, drawn with block characters or as [===> ]
	ratio   bool // 3/10
	rate    bool // 4.5 MB/s
	clock   bool // 0:12, --:--
	spinner bool // a turning sign
	digits  bool
	letters bool // words other than units
	foreign bool // characters no progress display is made of
}

// Progress reports a line that says nothing but how far something is.
func (f *Features) Progress() bool {
	switch {
	case f.letters || f.foreign:
		return false
	case f.spinner && !f.digits && !f.bar:
		return true
	default:
		return f.bar && (f.percent || f.ratio) && (f.ratio || f.rate || f.clock)
	}
}

// MaybeProgress reports a line that is progress if the ones around it are.
func (f *Features) MaybeProgress() bool { return f.percent && !f.letters && !f.foreign }

// Look finds the features of a line: all of them, or those up to the first
// that makes it no progress display.
func Look(text string, all bool) (f Features) {
	for i := 0; i < len(text) && (all || !f.letters && !f.foreign); {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			i = f.number(text, i)
		case isLetter(c):
			start := i
			for i < len(text) && isLetter(text[i]) {
				i++
			}
			f.letters = f.letters || !isUnit(text[start:i])
			f.rate = f.rate || start > 0 && text[start-1] == '/' && (text[start:i] == "s" || text[start:i] == "sec")
		case c == '[':
			f.bar = f.bar || isBar(text[i+1:])
			i++
		case c == '-' && strings.HasPrefix(text[i:], "--:--"):
			f.clock = true
			i += len("--:--")
		case c < utf8.RuneSelf:
			f.foreign = f.foreign || strings.IndexByte(" \t%|[]()<>{}=#-+*.,:;/\\~_\b", c) < 0
			i++
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			f.glyph(r)
			i += size
		}
	}
	return f
}

// number reads the number at i and what belongs to it.
func (f *Features) number(text string, i int) int {
	f.digits = true
	value := 0
	for i < len(text) && isDigit(text[i]) {
		value = min(value*10+int(text[i]-'0'), 1000)
		i++
	}
	whole := i
	for i < len(text) && (isDigit(text[i]) || text[i] == '.') {
		i++
	}
	switch rest := text[i:]; {
	case strings.HasPrefix(rest, "%"):
		if !f.percent {
			f.percent, f.Value = true, value
		}
	case len(rest) > 1 && rest[0] == '/' && isDigit(rest[1]):
		f.ratio = true
	case whole == i && len(rest) > 2 && rest[0] == ':' && isDigit(rest[1]) && isDigit(rest[2]):
		f.clock = true
	}
	return i
}

func (f *Features) glyph(r rune) {
	switch {
	case r >= 0x2580 && r <= 0x259f, r == '━', r == '╸', r == '╺', r == '▰', r == '▱', r == '■', r == '□':
		f.bar = true
	case r >= 0x2800 && r <= 0x28ff, r >= '◐' && r <= '◓', r >= '◜' && r <= '◟':
		f.spinner = true
	case r == '\u00a0', r == '…', r == '•', r == '·', r == '│', r == '─':
	default:
		f.letters = f.letters || unicode.IsLetter(r)
		f.foreign = true
	}
}

// isBar reports whether what follows an opening bracket is a bar that was
// drawn with characters: at least minBar places, nothing but filled and empty
// ones, and at least one of the former.
func isBar(rest string) bool {
	const minBar = 4
	end := strings.IndexByte(rest[:min(len(rest), 200)], ']')
	if end < minBar {
		return false
	}
	return strings.Trim(rest[:end], "=#>-. ") == "" && strings.ContainsAny(rest[:end], "=#>")
}

// isUnit reports whether a word measures progress: sizes, times, and the words
// between them.
func isUnit(word string) bool {
	var lower [len("bytes")]byte
	if len(word) > len(lower) {
		return false
	}
	for i := range len(word) {
		lower[i] = word[i] | 0x20 // the bit in which the cases differ
	}
	switch string(lower[:len(word)]) {
	case "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "k", "m", "g", "t", "bps", "kbps", "mbps", "byte", "bytes",
		"s", "ms", "sec", "secs", "min", "h", "hr", "it", "its", "eta", "of", "at", "in":
		return true
	default:
		return false
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
