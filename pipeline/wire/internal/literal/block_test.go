package literal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestBlockDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, block, want string
		ok                bool
	}{
		{"text", `{"text":"a\nb"}`, "a\nb", true},
		{"text among others", `{"x":{"text":"no"},"text" : "yes", "json2":{}}`, "yes", true},
		{"escaped name", `{"\u0074ext":"a"}`, "a", true},
		{"object", `{"json":{"a":1.0, "a":1e5 }}`, `{"a":1.0, "a":1e5 }`, true},
		{"list", "{ \"json\" :\n[ 1 ,\"\\ud800\"]}", `[ 1 ,"\ud800"]`, true},
		{"lone surrogate", `{"text":"\ud800"}`, "", false},
		{"invalid UTF-8 in text", "{\"text\":\"\xff\"}", "", false},
		{"invalid UTF-8 in JSON", "{\"json\":{\"a\":\"\xff\"}}", "", false},
		{"both", `{"text":"a","json":{}}`, "", false},
		{"twice", `{"text":"a","text":"a"}`, "", false},
		{"twice, the second of another kind", `{"text":"a","text":1}`, "", false},
		{"neither", `{"image":{}}`, "", false},
		{"empty", `{}`, "", false},
		{"text is no string", `{"text":{}}`, "", false},
		{"json is a string", `{"json":"a"}`, "", false},
		{"json is a number", `{"json":1}`, "", false},
		{"cut off", `{"json":{"a":1}`, "", false},
		{"something behind", `{"json":{"a":1}} `, "", false},
		{"bad JSON", `{"json":{"a":}}`, "", false},
		{"brace", `{`, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Decode([]byte(tc.block))
			if got != tc.want && ok || ok != tc.ok {
				t.Errorf("Decode(%q) = %q, %v, want %q, %v", tc.block, got, ok, tc.want, tc.ok)
			}
			if exact := !strings.Contains(tc.name, "surrogate") && !strings.Contains(tc.name, "UTF-8"); exact && Holds([]byte(tc.block)) != tc.ok {
				t.Errorf("Holds(%q) = %v", tc.block, !tc.ok)
			}
		})
	}
}

func TestBlockEncode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, block, text, want string }{
		{"text", `{"text":"a\/"}`, "b/c", `{"text":"b\/c"}`},
		{"text stays text", `{"text":"a"}`, `{"b":1}`, `{"text":"{\"b\":1}"}`},
		{"object for object", `{"json" : { "a" : 1.0 } }`, `{"a":1.0}`, `{"json" : {"a":1.0} }`},
		{"list for list", `{"json":[ 1 ]}`, `[1]`, `{"json":[1]}`},
		{"repeated names", `{"json":{"a":1, "a":2}}`, `{"a":1,"a":2}`, `{"json":{"a":1,"a":2}}`},
		{"list for object", `{"json":{"a":1}}`, `[1]`, `{"text":"[1]"}`},
		{"object for list", `{"json":[1]}`, `{"a":1}`, `{"text":"{\"a\":1}"}`},
		{"no JSON", `{"json":{"a":1}}`, "a: 1\n", `{"text":"a: 1\n"}`},
		{"nearly JSON", `{"json":{"a":1}}`, `{"a":1,}`, `{"text":"{\"a\":1,}"}`},
		{"two objects", `{"json":{"a":1}}`, `{"a":1}{}`, `{"text":"{\"a\":1}{}"}`},
		{"JSON and a line break", `{"json":{"a":1}}`, "{\"a\":1}\n", `{"text":"{\"a\":1}\n"}`},
		{"empty text", `{"json":{"a":1}}`, "", `{"text":""}`},
		{"one brace", `{"json":{"a":1}}`, "{", `{"text":"{"}`},
		{"others stay", "{\"x\":1,\n\"\\u006ason\" : {\"a\":1},\"y\":2 }", "b", "{\"x\":1,\n\"text\" : \"b\",\"y\":2 }"},
		{"ASCII only", `{"json":{"a":"caf\u00e9"}}`, "é", `{"text":"\u00e9"}`},
		{"raw letters", `{"json":{"a":"café"}}`, "é\u2028", "{\"text\":\"é\u2028\"}"},
		{"slashes", `{"json":{"a":"\/"}}`, "/", `{"text":"\/"}`},
		{"no block", `{"image":{}}`, "a", `{"text":"a"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := string(Encode([]byte(tc.block), tc.text))
			if got != tc.want {
				t.Errorf("Encode(%s, %q) = %s, want %s", tc.block, tc.text, got, tc.want)
			}
			if back, ok := Decode([]byte(got)); !ok || back != tc.text {
				t.Errorf("%s decodes as %q, %v, want %q", got, back, ok, tc.text)
			}
		})
	}
}

// FuzzBlock checks that what is written reads back, and that a text written over
// itself changes nothing.
func FuzzBlock(f *testing.F) {
	for _, block := range []string{`{"json":{"a":"\u00e9\/"}}`, `{"text":"x"}`, `{ "y":[1], "json": [ {"b":1.0} ] }`, `{"text":1}`, `"string"`, `"\ud800"`} {
		for _, text := range []string{"plain", `{"a":1}`, `[1]`, "{\n}", "\u2028é<", ""} {
			f.Add([]byte(block), text)
		}
	}
	f.Fuzz(func(t *testing.T, value []byte, text string) {
		text = strings.ToValidUTF8(text, "?")
		before, ok := Decode(value)
		if !ok {
			return
		}
		if !Holds(value) || !json.Valid(value) {
			t.Fatalf("%q has a text and is no value", value)
		}
		if value[0] == '{' {
			if same := Encode(value, before); string(same) != string(value) && strings.Contains(string(value), `"json"`) {
				t.Fatalf("%q became %q", value, same)
			}
		}
		got := Encode(value, text)
		if !jsontext.Value(got).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("%q over %q gave %q", text, value, got)
		}
		if back, ok := Decode(got); !ok || back != text {
			t.Fatalf("%q over %q reads as %q, %v", text, value, back, ok)
		}
	})
}
