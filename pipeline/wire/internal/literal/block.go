package literal

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The members that a block can hold its text in.
const (
	nameText = "text"
	nameJSON = "json"
)

// member is a member of a block: where its name and its value stand.
type member struct {
	nameStart, nameEnd   int
	valueStart, valueEnd int
	raw                  bool // the value is the text
}

// Decode returns the text of a string or of a block, and false when there is
// none or no exact one: invalid UTF-8, or half a surrogate pair.
func Decode(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '{' {
		return String(value)
	}
	m, ok := find(value)
	switch inner := value[m.valueStart:m.valueEnd]; {
	case !ok:
		return "", false
	case m.raw:
		return string(inner), utf8.Valid(inner)
	default:
		return String(inner)
	}
}

// Encode returns the value for a text that is put in the place of another: of a
// string in the same style, or of a block. The text must be valid UTF-8.
func Encode(value []byte, text string) []byte {
	e := NewEncoder()
	return e.Append(make([]byte, 0, len(text)+len(text)/4+16), value, text)
}

// Framed reports whether a value begins and ends like one that can hold a text:
// in quotes or in braces.
func Framed(value []byte) bool {
	if len(value) < 2 {
		return false
	}
	inner := value[1 : len(value)-1]
	switch value[0] {
	case '{':
		return value[len(value)-1] == '}'
	case '"':
		return value[len(value)-1] == '"' && (len(inner)-len(bytes.TrimRight(inner, `\`)))%2 == 0
	default:
		return false
	}
}

// Holds reports whether a value can hold a text: it is framed, and if it is an
// object it is a block, which takes reading it.
func Holds(value []byte) bool {
	if !Framed(value) || value[0] == '"' {
		return Framed(value)
	}
	_, ok := find(value)
	return ok
}

// find returns the member that a block holds its text in. There has to be one,
// and only one, and nothing else may be wrong with the block.
func find(block []byte) (found member, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(block), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' || block[0] != '{' {
		return member{}, false
	}
	count := 0
	for dec.PeekKind() == '"' {
		var m member
		name, err := dec.ReadValue()
		if err != nil {
			return member{}, false
		}
		m.nameEnd = int(dec.InputOffset())
		m.nameStart = m.nameEnd - len(name)
		text, _ := String(name)
		value, err := dec.ReadValue()
		if err != nil {
			return member{}, false
		}
		m.valueEnd = int(dec.InputOffset())
		m.valueStart = m.valueEnd - len(value)
		switch text {
		case nameText:
			ok = value[0] == '"'
		case nameJSON:
			m.raw = true
			ok = value[0] == '{' || value[0] == '['
		default:
			continue
		}
		found, count = m, count+1
	}
	if _, err := dec.ReadToken(); err != nil || int(dec.InputOffset()) != len(block) {
		return member{}, false
	}
	return found, ok && count == 1
}

// block appends a block with another text.
func (e *Encoder) block(dst, block []byte, text string) []byte {
	m, ok := find(block)
	if !ok {
		block = []byte(`{"text":""}`)
		m, _ = find(block)
	}
	inner := block[m.valueStart:m.valueEnd]
	if m.raw && replaces(inner, text) {
		dst = append(dst, block[:m.valueStart]...)
		dst = append(dst, text...)
		return append(dst, block[m.valueEnd:]...)
	}
	dst = append(dst, block[:m.nameStart]...)
	dst = append(dst, `"`+nameText+`"`...)
	dst = append(dst, block[m.nameEnd:m.valueStart]...)
	dst = e.quote(dst, styleOf(inner), text)
	return append(dst, block[m.valueEnd:]...)
}

// replaces reports whether a text can stand where JSON stands: it is JSON of
// the same kind, with nothing around it.
func replaces(raw []byte, text string) bool {
	if text == "" || text[0] != raw[0] || text[len(text)-1] != raw[len(raw)-1] {
		return false
	}
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}
