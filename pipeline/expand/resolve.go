package expand

import (
	"context"
	"errors"
	"fmt"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/store"
)

// ErrUnknown is the answer to every id that has no original the asking tenant
// may read, whatever the reason.
var ErrUnknown = errors.New("no original under this id")

// Originals reads stored originals. It returns an error that wraps
// [ErrUnknown] when it holds none; every other error means that it cannot tell.
type Originals interface {
	Get(ctx context.Context, tenant, id string) ([]byte, error)
}

// Stored reads the originals in a store.
type Stored struct{ Store store.Store }

// Get implements [Originals]. A value that was damaged or can no longer be
// decrypted is not an original any more.
func (s Stored) Get(ctx context.Context, tenant, id string) ([]byte, error) {
	value, err := s.Store.Get(ctx, store.Key{Tenant: tenant, Space: store.Originals, ID: id})
	switch {
	case err == nil:
		return value, nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrInvalidKey):
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	default:
		return nil, fmt.Errorf("read original: %w", err)
	}
}

// Requested reads originals in the request that the markers were sent in, which
// holds them all: no store is needed to answer what a model asks about its own
// prompt. What that request does not hold is left to others.
type Requested struct {
	// Text returns the original behind a marker of the request.
	Text func(id string) (string, bool)
	// Others may be nil.
	Others Originals
}

// Get implements [Originals]. The request is the asking tenant's, whoever it is.
func (r Requested) Get(ctx context.Context, tenant, id string) ([]byte, error) {
	if text, ok := r.Text(id); ok {
		return []byte(text), nil
	}
	if r.Others == nil {
		return nil, ErrUnknown
	}
	return r.Others.Get(ctx, tenant, id) //nolint:wrapcheck // it is one of ours
}

// Resolver finds the original behind an id. It is safe for concurrent use.
type Resolver struct {
	Keys      *pipeline.Keyring
	Originals Originals
}

// Resolve returns the original of an id for a caller who is known under the
// given tenants, one per service key, the current one first. The error is
// [ErrUnknown] itself or says that the originals cannot be read now. An id
// that no key of ours minted is never looked up.
func (r *Resolver) Resolve(ctx context.Context, tenants []string, id string) (string, error) {
	if !r.Keys.Owns(id) {
		return "", ErrUnknown
	}
	var unreadable error
	for _, tenant := range tenants {
		value, err := r.Originals.Get(ctx, tenant, id)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			unreadable = err
			continue
		}
		// The store is not trusted to hold what its key says.
		if original := string(value); r.Keys.Matches(id, original) {
			return original, nil
		}
	}
	if unreadable != nil {
		return "", unreadable
	}
	return "", ErrUnknown
}
