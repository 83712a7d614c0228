package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

const (
	keyLen = 32 // AES-256

	// sealOverhead is the nonce and tag of AES-GCM.
	sealOverhead = 12 + 16
)

// seal is one encryption key: AES-256-GCM for values and an HMAC for their
// digests, each under a key of its own derived from the configured one.
//
// Nonces are random, which is sound for 2^32 values per key; a service that
// writes 100 new values a second reaches that after 16 months of one key.
type seal struct {
	aead   cipher.AEAD
	macKey []byte
}

func newSeal(key []byte) (*seal, error) {
	if len(key) != keyLen {
		return nil, fmt.Errorf("needs %d bytes, got %d", keyLen, len(key))
	}
	sealKey, err := hkdf.Key(sha256.New, key, nil, "context-guru store: seal values", keyLen)
	if err != nil {
		return nil, fmt.Errorf("derive sealing key: %w", err)
	}
	macKey, err := hkdf.Key(sha256.New, key, nil, "context-guru store: digest values", keyLen)
	if err != nil {
		return nil, fmt.Errorf("derive digest key: %w", err)
	}
	block, err := aes.NewCipher(sealKey)
	if err != nil {
		return nil, fmt.Errorf("aes: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("aes-gcm: %w", err)
	}
	return &seal{aead: aead, macKey: macKey}, nil
}

// seal appends the sealed payload to dst, bound to the header and the key's name.
func (s *seal) seal(dst, payload, head []byte, name string) []byte {
	return s.aead.Seal(dst, nil, payload, additional(head, name)) //nolint:gosec // this AEAD makes its own random nonce
}

// open returns the payload and the key that opened it, or a nil key.
func (c *Codec) open(payload, head []byte, name string) ([]byte, *seal) {
	for _, s := range c.seals {
		if plain, err := s.aead.Open(nil, nil, payload, additional(head, name)); err == nil {
			return plain, s
		}
	}
	return nil, nil
}

// additional is unambiguous because the header's length follows from its content.
func additional(head []byte, name string) []byte {
	return append(append(make([]byte, 0, len(head)+len(name)), head...), name...)
}

// digest hides the digest of a value: a plain one would confirm guesses.
func (s *seal) digest(sum [sha256.Size]byte) []byte {
	mac := hmac.New(sha256.New, s.macKey)
	mac.Write(sum[:])
	return mac.Sum(nil)
}

// digestEqual compares a stored digest with that of a value, hidden when s is not nil.
func digestEqual(digest []byte, sum [sha256.Size]byte, s *seal) bool {
	if s != nil {
		return hmac.Equal(digest, s.digest(sum))
	}
	return hmac.Equal(digest, sum[:])
}
