package literal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

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
				source := encode(randomText(rng))
				text, ok := String([]byte(source))
				if !ok {
					t.Fatalf("no text: %s", source)
				}
				if got := Encode([]byte(source), text); string(got) != source {
					t.Fatalf("%s became %s", source, got)
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
		got := Encode([]byte(source), text)
		if !json.Valid(got) || !jsontext.Value(got).IsValid() {
			t.Fatalf("%q over %s gave %s", text, source, got)
		}
		var want string
		if err := json.Unmarshal(got, &want); err != nil || want != text {
			t.Fatalf("%q over %s reads as %q (%v)", text, source, want, err)
		}
		if back, ok := String(got); !ok || back != text {
			t.Fatalf("%q over %s decodes as %q, %v", text, source, back, ok)
		}
		if s := styleOf([]byte(source)); s.wide && bytes.ContainsFunc(got, func(r rune) bool { return r >= 0x80 }) {
			t.Fatalf("%s holds no character beyond ASCII, %s does", source, got)
		}
	}
}

func TestString(t *testing.T) {
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
		got, ok := String([]byte(tc.value))
		if ok != tc.ok || got != tc.want {
			t.Errorf("String(%q) = %q, %v, want %q, %v", tc.value, got, ok, tc.want, tc.ok)
		}
		if ok != (json.Valid([]byte(tc.value)) && jsontext.Value(tc.value).IsValid() && strings.HasPrefix(tc.value, `"`)) {
			t.Errorf("String(%q) accepts what jsontext does not, or the reverse", tc.value)
		}
	}
}
