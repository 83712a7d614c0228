package pipeline

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"iter"
	"strings"
	"unsafe"
)

// Marker ids are 20 characters: 16 of a keyed hash of the original text
// (80 bits) and 4 of a keyed check tag over those 16 (20 bits). They are short
// because a model pays for every marker on every turn, and they can be told
// from look-alikes without asking anybody.
const (
	idHashLen = 16
	idTagLen  = 4
	// IDLen is the length of a marker id in characters.
	IDLen = idHashLen + idTagLen

	// dearestID costs as many tokens as an id can: the encodings split text where
	// letters and digits meet, so each of its characters is a token.
	dearestID = "2a2a2a2a2a2a2a2a2a2a"

	markerOpen  = "<<cg:"
	markerClose = ">>"
	// The spellings a marker takes when its text is quoted once more as JSON.
	escapedOpen  = `\u003c\u003ccg:`
	escapedClose = `\u003e\u003e`
)

// MinKeyBytes is the least length of a service key: the output length of
// SHA-256 halved, the usual floor for HMAC keys.
const MinKeyBytes = 16

// Key is one service key.
type Key struct {
	// ID names the key in configuration; it is not secret.
	ID string
	// Secret has at least MinKeyBytes bytes.
	Secret []byte
}

// Keyring mints and recognises marker ids. The first key mints; every key
// recognises, so a key is rotated by putting a new one in front and dropping
// the old one when its originals have expired. A Keyring is immutable.
type Keyring struct{ keys []Key }

// NewKeyring checks the keys: at least one, distinct ids, long secrets.
func NewKeyring(keys ...Key) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("no service key given")
	}
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		switch {
		case k.ID == "":
			return nil, errors.New("a service key has no id")
		case seen[k.ID]:
			return nil, fmt.Errorf("service key %q is given twice", k.ID)
		case len(k.Secret) < MinKeyBytes:
			return nil, fmt.Errorf("service key %q has %d bytes, at least %d are needed", k.ID, len(k.Secret), MinKeyBytes)
		}
		seen[k.ID] = true
	}
	return &Keyring{keys: append([]Key(nil), keys...)}, nil
}

// ID is the name of the key that mints.
func (r *Keyring) ID() string { return r.keys[0].ID }

// Mint returns the marker id of an original text.
func (r *Keyring) Mint(original string) string { return mint(r.keys[0].Secret, original) }

// Owns reports whether an id was minted by one of our keys. It asks nobody:
// the check tag decides. It takes the same time for every id of the right form.
func (r *Keyring) Owns(id string) bool {
	if len(id) != IDLen {
		return false
	}
	owned := 0
	for _, k := range r.keys {
		owned |= subtle.ConstantTimeCompare([]byte(tag(k.Secret, id[:idHashLen])), []byte(id[idHashLen:]))
	}
	return owned == 1
}

// Matches reports whether an original text is the one its id names, under any key.
func (r *Keyring) Matches(id, original string) bool {
	for _, k := range r.keys {
		if hmac.Equal([]byte(mint(k.Secret, original)), []byte(id)) {
			return true
		}
	}
	return false
}

// Derive returns names for a purpose and a secret input, one per key, the
// minting key's first: 20 lower-case base32 characters of a keyed hash.
func (r *Keyring) Derive(purpose, input string) []string {
	names := make([]string, len(r.keys))
	for i, k := range r.keys {
		names[i] = keyed(k.Secret, purpose, input, IDLen)
	}
	return names
}

// rootLen is the length of a root: 130 bits of a hash, more than enough for
// the conversations of all times.
const rootLen = 26

// Root names the conversation a request belongs to: a keyed hash of the tenant
// and the preamble, as 26 lower-case base32 characters. Nothing depends on a
// root being known. It is empty for a request without any text in its preamble.
//
// The key is that of the ring whose id sorts first, whichever of them mints, so
// that replicas agree while a key is being rotated.
func (r *Keyring) Root(tenant string, t *Transcript) string {
	if t == nil || t.Preamble == nil {
		return ""
	}
	key := r.keys[0]
	for _, k := range r.keys[1:] {
		if k.ID < key.ID {
			key = k
		}
	}
	mac := hmac.New(sha256.New, key.Secret)
	mac.Write([]byte("root\x00"))
	part := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		mac.Write(n[:])
		writeString(mac, s)
	}
	part(tenant)
	said := false
	for text := range t.Preamble {
		part(text)
		said = true
	}
	if !said {
		return ""
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)))[:rootLen]
}

// Minting returns the ring whose key of an id mints, and false when it has no
// such key. What it recognises stays the same.
func (r *Keyring) Minting(id string) (*Keyring, bool) {
	for i, k := range r.keys {
		if k.ID != id {
			continue
		}
		keys := append([]Key{k}, r.keys[:i]...)
		return &Keyring{keys: append(keys, r.keys[i+1:]...)}, true
	}
	return nil, false
}

// Markers yields the ids of our own markers in a text, in order. Look-alikes
// are plain text.
func (r *Keyring) Markers(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := text; ; {
			id, after, found := nextMarker(rest)
			if !found {
				return
			}
			if r.Owns(id) && !yield(id) {
				return
			}
			rest = after
		}
	}
}

// Marked reports whether a text carries a marker of ours.
func (r *Keyring) Marked(text string) bool {
	for range r.Markers(text) {
		return true
	}
	return false
}

// Marker returns the text that stands for an id.
func Marker(id string) string { return markerOpen + id + markerClose }

// nextMarker finds the first text of a marker's form, in either spelling.
func nextMarker(text string) (id, after string, found bool) {
	for {
		at := strings.Index(text, "cg:")
		if at < 0 {
			return "", "", false
		}
		head, tail := text[:at], text[at+len("cg:"):]
		text = tail
		if len(tail) < IDLen {
			return "", "", false
		}
		id, rest := tail[:IDLen], tail[IDLen:]
		plain := strings.HasSuffix(head, markerOpen[:2]) && strings.HasPrefix(rest, markerClose)
		if plain || (suffixFold(head, escapedOpen[:12]) && prefixFold(rest, escapedClose)) {
			return id, rest, true
		}
	}
}

func suffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

func prefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func mint(secret []byte, original string) string {
	digest := keyed(secret, "original", original, idHashLen)
	return digest + tag(secret, digest)
}

func tag(secret []byte, digest string) string { return keyed(secret, "tag", digest, idTagLen) }

// keyed is HMAC-SHA-256 over purpose, NUL and input, as n characters of
// lower-case base32.
func keyed(secret []byte, purpose, input string, n int) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	writeString(mac, input)
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)))[:n]
}

// writeString hashes a text without a copy of it. The hash keeps nothing of
// what it is given and does not write to it.
func writeString(w hash.Hash, s string) {
	_, _ = w.Write(unsafe.Slice(unsafe.StringData(s), len(s))) //nolint:gosec // see above; a hash takes everything
}
