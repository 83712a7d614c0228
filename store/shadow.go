package store

import (
	"context"
	"errors"
)

// Shadow returns a store that reads from another one and writes nothing: what
// is put is acknowledged and forgotten.
func Shadow(of Store) Store { return shadow{of} }

type shadow struct{ Store }

// PutAll acknowledges what the store would take.
func (shadow) PutAll(_ context.Context, items []Item) error {
	for _, item := range items {
		if err := item.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// SetIfAbsent tells what the key holds, or acknowledges.
func (s shadow) SetIfAbsent(ctx context.Context, item Item) (current []byte, won bool, err error) {
	if err := item.Validate(); err != nil {
		return nil, false, err
	}
	current, err = s.Get(ctx, item.Key)
	if !errors.Is(err, ErrNotFound) {
		return current, false, err
	}
	item, err = item.Loaded()
	return item.Value, err == nil, err
}

// Close leaves the store itself open: it is another's.
func (shadow) Close() error { return nil }
