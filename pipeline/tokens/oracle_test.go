package tokens

import (
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// oracles loads pkoukk/tiktoken-go once for all tests.
//

var oracles = sync.OnceValues(func() (map[string]*tiktoken.Tiktoken, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	all := make(map[string]*tiktoken.Tiktoken)
	for _, name := range encodings() {
		enc, err := tiktoken.GetEncoding(name)
		if err != nil {
			return nil, err
		}
		all[name] = enc
	}
	return all, nil
})

// counters are shared as well; their counts do not depend on who used them.
//

var counters = New()

func encodings() []string { return []string{O200kBase, CL100kBase} }

// oracle counts with tiktoken-go, whose merge is quadratic: short texts only.
func oracle(t testing.TB, name string) func(string) int {
	t.Helper()
	all, err := oracles()
	if err != nil {
		t.Fatalf("load the oracle: %v", err)
	}
	return func(text string) int { return len(all[name].EncodeOrdinary(text)) }
}

func counterOf(t testing.TB, name string) *Counter {
	t.Helper()
	k, err := counters.For(Encoding{Name: name})
	if err != nil {
		t.Fatalf("load %s: %v", name, err)
	}
	return k
}

// longS is where the oracle is wrong: see TestLongS.
const longS = "'ſ"

func TestCountIsExact(t *testing.T) {
	t.Parallel()
	for _, name := range encodings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, want := counterOf(t, name), oracle(t, name)
			g := newGenerator(1)
			for i := range 8000 {
				text := g.text(i)
				if strings.Contains(text, longS) {
					continue
				}
				if got, want := k.Count(text), (Count{Tokens: want(text)}); got != want {
					t.Fatalf("text %d, %q: got %+v, want %+v", i, text, got, want)
				}
			}
		})
	}
}

func TestCountTable(t *testing.T) {
	t.Parallel()
	// The numbers were made with OpenAI's tiktoken 0.14.0.
	for _, c := range []struct {
		name, text    string
		o200k, cl100k int
	}{
		{"empty", "", 0, 0},
		{"one byte", "a", 1, 1},
		{"words", "The quick brown fox jumps over the lazy dog.", 10, 10},
		{"contractions", "I'm sure you'll say it's what we've said, they're what I'd said: don't", 15, 22},
		{"contractions in capitals", "I'M SURE YOU'LL SAY IT'S WHAT WE'VE SAID, DON'T", 18, 19},
		{"mixed contractions", "a'Ll b'lL c'rE d'VE e'x f'", 16, 17},
		{"contraction at the start", "'tis 'sword 'dad", 7, 6},
		{"two contractions", "a's's 's's", 6, 6},
		{"capitals before letters", "HTTPServer XMLHttpRequest iPhone McDonald ABC", 9, 6},
		{"title case letters", "ǅabc ǅ ǈǋ", 11, 11},
		{"letters without case before capitals", "日本ABC語Def", 4, 6},
		{"marks as prefix", "\u0301ABC \u0301abc a\u0301b A\u0301B", 11, 11},
		{"mark behind punctuation", "(\u0301x ((\u0301x", 6, 6},
		{"digits", "1 12 123 1234 1234567890 3.14159", 18, 18},
		{"digits of other scripts", "٣٤٥٦ ½²Ⅳ ߀߁߂߃", 18, 22},
		{"punctuation and line ends", "foo();\n\n\tbar(/* x */);\r\n///\n/\n//", 9, 10},
		{"slashes after a line end", "x;\n//\n/ y", 5, 5},
		{"spaces before a word", "   x    y\t\tz \t w", 8, 8},
		{"spaces at the end", "foo   ", 2, 2},
		{"line ends in spaces", "a \n  \n\n   b\n", 5, 6},
		{"spaces after the last line end", "foo\n   ", 3, 3},
		{"only spaces", "          ", 1, 1},
		{"carriage returns", "a\r\rb\r\n\r\nc\r d", 7, 8},
		{"other spaces", "a\u00a0b\u3000c\u2028d\u0085e \u2003 f", 13, 14},
		{"zero width", "a\u200bb\ufeffc\u200d", 6, 7},
		{"special tokens are text", "<|endoftext|><|fim_prefix|><|endofprompt|>", 18, 19},
		{"code", "func (c *Counter) Count(text string) Count {\n\treturn c.count(text)\n}\n", 18, 18},
		{"json", "{\"id\":12,\"ok\":true,\"tags\":[\"a\",\"b\"],\"x\":null}\n", 20, 19},
		{"log line", "2025-03-01T12:34:56.789Z ERROR [main-7] failed: id=0x1F trace=4bf92f3577b34da6\n", 42, 42},
		{"url", "https://example.com/a/b?c=d&e=%20#frag", 14, 14},
		{"base64", "TG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQsIGNvbnNlY3RldHVy", 34, 38},
		{"chinese", "我们可以通过配置文件修改服务的超时时间。", 12, 12},
		{"japanese", "設定ファイルを確認してください。エラーが発生しました。", 14, 25},
		{"korean", "서비스 설정을 확인하세요. 오류가 발생했습니다.", 11, 17},
		{"arabic", "مرحبا بالعالم، كيف حالك؟", 9, 19},
		{"hindi", "नमस्ते दुनिया, आप कैसे हैं?", 10, 27},
		{"thai", "สวัสดีชาวโลก", 7, 13},
		{"emoji", "😀👍🏽👨\u200d👩\u200d👧\u200d👦🇩🇪", 19, 32},
		{"nul and control", "\x00\x01\x02\x1b[31mred\x1b[0m\x7f", 13, 11},
		{"private use and beyond", "\ue000\uffff\U0010ffff\U000e0100", 12, 13},
		{"replacement character", "\ufffd\ufffda\ufffd", 3, 3},
		{"long s", " I'ſ", 2, 4},
		{"one letter 200 times", strings.Repeat("a", 200), 25, 25},
		{"dashes", strings.Repeat("-", 100) + "\n" + strings.Repeat("=", 77), 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, want := range map[string]int{O200kBase: c.o200k, CL100kBase: c.cl100k} {
				if got := oracle(t, name)(c.text); got != want && !strings.Contains(c.text, longS) {
					t.Errorf("%s: tiktoken-go says %d, the table %d", name, got, want)
				}
				if got := counterOf(t, name).Count(c.text); got != (Count{Tokens: want}) {
					t.Errorf("%s: got %+v, want %d tokens", name, got, want)
				}
			}
		})
	}
}

func FuzzCount(f *testing.F) {
	g := newGenerator(2)
	for i := range 64 {
		f.Add(g.text(i))
	}
	f.Add(strings.Repeat("ab", 160))
	f.Add("\xf0\x9f\x98 \xff's")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxPiece/3 || strings.Contains(text, longS) {
			t.Skip()
		}
		for _, name := range encodings() {
			k := counterOf(t, name)
			want := oracle(t, name)(text)
			if got := k.Count(text); got != (Count{Tokens: want}) {
				t.Errorf("%s: got %+v, want %d tokens", name, got, want)
			}
			if !k.AtLeast(text, want) || k.AtLeast(text, want+1) {
				t.Errorf("%s: AtLeast does not agree with %d tokens", name, want)
			}
		}
	})
}
