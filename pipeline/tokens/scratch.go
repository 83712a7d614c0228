package tokens

import (
	"math"
	"unicode/utf8"
	"unsafe"
)

const (
	maxInt = math.MaxInt

	// maxPiece is the length of the longest piece that is merged as a whole.
	// The work per byte grows with the length; at 1 KB it is about 15 times
	// that of plain English, and a cut changes the sum by less than 0.2 %.
	maxPiece = 1 << placeBits

	memoBits  = 12
	memoBytes = 53 // with which an entry fills one cache line

	// shortBytes is the length up to which the hash and the length alone tell
	// a piece from every other. Most pieces of real text are that short.
	shortBytes = 8
	shortBits  = 11 // the table is 32 KB, so it stays close to the processor
)

// scratch is the working memory of one count. It never has pointers to
// anything but the tables while it lies in the pool.
type scratch struct {
	splitter
	vocab     *vocab
	tokens    int // so far
	limit     int // at which to stop
	estimated bool

	merger merger
	memo   [1 << memoBits]memoEntry
	short  [1 << shortBits]shortEntry
	fixed  [maxPiece]byte // a piece or chunk with U+FFFD for invalid bytes
	long   long
}

// memoEntry remembers a piece that is not one token. Its count is exact, so
// what is in the memo changes the time of a count and never its result.
type memoEntry struct {
	hash   uint64
	tokens uint16
	size   uint8
	bytes  [memoBytes]byte
}

// shortEntry remembers a piece of at most shortBytes bytes, one token or more:
// the vocabulary is far larger than the caches, so asking it again is what a
// count would spend most of its time on.
type shortEntry struct {
	hash         uint64
	size, tokens uint8
}

// newScratch returns an empty scratch for the encoding, in one allocation.
func newScratch(b *bpe) *scratch {
	return &scratch{vocab: b.vocab, splitter: splitter{classes: b.classes, cl100k: b.cl100k}}
}

// begin makes the scratch ready for a text.
func (s *scratch) begin(text string, limit int) {
	s.text = bytesOf(text)
	s.limit = limit
	s.tokens = 0
	s.estimated = false
	s.invalid = false
	s.long.begin()
}

// bytesOf returns the bytes of text without a copy. Nobody writes to them,
// and no one keeps them longer than the call that was given the text.
func bytesOf(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // see above
}

// piece adds the tokens of the piece text[p:e].
func (s *scratch) piece(p, e int) {
	t := s.text
	if s.invalid {
		s.invalid = false
		if !utf8.Valid(t[p:e]) {
			n, rest := s.repair(p, e, maxPiece)
			if rest < e {
				s.pieces(p, e, true)
				return
			}
			t, p, e = s.fixed[:n], 0, n
		}
	}
	n := e - p
	switch {
	case n == 1: // every byte is a token
		s.tokens++
	case n <= maxPiece:
		s.tokens += s.count(t, p, e)
	default:
		s.pieces(p, e, false)
	}
}

// count returns the tokens of t[p:e], at most maxPiece bytes of valid UTF-8.
func (s *scratch) count(t []byte, p, e int) int {
	n := e - p
	switch {
	case n == 2:
		if s.vocab.pair[int(t[p])<<8|int(t[p+1])] != noRank {
			return 1
		}
		return 2
	case n > s.vocab.maxLen:
		return s.merger.merge(s.vocab, t, p, e)
	}
	h := hash(t, p, e)
	if n > shortBytes {
		return s.look(t, p, e, h)
	}
	m := &s.short[h>>(64-shortBits)]
	if m.hash != h || int(m.size) != n {
		m.tokens = uint8(s.look(t, p, e, h))
		m.hash, m.size = h, uint8(n)
	}
	return int(m.tokens)
}

// look is count for a piece whose hash is h, of at most maxLen bytes.
func (s *scratch) look(t []byte, p, e int, h uint64) int {
	n := e - p
	if s.vocab.find(h, t[p:e]) != noRank {
		return 1
	}
	if n > memoBytes {
		return s.merger.merge(s.vocab, t, p, e)
	}
	m := &s.memo[h>>(64-memoBits)]
	if m.hash == h && int(m.size) == n && string(m.bytes[:n]) == string(t[p:e]) {
		return int(m.tokens)
	}
	tokens := s.merger.merge(s.vocab, t, p, e)
	m.hash, m.size, m.tokens = h, uint8(n), uint16(tokens)
	copy(m.bytes[:], t[p:e])
	return tokens
}

// repair writes text[p:e] to fixed, with U+FFFD for each invalid byte, as far
// as whole characters fit into size bytes, and returns how many bytes it wrote
// and where in the text it stopped.
func (s *scratch) repair(p, e, size int) (n, rest int) {
	for p < e {
		r, w := utf8.DecodeRune(s.text[p:e])
		if n+utf8.RuneLen(r) > size {
			break
		}
		n += utf8.EncodeRune(s.fixed[n:], r)
		p += w
	}
	return n, p
}

// few reports that text surely has less than n tokens: a token is at least
// one byte, of which an invalid one is counted as the three of U+FFFD.
func few(text string, n int) bool {
	return len(text) < n && utf8.ValidString(text)
}
