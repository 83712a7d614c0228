package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/contextguru/contextguru/components/internal/excerpt"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestLine(t *testing.T) {
	t.Parallel()
	const family = "👩‍👩‍👧‍👦"
	for name, c := range map[string]struct {
		text string
		n    int
		want string
	}{
		"nothing":            {"", 5, ""},
		"blank":              {" \n\t\u00a0\n", 5, ""},
		"shorter":            {"abc", 5, "abc"},
		"as long":            {"abcde", 5, "abcde"},
		"longer":             {"abcdef", 5, "abcde…"},
		"no blank at end":    {"abcd efg", 5, "abcd…"},
		"white space joined": {"  a\r\n\n\tb   c\n", 5, "a b c"},
		"codes":              {"\x1b[1;31mab\x1b[0mc\x00d", 5, "abcd"},
		"half a code":        {"ab\x1b[", 5, "ab["},
		"accents":            {"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301…"},
		"emoji":              {family + family, 1, "…"},
		"emoji that fit":     {family + family, 4, family + "…"},
		"flags":              {"🇩🇪🇫🇷🇮🇹", 2, "🇩🇪🇫🇷…"},
		"CJK":                {"日本語です", 3, "日本語…"},
		"marker":             {"see <<cg:abc>>", 50, "see << cg:abc>>"},
		"escaped marker":     {`see \u003C\u003ccg:abc`, 50, `see \u003C\u003c cg:abc`},
		"no marker":          {"cfg: acg: b", 50, "cfg: acg: b"},
		"far behind blanks":  {strings.Repeat(" \n", 5000) + "abc", 5, "abc"},
		"mostly blanks":      {"a" + strings.Repeat(" \n", 5000) + "b", 5, "a…"},
		"none wanted":        {"abc", 0, ""},
	} {
		if got := excerpt.Line(c.text, c.n); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                     "",
		" a  b\tc ":            "a  b\tc",
		"\x1b[31ma  b\x1b[0m":  "a  b",
		"a\x00  b":             "a b",
		"<<cg:a  >>":           "<< cg:a  >>",
		"0123456789  a":        "0123456789 a",
		"0123456789  abcdef g": "0123456789 a…",
	} {
		if got := excerpt.Whole(line, 12); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		at   int
		want string
	}{
		"in front": {"0123456789abcdef", 0, "01234567…"},
		"inside":   {"0123456789abcdef", 8, "…456789ab…"},
		"behind":   {"0123456789abcdef", 14, "…abcdef"},
		"umlaut":   {"äääääääääää", 7, "…ääääääää…"},
	} {
		if got := excerpt.Around(c.line, c.at, 8); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// However hostile the text: a quotation is short, valid, on one line, without a
// marker, and ends where a character ends.
func FuzzLine(f *testing.F) {
	for _, text := range pipelinetest.Hostile() {
		if len(text) < 3000 {
			f.Add(text, 96)
		}
	}
	f.Add("<\x00<cg:abcdefghijklmnop2345>>", 40)
	f.Add("<\u200b<cg:x", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n %= 200
		if n < 0 || !utf8.ValidString(text) {
			t.Skip()
		}
		got := excerpt.Line(text, n)
		count := 0
		for it := graphemes.FromString(got); it.Next(); {
			count++
		}
		// Defusing adds a blank, which may also part a character.
		if spare := 2 * strings.Count(got, " cg:"); count > n+1+spare || len(got) > 8*n+len(excerpt.Ellipsis)+spare {
			t.Errorf("%d characters, %d bytes of at most %d: %q", count, len(got), n, got)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x1b\x00") {
			t.Errorf("not one clean line: %q", got)
		}
		if strings.Contains(got, "<<cg:") || strings.Contains(strings.ToLower(got), `\u003c\u003ccg:`) {
			t.Errorf("a marker: %q", got)
		}
	})
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for name, text := range pipelinetest.Hostile() {
		if got := excerpt.Line(text, 96); len(got) > 96*8+3 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	keys := pipelinetest.Keys(t)
	if marked := "see " + pipeline.Marker(keys.Mint("x")); keys.Marked(excerpt.Line(marked, 96)) || keys.Marked(excerpt.Defuse(marked)) {
		t.Error("a marker survives")
	}
}
