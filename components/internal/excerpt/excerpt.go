// Package excerpt quotes a little of a text on one line, so that a reader
// knows what it is about.
//
// A quotation is cut between characters as a reader sees them: a letter keeps
// its accents, an emoji its parts. It holds nothing that could be taken for a
// marker.
package excerpt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/contextguru/contextguru/components/internal/terminal"
)

const (
	// Ellipsis stands where something was cut.
	Ellipsis = "…"
	// maxBytes bounds a quotation by bytes per character wanted; what is
	// usually read as one takes less, but there is no limit to accents.
	maxBytes = 8
	// window is how much of a text is looked at per byte of a quotation. The
	// rest is blanks and terminal codes.
	window = 4
)

// Line quotes the beginning of a text: at most so many characters, white space
// joined, control characters and terminal codes left out. Of a text without
// anything else it returns nothing.
func Line(text string, characters int) string {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	limit := characters * maxBytes
	head := prefix(text, limit*window)
	more := len(head) < len(text)
	if plain, ok := terminal.Strip(head); ok {
		head = plain
	}
	var b strings.Builder
	count := 0
	it := graphemes.FromString(joined(head))
	for it.Next() {
		if count == characters || b.Len()+len(it.Value()) > limit {
			more = true
			break
		}
		b.WriteString(it.Value())
		count++
	}
	quoted := strings.TrimRight(b.String(), " ")
	if more && characters > 0 {
		quoted += Ellipsis
	}
	return Defuse(quoted)
}

// Whole quotes a line as it is, terminal codes aside, or its beginning when it
// has more than so many characters.
func Whole(line string, characters int) string {
	if plain, ok := terminal.Strip(line); ok {
		line = plain
	}
	if line = strings.TrimSpace(line); len(line) <= characters && !strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
		return Defuse(line)
	}
	return Line(line, characters)
}

// joined puts a text on one line.
func joined(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for field := range strings.FieldsSeq(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, field))
	}
	return b.String()
}

// prefix returns at most so many bytes of a text, cut in front of a code point.
func prefix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Around quotes a piece of a line around a place in it.
func Around(line string, at, characters int) string {
	start := max(0, at-characters/2)
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	quoted := Line(line[start:], characters)
	if start > 0 {
		quoted = Ellipsis + quoted
	}
	return quoted
}

const key = "cg:"

// Defuse returns a text in which nothing has the form of a marker: between the
// brackets and the key stands a blank.
func Defuse(text string) string {
	if !strings.Contains(text, key) {
		return text
	}
	var b strings.Builder
	rest := text
	for {
		at := strings.Index(rest, key)
		if at < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:at])
		if head := rest[:at]; strings.HasSuffix(head, "<") || len(head) >= 6 && strings.EqualFold(head[len(head)-6:], `\u003c`) {
			b.WriteByte(' ')
		}
		b.WriteString(key)
		rest = rest[at+len(key):]
	}
}
