package turns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden continues the request of each golden file. A file has the dialect
// in its comment and: request, turn, results (as JSON) and want.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			golden, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string][]byte{}
			for i := range golden.Files {
				parts[golden.Files[i].Name] = bytes.TrimSuffix(golden.Files[i].Data, []byte("\n"))
			}
			d := wire.Dialect(strings.TrimSuffix(strings.Fields(string(golden.Comment))[0], ":"))
			var results []round.Result
			if err := json.Unmarshal(parts["results"], &results); err != nil {
				t.Fatal(err)
			}
			got := continued(t, d, parts["request"], parts["turn"], results)
			if diff := cmp.Diff(string(parts["want"]), string(got)); diff != "" && !*update {
				t.Error(diff)
			}
			if *update {
				for i := range golden.Files {
					if golden.Files[i].Name == "want" {
						golden.Files[i].Data = append(got, '\n')
					}
				}
				if err := os.WriteFile(file, txtar.Format(golden), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// continued continues a request and checks what must hold of every continuation.
func continued(tb testing.TB, d wire.Dialect, body, turn []byte, results []round.Result) []byte {
	tb.Helper()
	exchange, err := turns.Exchange(nil, d, turn, results)
	if err != nil {
		tb.Fatal(err)
	}
	got, err := turns.Continue(nil, d, body, exchange, 0)
	if err != nil {
		tb.Fatal(err)
	}
	p := wire.NewParser(wire.Limits{})
	before, err := p.Parse(d, body)
	if err != nil {
		tb.Fatal(err)
	}
	o := p.Outline()
	messages, turn0, stream := before.Messages, before.Turn, before.Stream
	last := o.Value.Start
	if body[last] == '[' {
		last++
		if n := len(o.Elements); n > 0 {
			last = o.Elements[n-1].Span.End
		}
		if !bytes.HasPrefix(got, body[:last]) {
			tb.Errorf("does not start like the request: %s", got)
		}
	}
	if !bytes.HasSuffix(got, body[o.Value.End:]) {
		tb.Errorf("does not end like the request: %s", got)
	}
	if json.Valid(body) && !json.Valid(got) {
		tb.Errorf("no JSON: %s", got)
	}
	after, err := p.Parse(d, got)
	if err != nil {
		tb.Fatalf("%v: %s", err, got)
	}
	if after.Messages <= messages || after.Stream != stream {
		tb.Errorf("%d messages and a turn became %d, stream %v became %v", messages, after.Messages, stream, after.Stream)
	}
	if after.Turn != turn0+1 && after.Turn != turn0 { // as when the request ends with a turn
		tb.Errorf("turn %d became %d", turn0, after.Turn)
	}
	return got
}

func results(texts ...string) (r []round.Result) {
	for i, text := range texts {
		r = append(r, round.Result{Call: round.Call{ID: string(rune('a' + i)), Name: "context_guru_expand", Index: i}, Text: text})
	}
	return r
}

// dialects gives each dialect a request and a turn.
func dialects() map[wire.Dialect][2]string {
	return map[wire.Dialect][2]string{
		wire.OpenAIChat:        {`{"messages":[{"role":"user","content":"x"}],"stream":true}`, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"context_guru_expand","arguments":"{}"}}]}`},
		wire.AnthropicMessages: {`{"messages":[{"role":"user","content":"x"}],"stream":true}`, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"context_guru_expand","input":{}}]}`},
		wire.AnthropicPlatform: {`{"anthropic_version":"v","messages":[{"role":"user","content":"x"}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"context_guru_expand","input":{}}]}`},
		wire.OpenAIResponses:   {`{"input":[{"role":"user","content":"x"}]}`, `[{"type":"function_call","call_id":"a","name":"context_guru_expand","arguments":"{}"}]`},
		wire.Gemini:            {`{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`, `{"role":"model","parts":[{"functionCall":{"id":"a","name":"context_guru_expand","args":{}}}]}`},
		wire.BedrockConverse:   {`{"messages":[{"role":"user","content":[{"text":"x"}]}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"context_guru_expand","input":{}}}]}`},
	}
}

