package toon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// randomTable writes a compact array of records with all sorts of values.
func randomTable(r *rand.Rand) string {
	shape := randomShape(r, 0)
	rows := make([]string, 1+r.IntN(8))
	for i := range rows {
		rows[i] = shape(r)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// randomShape returns a writer of records that have all the same names.
func randomShape(r *rand.Rand, depth int) func(*rand.Rand) string {
	type member struct {
		name  string
		group func(*rand.Rand) string
	}
	members := make([]member, 1+r.IntN(5))
	for i := range members {
		members[i].name = fmt.Sprintf(`"%s%d"`, []string{"id", "user name", "a.b", "x-y", `\u00e9`, `q\"`, "", "t\\t"}[r.IntN(8)], i)
		if depth < 3 && r.IntN(5) == 0 {
			members[i].group = randomShape(r, depth+1)
		}
	}
	return func(r *rand.Rand) string {
		var cells []string
		for _, m := range members {
			value := randomLiteral(r)
			if m.group != nil {
				value = m.group(r)
			}
			cells = append(cells, m.name+":"+value)
		}
		return "{" + strings.Join(cells, ",") + "}"
	}
}

func randomLiteral(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return []string{"null", "true", "false", `""`, `"null"`, `"true"`}[r.IntN(6)]
	case 1:
		return []string{"-", ""}[r.IntN(2)] + strconv.Itoa(r.IntN(1000)) + []string{"", ".0", ".50", "e5", "E-07"}[r.IntN(5)]
	case 2:
		return strconv.Quote(strconv.Itoa(r.IntN(100)) + []string{"", ".", ".5", "e3", "x", " "}[r.IntN(6)])
	default:
		const alphabet = "ab ,:\"\\[]{}-#\n\t\r\x00\x1fé日😀\u00a0\u2028.0"
		var b strings.Builder
		runes := []rune(alphabet)
		for range r.IntN(6) {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
		quoted, err := json.Marshal(b.String())
		if err != nil {
			return `""`
		}
		return string(quoted)
	}
}

func TestP34RandomTablesRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		doc := randomTable(r)
		got, ok := encode([]byte(doc), true)
		if !ok {
			t.Fatalf("%s is no table", doc)
		}
		decoded, err := decode(string(got))
		if err != nil {
			t.Fatalf("%s became\n%s: %v", doc, got, err)
		}
		if err := pipelinetest.SameJSON(doc, string(decoded)); err != nil {
			t.Fatalf("%s became\n%s: %v", doc, got, err)
		}
		if err := sameLiterals(doc, string(got)); err != nil {
			t.Fatalf("%s became\n%s: %v", doc, got, err)
		}
		for around := range 3 { // and as a part of something
			whole := []string{`{"a":%s,"b":{"c":[1,"x"]}}`, `{"b":{"c":%s},"":null}`, `{"t":%s,"u":[{"v":1}]}`}[around]
			if got, ok := encode(fmt.Appendf(nil, whole, doc), true); !ok || sameLiterals(fmt.Sprintf(whole, doc), string(got)) != nil {
				t.Fatalf("%s in %s: %v\n%s", doc, whole, ok, got)
			}
		}
	}
}

// Nesting that JSON's own readers accept must not upset the check.
func TestDeepDocumentsAroundAString(t *testing.T) {
	t.Parallel()
	table := `"[{\"id\":1,\"name\":\"Alice\"},{\"id\":2,\"name\":\"Bob\"},{\"id\":3,\"name\":\"Carol\"}]"`
	for _, depth := range []int{1, 100, 9_999, 10_000, 10_001} {
		text := strings.Repeat("[", depth) + table + strings.Repeat("]", depth)
		got, reason := rewrite(t, text)
		if want := depth <= 10_000; (reason == "") != want || want && !strings.Contains(got, `"[3]{id,name}:\n`) {
			t.Errorf("%d deep: %q %.80q", depth, reason, got)
		}
	}
}

// Whatever the text: it is left alone, or the result says the same by two
// comparisons and is left alone the second time; and no text upsets the decoder.
func FuzzToon(f *testing.F) {
	for _, text := range pipelinetest.Hostile() {
		if len(text) < 3_000 {
			f.Add(text)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		f.Add(randomTable(r))
		f.Add(`{"stdout":` + strconv.Quote(randomTable(r)) + `,"code":0}`)
	}
	f.Add("[2]{a,b{c,d}}:\n  1,2,\"x\"\n  # comment\n\n  4,5,6")
	f.Add("a: 1\nb[2|]: x|y\nc:\n  d: \"\\u0041\"\r\n")
	f.Add("[1]" + strings.Repeat("{a", 2000))
	f.Fuzz(func(t *testing.T, text string) {
		if decoded, err := decode(text); err == nil && !json.Valid(decoded) {
			t.Errorf("%q is read as %q", text, decoded)
		}
		got, reason := rewrite(t, text)
		if reason != "" {
			if reason == pipeline.ReasonNotEquivalent || reason == pipeline.ReasonPanic {
				t.Errorf("%q: %s", text, reason)
			}
			return
		}
		if err := sameValues(text, got); err != nil {
			t.Errorf("%q became %q: %v", text, got, err)
		}
		if again, reason := rewrite(t, got); again != got {
			t.Errorf("%q became %q the second time (%s)", got, again, reason)
		}
	})
}

func BenchmarkToon(b *testing.B) {
	var flat, nested strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&flat, `{"id":%d,"name":"item %d","price":%d.50,"at":"2024-05-01T12:00:%02dZ","ok":true},`, i, i, i, i%60)
		fmt.Fprintf(&nested, `{"id":%d,"seats":{"economy":%d,"business":%d},"ok":true},`, i, i, i)
	}
	table := "[" + strings.TrimSuffix(flat.String(), ",") + "]"
	for name, text := range map[string]string{
		"flat":     table,
		"groups":   "[" + strings.TrimSuffix(nested.String(), ",") + "]",
		"envelope": `{"code":0,"stdout":` + strconv.Quote(table) + `}`,
		"ragged":   "[" + flat.String() + `{"id":1}]`,
		"log":      strings.Repeat("[INFO] a line of a log that begins like an array\n", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			step, err := Spec().Build(nil, pipeline.Deps{})
			if err != nil {
				b.Fatal(err)
			}
			s := pipeline.Segment{Text: text, Tokens: 1000}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := step.Component.Rewrite(b.Context(), pipeline.View{}, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheck is what the pipeline adds for an edit that is adopted.
func BenchmarkCheck(b *testing.B) {
	doc := "[" + strings.Repeat(`{"id":1234,"name":"some item","price":12.50,"at":"2024-05-01T12:00:00Z","ok":true},`, 999) + `{"id":1,"name":"","price":1,"at":"","ok":null}]`
	text, ok := encode([]byte(doc), true)
	if !ok {
		b.Fatal("no table")
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := sameLiterals(doc, string(text)); err != nil {
			b.Fatal(err)
		}
	}
}
