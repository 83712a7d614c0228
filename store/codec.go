package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// HeaderLen is how many leading bytes of an encoded value [Codec.Compare] needs.
	HeaderLen = 1 + sha256.Size

	// DefaultMaxValue bounds a plain value: twice the 32 MiB a request body may have by default.
	DefaultMaxValue = 64 << 20

	// compressFrom is the size from which zstd pays: below 1 KB it saves a few
	// hundred bytes and costs more time than moving them.
	compressFrom = 1 << 10
)

// The formats of an encoded value, its first byte.
const (
	formatRaw byte = iota + 1
	formatZstd
	formatSealedRaw
	formatSealedZstd
)

// Match is the verdict of [Codec.Compare].
type Match int

// Verdicts on a stored value.
const (
	// Differs: another value, or one that can not be judged.
	Differs Match = iota
	// Same: this very value, protected as it would be now.
	Same
	// Stale: this very value, but unsealed or sealed with an older key than a
	// write would use now.
	Stale
)

// CodecOptions configures a [Codec]. The zero value compresses and does not encrypt.
type CodecOptions struct {
	// MaxValue bounds a plain value in bytes, on write and on read; 0 = [DefaultMaxValue].
	MaxValue int
	// EncryptionKeys are 32-byte AES-256 keys. With none, values are not
	// encrypted. The first seals, all of them open: rotate by putting a new key
	// first and dropping the old one a TTL later. Values written before the
	// first key was set stay readable and are sealed when written again.
	EncryptionKeys [][]byte
}

// Codec turns values into what a store keeps and back. It is safe for concurrent use.
type Codec struct {
	max   int
	seals []*seal
	enc   *zstd.Encoder
	dec   *zstd.Decoder
}

// NewCodec returns a codec, or an error that names the option at fault.
func NewCodec(o CodecOptions) (*Codec, error) {
	if o.MaxValue < 0 {
		return nil, fmt.Errorf("max value: must not be negative, got %d", o.MaxValue)
	}
	c := &Codec{max: o.MaxValue}
	if c.max == 0 {
		c.max = DefaultMaxValue
	}
	for i, key := range o.EncryptionKeys {
		s, err := newSeal(key)
		if err != nil {
			return nil, fmt.Errorf("encryption key %d: %w", i, err)
		}
		c.seals = append(c.seals, s)
	}
	var err error
	// The digest is the checksum, so zstd needs none of its own.
	if c.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false)); err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	if c.dec, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(uint64(c.max)), zstd.WithDecoderConcurrency(0)); err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	return c, nil
}

// Encode returns what to store under the rendered key name. ttl is the item's
// own, 0 for the store's default. A value over the maximum gives [ErrFull].
func (c *Codec) Encode(name string, ttl time.Duration, value []byte) ([]byte, error) {
	if len(value) > c.max {
		return nil, fmt.Errorf("%w: value has %d bytes, at most %d", ErrFull, len(value), c.max)
	}
	ms := uint64(max(ttl, 0).Milliseconds())
	sealed := len(c.seals) > 0

	sum := sha256.Sum256(value)
	out := make([]byte, 0, HeaderLen+binary.MaxVarintLen64+sealOverhead+min(len(value), compressFrom+len(value)/2))
	out = append(out, formatRaw)
	if sealed {
		out[0] = formatSealedRaw
		out = append(out, c.seals[0].digest(sum)...)
	} else {
		out = append(out, sum[:]...)
	}
	out = binary.AppendUvarint(out, ms)
	head := len(out)

	payload := value
	if len(value) >= compressFrom {
		dst := out // unsealed: compress right behind the header
		if sealed {
			dst = nil
		}
		packed := c.enc.EncodeAll(value, dst)
		if size := len(packed) - len(dst); size < len(value) {
			out[0]++ // the zstd format follows its raw one
			if !sealed {
				packed[0] = out[0]
				return packed, nil
			}
			payload = packed
		}
	}
	if sealed {
		return c.seals[0].seal(out, payload, out[:head], name), nil
	}
	return append(out, payload...), nil
}

// Decode returns the value that was stored under the rendered key name and its
// own TTL (0 = the store's default). The digest was verified; every fault wraps [ErrCorrupt].
func (c *Codec) Decode(name string, stored []byte) (value []byte, ttl time.Duration, err error) {
	if len(stored) < HeaderLen {
		return nil, 0, fmt.Errorf("%w: %s: %d bytes are no stored value", ErrCorrupt, name, len(stored))
	}
	format := stored[0]
	ms, n := binary.Uvarint(stored[HeaderLen:])
	if n <= 0 || ms > uint64(maxTTL.Milliseconds()) {
		return nil, 0, fmt.Errorf("%w: %s: unreadable lifetime", ErrCorrupt, name)
	}
	head, payload := stored[:HeaderLen+n], stored[HeaderLen+n:]

	var sealer *seal
	switch format {
	case formatRaw, formatZstd:
	case formatSealedRaw, formatSealedZstd:
		if payload, sealer = c.open(payload, head, name); sealer == nil {
			return nil, 0, fmt.Errorf("%w: %s: opens with none of the %d configured encryption keys", ErrCorrupt, name, len(c.seals))
		}
	default:
		return nil, 0, fmt.Errorf("%w: %s: unknown format %d", ErrCorrupt, name, format)
	}

	switch {
	case format == formatZstd || format == formatSealedZstd:
		if value, err = c.dec.DecodeAll(payload, nil); err != nil {
			return nil, 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
		}
	case len(payload) > c.max:
		return nil, 0, fmt.Errorf("%w: %s: %d bytes, at most %d", ErrCorrupt, name, len(payload), c.max)
	default:
		value = slices.Clone(payload)
	}
	if !digestEqual(head[1:HeaderLen], sha256.Sum256(value), sealer) {
		return nil, 0, fmt.Errorf("%w: %s: digest mismatch", ErrCorrupt, name)
	}
	if value == nil {
		value = []byte{}
	}
	return value, time.Duration(ms) * time.Millisecond, nil
}

// Compare judges by the first [HeaderLen] bytes of a stored value whether it is
// the one with the SHA-256 digest sum, comparing the full digest.
func (c *Codec) Compare(header []byte, sum [sha256.Size]byte) Match {
	if len(header) < HeaderLen {
		return Differs
	}
	digest := header[1:HeaderLen]
	switch header[0] {
	case formatRaw, formatZstd:
		switch {
		case !digestEqual(digest, sum, nil):
			return Differs
		case len(c.seals) > 0:
			return Stale
		}
		return Same
	case formatSealedRaw, formatSealedZstd:
		for i, s := range c.seals {
			if !digestEqual(digest, sum, s) {
				continue
			}
			if i > 0 {
				return Stale
			}
			return Same
		}
	}
	return Differs
}
