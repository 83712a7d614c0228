package expand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArguments(t *testing.T) {
	t.Parallel()
	const id = someID
	for _, tc := range []struct {
		arguments string
		want      Query
	}{
		// As the tool says.
		{`{"id":"ID"}`, Query{}},
		{`{"id":"ID:120-180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID:7"}`, Query{Lines: Range{7, 7}}},
		{`{"id":"ID?err(or)?"}`, Query{Grep: "err(or)?"}},
		{`{"id":"ID?a:1-2@3>>x"}`, Query{Grep: "a:1-2@3>>x"}},
		{`{"id":"ID:5-9?x"}`, Query{Lines: Range{5, 9}, Grep: "x"}},
		{`{"id":"ID:7-9@65536"}`, Query{Lines: Range{7, 9}, Skip: 65536}},
		// The marker, whole or in part, and what stands around an id in a text.
		{`{"id":"<<cg:ID>>"}`, Query{}},
		{`{"id":"\u003c\u003ccg:ID\u003e\u003e"}`, Query{}},
		{`{"id":"<<cg:ID:120-180>>"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"<<cg:ID>>:120-180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"<<cg:ID>>?x"}`, Query{Grep: "x"}},
		{`{"id":"<<cg:ID?x>>"}`, Query{Grep: "x"}},
		{`{"id":"<cg:ID>"}`, Query{}},
		{`{"id":"cg:ID"}`, Query{}},
		{"{\"id\":\" `ID`, \"}", Query{}},
		{`{"id":"'ID'"}`, Query{}},
		{`{"id":"ID:"}`, Query{}},
		{`{"id":"ID?"}`, Query{}},
		{`{"id":"ID?\\("}`, Query{Grep: `\(`}},
		{`{"id":"` + strings.ToUpper(id) + `"}`, Query{}},
		// Ranges as other tools have them.
		{`{"id":"ID:L120-L180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID#L120-L180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID lines 120-180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID lines 120 to 180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID:120:180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID:120..180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID:120–180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID:0-180"}`, Query{Lines: Range{1, 180}}},
		{`{"id":"ID:-50"}`, Query{Lines: Range{1, 50}}},
		{`{"id":"ID:120-"}`, Query{Lines: Range{120, 0}}},
		// Selectors beside the id.
		{`{"id":"ID","lines":"120-180"}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID","lines":7}`, Query{Lines: Range{7, 7}}},
		{`{"id":"ID","lines":7.0}`, Query{Lines: Range{7, 7}}},
		{`{"id":"ID","lines":[120,180]}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID","lines":["120","180"]}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID","lines":["120-180"]}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID","lines":[120,null]}`, Query{Lines: Range{120, 0}}},
		{`{"id":"ID","lines":[0,50]}`, Query{Lines: Range{1, 50}}},
		{`{"id":"ID","lines":{"start":120,"end":180}}`, Query{Lines: Range{120, 180}}},
		{`{"id":"ID","lines":{"from":120}}`, Query{Lines: Range{120, 0}}},
		{`{"id":"ID","grep":"^a"}`, Query{Grep: "^a"}},
		{`{"id":"ID","grep":["a","b|c"]}`, Query{Grep: "(?:a)|(?:b|c)"}},
		{`{"id":"ID","grep":["a"]}`, Query{Grep: "a"}},
		{`{"id":"ID","grep":500}`, Query{Grep: "500"}},
		{`{"id":"ID","head":3,"tail":"4"}`, Query{Head: 3, Tail: 4}},
		{`{"id":"ID","head":[5]}`, Query{Head: 5}},
		{`{"id":"ID:120-180","lines":"120-180"}`, Query{Lines: Range{120, 180}}},
		// What says nothing.
		{`{"id":"ID","lines":null,"grep":"","head":0,"tail":false}`, Query{}},
		{`{"id":"ID","lines":[],"grep":[],"head":"0"}`, Query{}},
		{`{"id":"ID","lines":"0-0"}`, Query{}},
		{`{"id":"ID","reason":"to see it","limit":100,"nested":{"id":"x"}}`, Query{}},
		// Other shapes.
		{`{"ID":"ID"}`, Query{}},
		{`{"Id":"ID","Lines":"1-2"}`, Query{Lines: Range{1, 2}}},
		{`{"marker":"<<cg:ID>>"}`, Query{}},
		{`{"hash":"ID:3-4","why":"x"}`, Query{Lines: Range{3, 4}}},
		{`{"id":["ID"]}`, Query{}},
		{`[{"id":"ID"}]`, Query{}},
		{`["ID"]`, Query{}},
		{`"ID"`, Query{}},
		{`"{\"id\":\"ID:1-2\"}"`, Query{Lines: Range{1, 2}}},
		{` ID `, Query{}},
		{`<<cg:ID>>`, Query{}},
		{`ID:1-2`, Query{Lines: Range{1, 2}}},
	} {
		got, err := ParseArguments([]byte(strings.ReplaceAll(strings.Replace(tc.arguments, `"ID":`, `"\u0049D":`, 1), "ID", id)))
		if err != nil {
			t.Errorf("%s: %v", tc.arguments, err)
		}
		tc.want.ID = id
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.arguments, diff)
		}
	}
}

