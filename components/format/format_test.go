package format_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/format"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, format.Spec(), pipelinetest.SameJSON)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, format.Spec())
}

// rewrite runs the component with no floor and returns the text that is sent,
// and the reason when it is the client's.
func rewrite(tb testing.TB, text string) (string, pipeline.Reason) {
	tb.Helper()
	step, err := format.Spec().Build(func(into any) error { return json.Unmarshal([]byte(`{"min_tokens":0}`), into) }, pipeline.Deps{})
	if err != nil {
		tb.Fatal(err)
	}
	settings := pipelinetest.Settings(tb)
	settings.Steps = []pipeline.Step{step}
	o := pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Texts(text))[0]
	if o.Lossless == nil {
		if o.Reason != "" {
			return text, o.Reason
		}
		return text, o.Acts[0].Reason
	}
	return o.Lossless.Text, ""
}

func TestP32LiteralsStayByteForByte(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"{ \"id\": 1,\n  \"name\": \"ada\",\n  \"tags\": [ \"x\", \"y\" ] }": `{"id":1,"name":"ada","tags":["x","y"]}`,
		"{ \"n\": [ 12345678901234567890123, 1.0, -0, 1E400, 1e-7, 0.10 ] }": `{"n":[12345678901234567890123,1.0,-0,1E400,1e-7,0.10]}`,
		"{ \"z\": 1, \"a\": 2, \"z\": 3 }":                                   `{"z":1,"a":2,"z":3}`,
		"[ \"\\u00e9\", \"\\/\", \"<&>\", \"\\u003c\", \"\u2028\" ]":         `["\u00e9","\/","<&>","\u003c",` + "\"\u2028\"]",
		"[ \"\\ud83d\", \"\\ude00 \\uD83D\" ]":                               `["\ud83d","\ude00 \uD83D"]`,
		"[ \" a  b \", \"} ] , : \\\" { \\\\\", \"\\t\" ]":                   `[" a  b ","} ] , : \" { \\","\t"]`,
		"\r\n\t [ true ,\r\n false , null ]\r\n\r\n":                         `[true,false,null]`,
		"{ \"\" : { } , \" \" : [ ] }":                                       `{"":{}," ":[]}`,
	} {
		if got, reason := rewrite(t, before); got != after {
			t.Errorf("%q became %q (%s), want %q", before, got, reason, after)
		}
	}
}

func TestP32B78AnythingButOneDocumentIsLeftAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pipeline.Reason{
		"{ \"a\": 1 }\n{ \"a\": 2 }\n": "not_json",
		"{ \"a\": 1 } and then some":   "not_json",
		"some text { \"a\": 1 }":       "not_json",
		"\"a string\"":                 "not_json",
		"1.0":                          "not_json",
		"{ \"a\": 1,, }":               "not_json",
		"{ 'a': 1 }":                   "not_json",
		"{ \"a\": NaN }":               "not_json",
		"[ 1, 2, ]":                    "not_json",
		"{ \"a\": 1":                   "not_json",
		"\ufeff{ \"a\": 1 }":           "not_json",
		"{\u00a0\"a\": 1 }":            "not_json",
		"[ \"a\x00b\" ]":               "not_json",
		"// a comment\n{ }":            "not_json",
		"":                             "not_json",
		`{"a":[1,2]}`:                  "already_compact",
		strings.Repeat("[ ", 1001) + strings.Repeat("]", 1001): "too_deep",
	} {
		if got, reason := rewrite(t, text); reason != want {
			t.Errorf("%.60q: %q and %.60q, want %q", text, reason, got, want)
		}
	}
	if _, reason := rewrite(t, strings.Repeat("[ ", 1000)+strings.Repeat("]", 1000)); reason != "" {
		t.Errorf("as deep as allowed: %s", reason)
	}
}

