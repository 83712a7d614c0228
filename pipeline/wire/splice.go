package wire

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/contextguru/contextguru/pipeline"
)

// Patch puts a text in the place of a JSON string.
type Patch struct {
	// Span is where the string stands in the body, quotes included.
	Span pipeline.Span
	// Text is the new text, decoded. It must be valid UTF-8.
	Text string
	// Value, if set, is the JSON string for Text as [Encode] made it: a text that
	// is sent again every turn need not be encoded every turn.
	Value []byte
}

// Encode returns the JSON string for a text in the escaping style of the JSON
// string it will replace.
func Encode(literal []byte, text string) []byte {
	e := newEncoder()
	return e.encode(make([]byte, 0, len(text)+len(text)/4+16), styleOf(literal), text)
}

// Splice appends body to dst with the patches applied. Patches are in body
// order, do not overlap, and each covers one JSON string of body, as the
// segments of a transcript do. Bytes outside of them are copied as they are; a
// new literal keeps the escaping style of the one it replaces. On error dst
// comes back as it was.
func Splice(dst, body []byte, patches []Patch) ([]byte, error) {
	size, err := measure(body, patches)
	if err != nil {
		return dst, err
	}
	if cap(dst)-len(dst) < size {
		dst = append(make([]byte, 0, len(dst)+size), dst...)
	}
	e := newEncoder()
	at := 0
	for i := range patches {
		span := patches[i].Span
		dst = append(dst, body[at:span.Start]...)
		if value := patches[i].Value; value != nil {
			dst = append(dst, value...)
		} else {
			dst = e.encode(dst, styleOf(body[span.Start:span.End]), patches[i].Text)
		}
		at = span.End
	}
	return append(dst, body[at:]...), nil
}

// measure checks the patches and returns about how long the result will be. It
// allows a quarter for escapes; more than that is rare and costs a copy.
func measure(body []byte, patches []Patch) (int, error) {
	size, at := len(body), 0
	for i := range patches {
		p := &patches[i]
		switch {
		case p.Span.Start < at || p.Span.End > len(body):
			return 0, fmt.Errorf("patch %d covers bytes %d to %d: out of order, or outside of the body's %d",
				i, p.Span.Start, p.Span.End, len(body))
		case p.Span.Len() < 2 || !quoted(body[p.Span.Start:p.Span.End]):
			return 0, fmt.Errorf("patch %d covers bytes %d to %d: not a JSON string", i, p.Span.Start, p.Span.End)
		case p.Value == nil && !utf8.ValidString(p.Text):
			return 0, fmt.Errorf("patch %d for bytes %d to %d: its text is not valid UTF-8",
				i, p.Span.Start, p.Span.End)
		}
		at = p.Span.End
		if p.Value != nil {
			size += len(p.Value) - p.Span.Len()
			continue
		}
		size += len(p.Text) + len(p.Text)/4 + 16 - p.Span.Len()
	}
	return max(size, 0), nil
}

// quoted reports whether a value starts and ends like a JSON string.
func quoted(value []byte) bool {
	inner, ok := bytes.CutPrefix(value, []byte{'"'})
	if !ok {
		return false
	}
	if inner, ok = bytes.CutSuffix(inner, []byte{'"'}); !ok {
		return false
	}
	return (len(inner)-len(bytes.TrimRight(inner, `\`)))%2 == 0
}

// act is what the encoder does at a byte.
type act uint8

const (
	actCopy  act = iota
	actShort     // backslash and a letter
	actLong      // \u00XX
	actRune      // look at the whole character
)

// encoder writes JSON strings in a given style.
type encoder struct {
	plain [256]act // for a literal without habits
	table [256]act // for the literal at hand
}

func newEncoder() (e encoder) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case !mustEscape(c):
		case letter(c) != 0:
			e.plain[c] = actShort
		default:
			e.plain[c] = actLong
		}
	}
	return e
}

// letter is what follows the backslash in a character's short escape, or 0.
func letter(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	default:
		return 0
	}
}

// adapt returns the table for a style.
func (e *encoder) adapt(s *style) *[256]act {
	if *s == (style{}) {
		return &e.plain
	}
	e.table = e.plain
	for c := range s.long.all {
		e.table[c] = actLong
	}
	if s.short.has('/') {
		e.table['/'] = actShort
	}
	switch {
	case s.wide:
		for c := utf8.RuneSelf; c < len(e.table); c++ {
			e.table[c] = actRune
		}
	case s.lines:
		e.table["\u2028"[0]] = actRune
	}
	return &e.table
}

// encode appends text as a JSON string.
func (e *encoder) encode(dst []byte, s style, text string) []byte {
	table := e.adapt(&s)
	digits := "0123456789abcdef"
	if s.upper {
		digits = "0123456789ABCDEF"
	}
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		what := table[c]
		if what == actCopy {
			i++
			continue
		}
		r, size := rune(c), 1
		if what == actRune {
			r, size = utf8.DecodeRuneInString(text[i:])
			if !s.wide && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
		}
		dst = append(dst, text[from:i]...)
		switch {
		case what == actShort:
			dst = append(dst, '\\', letter(c))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, digits, high), digits, low)
		default:
			dst = appendUnit(dst, digits, r)
		}
		i += size
		from = i
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}

// appendUnit appends a UTF-16 code unit as \uXXXX.
func appendUnit(dst []byte, digits string, u rune) []byte {
	return append(dst, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}
