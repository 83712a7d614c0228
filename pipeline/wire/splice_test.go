package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline"
)

func TestSpliceStyle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, source, text, want string }{
		{"plain", `"x"`, "a\"b\\c/d<e>&é😀\u2028\x7f", `"a\"b\\c/d<e>&é😀` + "\u2028\x7f" + `"`},
		{"control characters", `"x"`, "\x00\b\t\n\v\f\r\x1b\x1f", `"\u0000\b\t\n\u000b\f\r\u001b\u001f"`},
		{"CRLF", `"\r\n"`, "a\r\nb\rc\n", `"a\r\nb\rc\n"`},
		{"all beyond ASCII", `"caf\u00e9"`, "é→😀\u2028 <", `"\u00e9\u2192\ud83d\ude00\u2028 <"`},
		{"all beyond ASCII, upper case", `"caf\u00E9"`, "é→😀", `"\u00E9\u2192\uD83D\uDE00"`},
		{"mixed case is lower", `"\u00E9\u00e9"`, "é", `"\u00e9"`},
		{"no digit tells the case", `"\u0410"`, "é", `"\u00e9"`},
		{"some beyond ASCII", `"\u00e9é"`, "é", `"é"`},
		{"HTML", `"\u003cb"`, "<b>&'é</b>", `"\u003cb\u003e\u0026'é\u003c/b\u003e"`},
		{"HTML, upper case", `"\u003Cb"`, "<", `"\u003C"`},
		{"HTML not kept to", `"\u003cb> <"`, "<>&", `"<>&"`},
		{"HTML kept to in part", `"\u003cb\u003e &"`, "<>&", `"\u003c\u003e&"`},
		{"apostrophe", `"it\u0027s"`, "'\"&", `"\u0027\"&"`},
		{"quote by number", `"\u0022"`, `"\`, `"\u0022\\"`},
		{"quote both ways", `"\u0022\""`, `"`, `"\""`},
		{"line break by number", `"\u000a"`, "\n\t", `"\u000a\t"`},
		{"slash", `"a\/b"`, "/é", `"\/é"`},
		{"slash not kept to", `"a\/b/c"`, "/", `"/"`},
		{"slash by number", `"a\u002fb"`, "/", `"\u002f"`},
		{"PHP", `"\u00e9\/"`, "é/<", `"\u00e9\/<"`},
		{"line separators", `"\u2028"`, "\u2028\u2029é", `"\u2028\u2029é"`},
		{"line separators beside others", `"é\u2029"`, "\u2028é ⟨", `"\u2028é ⟨"`},
		{"line separators not kept to", `"\u2028` + "\u2028" + `"`, "\u2028", "\"\u2028\""},
		{"delete", `"\u007f"`, "\x7f", `"\u007f"`},
		{"a backslash is no escape", `"\\u003c\\/"`, "</", `"</"`},
		{"lone surrogate", `"\ud800"`, "é", `"\u00e9"`},
		{"empty", `""`, "", `""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := `{"a":` + tc.source + `, "b" : 1.0 }`
			span := pipeline.Span{Start: 5, End: 5 + len(tc.source)}
			got, err := Splice([]byte("in front "), []byte(body), []Patch{{Span: span, Text: tc.text}})
			want := `in front {"a":` + tc.want + `, "b" : 1.0 }`
			if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSpliceRefuses(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a":"one","b":"two\"","c":3}`)
	span := func(start, end int) pipeline.Span { return pipeline.Span{Start: start, End: end} }
	for _, tc := range []struct {
		name    string
		patches []Patch
	}{
		{"overlap", []Patch{{Span: span(5, 10), Text: "x"}, {Span: span(5, 10), Text: "y"}}},
		{"out of order", []Patch{{Span: span(15, 22), Text: "x"}, {Span: span(5, 10), Text: "y"}}},
		{"outside", []Patch{{Span: span(15, 99), Text: "x"}}},
		{"in front", []Patch{{Span: span(-1, 10), Text: "x"}}},
		{"backwards", []Patch{{Span: span(10, 5), Text: "x"}}},
		{"empty span", []Patch{{Span: span(5, 5), Text: "x"}}},
		{"one quote", []Patch{{Span: span(5, 6), Text: "x"}}},
		{"a number", []Patch{{Span: span(27, 28), Text: "x"}}},
		{"ends in an escaped quote", []Patch{{Span: span(15, 21), Text: "x"}}},
		{"begins inside", []Patch{{Span: span(6, 10), Text: "x"}}},
		{"invalid UTF-8", []Patch{{Span: span(5, 10), Text: "x\xff"}}},
		{"surrogate in UTF-8", []Patch{{Span: span(5, 10), Text: "\xed\xa0\x80"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got, err := Splice([]byte("kept"), body, tc.patches); err == nil || string(got) != "kept" {
				t.Errorf("Splice = %q, %v", got, err)
			}
		})
	}
}

// encoders are the habits of real encoders. Each keeps to its own.
var encoders = map[string]func(string) string{
	"encoding/json": func(s string) string {
		out, err := json.Marshal(s)
		if err != nil {
			return ""
		}
		return string(out)
	},
	"shortest": func(s string) string {
		out, err := jsontext.AppendQuote(nil, s)
		if err != nil {
			return ""
		}
		return string(out)
	},
	"ASCII only":   func(s string) string { return asciiQuote(s, "%04x", "", "\x7f") },
	"ASCII, slash": func(s string) string { return asciiQuote(s, "%04x", "/", "") },
	"upper case, all by number": func(s string) string {
		return asciiQuote(strings.NewReplacer("\n", "\x01", "\t", "\x02", "\"", "\x03", "\\", "\x04").Replace(s), "%04X", "", "\x7f<>&'")
	},
}

// asciiQuote quotes the way Python and PHP do.
func asciiQuote(s, format, slash, numbered string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case slash != "" && strings.ContainsRune(slash, r), r == '"', r == '\\':
			b.WriteString(`\` + string(r))
		case strings.ContainsRune("\b\f\n\r\t", r):
			b.WriteString(`\` + string("bfnrt"[strings.IndexRune("\b\f\n\r\t", r)]))
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\u`+format+`\u`+format, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		case r < ' ', r >= 0x80, strings.ContainsRune(numbered, r):
			fmt.Fprintf(&b, `\u`+format, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func randomText(rng *rand.Rand) string {
	alphabet := []rune("ab /<>&'\"\\\n\r\t\b\f\x00\x1b\x7fé→😀\u2028\u2029\ufffd\uffff\U0010ffff")
	out := make([]rune, rng.IntN(30))
	size := 1 + rng.IntN(len(alphabet))
	rng.Shuffle(len(alphabet), func(i, j int) { alphabet[i], alphabet[j] = alphabet[j], alphabet[i] })
	for i := range out {
		out[i] = alphabet[rng.IntN(size)]
	}
	return string(out)
}

// TestStyleIsKept splices a literal's own text over it: whatever encoder wrote
// the literal, the same bytes must come out.
func TestStyleIsKept(t *testing.T) {
	t.Parallel()
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(3, 3))
			for range 5000 {
				literal := encode(randomText(rng))
				text, ok := decode([]byte(literal))
				if !ok {
					t.Fatalf("no text: %s", literal)
				}
				got, err := Splice(nil, []byte(literal), []Patch{{Span: pipeline.Span{End: len(literal)}, Text: text}})
				if err != nil || string(got) != literal {
					t.Fatalf("%s became %s (%v)", literal, got, err)
				}
			}
		})
	}
}

