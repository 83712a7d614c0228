package hidden

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
)

// member is one member of a JSON object. The span is that of its value.
type member struct {
	name string
	at   pipeline.Span
}

// scanner reads one level of JSON values that stand in a body. The body has been
// read once, so what it finds is JSON.
type scanner struct {
	body []byte
	src  bytes.Buffer
	dec  jsontext.Decoder
}

func (s *scanner) begin(at pipeline.Span) {
	s.src = *bytes.NewBuffer(s.body[at.Start:at.End])
	s.dec.Reset(&s.src, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// members returns the members of an object. It is false when the value is none
// or has a name twice: two readers may then disagree about what it says.
func (s *scanner) members(at pipeline.Span) ([]member, bool) {
	s.begin(at)
	if s.dec.PeekKind() != '{' {
		return nil, false
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, false
	}
	var list []member
	for s.dec.PeekKind() == '"' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: name.String()}
		value, err := s.dec.ReadValue()
		if err != nil {
			return nil, false
		}
		m.at = s.last(at, value)
		for i := range list {
			if list[i].name == m.name {
				return nil, false
			}
		}
		list = append(list, m)
		if len(list) > mostMembers {
			return nil, false
		}
	}
	return list, true
}

const (
	// mostMembers bounds the comparison of names. Messages have a handful.
	mostMembers = 64
	// mostItems bounds the pieces of a turn. Turns have a few dozen.
	mostItems = 4096
)

// items returns the elements of a list, and false when the value is none or has
// more of them than any turn has pieces.
func (s *scanner) items(at pipeline.Span) ([]pipeline.Span, bool) {
	s.begin(at)
	if s.dec.PeekKind() != '[' {
		return nil, false
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, false
	}
	var list []pipeline.Span
	for s.dec.PeekKind() != ']' {
		value, err := s.dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, s.last(at, value))
		if len(list) > mostItems {
			return nil, false
		}
	}
	return list, true
}

// last is where the value just read stands in the body.
func (s *scanner) last(at pipeline.Span, value []byte) pipeline.Span {
	end := at.Start + int(s.dec.InputOffset())
	return pipeline.Span{Start: end - len(value), End: end}
}

// value returns the bytes of a span.
func (s *scanner) value(at pipeline.Span) []byte { return s.body[at.Start:at.End] }

// isText reports whether a JSON value is a string.
func isText(value []byte) bool { return len(value) >= 2 && value[0] == '"' }
