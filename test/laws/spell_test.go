package laws_test

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// spelling is how a client writes a string down.
type spelling int

const (
	spellPlain   spelling = iota // escapes only what has to be
	spellHTML                    // hides < > & and the line separators, as Go does
	spellASCII                   // escapes all beyond ASCII, as Python does
	spellUpper                   // the same with capital digits, and the control characters in full
	spellSlashes                 // escapes slashes and all beyond ASCII, as PHP does
	spellLong                    // escapes every character in full
	spellMixed                   // every character in its own way
)

var spellings = []spelling{spellPlain, spellPlain, spellHTML, spellASCII, spellUpper, spellSlashes, spellLong, spellMixed}

// spell writes a text as a JSON string.
func (w *writer) spell(text string, how spelling) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		one := how
		if how == spellMixed {
			one = pick(w, spellPlain, spellHTML, spellASCII, spellUpper, spellSlashes, spellLong)
		}
		b.WriteString(spellRune(r, one))
	}
	b.WriteByte('"')
	return b.String()
}

func spellRune(r rune, how spelling) string {
	format := `\u%04x`
	if how == spellUpper {
		format = `\u%04X`
	}
	long := func() string {
		if r > 0xFFFF {
			high, low := utf16.EncodeRune(r)
			return fmt.Sprintf(format+format, high, low)
		}
		return fmt.Sprintf(format, r)
	}
	short := strings.IndexRune("\"\\\b\f\n\r\t", r)
	switch {
	case how == spellLong:
		return long()
	case short >= 0 && (how != spellUpper || r == '"' || r == '\\'):
		return `\` + `"\bfnrt`[short:short+1]
	case r < ' ':
		return long()
	case r == '/' && how == spellSlashes:
		return `\/`
	case how == spellHTML && strings.ContainsRune("<>&\u2028\u2029", r):
		return long()
	case r > '~' && how != spellPlain && how != spellHTML:
		return long()
	default:
		return string(r)
	}
}
