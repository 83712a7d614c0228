package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// sameStrings is how many strings deep the check follows: one more than the
// component goes, so that it does not depend on where that one stops.
const sameStrings = maxStrings + 1

// sameLiterals is the claim of this component and its proof: both texts are
// one JSON document each, made of the same literals in the same order, written
// in the same bytes. A string may differ if both of its texts are documents
// for which the same holds. It reads with a parser of its own.
func sameLiterals(before, after string) error {
	return sameDocument([]byte(before), []byte(after), sameStrings)
}

func sameDocument(before, after []byte, levels int) error {
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
			err = sameScalar(a, b, levels)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(over(a), over(b))
}

// reader reads without opinions on repeated names or on bytes inside strings:
// both are compared as they are.
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

func sameScalar(a, b *jsontext.Decoder, levels int) error {
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
	if name || levels == 0 || x.Kind() != '"' || y.Kind() != '"' {
		return fmt.Errorf("the literals that end at bytes %d and %d differ", a.InputOffset(), b.InputOffset())
	}
	inX, errX := jsontext.AppendUnquote(nil, x)
	inY, errY := jsontext.AppendUnquote(nil, y)
	if err := errors.Join(errX, errY); err != nil {
		return fmt.Errorf("the string that ends at byte %d has no exact text: %w", a.InputOffset(), err)
	}
	if k := jsontext.Value(inX).Kind(); k != '{' && k != '[' {
		return fmt.Errorf("the string that ends at byte %d is no document and differs", a.InputOffset())
	}
	if err := sameDocument(inX, inY, levels-1); err != nil {
		return fmt.Errorf("in the string that ends at byte %d: %w", a.InputOffset(), err)
	}
	return nil
}
