package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// asking is a conversation whose one output is long enough to be cut.
type asking struct {
	d      chat.Dialect
	stream bool
}

// output is the tool output of such a conversation.
func output() string {
	var b strings.Builder
	for i := range 900 {
		fmt.Fprintf(&b, "entry %d of the listing, owned by nobody in particular\n", i)
	}
	return b.String()
}

// body is the request, with further messages behind the output.
func (a asking) body(more ...string) []byte {
	system := strings.Repeat("You are careful and say what you did. ", 100)
	text, _ := json.Marshal(output())
	tail := strings.Join(append([]string{""}, more...), ",")
	if a.d == chat.Anthropic {
		return fmt.Appendf(nil, `{"model":"m","max_tokens":100,"stream":%v,"system":%q,"messages":[{"role":"user","content":"List it."},`+
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":%s}]}%s],`+
			`"tools":[{"name":"ls","input_schema":{"type":"object"}}]}`, a.stream, system, text, tail)
	}
	return fmt.Appendf(nil, `{"model":"m","stream":%v,"messages":[{"role":"system","content":%q},{"role":"user","content":"List it."},`+
		`{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":%s}%s],`+
		`"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}]}`, a.stream, system, text, tail)
}

var markerForm = regexp.MustCompile(`cg:([a-z2-7]{20})`)

// marker is the id of the one marker in a request.
func marker(t *testing.T, body []byte) string {
	t.Helper()
	found := markerForm.FindAllSubmatch(body, -1)
	// The definition of the tool says <<cg:ID>>, which is none.
	if len(found) != 1 {
		t.Fatalf("%d markers in %.2000s", len(found), body)
	}
	return string(found[0][1])
}

// TestLoop lets a model ask for an original, and watches what client and
// provider see.
func TestLoop(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithLoop(), stack.WithConfig("preset: auto\n"))
	if !lossy(s, false) {
		t.Skipf("Envoy %s gets lossless edits only", s.Envoy.Version())
	}
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		for _, stream := range []bool{false, true} {
			for _, p := range []stack.Protocol{stack.H1, stack.H2} {
				t.Run(fmt.Sprint(d, " stream ", stream, " ", p), func(t *testing.T) { loops(t, s, asking{d, stream}, p) })
			}
		}
	}
}

func loops(t *testing.T, s *stack.Stack, a asking, p stack.Protocol) {
	t.Helper()
	call := stack.Call{Protocol: p, Path: a.d.Path(), Body: a.body()}
	s.LLM.SetScript(fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Nothing to ask.")}})
	reply, plain := exchange(t, s, call)
	sent, err := plain.Reply(within(t))
	if err != nil {
		t.Fatal(err)
	}
	equalBytes(t, "an answer without a call", reply.Body, sent.Body)
	id := marker(t, plain.Body)
	if !bytes.Contains(plain.Body, []byte("context_guru_expand")) {
		t.Fatalf("no tool in %s", plain.Body)
	}

	before := s.LLM.Count()
	s.LLM.SetScript(
		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Let me look. "), fakellm.Tool("context_guru_expand", `{"id":"`+id+`"}`)}},
		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Tool("context_guru_expand", `{"id":"`+id+`:3-4"}`)}},
		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("It says so in line 3."), fakellm.Tool("ls", `{"path":"/"}`)}},
	)
	reply = do(t, s, call)
	requests := s.LLM.Requests()[before:]
	if reply.Status != 200 || len(requests) != 3 {
		t.Fatalf("status %d, %d requests: %s", reply.Status, len(requests), reply.Body)
	}
	if text := string(reply.Body); strings.Contains(text, "context_guru") || strings.Contains(text, id) ||
		!strings.Contains(text, "Let me") || !strings.Contains(text, "line 3") && !a.stream || !strings.Contains(text, `"ls"`) {
		t.Errorf("the client got\n%s", text)
	}
	equalBytes(t, "the first request", requests[0].Body, plain.Body)
	quoted, _ := json.Marshal(output())
	if !bytes.Contains(requests[1].Body, quoted[1:len(quoted)-1]) {
		t.Errorf("the model did not get the original: %.3000s", requests[1].Body)
	}
	if !bytes.Contains(requests[2].Body, []byte(`entry 2 of the listing, owned by nobody in particular\nentry 3 of the listing, owned by nobody in particular\n`)) {
		t.Errorf("the model did not get the lines: %.3000s", requests[2].Body)
	}
	for i := 1; i < len(requests); i++ {
		if err := chat.Prefix(requests[i-1].Body, requests[i].Body); err != nil {
			t.Errorf("request %d: %v", i+1, err)
		}
		for name := range requests[i].Header {
			if strings.HasPrefix(strings.ToLower(name), "x-context-guru") {
				t.Errorf("the provider got the header %s", name)
			}
		}
		if got, want := requests[i].Header.Get("Authorization"), requests[0].Header.Get("Authorization"); got != want {
			t.Errorf("the provider got the credential %q, want %q", got, want)
		}
	}
	if a.stream {
		return
	}
	// The client goes on with what it saw, the model with what it did.
	s.LLM.SetScript()
	call.Body = a.body(a.goesOn(t, reply.Body)...)
	_, next := exchange(t, s, call)
	if err := chat.Prefix(requests[2].Body, next.Body); err != nil {
		t.Errorf("the next turn: %v\n%.6000s", err, next.Body[min(len(next.Body), 60000):])
	}
}

// goesOn is what a client sends behind an answer that calls its tool.
func (a asking) goesOn(t *testing.T, answer []byte) []string {
	t.Helper()
	var reply struct {
		Choices []struct{ Message json.RawMessage }
		Content []json.RawMessage
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		t.Fatal(err)
	}
	var id string
	if a.d == chat.Anthropic {
		var use struct{ ID string }
		if err := json.Unmarshal(reply.Content[len(reply.Content)-1], &use); err != nil {
			t.Fatal(err)
		}
		id = use.ID
		content, _ := json.Marshal(reply.Content)
		return []string{
			`{"role":"assistant","content":` + string(content) + `}`,
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"bin etc"}]}`, id),
		}
	}
	var message struct {
		Calls []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal(reply.Choices[0].Message, &message); err != nil || len(message.Calls) != 1 {
		t.Fatalf("%v in %s", err, answer)
	}
	return []string{string(reply.Choices[0].Message), fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"bin etc"}`, message.Calls[0].ID)}
}
