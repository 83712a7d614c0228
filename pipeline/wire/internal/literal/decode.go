package literal

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the text of a JSON string, and false when the value is none or
// has no exact text: invalid UTF-8, or half a surrogate pair.
func String(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	rest := value[1 : len(value)-1]
	if !utf8.Valid(rest) {
		return "", false
	}
	at := bytes.IndexByte(rest, '\\')
	if at < 0 {
		if !plain(rest) {
			return "", false
		}
		return string(rest), true
	}
	var out strings.Builder
	out.Grow(len(rest))
	for at >= 0 {
		if !plain(rest[:at]) {
			return "", false
		}
		out.Write(rest[:at])
		if c := short(rest[at:]); c != 0 {
			out.WriteByte(c)
			rest = rest[at+2:]
		} else {
			r, n := unescape(rest[at:])
			if n == 0 {
				return "", false
			}
			out.WriteRune(r)
			rest = rest[at+n:]
		}
		at = bytes.IndexByte(rest, '\\')
	}
	if !plain(rest) {
		return "", false
	}
	out.Write(rest)
	return out.String(), true
}

// plain reports whether UTF-8 bytes may stand in a JSON string as they are.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '"' {
			return false
		}
	}
	return true
}

// short returns the character of the two-letter escape that b starts with, or
// 0 for any other.
func short(b []byte) byte {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case 'n':
		return '\n'
	case '"', '\\', '/':
		return b[1]
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	default:
		return 0
	}
}

// unescape returns the character of the escape that b starts with and how many
// bytes it takes, none when it is no escape or half a surrogate pair.
func unescape(b []byte) (rune, int) {
	if c := short(b); c != 0 {
		return rune(c), 2
	}
	r, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := unit(b[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// unit returns the number of the \uXXXX that b starts with.
func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
