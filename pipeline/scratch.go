package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// run is the scratch space of one call of Run, reused between calls.
type run struct {
	t         *Transcript
	result    Result
	hash      hash.Hash
	views     []Digest // chain digest at the end of each turn seen, by segment
	segments  []Digest
	first     []*Outcome // what was decided at first sight, for the horizons
	late      []horizon  // oldest first
	once      map[onceKey]any
	texts     map[Digest]int // first segment with a text, for segments below indexed
	indexed   int
	summed    int // segments in sumBefore
	sumBefore int
	key       memoKey
	text      string  // of the segment being decided, as the client sent it
	sum       Digest  // of text
	gist      Digest  // of what counts in text, zero if that is all of it
	length    [8]byte // for the hash: what is passed to an interface lives on the heap
	digest    Digest
}

func newRun() *run {
	return &run{hash: sha256.New(), texts: map[Digest]int{}, once: map[onceKey]any{}}
}

func (r *run) reset(t *Transcript) {
	clear(r.result.Outcomes)
	r.t = t
	r.result = Result{
		Outcomes: r.result.Outcomes[:0], New: r.result.New[:0],
		Acts: r.result.Acts[:0], Annotations: r.result.Annotations[:0], run: r,
	}
	r.views, r.segments = r.views[:0], r.segments[:0]
	clear(r.texts)
	clear(r.first)
	r.first = r.first[:0]
	r.indexed, r.summed, r.sumBefore = 0, 0, 0
}

// digests computes the segment digests and, if somebody looks, the digest of
// the transcript up to the end of each segment's turn.
func (r *run) digests(looks bool) {
	for i := range r.t.Segments {
		s := &r.t.Segments[i]
		r.hash.Reset()
		r.field(r.t.Value(s))
		r.field(s.Tool)
		r.field(s.Args)
		if s.IsError {
			r.number(1)
		}
		r.hash.Sum(r.digest[:0])
		r.segments = append(r.segments, r.digest)
	}
	if !looks {
		return
	}
	r.views = append(r.views, r.segments...)
	r.hash.Reset()
	for i := 0; i < len(r.segments); {
		end := i
		r.number(uint64(r.t.Segments[i].Turn))
		for ; end < len(r.segments) && r.t.Segments[end].Turn == r.t.Segments[i].Turn; end++ {
			r.hash.Write(r.segments[end][:])
			r.number(uint64(r.t.Segments[end].Messages))
		}
		r.hash.Sum(r.digest[:0])
		for ; i < end; i++ {
			r.views[i] = r.digest
		}
	}
}

func (r *run) field(b []byte) {
	r.number(uint64(len(b)))
	r.hash.Write(b)
}

func (r *run) number(n uint64) {
	binary.BigEndian.PutUint64(r.length[:], n)
	r.hash.Write(r.length[:])
}

// earlier finds the first segment in front of s whose text, as sent by the
// client or as it stands, equals s's.
func (r *run) earlier(s Segment) (int, bool) {
	r.index(s.Index)
	best := s.Index
	if at, ok := r.texts[r.sum]; ok {
		best = min(best, at)
	}
	if s.Text != r.text {
		if at, ok := r.texts[r.textSum(s.Text)]; ok {
			best = min(best, at)
		}
	}
	return best, best < s.Index
}

// alike finds the first segment in front of s that says what s says.
func (r *run) alike(s Segment) (int, bool) {
	if r.gist == (Digest{}) {
		return 0, false
	}
	r.index(s.Index)
	at, ok := r.texts[r.gist]
	return at, ok
}

// index notes the texts of the segments in front of one.
func (r *run) index(end int) {
	for ; r.indexed < end; r.indexed++ {
		o := r.result.Outcomes[r.indexed]
		for _, d := range []Digest{o.original, o.final, o.gist} {
			if _, taken := r.texts[d]; !taken && d != (Digest{}) {
				r.texts[d] = r.indexed
			}
		}
	}
}

// gistSum is the digest of what counts in a text, zero if that is all of it or
// nothing.
func (r *run) gistSum(gist func(string) string, text string) (sum Digest) {
	if gist == nil {
		return sum
	}
	defer func() {
		if recover() != nil {
			sum = Digest{} // then it says what its bytes say
		}
	}()
	if counts := gist(text); counts != text && counts != "" {
		sum = r.textSum(counts)
	}
	return sum
}

// textSum is the digest of a decoded text.
func (r *run) textSum(text string) Digest {
	r.hash.Reset()
	writeString(r.hash, text)
	r.hash.Sum(r.digest[:0])
	return r.digest
}

// before sums the tokens of the segments in front of one.
func (r *run) before(index int) int {
	for ; r.summed < index; r.summed++ {
		r.sumBefore += r.result.Outcomes[r.summed].Original.N
	}
	return r.sumBefore
}
