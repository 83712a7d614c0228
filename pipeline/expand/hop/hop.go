// Package hop tells our own continuations from everybody else's requests.
//
// A continuation goes through the gateway's own listener and so meets this
// service a second time. There it has to pass untouched, and nothing but a
// proof that we sent it may buy that: the header [Header] carries a MAC of a
// service key over what the request is and whose.
//
//	1.DEPTH.EXPIRY.NONCE.MAC
//
// DEPTH is a number from 1 to [MaxDepth], EXPIRY the Unix time in seconds from
// which on the value is void, NONCE and MAC are lower-case base32. The MAC covers
// version, method, path with its query, authority, tenant, depth, expiry and
// nonce, each with its length in front, so that no two requests spell the same.
//
// A valid value means: pass, and remove the header. Anything else means: remove
// the header and treat the request like any other. A value can be used again until
// it expires, by those who can read the gateway's own traffic; all it buys
// them is a request that nobody makes smaller.
package hop

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/contextguru/contextguru/pipeline"
)

// Header is the name of the header, in lower case.
const Header = "x-context-guru-hop"

const (
	// MaxDepth is how often a continuation may be continued. One is all the
	// service needs; more would mean a gateway that sends its requests to itself.
	MaxDepth = 9
	// DefaultLifetime covers the way through one gateway: the value is looked at
	// when the headers arrive, so it need not last as long as the request.
	DefaultLifetime = time.Minute

	version   = "1"
	purpose   = "hop"
	nonceLen  = 26 // what rand.Text gives: 130 bits
	maxLength = 128
)

// Reasons why a value is void.
var (
	// ErrMalformed says that it is no value of this form.
	ErrMalformed = errors.New("malformed hop header")
	// ErrForged says that no key of ours made it for this request.
	ErrForged = errors.New("hop header was not made for this request")
	// ErrExpired says that it was ours once.
	ErrExpired = errors.New("hop header has expired")
)

// Request is what a value vouches for.
type Request struct {
	// Method, Path and Authority are those of the request, the path with its
	// query and as it is on the wire.
	Method, Path, Authority string
	// Tenants are the names of the request's owner, one per service key, the
	// current one first; none when it has no owner. A value is made for the
	// first and good for each.
	Tenants []string
}

// Signer makes and checks values. It is safe for concurrent use.
type Signer struct {
	// Keys sign with the first and verify with each.
	Keys *pipeline.Keyring
	// Lifetime is how long a value is good for; 0 is DefaultLifetime.
	Lifetime time.Duration
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

func (s *Signer) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Sign returns the value for a continuation of the given depth, at least 1. It
// is an error to go deeper than MaxDepth.
func (s *Signer) Sign(r Request, depth int) (string, error) {
	if depth < 1 || depth > MaxDepth {
		return "", fmt.Errorf("hop depth must be 1 to %d, got %d", MaxDepth, depth)
	}
	lifetime := s.Lifetime
	if lifetime <= 0 {
		lifetime = DefaultLifetime
	}
	head := version + "." + strconv.Itoa(depth) + "." +
		strconv.FormatInt(s.now().Add(lifetime).Unix(), 10) + "." +
		strings.ToLower(rand.Text()[:nonceLen])
	tenant := ""
	if len(r.Tenants) > 0 {
		tenant = r.Tenants[0]
	}
	return head + "." + s.Keys.Derive(purpose, message(head, &r, tenant))[0], nil
}

// Verify returns the depth of a continuation of ours, or one of the errors
// above. The time it takes does not depend on how much of a forged value is right.
func (s *Signer) Verify(r Request, value string) (depth int, err error) {
	cut := strings.LastIndexByte(value, '.')
	if len(value) > maxLength || cut < 0 {
		return 0, ErrMalformed
	}
	head, mac := value[:cut], value[cut+1:]
	depth, expiry, ok := parse(head)
	if !ok {
		return 0, ErrMalformed
	}
	good := 0
	tenants := r.Tenants
	if len(tenants) == 0 {
		tenants = []string{""}
	}
	for _, tenant := range tenants {
		for _, want := range s.Keys.Derive(purpose, message(head, &r, tenant)) {
			good |= subtle.ConstantTimeCompare([]byte(want), []byte(mac))
		}
	}
	switch {
	case good != 1:
		return 0, ErrForged
	case s.now().Unix() >= expiry:
		return 0, ErrExpired
	}
	return depth, nil
}

// parse reads 1.DEPTH.EXPIRY.NONCE in the one spelling that Sign writes.
func parse(head string) (depth int, expiry int64, ok bool) {
	parts := strings.Split(head, ".")
	if len(parts) != 4 || parts[0] != version || len(parts[3]) != nonceLen {
		return 0, 0, false
	}
	depth, err := strconv.Atoi(parts[1])
	if err != nil || strconv.Itoa(depth) != parts[1] || depth < 1 || depth > MaxDepth {
		return 0, 0, false
	}
	expiry, err = strconv.ParseInt(parts[2], 10, 64)
	if err != nil || strconv.FormatInt(expiry, 10) != parts[2] {
		return 0, 0, false
	}
	return depth, expiry, true
}

// message is what the MAC covers.
func message(head string, r *Request, tenant string) string {
	fields := [...]string{head, r.Method, r.Path, r.Authority, tenant}
	size := 0
	for _, f := range fields {
		size += binary.MaxVarintLen64 + len(f)
	}
	out := make([]byte, 0, size)
	for _, f := range fields {
		out = binary.AppendUvarint(out, uint64(len(f)))
		out = append(out, f...)
	}
	return string(out)
}
