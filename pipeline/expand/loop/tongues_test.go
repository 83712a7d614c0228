package loop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// tongue is how a dialect is spoken: what is streamed aside.
type tongue struct {
	dialect wire.Dialect
	front   string // of a request, up to its conversation
	behind  string // behind it
	user    func(text string) string
	// answer is what the provider says, message what a client sends back of it,
	// with the ids and names of its calls.
	answer  func(blocks []block) string
	message func(t *testing.T, answer string) (elements string, calls []block)
	// results are what a client answers, in the order of the calls.
	results func(calls []block, texts []string) string
}

// js is a value as JSON.
func js(v any) string {
	out, _ := json.Marshal(v)
	return string(out)
}

type object = map[string]any

// read reads the parts of an answer that matter.
func read(t *testing.T, answer string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
}

func tongues() map[string]*tongue {
	usage := func(in, out string) object { return object{in: 10, out: 5} }
	return map[string]*tongue{
		"anthropic": {
			dialect: wire.AnthropicMessages, front: `{"messages":[`, behind: `],"tools":[{"name":"bash"}`,
			user: func(text string) string { return js(object{"role": "user", "content": text}) },
			answer: func(blocks []block) string {
				var content []any
				for _, b := range blocks {
					if b.name == "" {
						content = append(content, object{"type": "text", "text": b.text})
					} else {
						content = append(content, object{"type": "tool_use", "id": b.id, "name": b.name, "input": json.RawMessage(b.args)})
					}
				}
				return js(object{"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use", "usage": usage("input_tokens", "output_tokens")})
			},
			message: func(t *testing.T, answer string) (string, []block) {
				t.Helper()
				var m struct{ Content json.RawMessage }
				var calls []block
				var content []struct{ Type, ID, Name string }
				read(t, answer, &m)
				read(t, string(m.Content), &content)
				for _, b := range content {
					if b.Type == "tool_use" {
						calls = append(calls, block{id: b.ID, name: b.Name})
					}
				}
				return `{"role":"assistant","content":` + string(m.Content) + `}`, calls
			},
			results: func(calls []block, texts []string) string {
				var content []any
				for i, c := range calls {
					content = append(content, object{"type": "tool_result", "tool_use_id": c.id, "content": texts[i]})
				}
				return js(object{"role": "user", "content": content})
			},
		},
		"chat": {
			dialect: wire.OpenAIChat, front: `{"messages":[`, behind: `],"tools":[{"type":"function","function":{"name":"bash"}}`,
			user: func(text string) string { return js(object{"role": "user", "content": text}) },
			answer: func(blocks []block) string {
				m := object{"role": "assistant", "content": nil}
				var texts []string
				var calls []any
				for _, b := range blocks {
					texts = append(texts, b.text)
					if b.name != "" {
						calls = append(calls, object{"id": b.id, "type": "function", "function": object{"name": b.name, "arguments": b.args}})
					}
				}
				if text := strings.Join(texts, ""); text != "" {
					m["content"] = text
				}
				stop := "stop"
				if calls != nil {
					m["tool_calls"], stop = calls, "tool_calls"
				}
				return js(object{"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": []any{object{"index": 0, "message": m, "finish_reason": stop}}, "usage": usage("prompt_tokens", "completion_tokens")})
			},
			message: func(t *testing.T, answer string) (string, []block) {
				t.Helper()
				var a struct {
					Choices []struct{ Message json.RawMessage }
				}
				read(t, answer, &a)
				var m struct {
					Calls []struct {
						ID       string
						Function struct{ Name string }
					} `json:"tool_calls"`
				}
				read(t, string(a.Choices[0].Message), &m)
				var calls []block
				for _, c := range m.Calls {
					calls = append(calls, block{id: c.ID, name: c.Function.Name})
				}
				return string(a.Choices[0].Message), calls
			},
			results: func(calls []block, texts []string) string {
				var list []string
				for i, c := range calls {
					list = append(list, js(object{"role": "tool", "tool_call_id": c.id, "content": texts[i]}))
				}
				return strings.Join(list, ",")
			},
		},
		"responses": responses(),
		"gemini": {
			dialect: wire.Gemini, front: `{"contents":[`, behind: `],"tools":[{"functionDeclarations":[{"name":"bash"}`,
			user: func(text string) string { return js(object{"role": "user", "parts": []any{object{"text": text}}}) },
			answer: func(blocks []block) string {
				var parts []any
				for _, b := range blocks {
					if b.name == "" {
						parts = append(parts, object{"text": b.text})
					} else {
						parts = append(parts, object{"functionCall": object{"name": b.name, "args": json.RawMessage(b.args)}, "thoughtSignature": "sig" + b.id})
					}
				}
				return js(object{"candidates": []any{object{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": "STOP"}}, "usageMetadata": usage("promptTokenCount", "candidatesTokenCount")})
			},
			message: func(t *testing.T, answer string) (string, []block) {
				t.Helper()
				var a struct {
					Candidates []struct{ Content json.RawMessage }
				}
				read(t, answer, &a)
				var c struct {
					Parts []struct{ FunctionCall *struct{ Name string } }
				}
				read(t, string(a.Candidates[0].Content), &c)
				var calls []block
				for _, p := range c.Parts {
					if p.FunctionCall != nil {
						calls = append(calls, block{name: p.FunctionCall.Name})
					}
				}
				return string(a.Candidates[0].Content), calls
			},
			results: func(calls []block, texts []string) string {
				var parts []any
				for i, c := range calls {
					parts = append(parts, object{"functionResponse": object{"name": c.name, "response": object{"output": texts[i]}}})
				}
				return js(object{"role": "user", "parts": parts})
			},
		},
		"converse": {
			dialect: wire.BedrockConverse, front: `{"messages":[`, behind: `],"toolConfig":{"tools":[{"toolSpec":{"name":"bash"}}`,
			user: func(text string) string { return js(object{"role": "user", "content": []any{object{"text": text}}}) },
			answer: func(blocks []block) string {
				var content []any
				stop := "end_turn"
				for _, b := range blocks {
					if b.name == "" {
						content = append(content, object{"text": b.text})
					} else {
						stop = "tool_use"
						content = append(content, object{"toolUse": object{"toolUseId": b.id, "name": b.name, "input": json.RawMessage(b.args)}})
					}
				}
				return js(object{"output": object{"message": object{"role": "assistant", "content": content}}, "stopReason": stop, "usage": usage("inputTokens", "outputTokens"), "metrics": object{"latencyMs": 1}})
			},
			message: func(t *testing.T, answer string) (string, []block) {
				t.Helper()
				var a struct {
					Output struct{ Message json.RawMessage }
				}
				read(t, answer, &a)
				var m struct {
					Content []struct {
						ToolUse *struct{ ToolUseID, Name string }
					}
				}
				read(t, string(a.Output.Message), &m)
				var calls []block
				for _, b := range m.Content {
					if b.ToolUse != nil {
						calls = append(calls, block{id: b.ToolUse.ToolUseID, name: b.ToolUse.Name})
					}
				}
				return string(a.Output.Message), calls
			},
			results: func(calls []block, texts []string) string {
				var content []any
				for i, c := range calls {
					content = append(content, object{"toolResult": object{"toolUseId": c.id, "content": []any{object{"text": texts[i]}}}})
				}
				return js(object{"role": "user", "content": content})
			},
		},
	}
}

func responses() *tongue {
	n := 0 // items have ids of their own
	id := func(kind string) string {
		n++
		return fmt.Sprint(kind, n)
	}
	return &tongue{
		dialect: wire.OpenAIResponses, front: `{"store":false,"input":[`, behind: `],"tools":[{"type":"function","name":"bash"}`,
		user: func(text string) string { return js(object{"role": "user", "content": text}) },
		answer: func(blocks []block) string {
			items := []any{object{"type": "reasoning", "id": id("rs_"), "summary": []any{}, "encrypted_content": id("enc")}}
			for _, b := range blocks {
				if b.name == "" {
					items = append(items, object{"type": "message", "id": id("msg_"), "status": "completed", "role": "assistant", "content": []any{object{"type": "output_text", "text": b.text, "annotations": []any{}}}})
				} else {
					items = append(items, object{"type": "function_call", "id": id("fc_"), "call_id": b.id, "name": b.name, "arguments": b.args, "status": "completed"})
				}
			}
			return js(object{"id": id("resp_"), "object": "response", "status": "completed", "model": "m", "output": items, "usage": object{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}})
		},
		message: func(t *testing.T, answer string) (string, []block) {
			t.Helper()
			var a struct{ Output []json.RawMessage }
			read(t, answer, &a)
			var calls []block
			var items []string
			for _, raw := range a.Output {
				var item struct {
					Type, Name string
					CallID     string `json:"call_id"`
				}
				read(t, string(raw), &item)
				if items = append(items, string(raw)); item.Type == "function_call" {
					calls = append(calls, block{id: item.CallID, name: item.Name})
				}
			}
			return strings.Join(items, ","), calls
		},
		results: func(calls []block, texts []string) string {
			var list []string
			for i, c := range calls {
				list = append(list, js(object{"type": "function_call_output", "call_id": c.id, "output": texts[i]}))
			}
			return strings.Join(list, ",")
		},
	}
}
