package capture_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/pipeline/wire"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// told is what tests want to know of a conversation.
type told struct {
	Name, Dialect string
	Requests      []string
}

func load(t *testing.T, paths ...string) (all []told, notes []string) {
	t.Helper()
	conversations, notes, err := capture.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversations {
		one := told{c.Name(), string(c.Dialect), nil}
		requests, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Len() {
			body, err := requests.Request(i)
			if err != nil {
				t.Fatal(err)
			}
			one.Requests = append(one.Requests, string(body))
		}
		requests.Close()
		all = append(all, one)
	}
	return all, notes
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "chats/a.openai.json", `{"messages": [{"role":"system"}, {"role":"user"},{"role":"assistant","n":1} ,{"role":"assistant"},{"role":"tool"},{"role":"user"}, {"role":"assistant"}], "model":"m"}`)
	write(t, dir, "chats/b.openai.json", `{"messages": [{"role":"user"}]}`)
	write(t, dir, "r.responses.json", `{"input":[{"role":"user"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"},{"type":"message","role":"assistant"}]}`)
	write(t, dir, "t.responses.json", `{"input":"text"}`)
	write(t, dir, "g.gemini.json", `{"contents":[{"role":"user"},{"role":"model"},{"role":"user"}]}`)
	write(t, dir, "readme.txt", "no conversation")
	write(t, dir, "notes.json", "{}")
	write(t, dir, "empty.openai.json", `{"messages":[]}`)
	write(t, dir, "broken.openai.json", `{"messages":[`)
	write(t, dir, "no.anthropic.json", `{"prompt":"x"}`)
	got, notes := load(t, dir)
	name := filepath.Base(dir)
	want := []told{
		{name + "/g", "gemini", []string{`{"contents":[{"role":"user"}]}`, `{"contents":[{"role":"user"},{"role":"model"},{"role":"user"}]}`}},
		{name + "/r", "openai.responses", []string{`{"input":[{"role":"user"}]}`, `{"input":[{"role":"user"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"}]}`}},
		{name + "/t", "openai.responses", []string{`{"input":"text"}`}},
		{"chats/a", "openai.chat", []string{
			`{"messages": [{"role":"system"}, {"role":"user"}], "model":"m"}`,
			`{"messages": [{"role":"system"}, {"role":"user"},{"role":"assistant","n":1} ,{"role":"assistant"},{"role":"tool"},{"role":"user"}], "model":"m"}`,
		}},
		{"chats/b", "openai.chat", []string{`{"messages": [{"role":"user"}]}`}},
	}
	if diff := cmp.Diff(byName(want), byName(got)); diff != "" {
		t.Error(diff)
	}
	if text := strings.Join(notes, "\n"); len(notes) != 4 || !strings.Contains(text, "notes.json: left out, its name") ||
		!strings.Contains(text, "empty.openai.json: left out, it holds no request") || !strings.Contains(text, "broken.openai.json: left out, read") {
		t.Errorf("notes\n%s", text)
	}
}

func byName(list []told) map[string]told {
	out := map[string]told{}
	for _, c := range list {
		out[c.Name] = c
	}
	return out
}

func TestNamedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "one.json", `{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`)
	got, notes := load(t, path)
	if len(got) != 1 || len(notes) != 0 || got[0].Dialect != "anthropic.messages" || got[0].Name != filepath.Base(dir)+"/one" {
		t.Errorf("%+v, notes %q", got, notes)
	}
	if _, _, err := capture.Load(filepath.Join(dir, "none")); err == nil {
		t.Error("a path that does not exist is no error")
	}
}

// chat is a request of a conversation with so many turns.
func chat(name string, turns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"messages":[{"role":"user","content":"go %s"}`, name)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":"%s %d"},{"role":"user","content":"more"}`, name, i)
	}
	b.WriteString("]}")
	return b.String()
}

func TestLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := chat("x", 0)
	lines := []string{
		"\ufeff" + body,
		`{"path":"/v1/chat/completions","body":` + chat("a", 0) + `}`,
		`{"url":"https://host/v1/chat/completions?x=1","body":` + chat("b", 0) + `}`,
		`{"dialect":"anthropic","body":` + chat("c", 0) + `}`,
		`{"dialect":"bedrock.converse","model":"m","body":` + chat("d", 0) + `}`,
		`{"body":` + strconv.Quote(chat("e", 0)) + `}`,
		`{"path":"/v1/messages","body_base64":"` + base64.StdEncoding.EncodeToString([]byte(chat("f", 0))) + `"}`,
		`{"path":"/model/us.anthropic.claude-x/converse","body":{"messages":[{"role":"user","content":[{"text":"g"}]}]}}`,
		``,
		`not JSON`,
		`{"path":"/v1/embeddings","body":{}}`,
		`{"path":"/v1/messages/count_tokens","body":` + body + `}`,
		`{"dialect":"latin","body":` + body + `}`,
		`{"body_base64":"?"}`,
		`{"body":"\ud800"}`,
		`{"prompt":"x"}`,
		`{"path":"/v1/messages","body":{"prompt":"x"}}`,
		`[]`,
		`{"path":5}`,
	}
	got, notes := load(t, write(t, dir, "proxy.jsonl", strings.Join(lines, "\n")))
	var dialects []string
	for _, c := range got {
		dialects = append(dialects, strings.TrimPrefix(c.Name, filepath.Base(dir)+"/")+" "+c.Dialect)
	}
	want := []string{
		"proxy-4 anthropic.messages", "proxy-7 anthropic.messages", "proxy-5 bedrock.converse", "proxy-8 bedrock.converse",
		"proxy-1 openai.chat", "proxy-2 openai.chat", "proxy-3 openai.chat", "proxy-6 openai.chat",
	}
	if diff := cmp.Diff(want, dialects); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		"proxy.jsonl:10: left out, it is not a JSON object", `:11: left out, path "/v1/embeddings"`, ":12: left out, a request to count tokens",
		`:13: left out, dialect "latin" is unknown`, ":14: left out, body_base64", ":15: left out, body is a string without exact text",
		":16: left out, its API cannot be told", ":17: left out, it has no messages",
		":18: left out, it is not a JSON object but a JSON array", ":19: left out, path must be a string, got a JSON number",
	} {
		if i >= len(notes) || !strings.Contains(notes[i], want) {
			t.Errorf("note %d of %q, want %q", i, notes, want)
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	// Two conversations of which one begins twice, a third that opens like the
	// first, and side requests.
	list := []string{
		chat("x", 0), chat("y", 0), chat("x", 1), chat("x", 0), chat("y", 1),
		`{"messages":[{"role":"user","content":"title of x"}]}`,
		strings.Replace(chat("x", 1), `]}`, `,{"role":"user","content":"sum it up"}]}`, 1), // of the first
		chat("x", 2), // of the first, behind its side request
		strings.Replace(chat("x", 1), "x 0", "another answer", 1), // of the fourth
	}
	got, _ := load(t, write(t, t.TempDir(), "log.ndjson", strings.Join(list, "\n")))
	var groups [][]string
	for _, c := range got {
		groups = append(groups, c.Requests)
	}
	want := [][]string{{list[0], list[2], list[6], list[7]}, {list[1], list[4]}, {list[3], list[8]}, {list[5]}}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Error(diff)
	}
}

func TestChangedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	transcript := write(t, dir, "a.openai.json", chat("x", 2))
	lines := write(t, dir, "b.jsonl", chat("y", 2)+"\n")
	conversations, _, err := capture.Load(dir)
	if err != nil || len(conversations) != 2 {
		t.Fatal(conversations, err)
	}
	write(t, dir, filepath.Base(transcript), chat("x", 1))
	write(t, dir, filepath.Base(lines), strings.Repeat("z", 200))
	for _, c := range conversations {
		requests, err := c.Open()
		if err == nil {
			_, err = requests.Request(0)
			requests.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "changed") {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	var all []*capture.Conversation
	for i := range 10 {
		all = append(all, capture.New("a", strconv.Itoa(i), wire.OpenAIChat))
	}
	all = append(all, capture.New("a", "x", wire.Gemini), capture.New("b", "y", wire.Gemini))
	var got []string
	for _, c := range capture.Sample(all, 2) {
		got = append(got, c.Name())
	}
	if diff := cmp.Diff([]string{"a/0", "a/5", "a/x", "b/y"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(capture.Sample(all, 0)); n != len(all) {
		t.Errorf("%d of all", n)
	}
}

func TestGuess(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]wire.Dialect{
		`{"contents":[]}`: wire.Gemini,
		`{"input":"x"}`:   wire.OpenAIResponses,
		`{"messages":[{"role":"user","content":"x"}]}`:                               wire.OpenAIChat,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`:      wire.OpenAIChat,
		`{"messages":[{"role":"user","content":"x"}],"system":"s"}`:                  wire.AnthropicMessages,
		`{"messages":[{"role":"user","content":"x"}],"anthropic_version":"v"}`:       wire.AnthropicMessages,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"input_schema":{}}]}`: wire.AnthropicMessages,
		`{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`:          wire.AnthropicMessages,
		`{"messages":[{"role":"user","content":[{"text":"x"}]}]}`:                    wire.BedrockConverse,
		`{"messages":[{"role":"user","content":"x"}],"inferenceConfig":{}}`:          wire.BedrockConverse,
		`{"prompt":"x"}`: "", `[]`: "", `x`: "",
	} {
		if got, ok := capture.Guess([]byte(body)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
