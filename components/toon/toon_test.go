package toon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, Spec(), sameValues)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, Spec())
}

// sameValues reads the TOON back and compares with another parser than the
// component does.
func sameValues(before, after string) error {
	if decoded, err := decode(after); err == nil && !json.Valid([]byte(after)) {
		return pipelinetest.SameJSON(before, string(decoded))
	}
	return sameLiterals(before, after)
}

// rewrite runs the component with no floor and returns the text that is sent,
// and the reason when it is the client's.
func rewrite(tb testing.TB, text string) (string, pipeline.Reason) {
	tb.Helper()
	return rewriteWith(tb, `{"min_tokens":0}`, pipelinetest.Output{Text: text})
}

func rewriteWith(tb testing.TB, config string, output pipelinetest.Output) (string, pipeline.Reason) {
	tb.Helper()
	step, err := Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
	if err != nil {
		tb.Fatal(err)
	}
	settings := pipelinetest.Settings(tb)
	settings.Steps = []pipeline.Step{step}
	o := pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Transcript([]pipelinetest.Output{output}))[0]
	if o.Lossless == nil {
		if o.Reason != "" {
			return output.Text, o.Reason
		}
		return output.Text, o.Acts[0].Reason
	}
	return o.Lossless.Text, ""
}

func TestTablesAsInTheSpecification(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"an array": {
			`[{"id":1,"name":"Alice"},{"id":2,"name":"Bob"}]`,
			"[2]{id,name}:\n  1,Alice\n  2,Bob",
		},
		"white space": {
			"\n[ { \"id\" : 1 ,\n\t\"name\" : \"Alice\" } , { \"id\":2,\"name\":\"Bob\" } ]\r\n",
			"[2]{id,name}:\n  1,Alice\n  2,Bob",
		},
		"under a name": {
			`{"total":2,"items":[{"id":1,"name":"a b"},{"id":2,"name":"Bob"}],"next":null}`,
			"total: 2\nitems[2]{id,name}:\n  1,a b\n  2,Bob\nnext: null",
		},
		"with all around it": {
			`{"page":{"n":1,"of":{"a":"x:y"}},"none":[],"void":{},"tags":["a","1",2],"rows":[{"id":1},{"id":2}],"deep":{"rows":[{"long name":1,"other":true},{"long name":2,"other":false},{"long name":3,"other":null},{"long name":4,"other":null},{"long name":5,"other":null}]}}`,
			"page:\n  n: 1\n  of:\n    a: \"x:y\"\nnone: []\nvoid:\ntags[3]: a,\"1\",2\nrows[2]{id}:\n  1\n  2\ndeep:\n  rows[5]{\"long name\",other}:\n    1,true\n    2,false\n    3,null\n    4,null\n    5,null",
		},
		"groups of columns": {
			`[{"id":1,"at":{"lat":1.50,"lon":-0}},{"id":2,"at":{"lat":1e5,"lon":12345678901234567890123}}]`,
			"[2]{id,at{lat,lon}}:\n  1,1.50,-0\n  2,1e5,12345678901234567890123",
		},
		"kinds of values": {
			`[{"a":"5","b":5,"c":"","d":null,"e":"null"},{"a":"true","b":true,"c":" x","d":"a,b","e":"say \"hi\"\n"},{"a":"-","b":"- x","c":"#1","d":"1e-6","e":"05"}]`,
			"[3]{a,b,c,d,e}:\n  \"5\",5,\"\",null,\"null\"\n  \"true\",true,\" x\",\"a,b\",\"say \\\"hi\\\"\\n\"\n  \"-\",\"- x\",\"#1\",\"1e-6\",\"05\"",
		},
		"escapes": {
			`[{"a":"\u00e9\/\u003c","long name":"\ud83d\ude00"},{"a":"\u0007","long name":"C:\\x"}]`,
			"[2]{a,\"long name\"}:\n  é/<,😀\n  \"\\u0007\",\"C:\\\\x\"",
		},
	} {
		if got, reason := rewrite(t, c.before); got != c.after {
			t.Errorf("%s (%s):\n%s\nwant\n%s", name, reason, got, c.after)
		}
	}
}

