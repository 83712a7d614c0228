package tokens

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// generator makes texts that try the pre-tokenizer: every class the patterns
// know, in runs and single, next to each other in every order.
type generator struct {
	rnd *rand.Rand
}

func newGenerator(seed uint64) *generator {
	return &generator{rnd: rand.New(rand.NewPCG(seed, 0x746f6b656e73))}
}

// plain returns a text as tools print them: words, numbers, code, paths.
func (g *generator) plain() string {
	words := []string{
		"the", "Request", "HTTP", "value", "don't", "WE'LL", "it's", "err", "nil", "fooBarBaz", "snake_case", "x", "I",
		"0", "17", "2024", "123456789", "3.14", "0x1F", "v1.2.3", "a/b/c.go:12", "http://example.com/p?q=1", "[]byte", "{}",
		"\"key\":", "==", "!=", "->", "//", "/*", "*/", "...", "---", "\t", "\n", "\n\n", "\r\n", "  ", "    ", "\n\t\t", ",", ".", ";",
		"<|endoftext|>", "naïve", "Straße", "Ελλάδα", "русский", "日本語", "中文字符", "한국어", "العربية", "हिन्दी", "😀", "👨‍👩‍👧",
	}
	var b strings.Builder
	for range g.rnd.IntN(24) {
		b.WriteString(words[g.rnd.IntN(len(words))])
		if g.rnd.IntN(3) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// hostile returns characters of hand-picked kinds in random runs.
func (g *generator) hostile() string {
	kinds := []string{
		"abcxyz", "ABCXYZ", "ǅǈǋǲ", "ʰʷᵃ々ゝ", "日本語あאب", "\u0301\u0308\u20dd\u093e\ufe0f", "0159٣߃", "Ⅳ²½৴", " ", " ", "\t\v\f", "\u00a0\u3000\u2003\u2028\u1680\u0085",
		"\n", "\r", "\r\n", "'", "'", "sStTmMdD", "lLrReEvV", "/", ".,;:!?-_", "€→∑©", "😀🎉\U0001F1E9", "\u200b\u200d\ufeff\u00ad", "\x00\x01\x7f",
		"\U00010400\U00010428\U00020000\U0001D7D8\U0001E900\U000E0100", "éßñÉŁ", "\ufffd\uffff\ue000\U0010FFFF", "ſıİK",
	}
	var b strings.Builder
	for range g.rnd.IntN(14) {
		set := []rune(kinds[g.rnd.IntN(len(kinds))])
		run := 1
		if g.rnd.IntN(3) == 0 {
			run = 1 + g.rnd.IntN(6)
		}
		for range run {
			b.WriteRune(set[g.rnd.IntN(len(set))])
		}
	}
	return b.String()
}

// anything returns code points from all of Unicode, most of them low.
func (g *generator) anything() string {
	var b strings.Builder
	for range g.rnd.IntN(20) {
		top := []int{0x80, 0x250, 0x3000, 0x10000, utf8.MaxRune + 1}[g.rnd.IntN(5)]
		b.WriteRune(rune(g.rnd.IntN(top)))
	}
	return b.String()
}

// broken returns a text with bytes that are not UTF-8.
func (g *generator) broken() string {
	b := []byte(g.hostile())
	for range 1 + g.rnd.IntN(4) {
		at := g.rnd.IntN(len(b) + 1)
		b = append(b[:at], append([]byte{byte(0x80 + g.rnd.IntN(0x80))}, b[at:]...)...)
	}
	return string(b)
}

// text returns one of the above.
func (g *generator) text(i int) string {
	switch i % 8 {
	case 0, 1, 2, 3:
		return g.plain()
	case 4, 5:
		return g.hostile()
	case 6:
		return g.anything()
	default:
		return g.broken()
	}
}