func TestParseArgumentsFaults(t *testing.T) {
	t.Parallel()
	const missing = `id: is missing; send {"id":"ID"} with the ID of a marker <<cg:ID>>`
	const object = `arguments: must be a JSON object such as {"id":"ID"}`
	for _, tc := range []struct{ arguments, id, want string }{
		{``, "", missing},
		{`{}`, "", missing},
		{`null`, "", missing},
		{`{"id":""}`, "", missing},
		{`{"a":"` + someID + `","b":"aaaabbbbccccdddd2345"}`, "", missing},
		{`{"id":"` + someID + `"`, "", object},
		{`[1,2]`, "", object},
		{`"\"\\\"x\\\"\""`, "", object},
		{`{"id":["a","b"]}`, "", `id: must be the ID of one marker; call once for each, got ["a","b"]`},
		{`{"id":{}}`, "", `id: must be the ID of one marker; call once for each, got {}`},
		{`{"id":"` + someID + `","lines":"x"}`, someID, `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "x"`},
		{`{"id":"` + someID + `","lines":[1,2,3]}`, someID, `lines: must be lines such as 120-180, got [1,2,3]`},
		{`{"id":"` + someID + `:9-5"}`, someID, `lines: must not end before it starts, got "9-5"`},
		{`{"id":"` + someID + `:1-2","lines":"3"}`, someID, `lines: is given in the id and beside it; give it once`},
		{`{"id":"` + someID + `","grep":"("}`, someID, "grep: must be a pattern in RE2 syntax: error parsing regexp: missing closing ): `(`"},
		{`{"id":"` + someID + `","head":"many"}`, someID, `head: must be a number of lines, at least 1, got "many"`},
		{`{"id":"` + someID + `","head":{"n":1}}`, someID, `head: must be a number of lines, got {"n":1}`},
		{`{"id":"` + strings.Repeat("x", 70000) + `"}`, "", `arguments: must have at most 65536 bytes, got 70009`},
		{strings.Repeat("[", 20000), "", object},
	} {
		got, err := ParseArguments([]byte(tc.arguments))
		if err == nil || err.Error() != tc.want || got.ID != tc.id {
			t.Errorf("%.60s: id %q, %v, want %q, %s", tc.arguments, got.ID, err, tc.id, tc.want)
		}
	}
}

func FuzzParseArguments(f *testing.F) {
	for _, seed := range []string{
		`{"id":"ID:1-2"}`, `{"id":"<<cg:ID>>?x","lines":[1,2]}`, `"ID"`, `[["ID"]]`, `{"grep":["a"],"x":"ID"}`, "", "{", "\x00", `{"lines":{}}`,
	} {
		f.Add([]byte(strings.ReplaceAll(seed, "ID", someID)))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		q, err := ParseArguments(arguments)
		again, errAgain := ParseArguments(arguments)
		if diff := cmp.Diff(q, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q is read in two ways: %s", arguments, diff)
		}
		if err == nil && q.ID == "" {
			t.Fatalf("%q: neither an id nor an error", arguments)
		}
		if err == nil && (q.Lines.From < 0 || q.Lines.To != 0 && q.Lines.To < q.Lines.From || q.Head < 0 || q.Tail < 0 || q.Skip < 0) {
			t.Fatalf("%q: %+v", arguments, q)
		}
	})
}
