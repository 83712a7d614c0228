// Package rawjson finds its way in the text of a valid JSON document without
// decoding it.
//
// Components that cut pieces out of a document, or read some of it, must keep
// the rest byte for byte: numbers, escapes, the order of names and repeated
// names. A tree of decoded values has lost all of those. Every function here
// is linear in the bytes it passes, and takes for granted what encoding/json's
// Valid has confirmed.
package rawjson

import (
	"bytes"
	"iter"
)

// Span is a range of bytes of a document, its end not included.
type Span struct{ Start, End int }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// Blank reports whether a byte is one of JSON's four sorts of white space.
func Blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// Opens reports whether a text begins like an object or an array.
func Opens(text string) bool {
	for i := range len(text) {
		if !Blank(text[i]) {
			return text[i] == '{' || text[i] == '['
		}
	}
	return false
}

// SkipBlanks returns the first place at or behind at that is no white space.
func SkipBlanks(doc []byte, at int) int {
	for at < len(doc) && Blank(doc[at]) {
		at++
	}
	return at
}

// StringEnd returns the end of the string that begins at start.
func StringEnd(doc []byte, start int) int {
	for i := start + 1; ; {
		i += bytes.IndexByte(doc[i:], '"') + 1
		slashes := i - 2
		for doc[slashes] == '\\' {
			slashes--
		}
		if (i-2-slashes)%2 == 0 {
			return i
		}
	}
}

// ValueEnd returns the end of the value that begins at start.
func ValueEnd(doc []byte, start int) int {
	depth := 0
	for i := start; i < len(doc); {
		switch doc[i] {
		case '"':
			i = StringEnd(doc, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue // only met inside a container
		default:
			for i < len(doc) && !ends(doc[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return len(doc)
}

// ends reports whether a byte ends a number or a word.
func ends(c byte) bool {
	return c == ',' || c == '}' || c == ']' || Blank(c)
}

// IsName reports whether the string in front of rest names a member.
func IsName(rest []byte) bool {
	at := SkipBlanks(rest, 0)
	return at < len(rest) && rest[at] == ':'
}

// Items yields the spans of the items of the array that begins at start.
func Items(doc []byte, start int) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for at := SkipBlanks(doc, start+1); doc[at] != ']'; {
			item := Span{at, ValueEnd(doc, at)}
			if !yield(item) {
				return
			}
			at = next(doc, item.End)
		}
	}
}

// Members yields the spans of the names, quotes included, and of the values of
// the object that begins at start.
func Members(doc []byte, start int) iter.Seq2[Span, Span] {
	return func(yield func(name, value Span) bool) {
		for at := SkipBlanks(doc, start+1); doc[at] != '}'; {
			name := Span{at, StringEnd(doc, at)}
			at = SkipBlanks(doc, SkipBlanks(doc, name.End)+1)
			value := Span{at, ValueEnd(doc, at)}
			if !yield(name, value) {
				return
			}
			at = next(doc, value.End)
		}
	}
}

// next returns the place of what follows an item: the next one, or the bracket
// that closes the container.
func next(doc []byte, at int) int {
	at = SkipBlanks(doc, at)
	if doc[at] == ',' {
		at = SkipBlanks(doc, at+1)
	}
	return at
}

// AppendCompact appends a document without its insignificant white space.
func AppendCompact(out, doc []byte) []byte {
	kept := 0 // everything in front is written or left out
	for i := 0; i < len(doc); {
		switch c := doc[i]; {
		case c == '"':
			i = StringEnd(doc, i)
		case Blank(c):
			out = append(out, doc[kept:i]...)
			i = SkipBlanks(doc, i)
			kept = i
		default:
			i++
		}
	}
	return append(out, doc[kept:]...)
}