func TestP33DocumentsInStringsKeepTheirEscapes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for name, c := range map[string]struct{ before, after string }{
		"plain": {
			`{"code":0, "stdout":"{ \"a\": 1, \"` + long + `\": [ 1, 2 ] }\n","more":"a  b"}`,
			`{"code":0,"stdout":"{\"a\":1,\"` + long + `\":[1,2]}","more":"a  b"}`,
		},
		"every escape": {
			`[ "{ \u0022a\u0022:\u0020\u0031,\r\n\"` + long + `\":\t\"\\u00e9 \\/ \/ é \u00e9\" }" ]`,
			`["{\u0022a\u0022:\u0031,\"` + long + `\":\"\\u00e9 \\/ \/ é \u00e9\"}"]`,
		},
		"pairs of surrogates": {
			`[ "[ \"😀 \ud83d\ude00 \\ud83d\", \"` + long + `\" ]" ]`,
			`["[\"😀 \ud83d\ude00 \\ud83d\",\"` + long + `\"]"]`,
		},
		"half a pair": {
			`[ "[ \"\ud83d\", \"` + long + `\" ]" ]`,
			`["[ \"\ud83d\", \"` + long + `\" ]"]`,
		},
		"blanks in front": {
			`[ "\n\u0009 [ \"` + long + `\" ] " ]`,
			`["[\"` + long + `\"]"]`,
		},
		"a name": {
			`{ "{ \"` + long + `\": 1 }" : 1 }`,
			`{"{ \"` + long + `\": 1 }":1}`,
		},
		"short": {
			`[ "[ 1, 2 ]", "b" ]`,
			`["[ 1, 2 ]","b"]`,
		},
		"no document": {
			`[ "[ ` + long + ` 1, 2 ]", "{ \"a\": 1 } ` + long + `", "\"a   b\" ` + long + `" ]`,
			`["[ ` + long + ` 1, 2 ]","{ \"a\": 1 } ` + long + `","\"a   b\" ` + long + `"]`,
		},
	} {
		if !json.Valid([]byte(c.before)) {
			t.Fatalf("%s: %s is not JSON", name, c.before)
		}
		if got, reason := rewrite(t, c.before); got != c.after {
			t.Errorf("%s (%s):\n%s became\n%s, want\n%s", name, reason, c.before, got, c.after)
		}
	}
}

func TestP33DescentIsBounded(t *testing.T) {
	t.Parallel()
	doc := `[ "` + strings.Repeat("leaf ", 20) + `", 1 ]`
	for level := 1; level <= 6; level++ {
		quoted, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		doc = fmt.Sprintf(`[ %s, %d ]`, quoted, level)
	}
	got, reason := rewrite(t, doc)
	if reason != "" {
		t.Fatal(reason)
	}
	for level := 0; ; level++ {
		if blank := strings.HasPrefix(got, "[ "); blank != (level > 4) {
			t.Errorf("%d strings deep: white space left: %v", level, blank)
		}
		var items []any
		if err := json.Unmarshal([]byte(got), &items); err != nil {
			t.Fatal(err)
		}
		inner, isString := items[0].(string)
		if !isString || !strings.HasPrefix(inner, "[") {
			if level != 6 {
				t.Errorf("only %d levels", level)
			}
			return
		}
		got = inner
	}
}

// Whatever the text: the result is the text with some of its white space cut
// out, is equivalent by two parsers, and is left alone the second time.
func FuzzFormat(f *testing.F) {
	for _, text := range pipelinetest.Hostile() {
		if len(text) < 3_000 {
			f.Add(text)
		}
	}
	f.Add(`[ "[ \"\u0061\\u0020  \" , \u005b ] \t` + strings.Repeat(" ", 64) + `" ]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, reason := rewrite(t, text)
		if reason != "" {
			if reason == pipeline.ReasonNotEquivalent || reason == pipeline.ReasonPanic {
				t.Errorf("%q: %s", text, reason)
			}
			return
		}
		if err := pipelinetest.SameJSON(text, got); err != nil {
			t.Errorf("%q became %q: %v", text, got, err)
		}
		if !onlyBlanksCut(text, got) {
			t.Errorf("%q became %q", text, got)
		}
		if again, reason := rewrite(t, got); again != got {
			t.Errorf("%q became %q the second time (%s)", got, again, reason)
		}
	})
}

// onlyBlanksCut reports whether after is before without some blanks, in
// whatever escapes: what is cut out holds no character but those of blanks and
// their escapes.
func onlyBlanksCut(before, after string) bool {
	for before != "" {
		if after != "" && before[0] == after[0] {
			before, after = before[1:], after[1:]
			continue
		}
		if !strings.ContainsRune(" \t\r\n\\ntru0012349adAD5c", rune(before[0])) {
			return false
		}
		before = before[1:]
	}
	return after == ""
}

func BenchmarkFormat(b *testing.B) {
	var rows, compact strings.Builder
	for i := range 800 {
		fmt.Fprintf(&rows, "  {\n    \"id\": %d,\n    \"name\": \"item %d\",\n    \"price\": %d.50,\n    \"tags\": [\n      \"a\",\n      \"b\"\n    ],\n    \"ok\": true\n  },\n", i, i, i)
		fmt.Fprintf(&compact, `{"id":%d,"name":"item %d","price":%d.50,"tags":["a","b"],"ok":true},`, i, i, i)
	}
	pretty := "[\n" + rows.String() + "  null\n]"
	for name, text := range map[string]string{
		"pretty":   pretty,
		"envelope": `{"code": 0, "stdout": ` + strconv.Quote(pretty) + `}`,
		"compact":  "[" + compact.String() + "null]",
		"log":      strings.Repeat("[INFO] a line of a log that begins like an array\n", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			step, err := format.Spec().Build(nil, pipeline.Deps{})
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
