package tokens

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"strconv"
)

const (
	// noRank says that bytes are no token; it is higher than every rank.
	noRank = ^uint32(0)

	// A slot holds 14 bits of the hash above the rank plus one, so that an
	// empty slot is zero. Small slots are worth more than longer tags: most
	// look-ups miss, and what they wait for is memory.
	rankBits = 18
	rankMask = 1<<rankBits - 1
	maxRank  = rankMask - 1

	// maxLen is a sane bound; the longest token known has 128 bytes.
	maxLen = 255

	// The filter has 2^15 words of 64 bits, ten bits per token of the larger
	// vocabulary: one look-up in ten that misses gets past it.
	filterBits = 15

	// hashMul is 2^64 divided by the golden ratio, made odd: its multiples
	// are spread evenly (Knuth, The Art of Computer Programming, 6.4).
	hashMul = 0x9E3779B97F4A7C15
)

// vocab is one vocabulary: bytes to rank. It is immutable once loaded.
type vocab struct {
	slots  []uint32                // open addressing, linear probing, at most half full
	shift  uint                    // 64 minus the number of index bits
	offs   []uint32                // offs[r] to offs[r+1] are the bytes of rank r in blob
	blob   []byte                  // all tokens, in rank order
	pair   [1 << 16]uint32         // rank of every two-byte token, noRank for others
	filter [1 << filterBits]uint64 // a bit per hash: not set, not a token
	maxLen int                     // length of the longest token
}

// loadVocab reads a ranks file: per line the token in base64, a space, and
// its rank. Ranks must count up from zero, and every single byte must be a
// token: without that a text would have parts that cannot be counted.
func loadVocab(fsys fs.FS, name string) (*vocab, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open ranks: %w", err)
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	blob, offs, err := readRanks(file)
	if err != nil {
		return nil, fmt.Errorf("ranks %s: %w", name, err)
	}
	v, err := newVocab(blob, offs)
	if err != nil {
		return nil, fmt.Errorf("ranks %s: %w", name, err)
	}
	return v, nil
}

// readRanks returns the tokens end to end and where each starts.
func readRanks(r io.Reader) ([]byte, []uint32, error) {
	const typicalTokens, typicalBytes = 1 << 18, 1 << 21
	blob := make([]byte, 0, typicalBytes)
	offs := make([]uint32, 1, typicalTokens)
	in := bufio.NewReaderSize(r, 1<<16)
	var digits [20]byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			// Right-sized copies: the spare room would stay for good.
			return bytes.Clone(blob), append([]uint32(nil), offs...), nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("line %d: %w", len(offs), err)
		}
		word, rank, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte{' '})
		if want := len(offs) - 1; !found || string(rank) != string(strconv.AppendInt(digits[:0], int64(want), 10)) {
			return nil, nil, fmt.Errorf("line %d: want a token and rank %d", len(offs), want)
		}
		if blob, err = base64.StdEncoding.AppendDecode(blob, word); err != nil {
			return nil, nil, fmt.Errorf("line %d: token: %w", len(offs), err)
		}
		offs = append(offs, uint32(len(blob)))
	}
}

// newVocab builds the table over the tokens.
func newVocab(blob []byte, offs []uint32) (*vocab, error) {
	n := len(offs) - 1
	if n == 0 || n > maxRank || len(blob) > n*maxLen {
		return nil, fmt.Errorf("%d tokens in %d bytes: want 1 to %d of at most %d bytes", n, len(blob), maxRank, maxLen)
	}
	indexBits := bits.Len(uint(2*n - 1))
	v := &vocab{
		slots: make([]uint32, 1<<indexBits),
		shift: uint(64 - indexBits),
		offs:  offs,
		blob:  blob,
	}
	for i := range v.pair {
		v.pair[i] = noRank
	}
	single := 0
	for r := range uint32(n) {
		start, end := int(offs[r]), int(offs[r+1])
		size := end - start
		if size == 0 || size > maxLen {
			return nil, fmt.Errorf("rank %d: %d bytes: want 1 to %d", r, size, maxLen)
		}
		v.maxLen = max(v.maxLen, size)
		switch size {
		case 1:
			single++
		case 2:
			v.pair[int(blob[start])<<8|int(blob[start+1])] = r
		}
		if !v.insert(hash(blob, start, end), blob[start:end], r) {
			return nil, fmt.Errorf("rank %d: token %q appears twice", r, blob[start:end])
		}
	}
	if single != 256 {
		return nil, fmt.Errorf("%d single bytes are tokens: want all 256", single)
	}
	return v, nil
}

// insert adds a token and reports false when it is there already.
func (v *vocab) insert(h uint64, token []byte, rank uint32) bool {
	if v.find(h, token) != noRank {
		return false
	}
	mask := uint64(len(v.slots) - 1)
	i := h >> v.shift
	for v.slots[i&mask] != 0 {
		i++
	}
	v.filter[h>>(64-filterBits)] |= 1 << (h & 63)
	v.slots[i&mask] = uint32(h)<<rankBits | (rank + 1)
	return true
}

// rank returns the rank of t[p:e], two bytes or more, or noRank. It is made
// for bytes that most likely are no token.
func (v *vocab) rank(t []byte, p, e int) uint32 {
	if n := e - p; n == 2 {
		return v.pair[int(t[p])<<8|int(t[p+1])]
	} else if n > v.maxLen {
		return noRank
	}
	h := hash(t, p, e)
	if v.filter[h>>(64-filterBits)]>>(h&63)&1 == 0 {
		return noRank
	}
	return v.find(h, t[p:e])
}

// find returns the rank of token, whose hash is h, or noRank. The token must
// be at most maxLen bytes long. Equal hashes are not enough for a hit: the
// bytes are compared.
func (v *vocab) find(h uint64, token []byte) uint32 {
	want := uint32(h) << rankBits
	mask := uint64(len(v.slots) - 1)
	for i := h >> v.shift; ; i++ {
		slot := v.slots[i&mask]
		if slot == 0 {
			return noRank
		}
		if slot^want > rankMask {
			continue
		}
		r := slot&rankMask - 1
		if string(v.blob[v.offs[r]:v.offs[r+1]]) == string(token) {
			return r
		}
	}
}

// hash mixes t[p:e], which must not be empty. It looks at bytes of t behind e
// but they do not change the result. Up to eight bytes it is a bijection of
// them; an attacker can make longer inputs collide, which costs a comparison
// of bytes and nothing else.
func hash(t []byte, p, e int) uint64 {
	n := e - p
	h := uint64(n) * hashMul
	for ; e-p > 8; p += 8 {
		h = (h ^ binary.LittleEndian.Uint64(t[p:])) * hashMul
		h ^= h >> 32
	}
	var last uint64
	switch {
	case n > 8: // overlaps the word before
		last = binary.LittleEndian.Uint64(t[e-8:])
	case p+8 <= len(t):
		last = binary.LittleEndian.Uint64(t[p:]) & (^uint64(0) >> (64 - 8*uint(n)))
	default:
		for i := e - 1; i >= p; i-- {
			last = last<<8 | uint64(t[i])
		}
	}
	h = (h ^ last) * hashMul
	return h ^ h>>32
}
