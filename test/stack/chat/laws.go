package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// marker finds the markers of the published form. What stands in the client's
// own text is none of ours, whatever it looks like.
var marker = regexp.MustCompile(`<<cg:([a-z2-7]{20})>>`)

// Messages returns the bytes of a request's message array without its closing
// bracket: what the next turn's array has to begin with.
func Messages(body []byte) ([]byte, error) {
	dec := decoder(body)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, fmt.Errorf("read a request: want an object, got %v (%w)", t, err)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		found := name.String() == "messages"
		value, err := dec.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		if found && value.Kind() == '[' {
			return bytes.TrimRight(bytes.Clone(value[:len(value)-1]), " \t\r\n"), nil
		}
	}
	return nil, errors.New("read a request: it has no array of messages")
}

func decoder(body []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Prefix checks that the messages of an earlier request begin those of a later
// one, byte for byte.
func Prefix(earlier, later []byte) error {
	a, err := Messages(earlier)
	if err != nil {
		return err
	}
	b, err := Messages(later)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(b, a) {
		return nil
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	around := func(s []byte) []byte { return s[max(0, min(at-40, len(s))):min(len(s), at+80)] }
	return fmt.Errorf("the messages differ at byte %d of %d:\nearlier %q\nlater   %q", at, len(a), around(a), around(b))
}

// Edit is one string the provider received in another form than the client sent.
type Edit struct {
	// Pointer is its place as a JSON pointer.
	Pointer string
	// Client and Sent are the two texts.
	Client, Sent string
	// IDs are the markers in Sent that were not in Client.
	IDs []string
}

// Edits compares what the client sent with what the provider received. It
// returns an error unless they are equal byte for byte outside of strings that
// differ.
func Edits(client, sent []byte) ([]Edit, error) {
	var edits []Edit
	var rebuilt []byte // the provider's bytes with the client's strings
	copied := 0
	a, b := decoder(client), decoder(sent)
	for {
		x, endA, errA := next(a)
		y, endB, errB := next(b)
		if errors.Is(errA, io.EOF) && errors.Is(errB, io.EOF) {
			break
		}
		if errA != nil || errB != nil {
			return nil, fmt.Errorf("after bytes %d and %d: %w", endA, endB, errors.Join(errA, errB))
		}
		if bytes.Equal(x, y) {
			continue
		}
		if x[0] != '"' || y[0] != '"' {
			return nil, fmt.Errorf("at %s: %s became %s", a.StackPointer(), x, y)
		}
		edit := Edit{Pointer: string(a.StackPointer())}
		var err error
		if edit.Client, err = unquote(x); err == nil {
			edit.Sent, err = unquote(y)
		}
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", edit.Pointer, err)
		}
		edit.IDs = newMarkers(edit.Client, edit.Sent)
		edits = append(edits, edit)
		rebuilt = append(append(rebuilt, sent[copied:endB-len(y)]...), x...)
		copied = endB
	}
	if rebuilt = append(rebuilt, sent[copied:]...); !bytes.Equal(rebuilt, client) {
		return nil, errors.New("putting the client's strings back does not give the client's bytes")
	}
	return edits, nil
}

// next returns the raw bytes of the next token and the offset behind it.
func next(dec *jsontext.Decoder) (raw jsontext.Value, end int, err error) {
	switch dec.PeekKind() {
	case '{', '}', '[', ']':
		var t jsontext.Token
		if t, err = dec.ReadToken(); err == nil {
			raw = jsontext.Value(t.String())
		}
	default:
		raw, err = dec.ReadValue()
	}
	return raw, int(dec.InputOffset()), err
}

func unquote(raw jsontext.Value) (string, error) {
	out, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", fmt.Errorf("read a string: %w", err)
	}
	return string(out), nil
}

// Markers returns the ids of the markers in a text.
func Markers(s string) []string {
	var ids []string
	for _, found := range marker.FindAllStringSubmatch(s, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

func newMarkers(client, sent string) (ids []string) {
	own := Markers(client)
	for _, id := range Markers(sent) {
		if !slices.Contains(own, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Restore checks that nothing was lost: each marker's original is the client's
// text of its string exactly, each string without a marker says the same as the
// client's, and every other byte is the client's. original reads an original back.
func Restore(client, sent []byte, original func(id string) (string, error)) ([]Edit, error) {
	edits, err := Edits(client, sent)
	if err != nil {
		return nil, err
	}
	for _, edit := range edits {
		if len(edit.IDs) == 0 {
			if err := pipelinetest.SameJSON(edit.Client, edit.Sent); err != nil {
				return edits, fmt.Errorf("at %s: no marker, and not the same text: %w", edit.Pointer, err)
			}
			continue
		}
		for _, id := range edit.IDs {
			text, err := original(id)
			if err != nil {
				return edits, fmt.Errorf("at %s: %w", edit.Pointer, err)
			}
			if text != edit.Client {
				return edits, fmt.Errorf("at %s: the original behind %s has %d bytes and is not the client's text of %d bytes", edit.Pointer, id, len(text), len(edit.Client))
			}
		}
	}
	return edits, nil
}
