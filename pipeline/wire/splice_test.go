package wire

import (
	"testing"

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
		{"an object that is no block", []Patch{{Span: span(0, 29), Text: "x"}}},
		{"an encoded value over a number", []Patch{{Span: span(27, 28), Value: []byte(`"x"`)}}},
		{"an encoded value over half a string", []Patch{{Span: span(5, 9), Value: []byte(`"x"`)}}},
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
