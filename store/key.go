package store

import (
	"fmt"
	"strings"
)

// Space separates what is stored. Only Originals can ever be named by a model
// or by a caller of the expand endpoint.
type Space byte

// The spaces, by the byte that stands for them in a rendered key.
const (
	// Originals are the client's own texts, named by marker ids.
	Originals Space = 'o'
	// Exchanges are tool exchanges the client never saw.
	Exchanges Space = 'x'
	// Outcomes are remembered results of model calls.
	Outcomes Space = 'c'
	// Generations are configuration generations and the conversations pinned to them.
	Generations Space = 'g'
)

// Valid reports whether s is one of the four spaces.
func (s Space) Valid() bool {
	switch s {
	case Originals, Exchanges, Outcomes, Generations:
		return true
	}
	return false
}

// Longest tenant and id in bytes. They bound what one key can cost in the
// server and in the bookkeeping of a process; a longer name is better hashed.
const (
	MaxTenantBytes = 512
	MaxIDBytes     = 512
)

// Key names one stored value.
type Key struct {
	Tenant string // whose value it is; empty only for what belongs to the service itself (Generations)
	Space  Space
	ID     string
}

// String renders the key as the stores know it: cg:{tenant}:space:id. Distinct
// keys have distinct renderings, whatever bytes tenant and id hold.
func (k Key) String() string {
	var buf [128]byte
	return string(k.appendTo(buf[:0]))
}

// appendTo appends what String returns.
func (k Key) appendTo(b []byte) []byte {
	b = append(b, "cg:{"...)
	b = escapeTo(b, k.Tenant)
	b = append(b, '}', ':', byte(k.Space), ':')
	return escapeTo(b, k.ID)
}

// Validate reports why a store would refuse the key. The error wraps [ErrInvalidKey].
func (k Key) Validate() error {
	switch {
	case !k.Space.Valid():
		return fmt.Errorf("%w: space %q is none of o, x, c, g", ErrInvalidKey, rune(k.Space))
	case k.Tenant == "" && k.Space != Generations:
		return fmt.Errorf("%w: space %q needs a tenant", ErrInvalidKey, rune(k.Space))
	case len(k.Tenant) > MaxTenantBytes:
		return fmt.Errorf("%w: tenant has %d bytes, at most %d; use a digest of it", ErrInvalidKey, len(k.Tenant), MaxTenantBytes)
	case k.ID == "":
		return fmt.Errorf("%w: empty id", ErrInvalidKey)
	case len(k.ID) > MaxIDBytes:
		return fmt.Errorf("%w: id has %d bytes, at most %d; use a digest of it", ErrInvalidKey, len(k.ID), MaxIDBytes)
	}
	return nil
}

// plain reports whether c stands for itself in a rendered key. Braces, colon
// and percent must not, or one name could spell another's key; control and
// non-ASCII bytes must not, so that a key can be printed.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-_.~@/=+", c) >= 0
}

func escapeTo(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	done := 0
	for i := range len(s) {
		if c := s[i]; !plain(c) {
			b = append(b, s[done:i]...)
			b = append(b, '%', hex[c>>4], hex[c&15])
			done = i + 1
		}
	}
	return append(b, s[done:]...)
}