// Every text arrives as it is, as the answer to its call.
func TestResults(t *testing.T) {
	t.Parallel()
	for d, c := range dialects() {
		for given, want := range map[string]string{
			"text":                   "text",
			"\"quoted\"\\\n\t\x00é😀": "\"quoted\"\\\n\t\x00é😀",
			"":                       "(empty)",
			" \n ":                   "(3 bytes of white space)",
			"half \xff":              "half \uFFFD",
		} {
			got := continued(t, d, []byte(c[0]), []byte(c[1]), results(given))
			after, err := wire.NewParser(wire.Limits{}).Parse(d, got)
			if err != nil || len(after.Segments) != 1 {
				t.Fatalf("%s: %v: %s", d, err, got)
			}
			s := &after.Segments[0]
			if text, _ := after.Original(0); text != want || string(s.Tool) != "context_guru_expand" {
				t.Errorf("%s: %q became %q of %s", d, given, text, s.Tool)
			}
			failed := results(given)
			failed[0].Error = true
			got = continued(t, d, []byte(c[0]), []byte(c[1]), failed)
			if after, err = wire.NewParser(wire.Limits{}).Parse(d, got); err != nil {
				t.Fatal(err)
			}
			// OpenAI's APIs have no way to say so beside the text.
			if said := d != wire.OpenAIChat && d != wire.OpenAIResponses; after.Segments[0].IsError != said {
				t.Errorf("%s: an error is no error: %s", d, got)
			}
		}
	}
}

func TestRounds(t *testing.T) {
	t.Parallel()
	for d, c := range dialects() {
		body := []byte(c[0])
		for range 3 {
			body = continued(t, d, body, []byte(c[1]), results("one", "two"))
		}
		if n := bytes.Count(body, []byte("two")); n != 3 {
			t.Errorf("%s: %d results in %s", d, n, body)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for d, c := range dialects() {
		exchange, err := turns.Exchange(nil, d, []byte(c[1]), results("x"))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := turns.Continue(nil, d, []byte(c[0]), exchange, 0)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := turns.Continue(nil, d, []byte(c[0]), exchange, len(whole)); err != nil || !bytes.Equal(same, whole) {
			t.Errorf("%s, at its limit: %v", d, err)
		}
		kept := []byte("kept")
		if out, err := turns.Continue(kept, d, []byte(c[0]), exchange, len(whole)-1); !errors.Is(err, turns.ErrTooLarge) || string(out) != "kept" {
			t.Errorf("%s, over its limit: %v", d, err)
		}
		if _, err := turns.Continue(nil, d, []byte(`{"messages":`), exchange, 0); err == nil {
			t.Errorf("%s: half a request was continued", d)
		}
		for _, bad := range []string{"", "null", `"x"`, "[]", "[", "[ ]"} {
			if out, err := turns.Exchange(kept, d, []byte(bad), results("x")); !errors.Is(err, turns.ErrTurn) || string(out) != "kept" {
				t.Errorf("%s: turn %q: %v, %s", d, bad, err, out)
			}
		}
		if _, err := turns.Exchange(nil, d, []byte(c[1]), nil); !errors.Is(err, turns.ErrTurn) {
			t.Errorf("%s, without results: %v", d, err)
		}
	}
}

// A conversation of more elements than anybody looks at is not continued.
func TestTooManyElements(t *testing.T) {
	t.Parallel()
	body := []byte(`{"messages":[` + strings.Repeat(`{},`, wire.DefaultSegments) + `{}]}`)
	if out, err := turns.Continue(nil, wire.OpenAIChat, body, []byte(`{}`), 0); !errors.Is(err, turns.ErrTurn) {
		t.Errorf("%v, %d bytes", err, len(out))
	}
}

func FuzzContinue(f *testing.F) {
	names := []wire.Dialect{wire.OpenAIChat, wire.AnthropicMessages, wire.AnthropicPlatform, wire.OpenAIResponses, wire.Gemini, wire.BedrockConverse}
	all := dialects()
	for i, d := range names {
		f.Add(byte(i), []byte(all[d][0]), "text\n\"")
	}
	f.Add(byte(3), []byte(`{"input":"x", "model":"m"}`), "")
	f.Add(byte(4), []byte(`{"contents" : {"parts":[{"text":"x"}]} }`), "\xff")
	f.Add(byte(0), []byte(`{"messages":[ ] }`), " ")
	f.Add(byte(0), []byte("{\"messages\":[\n1\n,{} ]}"), " ")
	f.Fuzz(func(t *testing.T, which byte, body []byte, text string) {
		d := names[int(which)%len(names)]
		if _, err := wire.NewParser(wire.Limits{}).Parse(d, body); err != nil || len(body) > wire.DefaultSegments {
			return
		}
		continued(t, d, body, []byte(all[d][1]), results(text, "second"))
	})
}
