package wire

import (
	"fmt"
	"unicode/utf8"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
)

// Patch puts a text in the place of a segment's text, or bytes in the place of
// others.
type Patch struct {
	// Span is where the segment's value stands in the body, or the bytes that Raw
	// replaces. With Raw it may be empty, which inserts.
	Span pipeline.Span
	// Text is the new text, decoded. It must be valid UTF-8.
	Text string
	// Value, if set, is the value for Text as [Encode] made it: a text that
	// is sent again every turn need not be encoded every turn.
	Value []byte
	// Raw, if not nil, replaces whatever Span covers: to add or to remove
	// elements of a list with their commas. Whoever makes it answers for the JSON.
	Raw []byte
}

// Encode returns the JSON value for a text that is put in the place of a
// segment's value: a string in the escaping style of that string, or a content
// block that differs from that block in its text.
func Encode(value []byte, text string) []byte {
	return literal.Encode(value, text)
}

// Decode returns the text of a JSON string, or of a content block that holds one,
// and false when it has no exact text: half a surrogate pair, invalid UTF-8.
func Decode(value []byte) (string, bool) { return literal.Decode(value) }

// Splice appends body to dst with the patches applied. Patches are in body
// order, do not overlap, and each covers one value of body that holds a text, as
// the segments of a transcript do, unless it is raw. Bytes outside of them are copied as they are; a
// new string keeps the escaping style of the one it replaces. On error dst
// comes back as it was.
func Splice(dst, body []byte, patches []Patch) ([]byte, error) {
	size, err := measure(body, patches)
	if err != nil {
		return dst, err
	}
	if cap(dst)-len(dst) < size {
		dst = append(make([]byte, 0, len(dst)+size), dst...)
	}
	e := literal.NewEncoder()
	at := 0
	for i := range patches {
		span := patches[i].Span
		dst = append(dst, body[at:span.Start]...)
		switch p := &patches[i]; {
		case p.Raw != nil:
			dst = append(dst, p.Raw...)
		case p.Value != nil:
			dst = append(dst, p.Value...)
		default:
			dst = e.Append(dst, body[span.Start:span.End], p.Text)
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
		case p.Raw != nil && p.Span.Len() >= 0:
			size += len(p.Raw) - p.Span.Len()
			at = p.Span.End
			continue
		case p.Span.Len() < 2 || !holds(body[p.Span.Start:p.Span.End], p.Value != nil):
			return 0, fmt.Errorf("patch %d covers bytes %d to %d: nothing there holds a text", i, p.Span.Start, p.Span.End)
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

// holds reports whether a value can hold a text. A patch that brings the new value
// was made from the old one, so a look at both ends is enough.
func holds(value []byte, encoded bool) bool {
	if encoded {
		return literal.Framed(value)
	}
	return literal.Holds(value)
}
