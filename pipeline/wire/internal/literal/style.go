package literal

import (
	"bytes"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// style is how a literal spells its characters. JSON has several spellings for
// most of them and encoders differ: some write all beyond ASCII as \uXXXX, some
// hide < > & from HTML, some escape the slash. The new text follows the old
// literal: a character is escaped if that one escapes it, or others of its
// class, and nowhere holds it as it is.
type style struct {
	long  ascii // escaped as \u00XX
	short ascii // escaped with a letter
	wide  bool  // escapes what is beyond ASCII
	lines bool  // escapes U+2028 and U+2029, on which old JavaScript breaks the line
	upper bool  // hex digits are A to F
}

// ascii is a set of ASCII characters.
type ascii [2]uint64

func (s *ascii) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *ascii) drop(c byte)     { s[c>>6] &^= 1 << (c & 63) }
func (s *ascii) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

// all calls yield with every member.
func (s ascii) all(yield func(byte) bool) {
	for half, set := range s {
		for ; set != 0; set &= set - 1 {
			if !yield(byte(half<<6 + bits.TrailingZeros64(set))) {
				return
			}
		}
	}
}

// htmlCharacters are escaped together by the encoders that escape any of them.
const htmlCharacters = "<>&"

// styleOf reads the style of a JSON string, or of the strings in a JSON value.
func styleOf(literal []byte) style {
	var s style
	if len(literal) < 2 {
		return s
	}
	inner := literal[1 : len(literal)-1]
	// Only \u and \/ are a matter of taste, and most literals have neither.
	var lower, upper, taste bool
	for rest := inner; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			break
		}
		rest = rest[at:]
		r, ok := unit(rest)
		if !ok {
			if r, n := unescape(rest); n == 2 {
				s.short.add(byte(r))
				taste = taste || r == '/'
			}
			rest = rest[min(2, len(rest)):]
			continue
		}
		taste = true
		for _, digit := range rest[2:6] {
			lower = lower || digit >= 'a'
			upper = upper || 'A' <= digit && digit <= 'F'
		}
		switch {
		case r < utf8.RuneSelf:
			s.long.add(byte(r))
		case r == '\u2028', r == '\u2029':
			s.lines = true
		default:
			s.wide = true
		}
		rest = rest[6:]
	}
	if !taste {
		return style{}
	}
	s.upper = upper && !lower
	s.settle(inner)
	return s
}

// settle drops the habits the literal does not keep to and widens the others
// to their class.
func (s *style) settle(inner []byte) {
	if s.wide {
		s.wide = !slices.ContainsFunc(inner, func(c byte) bool { return c >= utf8.RuneSelf })
	}
	if s.lines {
		s.lines = !bytes.Contains(inner, []byte("\u2028")) && !bytes.Contains(inner, []byte("\u2029"))
	}
	raw := func(c byte) bool { return bytes.IndexByte(inner, c) >= 0 }
	html := false
	for c := range s.long.all {
		switch {
		case s.short.has(c), !mustEscape(c) && raw(c):
			s.long.drop(c)
		default:
			html = html || bytes.IndexByte([]byte(htmlCharacters), c) >= 0
		}
	}
	if s.short.has('/') && raw('/') && bytes.Count(inner, []byte("/")) > bytes.Count(inner, []byte(`\/`)) {
		s.short.drop('/')
	}
	if !html {
		return
	}
	for _, c := range []byte(htmlCharacters) {
		if !raw(c) {
			s.long.add(c)
		}
	}
}

// mustEscape reports whether JSON forbids a character to stand as it is.
func mustEscape(c byte) bool { return c < ' ' || c == '"' || c == '\\' }
