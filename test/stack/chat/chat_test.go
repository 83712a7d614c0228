package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/stack/chat"
)

const id = "abcdefghijklmnopqrst"

func grown(t *testing.T, d chat.Dialect) [][]byte {
	t.Helper()
	bodies, err := chat.New(d, "m", "be brief").User("list <files>").
		Calls("", chat.Call{ID: "c1", Name: "run", Args: `{"command":"ls"}`}, chat.Call{ID: "c2", Name: "run", Args: `{"command":"pwd"}`}).
		Results(chat.Result{ID: "c1", Text: "a\nb"}, chat.Result{ID: "c2", Text: "/", Failed: true}).
		Assistant("two files").User("thanks").Bodies()
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

func TestBodiesGrowByWholeMessages(t *testing.T) {
	t.Parallel()
	for d, last := range map[chat.Dialect]string{
		chat.OpenAI: `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"list <files>"},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"command\":\"ls\"}"}},` +
			`{"id":"c2","type":"function","function":{"name":"run","arguments":"{\"command\":\"pwd\"}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"a\nb"},{"role":"tool","tool_call_id":"c2","content":"/"},` +
			`{"role":"assistant","content":"two files"},{"role":"user","content":"thanks"}],"model":"m","tools":[{"type":"function","function":` +
			`{"name":"run","description":"Run a shell command and return what it prints.","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}]}`,
		chat.Anthropic: `{"max_tokens":4096,"messages":[{"role":"user","content":"list <files>"},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"run","input":{"command":"ls"}},{"type":"tool_use","id":"c2","name":"run","input":{"command":"pwd"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a\nb"}]},` +
			`{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"/"}],"is_error":true}]},` +
			`{"role":"assistant","content":"two files"},{"role":"user","content":"thanks"}],"model":"m","system":"be brief","tools":[{"name":"run",` +
			`"description":"Run a shell command and return what it prints.","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}]}`,
	} {
		bodies := grown(t, d)
		if len(bodies) != 3 {
			t.Fatalf("%v: %d turns, want 3", d, len(bodies))
		}
		if diff := cmp.Diff(last, string(bodies[2])); diff != "" {
			t.Errorf("%v: %s", d, diff)
		}
		for i := range 2 {
			if err := chat.Prefix(bodies[i], bodies[i+1]); err != nil {
				t.Errorf("%v: turn %d: %v", d, i+1, err)
			}
			if chat.Prefix(bodies[i+1], bodies[i]) == nil {
				t.Errorf("%v: a longer history passes as the prefix of a shorter one", d)
			}
		}
		changed := strings.Replace(string(bodies[2]), `a\nb`, `a\nc`, 1)
		if err := chat.Prefix(bodies[1], []byte(changed)); err == nil || !strings.Contains(err.Error(), `a\\nc`) {
			t.Errorf("%v: a changed history gives %v, want the place", d, err)
		}
	}
}

func TestEditsAreFoundAndNothingElseMayDiffer(t *testing.T) {
	t.Parallel()
	const client = "{ \"a\" : [1.0, \"x\\u00e9\"],\n \"b\":\"<<cg:" + id + ">> was here\", \"c\":\"y\"}"
	for name, c := range map[string]struct {
		sent string
		want []chat.Edit
		err  string
	}{
		"equal":            {client, nil, ""},
		"one string":       {strings.Replace(client, `"y"`, `"z <<cg:`+strings.Repeat("b", 20)+`>>"`, 1), []chat.Edit{{"/c", "y", "z <<cg:" + strings.Repeat("b", 20) + ">>", []string{strings.Repeat("b", 20)}}}, ""},
		"echoed marker":    {strings.Replace(client, "was here", "is", 1), []chat.Edit{{"/b", "<<cg:" + id + ">> was here", "<<cg:" + id + ">> is", nil}}, ""},
		"spelling":         {strings.Replace(client, `\u00e9`, "é", 1), []chat.Edit{{"/a/1", "xé", "xé", nil}}, ""},
		"number":           {strings.Replace(client, "1.0", "1", 1), nil, "1.0 became 1"},
		"white space":      {strings.Replace(client, "\n", "", 1), nil, "does not give the client's bytes"},
		"missing member":   {strings.Replace(client, `, "c":"y"`, "", 1), nil, "became"},
		"trailing garbage": {client + " 1", nil, "EOF"},
	} {
		edits, err := chat.Edits([]byte(client), []byte(c.sent))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got error %v, want %q", name, err, c.err)
		}
		if diff := cmp.Diff(c.want, edits); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRestoreJudgesEveryEdit(t *testing.T) {
	t.Parallel()
	body := func(s string) []byte {
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(`{"messages":[{"role":"tool","content":` + string(quoted) + `}]}`)
	}
	originals := func(text string, err error) func(string) (string, error) {
		return func(got string) (string, error) {
			if got != id {
				t.Errorf("asked for %q", got)
			}
			return text, err
		}
	}
	const long = `{"a": [1, 2, 3], "b": "text"}`
	for name, c := range map[string]struct {
		sent     string
		original func(string) (string, error)
		want     string
	}{
		"compact":          {`{"a":[1,2,3],"b":"text"}`, nil, ""},
		"reordered":        {`{"b":"text","a":[1,2,3]}`, nil, "not the same text"},
		"cut":              {`{"a":[1`, nil, "not the same text"},
		"marker":           {"short <<cg:" + id + ">>", originals(long, nil), ""},
		"other original":   {"short <<cg:" + id + ">>", originals(long+" ", nil), "is not the client's text"},
		"missing original": {"short <<cg:" + id + ">>", originals("", errors.New("gone")), "gone"},
	} {
		_, err := chat.Restore(body(long), body(c.sent), c.original)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
