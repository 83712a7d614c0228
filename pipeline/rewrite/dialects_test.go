package rewrite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// form is how a dialect writes a conversation: what stands around the list, and
// a turn of it, with the number of the call and the output as a JSON value.
type form struct {
	name        string
	dialect     wire.Dialect
	front, back string
	turn        string
	raw         bool // the output is JSON itself
}

func forms() []form {
	const anthropic = `,{"role":"assistant","content":[{"type":"tool_use","id":"c%[1]d","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":%[2]s}]}`
	converse := func(key string) string {
		return `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"c%[1]d","name":"f","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"c%[1]d","content":[{"` + key + `":%[2]s}]}}]}`
	}
	return []form{
		{
			"chat", wire.OpenAIChat, `{"messages":[{"role":"user","content":"Go."}`, `],"model":"m"}`,
			`,{"role":"assistant","tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":%[2]s}`, false,
		},
		{"messages", wire.AnthropicMessages, `{"messages":[{"role":"user","content":"Go."}`, `],"model":"m"}`, anthropic, false},
		{"platform", wire.AnthropicPlatform, `{"messages":[{"role":"user","content":"Go."}`, `],"anthropic_version":"bedrock-2023-05-31"}`, anthropic, false},
		{
			"responses", wire.OpenAIResponses, `{"input":[{"role":"user","content":"Go."}`, `],"model":"m"}`,
			`,{"type":"reasoning","encrypted_content":"gAAA"},{"type":"function_call","call_id":"c%[1]d","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c%[1]d","output":%[2]s}`, false,
		},
		{
			"shell", wire.OpenAIResponses, `{"input":[{"role":"user","content":"Go."}`, `],"model":"m"}`,
			`,{"type":"shell_call","call_id":"c%[1]d","action":{"commands":["f"]}},{"type":"shell_call_output","call_id":"c%[1]d","output":[{"stdout":%[2]s,"stderr":"","outcome":{"type":"exit","exit_code":0}}]}`, false,
		},
		{
			"gemini", wire.Gemini, `{"contents":[{"role":"user","parts":[{"text":"Go."}]}`, `]}`,
			`,{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":%[1]d}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":%[2]s}}}]}`, false,
		},
		{"converse", wire.BedrockConverse, `{"messages":[{"role":"user","content":[{"text":"Go."}]}`, `],"toolConfig":{"tools":[]}}`, converse("text"), false},
		{"converse json", wire.BedrockConverse, `{"messages":[{"role":"user","content":[{"text":"Go."}]}`, `],"toolConfig":{"tools":[]}}`, converse("json"), true},
	}
}

// body writes a conversation of so many turns.
func (f *form) body(turns int) []byte {
	var b bytes.Buffer
	b.WriteString(f.front)
	for i := range turns {
		value := fmt.Sprintf("{\n  \"n\": %d.0,\n  \"rows\": [%s0]}", i, strings.Repeat("1.0,  ", 100))
		if !f.raw {
			quoted, _ := json.Marshal(value)
			value = string(quoted)
		}
		fmt.Fprintf(&b, f.turn, i, value)
	}
	b.WriteString(f.back)
	return b.Bytes()
}

func parsed(t *testing.T, d wire.Dialect, body string) *pipeline.Transcript {
	t.Helper()
	got, err := wire.NewParser(wire.Limits{}).Parse(d, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestEveryDialect takes a conversation through every dialect, turn by turn: every
// output is compressed, every original can be read back, nothing else changes,
// and nothing that was sent changes afterwards.
func TestEveryDialect(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		for _, tenant := range []string{"t", ""} { // without one edits are lossless
			t.Run(fmt.Sprintf("%s for %q", f.name, tenant), func(t *testing.T) {
				t.Parallel()
				r, earlier := newRig(t, nil), f.front
				for turns := 1; turns <= 4; turns++ {
					client := f.body(turns)
					req := rewrite.Request{Dialect: f.dialect, Body: client, Tenant: tenant}
					out, report := r.do(t, req)
					if report.Verdict != rewrite.Rewritten || report.Segments < turns || tenant != "" && report.Markers != turns {
						t.Fatalf("report %+v", report)
					}
					if !json.Valid([]byte(out)) || !strings.HasPrefix(out, earlier) {
						t.Fatalf("%s\ndoes not go on like\n%s", out, earlier)
					}
					earlier = strings.TrimSuffix(out, f.back)
					r.restores(t, f.dialect, string(client), out)
					if req.Body = []byte(out); f.raw && tenant == "" && strings.Count(out, `{"json":{`) != turns {
						t.Errorf("lossless edits left no JSON: %s", out)
					}
					if again, report := r.do(t, req); report.Verdict != rewrite.Unchanged {
						t.Errorf("rewritten again: %+v, %s", report, again)
					}
				}
			})
		}
	}
}

// restores checks that the markers name the client's texts, and that with the
// client's values put back it is the client's body.
func (r *rig) restores(t *testing.T, d wire.Dialect, client, out string) {
	t.Helper()
	before, after := parsed(t, d, client), parsed(t, d, out)
	var restored strings.Builder
	at := 0
	for i := range after.Segments {
		span := after.Segments[i].Span
		restored.WriteString(out[at:span.Start])
		restored.Write(before.Value(&before.Segments[i]))
		at = span.End
		text, _ := after.Original(i)
		original, _ := before.Original(i)
		for id := range r.keys.Markers(text) {
			got, err := r.store.Get(t.Context(), store.Key{Tenant: "t", Space: store.Originals, ID: id})
			if err != nil || string(got) != original {
				t.Errorf("marker %s: %q, %v, want %q", id, got, err, original)
			}
		}
	}
	restored.WriteString(out[at:])
	if restored.String() != client {
		t.Errorf("restored\n%s\nwant\n%s", restored.String(), client)
	}
}

// TestEveryDialectPasses checks that bodies of another kind go out as they came.
func TestEveryDialectPasses(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		for body, want := range map[string]string{
			`{"prompt":"x"}`: "no_messages", `[1]`: "not_an_object", `x`: "not_json", ``: "not_json",
			f.front + f.back + "x": "trailing_data",
		} {
			_, report := newRig(t, nil).do(t, rewrite.Request{Dialect: f.dialect, Body: []byte(body), Tenant: "t"})
			if report.Verdict != rewrite.PassThrough || report.Reason != want {
				t.Errorf("%s: %q: %s %s, want %s", f.name, body, report.Verdict, report.Reason, want)
			}
		}
	}
}