// TestEncodeRoundTrip writes random texts in the style of random literals.
func TestEncodeRoundTrip(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	names := make([]string, 0, len(encoders))
	for name := range encoders {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 20000 {
		source, text := encoders[names[rng.IntN(len(names))]](randomText(rng)), randomText(rng)
		got, err := Splice(nil, []byte(source), []Patch{{Span: pipeline.Span{End: len(source)}, Text: text}})
		if err != nil || !json.Valid(got) || !jsontext.Value(got).IsValid() {
			t.Fatalf("%q over %s gave %s (%v)", text, source, got, err)
		}
		var want string
		if err := json.Unmarshal(got, &want); err != nil || want != text {
			t.Fatalf("%q over %s reads as %q (%v)", text, source, want, err)
		}
		if back, ok := decode(got); !ok || back != text {
			t.Fatalf("%q over %s decodes as %q, %v", text, source, back, ok)
		}
		if s := styleOf([]byte(source)); s.wide && bytes.ContainsFunc(got, func(r rune) bool { return r >= 0x80 }) {
			t.Fatalf("%s holds no character beyond ASCII, %s does", source, got)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value, want string
		ok          bool
	}{
		{`""`, "", true},
		{`"plain"`, "plain", true},
		{`"é😀"`, "é😀", true},
		{`"\u00e9\uD83D\ude00\n\/\\\"\b\f\r\t\u0000"`, "é😀\n/\\\"\b\f\r\t\x00", true},
		{`"�\ufffd"`, "\ufffd\ufffd", true},
		{`"\ud83d"`, "", false},
		{`"\ud83dx"`, "", false},
		{`"\ud83d\u0041"`, "", false},
		{`"\ud83d\ud83d"`, "", false},
		{`"\ude00\ud83d"`, "", false},
		{`"\ud83d\n"`, "", false},
		{"\"\xff\"", "", false},
		{"\"\\n\xff\"", "", false},
		{"\"\xff\\n\"", "", false},
		{"\"\xed\xa0\xbd\xed\xb8\x80\"", "", false}, // surrogates in UTF-8
		{"\"\xc0\x80\"", "", false},                 // overlong
		{`"\q"`, "", false},
		{`"\u12"`, "", false},
		{`"\u12g4"`, "", false},
		{`"\"`, "", false},
		{`"a"b"`, "", false},
		{"\"a\nb\"", "", false},
		{"\"\\n\x01\"", "", false},
		{`"`, "", false},
		{``, "", false},
		{`null`, "", false},
		{`["x"]`, "", false},
		{` "x"`, "", false},
	} {
		got, ok := decode([]byte(tc.value))
		if ok != tc.ok || got != tc.want {
			t.Errorf("decode(%q) = %q, %v, want %q, %v", tc.value, got, ok, tc.want, tc.ok)
		}
		if ok != (json.Valid([]byte(tc.value)) && jsontext.Value(tc.value).IsValid() && strings.HasPrefix(tc.value, `"`)) {
			t.Errorf("decode(%q) accepts what jsontext does not, or the reverse", tc.value)
		}
	}
}
