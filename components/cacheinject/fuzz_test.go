package cacheinject_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/contextguru/contextguru/components/cacheinject"
	"github.com/contextguru/contextguru/pipeline/pipelinetest/requesttest"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// FuzzMarks marks whatever can be read, and takes the marks out again.
func FuzzMarks(f *testing.F) {
	dialects := []wire.Dialect{wire.AnthropicMessages, wire.AnthropicPlatform, wire.BedrockConverse}
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		d := int(seed) % len(dialects)
		f.Add(uint8(d), requesttest.Conversation(rnd, dialects[d], rnd.IntN(4), seed%2 == 0))
	}
	for _, body := range []string{
		`{"messages":[{"role":"user","role":"assistant","content":[{"type":"text","text":"a"}]}],"tools":[{"name":"f"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}],"content":[]}],"tools":[{"name":"f"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","type":"image","text":"\ud800"}]}],"tools":[{"name":"f","name":"g"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"\n\u3000"}]}],"tools":[{"name":"f"}],"tools":[]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{"name":"f"}],"cache\u005fcontrol":{}}`,
		`{"input":{"converse":{"messages":[{"role":"user","content":[{"text":"a"}]}],"toolConfig":{"tools":[{"toolSpec":{}}],"tools":[]}}}}`,
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\xff\\n\"}]}],\"tools\":[{\"name\":\"f\"}]}",
	} {
		f.Add(uint8(0), []byte(body))
		f.Add(uint8(2), []byte(body))
	}
	step := requesttest.Build(f, cacheinject.Spec(), "{}")
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		d := dialects[int(which)%len(dialects)]
		if _, err := wire.NewParser(wire.Limits{}).Parse(d, body); err != nil {
			return
		}
		sent, acts := requesttest.Rewrite(t, d, body, step)
		if acts[0].Fault() {
			t.Fatalf("%+v", acts)
		}
		if bytes.Equal(sent, body) {
			return
		}
		// Where the client has the same bytes already they are in no place that
		// counts, such as a call's arguments.
		if !bytes.Equal(requesttest.Unmark(sent), requesttest.Unmark(body)) {
			t.Fatalf("without the marks it is not the client's request: %s", sent)
		}
		if json.Valid(body) != json.Valid(sent) {
			t.Fatalf("not JSON: %s", sent)
		}
		if again, _ := requesttest.Rewrite(t, d, sent, step); !bytes.Equal(again, sent) {
			t.Fatalf("rewritten again: %s", again)
		}
	})
}