func TestP34WhatIsNoTableIsLeftAlone(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat(`{"id":1,"name":"Alice"},`, 9)
	table := "[" + rows + `{"id":2,"name":"Bob"}]`
	check := func(text string, want pipeline.Reason) {
		t.Helper()
		if got, reason := rewrite(t, text); reason != want {
			t.Errorf("%.80s: %q %s, want %s", text, got, reason, want)
		}
	}
	check(table, "")
	for _, text := range []string{"not JSON", "", `"[{\"a\":1}]"`, table + " and more", table + "\n[1]", "[" + rows + "]", "x" + table} {
		check(text, "not_json")
	}
	check(strings.ReplaceAll(table, "Bob", "B\xffb"), "not_text")
	check(`[{"a":1}]`, "compact_is_smaller")
	for _, last := range []string{
		`{"id":2}`, `{"id":2,"name":"Bob","more":1}`, `{"name":"Bob","id":2}`, `{"id":2,"name":"Bob","name":"Bob"}`,
		`{"id":2,"nam\u0065":"Bob"}`, `{"id":2,"name":["Bob"]}`, `{"id":2,"name":{"first":"Bob"}}`, `{"id":2,"name":"\ud83d"}`,
		`{}`, `null`, `"x"`, `[]`, `7`,
	} {
		check("["+rows+last+"]", "no_table")
	}
	for _, record := range []string{`{"a":1,"a":2}`, `{"a":{},"b":2}`, `{"a":[],"b":2}`, `{"a":1,"b":{"c":1,"c":2}}`} {
		check("["+strings.Repeat(record+",", 9)+record+"]", "no_table")
	}
	for _, text := range []string{
		`{"a":1,"rows":` + table + `,"a":2}`, `{"rows":` + table + `,"list":[[1]]}`, `{"rows":` + table + `,"mixed":[1,{}]}`,
		"[" + table + "]", "[1,2,3]", "[]", "{}", `{"a":{"b":"c"}}`,
		strings.Repeat(`{"a":`, 40) + table + strings.Repeat(`}`, 40),
	} {
		check(text, "no_table")
	}
}

func TestB77CellsThatDifferOnlyByKindStayApart(t *testing.T) {
	t.Parallel()
	literals := []string{
		`"5"`, `5`, `5.0`, `"5.0"`, `5e0`, `5E0`, `"5e0"`, `05`, `"05"`, `"+5"`, `"5."`, `".5"`, `"-5"`, `-5`, `-0`, `0`, `-0.0`, `"-0"`, `""`, `null`, `"null"`, `" "`, `"\n"`, `"\\n"`,
		`true`, `"true"`, `"True"`, `false`, `"false"`, `"-"`, `"#"`, `"a"`, `"a "`, `" a"`, `"\"a\""`, `"a,b"`, `"a\tb"`, `"\u00a0a"`, `"[1]"`, `"{}"`, `"[]"`, `"a:b"`, `"a: b"`, `"\u0000"`, `"\\"`, `"\\u0000"`,
		`12345678901234567890123`, `12345678901234567890124`, `1E400`, `"é"`, `"e\u0301"`, `"Infinity"`, `"NaN"`, `"0x10"`, `"1_000"`, `"2024-05-20"`, `"12:30"`,
	}
	seen := map[string]string{}
	for _, literal := range literals {
		doc := fmt.Sprintf(`[{"first column":1,"second column":%s},{"first column":2,"second column":%[1]s},{"first column":3,"second column":%[1]s}]`, literal)
		if !json.Valid([]byte(doc)) {
			continue
		}
		got, reason := rewrite(t, doc)
		if reason != "" {
			t.Errorf("%s: %s", literal, reason)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s both become %s", literal, other, got)
		}
		seen[got] = literal
		if err := sameValues(doc, got); err != nil {
			t.Errorf("%s: %v", literal, err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	nested := pipelinetest.Output{Text: `[{"id":1,"at":{"lat":1,"lon":2}},{"id":2,"at":{"lat":3,"lon":4}}]`}
	for config, want := range map[string]pipeline.Reason{
		`{"min_tokens":0}`:                "",
		`{"min_tokens":0,"nested":false}`: "no_table",
		`{}`:                              "",
		`{"min_tokens":1000}`:             pipeline.ReasonBelowMinTokens,
	} {
		if _, reason := rewriteWith(t, config, nested); reason != want {
			t.Errorf("%s: %q, want %q", config, reason, want)
		}
	}
	_, err := Spec().Build(func(into any) error { return json.Unmarshal([]byte(`{"min_tokens":-1}`), into) }, pipeline.Deps{})
	if err == nil || err.Error() != "min_tokens must be at least 0, got -1" {
		t.Errorf("error %v", err)
	}
}

func TestB95FilesAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	text := `[{"id":1,"name":"Alice"},{"id":2,"name":"Bob"}]`
	for args, want := range map[string]pipeline.Reason{
		`{"command":"cat users.json"}`:        "file_read",
		`{"command":"curl -s localhost/api"}`: "",
		`{}`:                                  "",
	} {
		if _, reason := rewriteWith(t, `{"min_tokens":0}`, pipelinetest.Output{Text: text, Args: args}); reason != want {
			t.Errorf("%s: %q, want %q", args, reason, want)
		}
	}
}

// Where format was not there, the compact form has to be beaten all the same.
func TestCompactFormIsBeaten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	acted := 0
	for range 500 {
		doc := randomTable(r)
		var pretty strings.Builder
		for _, c := range doc {
			pretty.WriteRune(c)
			if c == '{' || c == ',' {
				pretty.WriteString("\n      ")
			}
		}
		text := pretty.String()
		if !json.Valid([]byte(text)) {
			continue // a comma in a string
		}
		if got, reason := rewrite(t, text); reason == "" {
			acted++
			compact, toon := (pipelinetest.Words{}).Count(doc).N, (pipelinetest.Words{}).Count(got).N
			if toon >= compact || len(got) >= len(doc) {
				t.Errorf("%d tokens, the compact form has %d:\n%s\n%s", toon, compact, got, doc)
			}
		}
	}
	if acted < 100 {
		t.Errorf("acted %d times", acted)
	}
}
