package toon

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// appendScalar writes a plain value, given as the document has it: a string in
// quotes where the bare text could be taken for something else, anything else
// as its literal.
func appendScalar(out, raw []byte) ([]byte, bool) {
	if raw[0] != '"' {
		return append(out, raw...), true
	}
	text, ok := unquoted(raw)
	switch {
	case !ok:
		return out, false
	case bare(text):
		return append(out, text...), true
	default:
		return appendQuoted(out, text), true
	}
}

// appendKey writes the name of a member or of a column.
func appendKey(out, name []byte) []byte {
	if bareKey(name) {
		return append(out, name...)
	}
	return appendQuoted(out, name)
}

// bareKey reports whether a name needs no quotes: a letter or an underscore,
// then letters, digits, underscores and dots.
func bareKey(name []byte) bool {
	for i, c := range name {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return len(name) > 0
}

// bare reports whether a string needs no quotes as a cell, an item or the
// value of a member.
func bare(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	if c := text[0]; c == '-' || c == '#' {
		return false // an item of a list, a comment
	}
	for _, c := range text {
		if c < ' ' || special(c) {
			return false
		}
	}
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	if unicode.IsSpace(first) || unicode.IsSpace(last) {
		return false
	}
	switch string(text) {
	case "true", "false", "null":
		return false
	default:
		return !numeric(text)
	}
}

func special(c byte) bool {
	switch c {
	case ',', ':', '"', '\\', '[', ']', '{', '}':
		return true
	default:
		return false
	}
}

// numeric reports whether some reader could take a text for a number: a sign,
// digits, a fraction and an exponent, each but the digits left out at will.
func numeric(text []byte) bool {
	rest := text
	if rest[0] == '+' || rest[0] == '-' {
		rest = rest[1:]
	}
	whole, rest := countDigits(rest)
	fraction := 0
	if len(rest) > 0 && rest[0] == '.' {
		fraction, rest = countDigits(rest[1:])
	}
	if whole+fraction == 0 {
		return false
	}
	if len(rest) > 0 && rest[0]|0x20 == 'e' {
		rest = rest[1:]
		if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		exponent := 0
		if exponent, rest = countDigits(rest); exponent == 0 {
			return false
		}
	}
	return len(rest) == 0
}

// countDigits counts the digits in front and returns what follows them.
func countDigits(text []byte) (int, []byte) {
	rest := bytes.TrimLeft(text, "0123456789")
	return len(text) - len(rest), rest
}

func appendQuoted(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
