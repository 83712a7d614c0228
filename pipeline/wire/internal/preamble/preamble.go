// Package preamble reads the texts a conversation begins with.
//
// What it reads is the same in every dialect: messages hold a string, or parts
// of which some hold a text. Where a text stands decides nothing, and neither
// does what stands beside it, so a text that a client sends as a string today
// and as a block with a cache mark tomorrow is the same text.
package preamble

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
)

// Texts yields the texts of the system value, then those of the messages, each
// decoded, empty ones left out. A text that has no exact one (half a surrogate
// pair, invalid UTF-8) is yielded as JSON spells it.
//
// system is a JSON value or empty. messages is one, too, or the beginning of a
// list of messages up to the end of one of them. Messages of tools say nothing.
func Texts(system, messages []byte, yield func(string) bool) {
	r := reader{yield: yield}
	for _, value := range [...][]byte{system, messages} {
		value = bytes.TrimLeft(value, ": \t\r\n") // a colon, if it stands behind its key
		if len(value) == 0 {
			continue
		}
		if value[0] == '{' {
			r.message(value)
			continue
		}
		r.content(value, r.message)
	}
}

// reader reads JSON that was found to be valid before. What is not is the
// place where a list was cut off.
type reader struct {
	yield func(string) bool
	done  bool // the caller has heard enough
}

// content reads a string, one part, or a list; the parts of a system value
// come in the shape of messages or of parts, so element decides.
func (r *reader) content(value []byte, element func([]byte)) {
	switch value[0] {
	case '"':
		r.text(value)
	case '{':
		r.part(value)
	case '[':
		d := newDecoder(value)
		_, _ = d.ReadToken() // the bracket
		for !r.done {
			value, err := d.ReadValue()
			if err != nil {
				return // the end
			}
			if value[0] == '{' {
				element(value)
			}
		}
	}
}

// message reads what somebody said: a message of a conversation, or a part of
// a system value, which has its text where a part has it.
func (r *reader) message(value []byte) {
	var role, content []byte
	members(value, func(name string, value []byte) {
		switch name {
		case "role":
			role = value
		case "content", "parts":
			content = value
		}
	})
	if who, _ := literal.String(role); who == "tool" || who == "function" {
		return
	}
	if len(content) == 0 {
		r.part(value)
		return
	}
	r.content(content, r.part)
}

// part reads one part. A part that says nothing of its kind is what it holds.
func (r *reader) part(value []byte) {
	var kind, text []byte
	members(value, func(name string, value []byte) {
		switch name {
		case "type":
			kind = value
		case "text":
			text = value
		}
	})
	switch string(kind) {
	case "", `"text"`, `"input_text"`, `"output_text"`:
		if len(text) > 0 && text[0] == '"' {
			r.text(text)
		}
	}
}

func (r *reader) text(value []byte) {
	text, exact := literal.String(value)
	if !exact {
		text = string(value[1 : len(value)-1])
	}
	if text != "" && !r.done {
		r.done = !r.yield(text)
	}
}

// members calls f for every member of an object. The values are slices of it.
func members(object []byte, f func(name string, value []byte)) {
	d := newDecoder(object)
	_, _ = d.ReadToken() // the brace
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		end := int(d.InputOffset())
		f(key, object[end-len(value):end])
	}
}

func newDecoder(value []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}
