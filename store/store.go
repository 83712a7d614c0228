package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DefaultTTL is how long a value lives after it was last written or read: a
// working day's conversation survives the night.
const DefaultTTL = 24 * time.Hour

// maxTTL bounds every TTL: longer ones overflow the servers' expiry arithmetic
// sooner than they help anybody.
const maxTTL = 366 * 24 * time.Hour

// Errors a caller branches on, to be tested with [errors.Is].
var (
	// ErrNotFound says that the key holds nothing, or holds it no longer.
	ErrNotFound = errors.New("not found in the store")
	// ErrUnavailable says that the store could not answer in time or at all:
	// down, stalled, read-only, breaker open, caller gone. It wraps the cause.
	ErrUnavailable = errors.New("store unavailable")
	// ErrFull says that the store works but has no room for the value.
	ErrFull = errors.New("store full")
	// ErrCorrupt says that what the key holds is not what was written: the
	// digest differs, the value does not open, or it is not ours.
	ErrCorrupt = errors.New("stored value is corrupt")
	// ErrInvalidKey says that the key can not be stored, whatever the store's state.
	ErrInvalidKey = errors.New("invalid store key")
	// ErrClosed says that the store was used after Close.
	ErrClosed = errors.New("store closed")
)

// ConflictError reports keys that already hold another value. That value stays.
type ConflictError struct {
	Keys []Key // in the order of the call, at least one
}

// Error names the keys.
func (e *ConflictError) Error() string {
	names := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		names[i] = k.String()
	}
	return "store conflict: another value is stored under " + strings.Join(names, ", ")
}

// Item is one value to write.
type Item struct {
	Key   Key
	Value []byte        // any bytes; the store keeps no reference to them
	TTL   time.Duration // sliding; 0 = the store's default

	// Sum is the SHA-256 digest of the value, if the caller has it; zero if not.
	// It spares the store from hashing a value it knows to be stored.
	Sum [sha256.Size]byte
	// Load, if set, gives the value in Value's place; Sum is then mandatory. It is
	// called, once or not at all, when the value has to be written.
	Load func() ([]byte, error)
}

// Validate reports why a store would refuse the item, whatever the store's state.
func (it Item) Validate() error {
	if err := it.Key.Validate(); err != nil {
		return err
	}
	if it.Load != nil && it.Sum == [sha256.Size]byte{} {
		return fmt.Errorf("item %s: a value on demand needs its digest in Sum", it.Key)
	}
	return nil
}

// Loaded returns the item with its value in Value. A value that does not have
// the announced digest is an error.
func (it Item) Loaded() (Item, error) {
	if it.Load == nil {
		return it, nil
	}
	value, err := it.Load()
	if err != nil {
		return it, fmt.Errorf("load the value of %s: %w", it.Key, err)
	}
	if sha256.Sum256(value) != it.Sum {
		return it, fmt.Errorf("load the value of %s: %d bytes that do not have the announced digest", it.Key, len(value))
	}
	it.Value, it.Load = value, nil
	return it, nil
}

// Digest returns the SHA-256 digest of the item's value.
func (it Item) Digest() [sha256.Size]byte {
	if it.Sum != [sha256.Size]byte{} {
		return it.Sum
	}
	return sha256.Sum256(it.Value)
}

// OwnTTL returns the item's own TTL, at least a millisecond and at most 366
// days, or 0 when it leaves the choice to the store.
func (it Item) OwnTTL() time.Duration {
	if it.TTL <= 0 {
		return 0
	}
	return min(max(it.TTL, time.Millisecond), maxTTL).Truncate(time.Millisecond)
}

// Store keeps values under keys for a sliding time. Implementations are safe
// for concurrent use, and no call waits longer than its context or the store's
// own deadline, whichever ends first.
type Store interface {
	// PutAll stores every item that is absent and renews the TTL of those
	// present, in one round trip where the store has one. Nil means all of them
	// are acknowledged; any error means the caller must treat none of them as
	// stored. An item present with another value is never overwritten and gives
	// a [*ConflictError]. Calling again with the same items is safe and heals
	// what a failed call left half done.
	PutAll(ctx context.Context, items []Item) error
	// Get returns the value and renews the TTL it was stored with. It gives [ErrNotFound] when the
	// key holds nothing and [ErrCorrupt] when the digest does not match. The
	// caller owns the slice.
	Get(ctx context.Context, key Key) ([]byte, error)
	// GetAll reads several keys as Get does, in one round trip where the store
	// has one. A value is nil where Get would give [ErrNotFound] or [ErrCorrupt].
	// With an error there are no values.
	GetAll(ctx context.Context, keys []Key) ([][]byte, error)
	// SetIfAbsent stores the item unless its key holds a value. It returns the
	// value the key now holds, with its TTL renewed, and whether this call put it
	// there: the loser of a race adopts the winner's value.
	SetIfAbsent(ctx context.Context, item Item) (current []byte, won bool, err error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
	// Close releases what the store holds. Later calls fail with [ErrClosed].
	Close() error
}

// Inspector is implemented by stores that can judge their own set-up.
type Inspector interface {
	// Inspect looks for settings that will lose values or refuse calls. An
	// error means the store could not be asked, not that something is wrong.
	Inspect(ctx context.Context) ([]Warning, error)
}

// Warning is one finding of an [Inspector].
type Warning struct {
	Code    string // stable, snake_case, for machines
	Serious bool   // values in use can be lost or calls will fail; otherwise a note
	Text    string // what was found, with its value
	Cure    string // what to do about it
}

// String renders the finding and its cure on one line.
func (w Warning) String() string { return w.Text + "; " + w.Cure }
