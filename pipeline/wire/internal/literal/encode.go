package literal

import (
	"unicode/utf16"
	"unicode/utf8"
)

// act is what the encoder does at a byte.
type act uint8

const (
	actCopy  act = iota
	actShort     // backslash and a letter
	actLong      // \u00XX
	actRune      // look at the whole character
)

// Encoder writes JSON strings. Making one costs a table, so a caller with many
// strings keeps it.
type Encoder struct {
	plain [256]act // for a literal without habits
	table [256]act // for the literal at hand
}

// NewEncoder returns an encoder.
func NewEncoder() (e Encoder) {
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
func (e *Encoder) adapt(s *style) *[256]act {
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

// Append appends the value for a text that is put in the place of another value:
// what Encode returns.
func (e *Encoder) Append(dst, value []byte, text string) []byte {
	if len(value) > 0 && value[0] == '{' {
		return e.block(dst, value, text)
	}
	return e.quote(dst, styleOf(value), text)
}

// quote appends text as a JSON string.
func (e *Encoder) quote(dst []byte, s style, text string) []byte {
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
