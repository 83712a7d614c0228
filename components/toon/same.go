package toon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// sameStrings is how many strings deep the check follows: one more than the
// component goes, so that it does not depend on where that one stops.
const sameStrings = maxStrings + 1

// sameLiterals is the claim of this component and its proof: the first text is
// a JSON document, and the second is the same literals in the same order, as
// JSON or as TOON; a string that held a document may hold it as either, too.
// Numbers are compared as they are written and strings by their text: an
// escape says the same as the character it stands for.
func sameLiterals(before, after string) error { return sameTexts(before, after, sameStrings) }

func sameTexts(before, after string, levels int) error {
	if json.Valid([]byte(after)) {
		return sameDocuments([]byte(before), []byte(after), levels)
	}
	decoded, err := decode(after)
	if err != nil {
		return fmt.Errorf("read as TOON: %w", err)
	}
	return sameDocuments([]byte(before), decoded, levels)
}

func sameDocuments(before, after []byte, levels int) error {
	a, b := reader(before), reader(after)
	for begun := false; !begun || a.StackDepth() > 0; begun = true {
		kind := a.PeekKind()
		if other := b.PeekKind(); kind != other {
			return fmt.Errorf("at bytes %d and %d: %v became %v", a.InputOffset(), b.InputOffset(), kind, other)
		}
		var err error
		switch kind {
		case '{', '}', '[', ']':
			_, errA := a.ReadToken()
			_, errB := b.ReadToken()
			err = errors.Join(errA, errB)
		default:
			err = sameScalars(a, b, levels)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(over(a), over(b))
}

// reader reads without opinions on repeated names or on bytes inside strings:
// what is not TOON is compared as it is, and TOON has neither.
func reader(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// over returns an error unless nothing but white space follows.
func over(d *jsontext.Decoder) error {
	switch _, err := d.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("behind the document: %w", err)
	default:
		return fmt.Errorf("another document ends at byte %d", d.InputOffset())
	}
}

func sameScalars(a, b *jsontext.Decoder, levels int) error {
	kind, members := a.StackIndex(a.StackDepth())
	name := kind == '{' && members%2 == 0
	x, errX := a.ReadValue()
	y, errY := b.ReadValue()
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	if bytes.Equal(x, y) {
		return nil
	}
	if x.Kind() != '"' || y.Kind() != '"' {
		return fmt.Errorf("the literals that end at bytes %d and %d differ", a.InputOffset(), b.InputOffset())
	}
	textX, errX := jsontext.AppendUnquote(nil, x)
	textY, errY := jsontext.AppendUnquote(nil, y)
	if err := errors.Join(errX, errY); err != nil {
		return fmt.Errorf("the string that ends at byte %d has no exact text: %w", a.InputOffset(), err)
	}
	switch {
	case bytes.Equal(textX, textY):
		return nil
	case name || levels == 0:
		return fmt.Errorf("the strings that end at bytes %d and %d differ", a.InputOffset(), b.InputOffset())
	}
	if k := jsontext.Value(textX).Kind(); k != '{' && k != '[' {
		return fmt.Errorf("the string that ends at byte %d is no document and differs", a.InputOffset())
	}
	if err := sameTexts(string(textX), string(textY), levels-1); err != nil {
		return fmt.Errorf("in the string that ends at byte %d: %w", a.InputOffset(), err)
	}
	return nil
}
