package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
)

// Fingerprint recognises a value this process has stored before, cheaper than a
// digest over every byte of a history that is resent each turn. It never says
// that two values differ: when fingerprints do, full digests decide.
type Fingerprint [sha256.Size]byte

// Fingerprinter makes fingerprints, which compare only with its own. The zero
// value is not usable.
//
// Its seed never leaves the process, so nobody can aim for a collision, least of
// all below an id that is itself a keyed hash.
type Fingerprinter struct{ seed maphash.Seed }

// NewFingerprinter returns a fingerprinter with a seed of its own.
func NewFingerprinter() Fingerprinter { return Fingerprinter{maphash.MakeSeed()} }

// Of returns the fingerprint of the item's value: its digest where the item
// brings it, else a hash of the value.
func (f Fingerprinter) Of(it Item) (p Fingerprint) {
	if it.Sum != p {
		return it.Sum
	}
	binary.NativeEndian.PutUint64(p[:], maphash.Bytes(f.seed, it.Value))
	binary.NativeEndian.PutUint64(p[8:], uint64(len(it.Value)))
	return p
}
