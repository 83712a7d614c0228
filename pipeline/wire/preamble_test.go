package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPreamble checks that every form clients give the same texts is the same
// preamble, on the first request and on later ones.
func TestPreamble(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		dialect Dialect
		bodies  []string
		want    []string
	}{
		{"chat", OpenAIChat, []string{
			`{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}]}`,
			`{"messages":[{"content":"S","role":"developer"},{"role":"user","content":[{"type":"text","text":"U"}]},{"role":"assistant","content":"A"},{"role":"user","content":"V"}]}`,
			`{"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},{"text":"\u0055","type":"text"},{"type":"text","text":""}]},{"role":"tool","tool_call_id":"c","content":"T"},{"role":"assistant"}]}`,
		}, []string{"S", "U"}},
		{"anthropic", AnthropicMessages, []string{
			`{"messages":[{"role":"user","content":"R"},{"role":"user","content":"U"}],"system":"S"}`,
			`{"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"R"},{"type":"text","text":"U","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":"V"}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"R"},{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"T"}]},{"type":"text","text":"U"}]},{"role":"assistant","content":"A"}],"system":[{"text":"S","type":"text"}]}`,
		}, []string{"S", "R", "U"}},
		{"anthropic system blocks", AnthropicMessages, []string{
			`{"system":[{"type":"text","text":"S1"},{"type":"text","text":"S2"}],"messages":[{"role":"user","content":"U"}]}`,
		}, []string{"S1", "S2", "U"}},
		{"responses", OpenAIResponses, []string{
			`{"instructions":"S","input":"U"}`,
			`{"input":[{"role":"user","content":"U"}],"instructions":"S"}`,
			`{"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"S"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"U"}]},{"type":"reasoning","summary":[{"type":"summary_text","text":"no"}]},{"role":"user","content":"V"}]}`,
			`{"instructions":null,"input":[{"type":"message","role":"system","content":"S"},{"type":"function_call_output","call_id":"c","output":"T"},{"role":"user","content":"U"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`,
		}, []string{"S", "U"}},
		{"gemini", Gemini, []string{
			`{"contents":[{"parts":[{"text":"U"}]}],"systemInstruction":{"parts":[{"text":"S"}]}}`,
			`{"system_instruction":{"role":"system","parts":{"text":"S"}},"contents":{"role":"user","parts":{"text":"U"}}}`,
			`{"systemInstruction":"S","contents":[{"role":"user","parts":[{"inlineData":{"data":"x"}},{"text":"U"},{"functionResponse":{"name":"f","response":{"text":"T"}}}]},{"role":"model","parts":[{"text":"A"}]}]}`,
			`{"generateContentRequest":{"contents":[{"parts":[{"text":"U"}]}],"systemInstruction":{"parts":[{"text":"S"}]}}}`,
		}, []string{"S", "U"}},
		{"converse", BedrockConverse, []string{
			`{"messages":[{"role":"user","content":[{"text":"U"}]}],"system":[{"text":"S"}]}`,
			`{"system":[{"text":"S"},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"U"},{"cachePoint":{"type":"default"}},{"toolResult":{"toolUseId":"x","content":[{"text":"T"}]}}]},{"role":"assistant","content":[{"text":"A"}]}]}`,
			`{"input":{"converse":{"system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"U"}]}]}}}`,
		}, []string{"S", "U"}},
		{"nothing", OpenAIChat, []string{`{"messages":[]}`, `{"messages":[{"role":"assistant","content":"A"},{"role":"user","content":"U"}]}`, `{"messages":[1,"x",{"role":"user","content":null},{"role":"user","content":{}}]}`}, nil},
		{"no exact text", OpenAIChat, []string{`{"messages":[{"role":"user","content":"a\ud800b"}]}`}, []string{`a\ud800b`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, body := range c.bodies {
				var spaced bytes.Buffer
				if err := json.Indent(&spaced, []byte(body), " ", "\t"); err != nil {
					t.Fatal(err)
				}
				p := NewParser(Limits{})
				for _, body := range [][]byte{[]byte(body), spaced.Bytes()} {
					got, err := p.Parse(c.dialect, body)
					if err != nil {
						t.Fatal(err)
					}
					for range 2 { // it may be asked for again
						if diff := cmp.Diff(c.want, slices.Collect(got.Preamble)); diff != "" {
							t.Errorf("%s (-want +got):\n%s", body, diff)
						}
					}
				}
			}
		})
	}
}

// TestPreambleStops checks that nothing is read beyond what was asked for.
func TestPreambleStops(t *testing.T) {
	t.Parallel()
	got := mustParse(t, AnthropicMessages, []byte(`{"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"messages":[{"role":"user","content":"c"}]}`))
	for text := range got.Preamble {
		if text != "a" {
			t.Fatalf("got %q first", text)
		}
		break
	}
}

// TestPreambleIsLinear checks a preamble of very many messages and parts, which
// must not be read as often as there are of them.
func TestPreambleIsLinear(t *testing.T) {
	t.Parallel()
	const n = 100_000
	many := strings.Repeat(`{"role":"user","content":[{"type":"text","text":"x"}]},`, n)
	got := mustParse(t, OpenAIChat, []byte(`{"messages":[`+many+`{"role":"user","content":[`+strings.Repeat(`{"type":"text","text":"y"},`, n)+`1]}]}`))
	count := 0
	for range got.Preamble {
		count++
	}
	if count != 2*n {
		t.Errorf("%d texts, want %d", count, 2*n)
	}
}
