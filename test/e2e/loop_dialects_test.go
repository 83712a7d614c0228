package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
)

// form is a dialect that TestLoop does not speak, in one of the forms of its answers.
type form struct {
	name, path string
	request    string // with %[1]q for the instructions, %[2]s for the output
	list       string // the conversation's name in it
	ends       string // how an answer ends
	starts     string // what an answer says once
}

func forms() []form {
	const (
		responses = `"model":"m","store":false,"instructions":%[1]q,"input":[{"role":"user","content":"List it."},` +
			`{"type":"function_call","call_id":"t1","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":%[2]s}],` +
			`"tools":[{"type":"function","name":"ls","parameters":{"type":"object"}}]}`
		gemini = `{"systemInstruction":{"parts":[{"text":%[1]q}]},"contents":[{"role":"user","parts":[{"text":"List it."}]},` +
			`{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":%[2]s}}}]}],` +
			`"tools":[{"functionDeclarations":[{"name":"ls","parameters":{"type":"OBJECT"}}]}]}`
		converse = `{"system":[{"text":%[1]q}],"messages":[{"role":"user","content":[{"text":"List it."}]},` +
			`{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"ls","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":%[2]s}]}}]}],` +
			`"toolConfig":{"tools":[{"toolSpec":{"name":"ls","inputSchema":{"json":{"type":"object"}}}}]}}`
	)
	return []form{
		{"responses", "/v1/responses", `{"stream":false,` + responses, "input", "}", `"object":"response"`},
		{"responses stream", "/v1/responses", `{"stream":true,` + responses, "input", "}\n\n", "event: response.completed"},
		{"gemini", "/v1beta/models/m:generateContent", gemini, "contents", "}", `"finishReason"`},
		{"gemini stream", "/v1beta/models/m:streamGenerateContent?alt=sse", gemini, "contents", "}\n\n", `"finishReason"`},
		{"gemini array", "/v1beta/models/m:streamGenerateContent", gemini, "contents", "]", `"finishReason"`},
		{"converse", "/model/m/converse", converse, "messages", "}", `"stopReason"`},
	}
}

// TestLoopDialects lets a model ask for an original twice, in every dialect and
// form that TestLoop does not use.
func TestLoopDialects(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithLoop(), stack.WithConfig("preset: auto\n"))
	if !lossy(s, false) {
		t.Skipf("Envoy %s gets lossless edits only", s.Envoy.Version())
	}
	system := strings.Repeat("You are careful and say what you did. ", 100)
	quoted, _ := json.Marshal(output())
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			call := stack.Call{Path: f.path, Body: fmt.Appendf(nil, f.request, system, quoted)}
			s.LLM.SetScript(fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Nothing to ask.")}})
			reply, plain := exchange(t, s, call)
			sent, err := plain.Reply(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(reply.Body, []byte("context_guru")) {
				t.Errorf("our tool is in %s", reply.Body)
			}
			if !bytes.Contains(sent.Body, []byte("context_guru")) { // nobody repeats the tools
				equalBytes(t, "an answer without a call", reply.Body, sent.Body)
			}
			id := marker(t, plain.Body)
			ask := func(args string) fakellm.Block { return fakellm.Tool("context_guru_expand", `{"id":"`+id+args+`"}`) }
			before := s.LLM.Count()
			s.LLM.SetScript(
				fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Let me look. "), ask("")}},
				fakellm.Turn{Blocks: []fakellm.Block{ask(":3-4")}},
				fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Line 3."), fakellm.Tool("ls", `{"path":"/"}`)}},
			)
			reply = do(t, s, call)
			requests := s.LLM.Requests()[before:]
			if reply.Status != 200 || len(requests) != 3 {
				t.Fatalf("status %d, %d requests: %s", reply.Status, len(requests), reply.Body)
			}
			text := string(reply.Body)
			if strings.Contains(text, "context_guru") || strings.Contains(text, id) || !strings.Contains(text, "Let me look.") ||
				!strings.Contains(text, "Line 3.") || !strings.Contains(text, `"ls"`) || strings.Count(text, f.starts) != 1 || !strings.HasSuffix(text, f.ends) {
				t.Errorf("the client got\n%s", text)
			}
			equalBytes(t, "the first request", requests[0].Body, plain.Body)
			if !bytes.Contains(requests[1].Body, quoted[1:len(quoted)-1]) {
				t.Errorf("the model did not get the original: %.3000s", requests[1].Body)
			}
			for i := 1; i < len(requests); i++ {
				earlier, later := listOf(t, requests[i-1].Body, f.list), listOf(t, requests[i].Body, f.list)
				if !bytes.HasPrefix(later, earlier) {
					t.Errorf("request %d does not begin with the one before:\n%s", i+1, later)
				}
			}
		})
	}
}

// listOf returns the conversation of a request without its closing bracket.
func listOf(t *testing.T, body []byte, name string) []byte {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil || len(all[name]) == 0 {
		t.Fatalf("no %s (%v) in %.2000s", name, err, body)
	}
	return bytes.TrimSuffix(all[name], []byte("]"))
}
