package replay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew")

// checkFile compares a text with a file of testdata, or writes it.
func checkFile(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; go test -update writes it anew (-file +now):\n%s", path, diff)
	}
}

// step is a call and its output.
type step struct{ command, output string }

// buildLog is an output with facts, errors and much that is neither.
func buildLog(n int) string {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "compiling   module_%d_%d.c\n", n, i)
	}
	fmt.Fprintf(&b, "src/part%d/main.c:12:3: error: unknown type name item_%d\nmake: *** [all] Error 2\n", n, n)
	return b.String()
}

// steps of one conversation that tries a build again and again.
func steps(name string, n int) []step {
	var out []step
	for i := range n {
		out = append(out, step{
			"make -C " + name,
			buildLog(i),
		}, step{
			"cat status.json",
			fmt.Sprintf(`{"id":  %d,  "owner":  "%s",  "state":  "waiting for review"}`, 1000+i, name),
		})
	}
	return out
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return ""
	}
	return string(quoted)
}

// chat is the last request of a conversation as OpenAI's clients send it.
func chat(name string, steps []step) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"gpt-4o","tools":[{"type":"function","function":{"name":"bash","description":%s,"parameters":{"type":"object"}}}],"messages":[`, quote(strings.Repeat("Runs a command in a shell. ", 200)))
	fmt.Fprintf(&b, `{"role":"system","content":"You build things."},{"role":"user","content":"Build %s."}`, name)
	for i, s := range steps {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"bash","arguments":%s}}]}`, i, quote(fmt.Sprintf(`{"command":%s}`, quote(s.command))))
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"c%d","content":%s}`, i, quote(s.output))
	}
	b.WriteString(`,{"role":"assistant","content":"It does not build."}]}`)
	return b.String()
}

// messages is one request of a conversation as Anthropic's clients send it: with
// the cache directive on the newest message, which is a list of blocks for that.
func messages(name string, steps []step) string {
	var list []string
	list = append(list, fmt.Sprintf(`{"role":"user","content":"Build %s."}`, name))
	for i, s := range steps {
		list = append(list,
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"bash","input":{"command":%s}}]}`, i, quote(s.command)),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%s}]}`, i, quote(s.output)))
	}
	last := &list[len(list)-1]
	if at := strings.Index(*last, `"content":"`); len(list) == 1 {
		*last = fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}}]}`, strings.TrimSuffix((*last)[at+len(`"content":`):], "}"))
	} else {
		*last = strings.TrimSuffix(*last, "}]}") + `,"cache_control":{"type":"ephemeral"}}]}`
	}
	return fmt.Sprintf(`{"model":"claude-sonnet-4-5","system":%s,"messages":[%s]}`, quote(strings.Repeat("You build things. ", 300)), strings.Join(list, ","))
}

// captured is two conversations as a proxy wrote them down, mixed, with a line
// that is none of a request and one of an API that nobody knows.
func captured() []byte {
	var b bytes.Buffer
	one, two := steps("one", 3), steps("two", 2)
	for i := range len(one) + 1 {
		fmt.Fprintf(&b, `{"path":"/v1/messages","body":%s}`+"\n", messages("one", one[:i]))
		if i <= len(two) {
			fmt.Fprintf(&b, `{"path":"/v1/messages?beta=true","body_base64":"%s"}`+"\n", base64.StdEncoding.EncodeToString([]byte(messages("two", two[:i]))))
		}
	}
	b.WriteString("\n{\"path\":\"/v1/embeddings\",\"body\":{\"input\":\"x\"}}\nnot JSON\n")
	return b.Bytes()
}

// TestCorpus checks that testdata is what this file makes.
func TestCorpus(t *testing.T) {
	checkFile(t, "corpus/chats/long.openai.json", []byte(chat("long", steps("long", 4))))
	checkFile(t, "corpus/chats/short.openai.json", []byte(chat("short", []step{{"ls", "main.c"}})))
	checkFile(t, "corpus/captured/proxy.jsonl", captured())
}
