package tokens

import "unicode/utf8"

const (
	// chunkBytes is where long pieces are cut. It is a multiple of the longest
	// tokens for runs of one character, so that those are cut between tokens:
	// 128 spaces, 64 dashes, 24 bytes for eight times U+FFFD.
	chunkBytes = 768
	// exactLong is how many bytes of long pieces are merged in one text
	// before chunks are sampled.
	exactLong = 64 << 10
	// sampleEvery is the share of chunks that is still merged after that.
	sampleEvery = 8

	chunkBits = 8
)

// long counts the pieces of more than maxPiece bytes of one text, chunk by
// chunk. It starts empty with every text, so that an estimate is a function
// of the text.
type long struct {
	generation uint64
	memo       [1 << chunkBits]chunkEntry
	merged     int // bytes
	skipped    int // chunks
	// Tokens and bytes of the latest merged chunks, the older ones fading.
	recentTokens, recentBytes int
}

// chunkEntry remembers a chunk by where it lies in the text.
type chunkEntry struct {
	generation uint64
	start, end int
	tokens     int
}

// begin forgets everything.
func (l *long) begin() {
	l.generation++
	l.merged, l.skipped, l.recentTokens, l.recentBytes = 0, 0, 0, 0
}

// pieces adds the tokens of the piece text[p:e], which is too long to be
// merged as a whole, in chunks; broken says that it is not
// valid UTF-8.
func (s *scratch) pieces(p, e int, broken bool) {
	s.estimated = true
	for p < e && s.tokens < s.limit {
		end, size := s.chunk(p, e, broken)
		s.tokens += s.long.count(s, p, end, size, broken)
		p = end
	}
}

// chunk returns the end of the chunk of text[p:e] that starts at p, and how
// many bytes are counted for it. It never cuts a character.
func (s *scratch) chunk(p, e int, broken bool) (end, size int) {
	if broken {
		size, end = s.repair(p, e, chunkBytes)
		return end, size
	}
	end = min(p+chunkBytes, e)
	for end < e && !utf8.RuneStart(s.text[end]) {
		end--
	}
	return end, end - p
}

// count returns the tokens of the chunk text[p:e], which counts as size
// bytes; a broken one has just been repaired.
func (l *long) count(s *scratch, p, e, size int, broken bool) int {
	m := &l.memo[hash(s.text, p, e)>>(64-chunkBits)]
	if m.generation == l.generation && string(s.text[m.start:m.end]) == string(s.text[p:e]) {
		return m.tokens
	}
	if l.merged >= exactLong {
		l.skipped++
		if l.skipped%sampleEvery != 0 {
			return (size*l.recentTokens + l.recentBytes/2) / l.recentBytes
		}
	}
	t, from, to := s.text, p, e
	if broken {
		t, from, to = s.fixed[:], 0, size
	}
	tokens := s.merger.merge(s.vocab, t, from, to)
	l.merged += size
	l.recentTokens += tokens - l.recentTokens/16
	l.recentBytes += size - l.recentBytes/16
	*m = chunkEntry{generation: l.generation, start: p, end: e, tokens: tokens}
	return tokens
}
