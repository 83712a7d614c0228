package prompt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/pipeline"
)

// words counts words.
type words struct{}

func (words) Count(text string) pipeline.Count { return pipeline.Count{N: len(strings.Fields(text))} }
func (words) Encoding() string                 { return "words" }

func read(t *testing.T, body string) *prompt.Outline {
	t.Helper()
	o, err := prompt.Read([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestUnitsSayTheSame compares spellings of one message that a provider reads
// alike, and ones that it does not.
func TestUnitsSayTheSame(t *testing.T) {
	t.Parallel()
	message := func(m string) prompt.Unit {
		return prompt.NewReader(words{}, 0).Units(read(t, `{"messages":[`+m+`]}`))[prompt.FirstMessage]
	}
	const text = `{"role":"user","content":"a \"b\" é"}`
	for _, same := range []string{
		`{"role":"user","content":[{"type":"text","text":"a \"b\" é"}]}`,
		`{"role":"user","content":[{"type":"text","text":"a \u0022b\" \u00e9","cache_control":{"type":"ephemeral"}}]}`,
		` { "role" : "user" , "content" : "a \"b\" é" } `,
		`{"role":"user","content":"a \"b\" é","cache_control":null}`,
	} {
		if message(same) != message(text) {
			t.Errorf("%s is not the same as %s", same, text)
		}
	}
	for _, other := range []string{
		`{"role":"assistant","content":"a \"b\" é"}`,
		`{"role":"user","content":"a \"b\" e"}`,
		`{"role":"user","content":[{"type":"text","text":"a \"b\" é"},{"type":"text","text":""}]}`,
		`{"role":"user","content":"a \"b\" é","name":"x"}`,
		`{"role":"user","content":["a \"b\" é"]}`,
		`{"role":"user","content":"a \"b\" \ud83d"}`,
	} {
		if message(other).Digest == message(text).Digest {
			t.Errorf("%s is the same as %s", other, text)
		}
	}
	if a, b := message(`{"content":[{"text":"x"},{"cachePoint":{"type":"default"}}]}`), message(`{"content":[{"text":"x"}]}`); a != b {
		t.Error("a block that is a directive counts")
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]int{
		`{"tools":[{"name": "f", "description": "do it"}],"system":"be kind","messages":[{"role":"user","content":"one two"}]}`:                                                    {5, 2, 2},
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},{"type":"image","source":{"type":"base64","data":"c d e"}}]}]}`:                                       {0, 0, 2},
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"i d","name":"f","input":{"x": 1}}]}]}`:                                                               {0, 0, 3},
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c 1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]}]}`:                        {0, 0, 3},
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i d","content":[{"type":"text","text":"a b c"}],"is_error":true}]}]}`:                         {0, 0, 3},
		`{"instructions":"x y z","input":[{"type":"reasoning","encrypted_content":"a b"},{"type":"function_call_output","call_id":"c d","output":"o p"}]}`:                         {0, 3, 0, 2},
		`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output": "a b"}}}]},{"role":"model","parts":[{"text":"t","thoughtSignature":"s s"}]}]}`: {0, 0, 4, 1},
		`{"input":"plain text here"}`: {0, 0, 3},
	} {
		var got []int
		for _, u := range prompt.NewReader(words{}, 0).Units(read(t, body)) {
			got = append(got, u.Tokens)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	o := read(t, `{"system":"not this","messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"x","content":[{"type":"text","text":"b"}]}]}`)
	if diff := cmp.Diff([]string{"a", "b"}, o.Texts()); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `[]`, `{`, `{"messages":[`, `{"messages":[{]}`, `{"messages":[]`, `{"model":"m"}`, `{"messages":` + strings.Repeat(`[`, 100000)} {
		if _, err := prompt.Read([]byte(body)); err == nil {
			t.Errorf("%.40s is readable", body)
		}
	}
}

// FuzzRead checks that whatever can be read can be cut, counted and taken apart.
func FuzzRead(f *testing.F) {
	for _, body := range []string{
		`{"tools":[1],"system":"s","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"text":"\ud83d"}]},{"role":"user"}]}`,
		`{"input":"x"}`, `{"contents":[null,[],{"role":"model"}]}`, `{"messages":[],"messages":[{}]}`, `{"input":[{"type":"x_output"},{"type":"reasoning"}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := prompt.Read(body)
		if err != nil {
			return
		}
		r := prompt.NewReader(words{}, 4)
		units := r.Units(o)
		if len(units) != prompt.FirstMessage+o.Len() {
			t.Fatalf("%d units of %d messages", len(units), o.Len())
		}
		for _, n := range o.Cuts() {
			cut, err := prompt.Read(o.Cut(n))
			if err != nil {
				t.Fatalf("after %d messages: %v", n, err)
			}
			for i, u := range r.Units(cut)[prompt.FirstMessage:] {
				if u != units[prompt.FirstMessage+i] {
					t.Fatalf("message %d of the first %d is another one", i, n)
				}
			}
		}
		o.Texts()
	})
}
