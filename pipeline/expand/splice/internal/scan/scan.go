// Package scan finds its way in the JSON of one event without decoding it.
//
// It checks only as much as it needs to find the ends of values: a document it
// walks through may still be wrong inside. Every function is linear, takes any
// bytes, and holds no memory.
package scan

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Iter walks through the members of an object or the items of an array.
//
//	it := scan.Open(doc, 0)
//	for it.Next() { … it.Name, it.Value … }
//	if it.Bad() { … }
type Iter struct {
	// Name is the member's name as it stands between its quotes, not decoded.
	// It is nil in an array.
	Name []byte
	// Value is the bytes of the value.
	Value []byte
	// Start and End are the place of the value, First that of the member or item.
	Start, End, First int

	doc  []byte
	at   int
	want byte // the bracket that closes it; 0 when it is done
	some bool
	bad  bool
}

// Open enters the object or the array at a place, behind white space. It is bad
// when there is neither.
func Open(doc []byte, at int) Iter {
	it := Iter{doc: doc, at: blanks(doc, at)}
	switch {
	case it.at >= len(doc):
		it.bad = true
	case doc[it.at] == '{':
		it.want = '}'
	case doc[it.at] == '[':
		it.want = ']'
	default:
		it.bad = true
	}
	it.at++
	return it
}

// Bad reports whether there was no object or array, or no end of it.
func (it *Iter) Bad() bool { return it.bad }

// Object reports whether it walks through an object.
func (it *Iter) Object() bool { return it.want == '}' }

// Close returns the place behind the closing bracket, once Next has returned
// false and it is not Bad.
func (it *Iter) Close() int { return it.at }

// Next goes to the next member or item.
func (it *Iter) Next() bool {
	if it.bad || it.want == 0 {
		return false
	}
	it.at = blanks(it.doc, it.at)
	if it.at < len(it.doc) && it.doc[it.at] == it.want {
		it.at++
		it.want = 0
		return false
	}
	if it.some {
		if it.at >= len(it.doc) || it.doc[it.at] != ',' {
			return it.fail()
		}
		it.at = blanks(it.doc, it.at+1)
	}
	it.some = true
	it.First = it.at
	if it.want == '}' {
		end := stringEnd(it.doc, it.at)
		if end < 0 {
			return it.fail()
		}
		it.Name = it.doc[it.at+1 : end-1]
		it.at = blanks(it.doc, end)
		if it.at >= len(it.doc) || it.doc[it.at] != ':' {
			return it.fail()
		}
		it.at = blanks(it.doc, it.at+1)
	}
	end := valueEnd(it.doc, it.at)
	if end < 0 {
		return it.fail()
	}
	it.Start, it.End = it.at, end
	it.Value = it.doc[it.at:end]
	it.at = end
	return true
}

func (it *Iter) fail() bool {
	it.bad = true
	return false
}

// Get returns the value of the last member of that name, and where it starts in
// doc; nil if doc is no object or has none.
func Get(doc []byte, name string) ([]byte, int) {
	var (
		found []byte
		at    int
	)
	it := Open(doc, 0)
	if !it.Object() {
		return nil, 0
	}
	for it.Next() {
		if string(it.Name) == name {
			found, at = it.Value, it.Start
		}
	}
	if it.bad {
		return nil, 0
	}
	return found, at
}

// Path follows names through objects.
func Path(doc []byte, names ...string) []byte {
	for _, name := range names {
		doc, _ = Get(doc, name)
	}
	return doc
}

// Whole reports whether doc is one object, or one array, and white space.
func Whole(doc []byte) bool {
	at := blanks(doc, 0)
	if at >= len(doc) || doc[at] != '{' && doc[at] != '[' {
		return false
	}
	end := valueEnd(doc, at)
	return end >= 0 && blanks(doc, end) == len(doc)
}

// Valid reports whether doc is JSON through and through.
func Valid(doc []byte) bool {
	return jsontext.Value(doc).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// IsString reports whether a value is a string.
func IsString(value []byte) bool { return len(value) > 1 && value[0] == '"' }

// Inner returns what stands between the quotes of a string; nil of anything else.
func Inner(value []byte) []byte {
	if !IsString(value) {
		return nil
	}
	return value[1 : len(value)-1]
}

// IsNull reports whether a value is null or not there.
func IsNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// Is reports whether a value is the string of a text.
func Is(value []byte, text string) bool {
	inner := Inner(value)
	if inner == nil {
		return false
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text
	}
	return Text(inner) == text
}

// Text decodes what stands between the quotes of a string. What has no exact
// text becomes U+FFFD.
func Text(inner []byte) string {
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(Unquote(inner))
}

// AppendText appends Text.
func AppendText(out, inner []byte) []byte {
	if bytes.IndexByte(inner, '\\') < 0 {
		return append(out, inner...)
	}
	return append(out, Unquote(inner)...)
}

// Unquote is Text as bytes of its own.
func Unquote(inner []byte) []byte {
	quoted := make([]byte, 0, len(inner)+2)
	quoted = append(append(append(quoted, '"'), inner...), '"')
	// The errors are about what has no exact text.
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}

// Quote appends the string of a text. Invalid UTF-8 becomes U+FFFD.
func Quote(out []byte, text string) []byte {
	// The only error is about invalid UTF-8, and then it writes U+FFFD.
	out, _ = jsontext.AppendQuote(out, text)
	return out
}

// Int returns a value that is a whole number that is not negative, and false
// for any other, and beyond 15 digits.
func Int(value []byte) (int64, bool) {
	if len(value) == 0 || len(value) > 15 {
		return 0, false
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

func blanks(doc []byte, at int) int {
	for at < len(doc) && (doc[at] == ' ' || doc[at] == '\n' || doc[at] == '\r' || doc[at] == '\t') {
		at++
	}
	return at
}

// nearby is how far a string is read byte by byte. Most names and many values
// end sooner, and then a search costs more than it saves.
const nearby = 20

// stringEnd returns the place behind the string at a place; negative if there
// is none.
func stringEnd(doc []byte, at int) int {
	if at >= len(doc) || doc[at] != '"' {
		return -1
	}
	quote := at
	at++
	for near := min(at+nearby, len(doc)); at < near; at++ {
		switch doc[at] {
		case '"':
			return at + 1
		case '\\':
			at++ // whatever is escaped, a quote too
		}
	}
	for at < len(doc) {
		if quote < at { // searched once for each quote, not for each escape
			i := bytes.IndexByte(doc[at:], '"')
			if i < 0 {
				return -1
			}
			quote = at + i
		}
		escape := bytes.IndexByte(doc[at:quote], '\\')
		if escape < 0 {
			return quote + 1
		}
		at += escape + 2
	}
	return -1
}

// valueEnd returns the place behind the value at a place; negative if there is
// no end of it.
func valueEnd(doc []byte, at int) int {
	depth := 0
	for at < len(doc) {
		switch c := doc[at]; c {
		case '"':
			if at = stringEnd(doc, at); at < 0 {
				return -1
			}
		case '{', '[':
			depth++
			at++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
			at++
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return -1
			}
			at++
			continue
		default:
			for at < len(doc) && !ends(doc[at]) {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
	return -1
}

// ends reports whether a byte ends a number or a word.
func ends(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\r', '\t':
		return true
	default:
		return false
	}
}
