package loop_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// assistant is what a client makes of a stream of Anthropic's: the message it sends back.
func assistant(t *testing.T, stream string) (message string, calls []string) {
	t.Helper()
	var blocks []map[string]any
	for line := range strings.SplitSeq(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type         string
			Index        int
			ContentBlock map[string]any `json:"content_block"`
			Delta        struct {
				Text string
				JSON string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		switch e.Type {
		case "content_block_start":
			if e.Index != len(blocks) {
				t.Fatalf("block %d behind %d others", e.Index, len(blocks))
			}
			blocks = append(blocks, e.ContentBlock)
			if e.ContentBlock["type"] == "tool_use" {
				calls = append(calls, e.ContentBlock["id"].(string))
				e.ContentBlock["input"] = ""
			}
		case "content_block_delta":
			b := blocks[e.Index]
			if b["type"] == "text" {
				b["text"] = b["text"].(string) + e.Delta.Text
			} else {
				b["input"] = b["input"].(string) + e.Delta.JSON
			}
		}
	}
	for _, b := range blocks {
		if b["type"] == "tool_use" {
			b["input"] = json.RawMessage(b["input"].(string))
		}
	}
	out, err := json.Marshal(map[string]any{"role": "assistant", "content": blocks})
	if err != nil {
		t.Fatal(err)
	}
	return string(out), calls
}

// parsed is a request as hidden wants it.
func parsed(t *testing.T, body string) hidden.Request {
	t.Helper()
	p := wire.NewParser(wire.Limits{})
	tr, err := p.Parse(wire.AnthropicMessages, []byte(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return hidden.Request{Dialect: wire.AnthropicMessages, Transcript: tr, Outline: p.Outline(), Tenants: []string{"t"}}
}

// Whatever becomes of an exchange, the client's next request starts with the last
// one that the model has answered, on another replica as well.
func TestNextRequest(t *testing.T) {
	t.Parallel()
	look := func(n string) string { return answer(say("Look "+n+". "), ask("ours_"+n, `{"id":"x"}`)) }
	for name, c := range map[string]struct {
		begin    string
		rounds   []string // an empty one is refused
		outcome  loop.Outcome
		answered int // the last request that the model has answered; 0 is the client's own
	}{
		"answered":          {look("1"), []string{answer(say("So."), theirs("k1"))}, loop.Answered, 1},
		"an answer":         {look("1"), []string{answer(say("So."))}, loop.Answered, 1},
		"two rounds":        {look("1"), []string{look("2"), answer(theirs("k1"))}, loop.Answered, 2},
		"mixed":             {answer(say("Both. "), ask("ours_1", `{"id":"x"}`), theirs("k1")), nil, loop.Mixed, 0},
		"a round, mixed":    {look("1"), []string{answer(theirs("k1"), ask("ours_2", `{"id":"x"}`), theirs("k2"))}, loop.Mixed, 1},
		"too many rounds":   {look("1"), []string{look("2"), look("3"), look("4")}, loop.Failed, 3},
		"refused":           {look("1"), []string{""}, loop.Failed, 0},
		"the second is":     {look("1"), []string{look("2"), ""}, loop.Failed, 1},
		"cut in the second": {look("1"), []string{look("2"), strings.SplitAfter(answer(say("Half")), "text_delta\",\"text\":\"Half\"}}\n\n")[0]}, loop.Failed, 2},
		"silent rounds":     {answer(ask("ours_1", `{"id":"x"}`)), []string{answer(ask("ours_2", `{"id":"y"}`)), answer(say("So."))}, loop.Answered, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, err := store.NewMemory(store.MemoryOptions{})
			if err != nil {
				t.Fatal(err)
			}
			keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
			if err != nil {
				t.Fatal(err)
			}
			keeper := func() *hidden.Keeper {
				k, err := hidden.New(hidden.Config{Store: memory, Keys: keys, Deadline: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				return k
			}
			requests := []string{request}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				round := c.rounds[min(len(requests), len(c.rounds))-1]
				if len(requests) <= len(c.rounds) && round != "" {
					requests = append(requests, string(body))
					stream(w, round)
					return
				}
				http.Error(w, "no", http.StatusBadRequest)
			}))
			defer server.Close()
			client, err := upstream.New(upstream.Config{URL: server.URL, Hop: &hop.Signer{Keys: keys}, Pause: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			k := keeper()
			place := k.Restore(t.Context(), parsed(t, request)).Place
			var out strings.Builder
			l := loop.New(loop.Config{Keys: keys, Sender: client}).Run(t.Context(), loop.Exchange{
				Dialect: wire.AnthropicMessages, Form: splice.SSE,
				Request: upstream.Request{Method: "POST", Path: "/v1/messages", Authority: "gw", Tenants: []string{"t"}, Body: []byte(request)},
				Text:    func(string) (string, bool) { return "", false },
				Record:  loop.Keep(k, wire.AnthropicMessages, []string{"t"}, place),
			}, &first{rest: c.begin, end: io.EOF}, func(piece []byte) error { out.Write(piece); return nil })
			if l.Outcome != c.outcome || l.RecordError != nil {
				t.Fatalf("ledger %+v", l)
			}
			message, calls := assistant(t, out.String())
			var results []string
			for _, id := range calls {
				results = append(results, `{"type":"tool_result","tool_use_id":"`+id+`","content":"printed"}`)
			}
			reply := `{"role":"user","content":"Go on."}`
			if len(results) > 0 {
				reply = `{"role":"user","content":[` + strings.Join(results, ",") + `]}`
			}
			next := strings.Replace(request, `"go"}]`, `"go"},`+message+`,`+reply+`]`, 1)
			for _, on := range []*hidden.Keeper{k, keeper()} {
				patches := on.Restore(t.Context(), parsed(t, next)).Patches
				got, err := wire.Splice(nil, []byte(next), patches)
				if err != nil || !json.Valid(got) {
					t.Fatalf("%v: %s", err, got)
				}
				sent, _, _ := strings.Cut(requests[c.answered], `],"tools"`)
				if !strings.HasPrefix(string(got), sent+",") {
					t.Errorf("%+v\n%s\ndoes not start like\n%s", l, got, sent)
				}
				for _, id := range []string{"ours_1", "ours_2", "ours_3", "ours_4"} {
					if n := strings.Count(string(got), `"`+id+`"`); n != 0 && n != 2 {
						t.Errorf("%s is there %d times:\n%s", id, n, got)
					}
				}
			}
		})
	}
}
