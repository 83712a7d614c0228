package rawjson_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/components/internal/rawjson"
)

func TestItemsAndMembers(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`[]`:                                  nil,
		" [ \n] ":                             nil,
		`[1]`:                                 {`1`},
		` [ 1 ,-2.5e3, true,null , "a]\"," ]`: {`1`, `-2.5e3`, `true`, `null`, `"a]\","`},
		`[[1,[2]],{"a":[3]} , [ ] ]`:          {`[1,[2]]`, `{"a":[3]}`, `[ ]`},
		`["\\","\\\"",""]`:                    {`"\\"`, `"\\\""`, `""`},
		"[\t\"[\" ,\r\n{ }]":                  {`"["`, `{ }`},
	} {
		var got []string
		start := rawjson.SkipBlanks([]byte(doc), 0)
		for item := range rawjson.Items([]byte(doc), start) {
			got = append(got, doc[item.Start:item.End])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", doc, diff)
		}
	}
	const object = ` { "a" : 1 ,"b\"": [ 2 , { "c" : 3 } ],"a":"}" , "" :{ } }`
	var got []string
	for name, value := range rawjson.Members([]byte(object), 1) {
		got = append(got, object[name.Start:name.End], object[value.Start:value.End])
	}
	if diff := cmp.Diff([]string{`"a"`, `1`, `"b\""`, `[ 2 , { "c" : 3 } ]`, `"a"`, `"}"`, `""`, `{ }`}, got); diff != "" {
		t.Error(diff)
	}
	for range rawjson.Members([]byte(`{}`), 0) {
		t.Error("{} has a member")
	}
}

func TestTextIsExactOrNone(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		``: "", `a`: "a", `\"\\\/\b\f\n\r\t`: "\"\\/\b\f\n\r\t", `\u00e9é`: "éé",
		`\ud83d\ude00 😀`: "😀 😀", `\u0000`: "\x00", `\\u0041`: `\u0041`,
	} {
		if got, ok := rawjson.Text([]byte(content)); !ok || string(got) != want {
			t.Errorf("%s: %q %v, want %q", content, got, ok, want)
		}
	}
	for _, content := range []string{`\ud83d`, `\ude00\ud83d`, `\ud83d\n`, `\ud83d\u0041`, "\xff", "a\xe6\x97"} {
		if got, ok := rawjson.Text([]byte(content)); ok {
			t.Errorf("%q has the text %q", content, got)
		}
	}
}

func TestOpens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, " ": false, "\n [": true, "{": true, "a[": false, `"[`: false} {
		if got := rawjson.Opens(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if got := rawjson.OpensInside([]byte(strings.ReplaceAll(text, "\n", `\n`))); got != want && text != `"[` {
			t.Errorf("%q inside: %v", text, got)
		}
	}
	if !rawjson.OpensInside([]byte(`\u0020\t\u007b`)) || rawjson.OpensInside([]byte(`\u00a0[`)) {
		t.Error("escapes")
	}
}

// Whatever the document: the parts are those another parser finds, they
// account for every byte that counts, and each byte of a string's text has its
// place in the content.
func FuzzRaw(f *testing.F) {
	for _, doc := range []string{`[1,"a",{"b":[null]}]`, `{"a":{"b":1},"c":"\u00e9\\\ud83d\ude00é"}`, ` [ [ ] , "\"" , -1e+5 ] `, `"x"`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		doc := []byte(text)
		start := rawjson.SkipBlanks(doc, 0)
		if end := rawjson.ValueEnd(doc, start); strings.Trim(text[end:], " \t\r\n") != "" {
			t.Fatalf("%q ends at %d", text, end)
		}
		switch doc[start] {
		case '[':
			var parts []json.RawMessage
			_ = json.Unmarshal(doc, &parts) // valid
			var got []json.RawMessage
			for item := range rawjson.Items(doc, start) {
				got = append(got, doc[item.Start:item.End])
			}
			if !slices.EqualFunc(parts, got, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
				t.Errorf("%q: %q, want %q", text, got, parts)
			}
		case '{':
			for name, value := range rawjson.Members(doc, start) {
				if !json.Valid(doc[name.Start:name.End]) || !json.Valid(doc[value.Start:value.End]) || doc[name.Start] != '"' {
					t.Errorf("%q: member %q: %q", text, doc[name.Start:name.End], doc[value.Start:value.End])
				}
			}
		case '"':
			content := doc[start+1 : rawjson.StringEnd(doc, start)-1]
			decoded, ok := rawjson.Text(content)
			if !ok {
				return
			}
			var want string
			_ = json.Unmarshal(doc, &want) // valid
			if string(decoded) != want {
				t.Errorf("%q: text %q, want %q", text, decoded, want)
			}
			w := rawjson.NewWalker(content)
			for i, r := range want {
				at := w.To(i)
				rest, ok := rawjson.Text(content[at:])
				if !ok || !strings.HasPrefix(string(rest), string(r)) {
					t.Fatalf("%q: byte %d of the text is said to be at %d", text, i, at)
				}
			}
		}
		var small strings.Builder
		inString := false
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' && inString {
				small.WriteString(text[i : i+2])
				i++
				continue
			}
			if text[i] == '"' {
				inString = !inString
			}
			if inString || !rawjson.Blank(text[i]) {
				small.WriteByte(text[i])
			}
		}
		if compact := string(rawjson.AppendCompact([]byte("x"), doc)); compact != "x"+small.String() {
			t.Errorf("%q became %q, want %q", text, compact, small.String())
		}
	})
}
