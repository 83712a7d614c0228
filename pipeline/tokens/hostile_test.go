package tokens

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// hostile is a text made to be slow.
type hostile struct {
	name string
	text string
}

// hostiles returns texts of size bytes, or a little less.
func hostiles(size int) []hostile {
	lower := random(size, "abcdefghijklmnopqrstuvwxyz")
	han := random(size/3, runes(0x4E00, 0x9FA5))
	return []hostile{
		{"spaces", strings.Repeat(" ", size)},
		{"newlines", strings.Repeat("\n", size)},
		{"newlines and spaces", random(size, " \n")},
		{"tabs and spaces", random(size, " \t")},
		{"one letter", strings.Repeat("a", size)},
		{"two letters", random(size, "ab")},
		{"random letters", lower},
		{"random letters, lines of 1 KB", lines(lower, maxPiece)},
		{"random letters, lines of 127 B", lines(lower, 127)},
		{"random letters, lines of 50 B", lines(lower, 50)},
		{"random upper and lower", random(size, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")},
		{"base64", random(size, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/")},
		{"digits", random(size, "0123456789")},
		{"random punctuation", random(size, "!\"#$%&'()*+,-.:;<=>?@[]^_`{|}~")},
		{"random punctuation, lines of 1 KB", lines(random(size, "!\"#$%&'()*+,-.:;<=>?@[]^_`{|}~"), maxPiece-1)},
		{"one punctuation", strings.Repeat("-", size)},
		{"random CJK", han},
		{"random CJK, lines of 1 KB", lines(han, maxPiece-1)},
		{"random CJK, lines of 126 B", lines(han, 126)},
		{"one CJK", strings.Repeat("語", size/3)},
		{"random marks", random(size/2, runes(0x300, 0x36F))},
		{"random letters of all scripts", random(size/2, runes(0x80, 0x800))},
		{"upper case after a letter without case", "語" + strings.Repeat("A", size) + "\u0301"},
		{"emoji", random(size/4, runes(0x1F300, 0x1F5FF))},
		{"private use", random(size/3, runes(0xE000, 0xF8FF))},
		{"invalid bytes", strings.Repeat("\xff", size/3)},
		{"letters and invalid bytes", strings.ReplaceAll(lower, "a", "\xfe")},
		{"apostrophes", random(size, "'srv")},
		{"long words", strings.Repeat(strings.Repeat("a", maxPiece-1)+" ", size/maxPiece)},
	}
}

func runes(from, to rune) string {
	var b strings.Builder
	for r := from; r <= to; r++ {
		b.WriteRune(r)
	}
	return b.String()
}

// random returns n characters of the alphabet.
func random(n int, alphabet string) string {
	rnd := rand.New(rand.NewPCG(11, uint64(n)))
	set := []rune(alphabet)
	var b strings.Builder
	for range n {
		b.WriteRune(set[rnd.IntN(len(set))])
	}
	return b.String()
}

// lines puts a line end into text after every n bytes, which must not cut a
// character.
func lines(text string, n int) string {
	var b strings.Builder
	for ; len(text) > n; text = text[n:] {
		b.WriteString(text[:n])
		b.WriteByte('\n')
	}
	b.WriteString(text)
	return b.String()
}

// TestHostileCounts compares with what OpenAI's tiktoken 0.14.0 counts for the
// same texts: exactly as long as no piece is over 1 KB, else within 2 %.
func TestHostileCounts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]map[string]int // by text, size, encoding
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for _, name := range encodings() {
		k := counterOf(t, name)
		for _, h := range hostiles(900) {
			if got := k.Count(h.text); got != (Count{Tokens: want[h.name]["900"][name]}) {
				t.Errorf("%s, %s, 900: got %+v, want exactly %d", name, h.name, got, want[h.name]["900"][name])
			}
		}
		worst := 0.0
		for _, h := range hostiles(256 << 10) {
			got, want := k.Count(h.text), want[h.name]["262144"][name]
			off := math.Abs(float64(got.Tokens-want)) / float64(want)
			if off > 0.02 || !got.Estimated && off != 0 {
				t.Errorf("%s, %s, 256 KB: got %+v, want %d: off by %.2f %%", name, h.name, got, want, 100*off)
			}
			worst = max(worst, off)
		}
		t.Logf("%s: worst estimate off by %.2f %%", name, 100*worst)
	}
}

// TestHostileTime holds the time of hostile texts to 40 times that of as much
// English; on an idle machine the worst takes about 12 times as long. The two
// are measured in turn, so that a busy machine slows both, and the best pair
// of a few counts. The test is not parallel: nothing else of this package
// runs meanwhile.
func TestHostileTime(t *testing.T) { //nolint:paralleltest // it measures time
	if underRace {
		t.Skip("the race detector slows memory accesses, not the work")
	}
	const size, limit, good, pairs = 1 << 20, 40, 15, 7
	english := corpora()[0].text(size)
	for _, name := range encodings() {
		k := counterOf(t, name)
		worst, worstName := 0.0, ""
		for _, h := range hostiles(size) {
			best := math.Inf(1)
			for pair := 0; pair < pairs && best > good; pair++ {
				base := min(timed(k, english), timed(k, english))
				best = min(best, float64(timed(k, h.text))/float64(base))
			}
			if best > limit {
				t.Errorf("%s, %s: %.1f times the time of English, want at most %d", name, h.name, best, limit)
			}
			if best > worst {
				worst, worstName = best, h.name
			}
		}
		t.Logf("%s: at most %.1f times (%s)", name, worst, worstName)
	}
}

func timed(k *Counter, text string) time.Duration {
	start := time.Now()
	k.Count(text)
	return time.Since(start)
}

func BenchmarkHostile(b *testing.B) {
	k := counterOf(b, O200kBase)
	all := append([]hostile{{"english", corpora()[0].text(1 << 20)}}, hostiles(1<<20)...)
	for _, h := range all {
		b.Run(h.name, func(b *testing.B) {
			b.SetBytes(int64(len(h.text)))
			for b.Loop() {
				k.Count(h.text)
			}
		})
	}
}
