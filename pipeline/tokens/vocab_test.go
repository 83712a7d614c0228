package tokens

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// TestRanksAreThePublishedOnes compares with the digests that OpenAI's
// tiktoken checks its downloads against.
func TestRanksAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		O200kBase:  "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
		CL100kBase: "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
	} {
		raw, err := assets.Assets.ReadFile(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: digest %x, want %s", name, sum, want)
		}
	}
}

func TestEveryTokenIsFound(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{O200kBase: 199998, CL100kBase: 100256} {
		v := counterOf(t, name).bpe.vocab
		if got := len(v.offs) - 1; got != want {
			t.Errorf("%s: %d tokens, want %d", name, got, want)
		}
		for r := range uint32(len(v.offs) - 1) {
			p, e := int(v.offs[r]), int(v.offs[r+1])
			if got := v.find(hash(v.blob, p, e), v.blob[p:e]); got != r {
				t.Fatalf("%s: rank %d is found as %d", name, r, got)
			}
			if got := v.rank(v.blob, p, e); e-p > 1 && got != r {
				t.Fatalf("%s: rank %d is found as %d behind the filter", name, r, got)
			}
		}
	}
}

// collide returns other bytes with the hash of b, which must be 16 long: the
// last word of a hash can make up for any first one.
func collide(b []byte, first uint64) []byte {
	state := func(w uint64) uint64 {
		h := (uint64(len(b))*hashMul&(1<<64-1) ^ w) * hashMul
		return h ^ h>>32
	}
	word, last := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	out := binary.LittleEndian.AppendUint64(nil, first)
	return binary.LittleEndian.AppendUint64(out, last^state(word)^state(first))
}

func TestEqualHashesAreNotEnough(t *testing.T) {
	t.Parallel()
	b := counterOf(t, O200kBase).bpe
	v := b.vocab
	s := newScratch(b)
	tried := 0
	for r := range len(v.offs) - 1 {
		token := v.blob[v.offs[r]:v.offs[r+1]]
		if len(token) != 16 || tried == 200 {
			continue
		}
		tried++
		forged := collide(token, uint64(r)*hashMul)
		h := hash(forged, 0, 16)
		if h != hash(token, 0, 16) {
			t.Fatalf("%q and %q do not collide: the test is out of date", token, forged)
		}
		if got := v.find(h, forged); got != noRank {
			t.Errorf("%q is taken for rank %d, %q", forged, got, token)
		}
		// The same in the memo: two forgeries share their place in it.
		other := collide(token, uint64(r)*hashMul+1)
		for _, bytes := range [][]byte{forged, other, forged} {
			if got, want := s.count(bytes, 0, 16), new(merger).merge(v, bytes, 0, 16); got != want {
				t.Errorf("%q: %d tokens, want %d", bytes, got, want)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d tokens of 16 bytes tried", tried)
	}
}

// TestHashReadsNothingElse puts the same bytes into different surroundings.
func TestHashReadsNothingElse(t *testing.T) {
	t.Parallel()
	text := []byte(random(300, "abc é語"))
	for p := range 100 {
		for e := p + 1; e < p+60; e++ {
			alone := append([]byte(nil), text[p:e]...)
			if got, want := hash(text, p, e), hash(alone, 0, e-p); got != want {
				t.Fatalf("bytes %d to %d: %x in the text, %x alone", p, e, got, want)
			}
		}
	}
}

func TestLoadRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	line := func(token string, rank int) string {
		return fmt.Sprintf("%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
	}
	var bytes strings.Builder
	for i := range 256 {
		bytes.WriteString(line(string([]byte{byte(i)}), i))
	}
	all := bytes.String()
	for _, c := range []struct {
		name, ranks, want string
	}{
		{"smallest", all, ""},
		{"no line end at the end", strings.TrimSpace(all), ""},
		{"carriage returns", strings.ReplaceAll(all, "\n", "\r\n"), ""},
		{"empty", "", "0 tokens"},
		{"gap", all + line("ab", 257), "line 257: want a token and rank 256"},
		{"no rank", all + "YWI=\n", "line 257"},
		{"not base64", all + "Y?I= 256\n", "line 257: token"},
		{"empty token", all + line("", 256), "rank 256: 0 bytes"},
		{"long token", all + line(strings.Repeat("a", 256), 256), "rank 256: 256 bytes"},
		{"line without end", all + strings.Repeat("YWFh", 1<<15), "line 257"},
		{"token twice", all + line("ab", 256) + line("ab", 257), `rank 257: token "ab" appears twice`},
		{"byte missing", line("a", 0) + line("b", 1), "2 single bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadVocab(fstest.MapFS{"x": {Data: []byte(c.ranks)}}, "x")
			if c.want == "" {
				if err != nil {
					t.Errorf("got error %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := loadVocab(fstest.MapFS{}, "missing"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("missing file: got error %v", err)
	}
}
