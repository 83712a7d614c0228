package tokens

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// samples are texts of every kind, some with pieces over 1 KB.
func samples() []string {
	g := newGenerator(4)
	var texts []string
	for i := range 400 {
		texts = append(texts, g.text(i))
	}
	for _, c := range corpora() {
		texts = append(texts, c.text(8<<10))
	}
	for _, size := range []int{2 << 10, exactLong + 16<<10} {
		for i, h := range hostiles(size) {
			if !underRace || i%5 == 0 {
				texts = append(texts, h.text)
			}
		}
	}
	return texts
}

func TestAtLeastAgreesWithCount(t *testing.T) {
	t.Parallel()
	for _, name := range encodings() {
		k := counterOf(t, name)
		for _, text := range samples() {
			n := k.Count(text).Tokens
			for _, c := range []struct {
				n    int
				want bool
			}{{-1, true}, {0, true}, {n / 2, true}, {n, true}, {n + 1, false}, {2*n + 1, false}, {len(text)*3 + 2, false}} {
				if got := k.AtLeast(text, c.n); got != c.want {
					t.Errorf("%s: AtLeast(%.40q, %d) is %t for %d tokens in %d bytes", name, text, c.n, got, n, len(text))
				}
			}
		}
	}
}

// TestCountIsAFunctionOfTheText counts in another order, on counters with
// other memories, from many goroutines.
func TestCountIsAFunctionOfTheText(t *testing.T) {
	t.Parallel()
	texts := samples()
	for _, name := range encodings() {
		warm := counterOf(t, name)
		want := make([]Count, len(texts))
		for i, text := range texts {
			fresh := &Counter{bpe: &bpe{vocab: warm.bpe.vocab, classes: warm.bpe.classes, cl100k: warm.bpe.cl100k}}
			fresh.bpe.pool.New = func() any { return newScratch(fresh.bpe) }
			want[i] = fresh.Count(text)
		}
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for j := range texts {
					i := (j*7 + worker*101) % len(texts)
					if got := warm.Count(texts[i]); got != want[i] {
						t.Errorf("%s: %.40q: got %+v, fresh %+v", name, texts[i], got, want[i])
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestCountAdds checks the places where a text may be cut: behind a line end
// that an ASCII letter or digit follows.
func TestCountAdds(t *testing.T) {
	t.Parallel()
	for _, name := range encodings() {
		k := counterOf(t, name)
		for _, c := range corpora() {
			text := c.text(16 << 10)
			whole := k.Count(text)
			sum, blocks := 0, 0
			for start := 0; start < len(text); blocks++ {
				end := start + 1
				for end < len(text) && (text[end-1] != '\n' || !asciiAlnum(text[end])) {
					end++
				}
				sum += k.Count(text[start:end]).Tokens
				start = end
			}
			if whole.Estimated || sum != whole.Tokens {
				t.Errorf("%s, %s: %d blocks sum to %d, the whole is %+v", name, c.name, blocks, sum, whole)
			}
		}
	}
}

func asciiAlnum(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

func TestEstimatedStartsAboveOneKB(t *testing.T) {
	t.Parallel()
	k := counterOf(t, O200kBase)
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"1024 letters", strings.Repeat("a", maxPiece), false},
		{"1025 letters", strings.Repeat("a", maxPiece+1), true},
		{"many pieces of 1 KB", strings.Repeat(strings.Repeat("a", maxPiece)+"\n", 300), false},
		{"341 invalid bytes, 1023 as U+FFFD", strings.Repeat("\xff", maxPiece/3), false},
		{"342 invalid bytes", strings.Repeat("\xff", maxPiece/3+1), true},
		{"a long piece at the end", "x\n" + strings.Repeat("-", maxPiece+1), true},
		{"none in English", corpora()[0].text(100 << 10), false},
	} {
		if got := k.Count(c.text).Estimated; got != c.want {
			t.Errorf("%s: estimated is %t, want %t", c.name, got, c.want)
		}
	}
}

// TestChunksAreMergedOneByOne mixes chunks whose counts are far apart into one
// piece, with as many different bytes as are merged before chunks are sampled.
func TestChunksAreMergedOneByOne(t *testing.T) {
	t.Parallel()
	for _, name := range encodings() {
		k := counterOf(t, name)
		letters := random(exactLong, "abcdefghijklmnopqrstuvwxyz")
		var text strings.Builder
		want := 0
		m := new(merger)
		for i := range exactLong / chunkBytes {
			chunk := strings.Repeat(string(rune('a'+i%26)), chunkBytes)
			if i >= 26 {
				chunk = letters[i*chunkBytes : (i+1)*chunkBytes]
			}
			for range 1 + i%3 {
				text.WriteString(chunk)
				want += m.merge(k.bpe.vocab, []byte(chunk), 0, chunkBytes)
			}
		}
		if got := k.Count(text.String()); got != (Count{Tokens: want, Estimated: true}) {
			t.Errorf("%s: got %+v, want %d tokens, estimated", name, got, want)
		}
	}
}

// TestLongPiecesAreSampled bounds the bytes that are merged for a long piece.
func TestLongPiecesAreSampled(t *testing.T) {
	t.Parallel()
	s := newScratch(counterOf(t, O200kBase).bpe)
	for _, size := range []int{exactLong / 2, exactLong * 2, 1 << 20} {
		s.begin(random(size, "abcdefghijklmnopqrstuvwxyz"), maxInt)
		for p := 0; p < size; {
			e := s.next(p)
			s.piece(p, e)
			p = e
		}
		most := min(size, exactLong) + max(0, size-exactLong)/sampleEvery + 2*chunkBytes
		least := min(size, exactLong+(size-exactLong)/(2*sampleEvery))
		if s.long.merged > most || s.long.merged < least {
			t.Errorf("%d of %d bytes merged, want %d to %d", s.long.merged, size, least, most)
		}
	}
}

// TestChunksKeepCharacters cuts between characters of every width.
func TestChunksKeepCharacters(t *testing.T) {
	t.Parallel()
	s := newScratch(counterOf(t, O200kBase).bpe)
	for _, c := range []string{"a", "é", "語", "😀"} {
		for shift := range 4 {
			text := strings.Repeat("x", shift) + strings.Repeat(c, maxPiece)
			s.begin(text, maxInt)
			end, size := s.chunk(0, len(text), false)
			if want := shift + (chunkBytes-shift)/len(c)*len(c); end != want || size != want {
				t.Errorf("%d and %q: cut at %d with %d bytes, want both %d", shift, c, end, size, want)
			}
		}
	}
}

func TestPoolKeepsNoText(t *testing.T) { //nolint:paralleltest // it looks into the pool
	k := counterOf(t, O200kBase)
	k.Count("some text")
	s, ok := k.bpe.pool.Get().(*scratch)
	if !ok || s.text != nil {
		t.Errorf("the pool keeps %q", s.text)
	}
	k.bpe.pool.Put(s)
}

func TestCountDoesNotAllocate(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun
	if underRace {
		t.Skip("sync.Pool forgets at random under the race detector")
	}
	for _, name := range encodings() {
		k := counterOf(t, name)
		texts := []hostile{{"empty", ""}, {"short", "a short text"}}
		for _, c := range corpora() {
			texts = append(texts, hostile{c.name, c.text(100 << 10)})
		}
		texts = append(texts, hostiles(32<<10)...)
		for _, c := range texts {
			if n := testing.AllocsPerRun(10, func() { k.Count(c.text); k.AtLeast(c.text, 100) }); n != 0 {
				t.Errorf("%s, %s: %v allocations", name, c.name, n)
			}
		}
	}
}

func TestCountersLoadWhatIsUsed(t *testing.T) {
	t.Parallel()
	c := New()
	first, err := c.For(Encoding{Name: CL100kBase})
	if err != nil {
		t.Fatal(err)
	}
	if c.o200k.bpe != nil {
		t.Error("o200k_base was loaded for cl100k_base")
	}
	second, err := c.ForModel("gpt-4")
	if err != nil {
		t.Fatal(err)
	}
	if first.bpe != second.bpe {
		t.Error("cl100k_base was loaded twice")
	}
	if _, err := c.For(Encoding{Name: "p50k_base"}); err == nil || !strings.Contains(err.Error(), `"p50k_base"`) || !strings.Contains(err.Error(), O200kBase) {
		t.Errorf("unknown encoding: got error %v, want one that names it and the cure", err)
	}
}

func TestApproximateCountsAreEstimates(t *testing.T) {
	t.Parallel()
	k, err := counters.ForModel("claude-sonnet-4-5")
	if err != nil {
		t.Fatal(err)
	}
	exact := counterOf(t, O200kBase).Count("some text")
	if got := k.Count("some text"); got != (Count{Tokens: exact.Tokens, Estimated: true}) {
		t.Errorf("got %+v, want %d tokens, estimated", got, exact.Tokens)
	}
	if got := k.Encoding(); got != (Encoding{Name: O200kBase, Approximate: true}) {
		t.Errorf("got encoding %+v", got)
	}
}

// TestHeap holds what an encoding keeps in memory.
func TestHeap(t *testing.T) { //nolint:paralleltest // it measures the heap
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for name, limit := range map[string]int64{O200kBase: 6 << 20, CL100kBase: 4 << 20} {
		before := inUse()
		k, err := New().For(Encoding{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		grown := int64(inUse()) - int64(before)
		if grown > limit {
			t.Errorf("%s: %d bytes of heap, want at most %d", name, grown, limit)
		}
		t.Logf("%s: %.1f MB", name, float64(grown)/(1<<20))
		runtime.KeepAlive(k)
	}
}
