package hidden_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// shape is how a dialect writes a conversation.
type shape struct {
	dialect     wire.Dialect
	front, back string // around the conversation
	user        string // its first element
	// wrap makes the form of a turn that a request takes out of its pieces.
	wrap func(pieces ...string) string
	// The pieces.
	text, thought func(text string) string
	call          func(id, name string) string
	// results makes the elements that answer calls, by id.
	results func(ids ...string) string
}

func q(s string) string { b, _ := json.Marshal(s); return string(b) }

// shapes gives one shape per dialect.
func shapes() map[string]*shape {
	joined := func(before, after string) func(...string) string {
		return func(pieces ...string) string { return before + strings.Join(pieces, ",") + after }
	}
	each := func(before, after string, one func(string) string) func(...string) string {
		return func(ids ...string) string {
			var list []string
			for _, id := range ids {
				list = append(list, one(id))
			}
			return before + strings.Join(list, ",") + after
		}
	}
	anthropic := shape{
		dialect: wire.AnthropicMessages, front: `{"model":"m","messages":[`, back: `],"system":"s"}`,
		user:    `{"role":"user","content":[{"type":"text","text":"Go.","cache_control":{"type":"ephemeral"}}]}`,
		wrap:    joined(`{"role":"assistant","content":[`, `]}`),
		text:    func(s string) string { return `{"type":"text","text":` + q(s) + `}` },
		thought: func(s string) string { return `{"type":"thinking","thinking":"hm","signature":` + q(s) + `}` },
		call: func(id, name string) string {
			return `{"type":"tool_use","id":` + q(id) + `,"name":` + q(name) + `,"input":{"id":"x"}}`
		},
		results: each(`{"role":"user","content":[`, `]}`, func(id string) string {
			return `{"type":"tool_result","tool_use_id":` + q(id) + `,"content":"out of ` + id + `"}`
		}),
	}
	converse := shape{
		dialect: wire.BedrockConverse, front: `{"messages":[`, back: `],"toolConfig":{}}`,
		user: `{"role":"user","content":[{"text":"Go."}]}`,
		wrap: joined(`{"role":"assistant","content":[`, `]}`),
		text: func(s string) string { return `{"text":` + q(s) + `}` },
		thought: func(s string) string {
			return `{"reasoningContent":{"reasoningText":{"text":"hm","signature":` + q(s) + `}}}`
		},
		call: func(id, name string) string {
			return `{"toolUse":{"toolUseId":` + q(id) + `,"name":` + q(name) + `,"input":{"id":"x"}}}`
		},
		results: each(`{"role":"user","content":[`, `]}`, func(id string) string {
			return `{"toolResult":{"toolUseId":` + q(id) + `,"content":[{"text":"out of ` + id + `"}]}}`
		}),
	}
	gemini := shape{
		dialect: wire.Gemini, front: `{"contents":[`, back: `],"generationConfig":{}}`,
		user:    `{"role":"user","parts":[{"text":"Go."}]}`,
		wrap:    joined(`{"role":"model","parts":[`, `]}`),
		text:    func(s string) string { return `{"text":` + q(s) + `}` },
		thought: func(s string) string { return `{"thought":true,"text":"hm","thoughtSignature":` + q(s) + `}` },
		call: func(_, name string) string {
			return `{"functionCall":{"name":` + q(name) + `,"args":{"id":"x"}}}`
		},
		results: each(`{"role":"user","parts":[`, `]}`, func(id string) string {
			return `{"functionResponse":{"name":"sh","response":{"output":"out of ` + id + `"}}}`
		}),
	}
	responses := shape{
		dialect: wire.OpenAIResponses, front: `{"model":"m","input":[`, back: `],"store":false}`,
		user: `{"role":"user","content":"Go."}`,
		wrap: joined(`[`, `]`),
		text: func(s string) string {
			return `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":` + q(s) + `,"annotations":[]}]}`
		},
		thought: func(s string) string {
			return `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":` + q(s) + `}`
		},
		call: func(id, name string) string {
			return `{"type":"function_call","call_id":` + q(id) + `,"name":` + q(name) + `,"arguments":"{\"id\":\"x\"}"}`
		},
		results: each(``, ``, func(id string) string {
			return `{"type":"function_call_output","call_id":` + q(id) + `,"output":"out of ` + id + `"}`
		}),
	}
	chat := shape{
		dialect: wire.OpenAIChat, front: `{"model":"m","messages":[`, back: `],"stream":true}`,
		user: `{"role":"user","content":"Go."}`,
		wrap: func(pieces ...string) string { // texts are strings, calls are objects
			var texts, calls []string
			for _, p := range pieces {
				var s string
				if json.Unmarshal([]byte(p), &s) == nil {
					texts = append(texts, s)
				} else {
					calls = append(calls, p)
				}
			}
			content := strings.Join(texts, "")
			out := `{"role":"assistant","content":` + q(content)
			if content == "" {
				out = `{"role":"assistant","content":null`
			}
			if len(calls) > 0 {
				out += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
			}
			return out + `}`
		},
		text:    q,
		thought: func(string) string { return q("") },
		call: func(id, name string) string {
			return `{"id":` + q(id) + `,"type":"function","function":{"name":` + q(name) + `,"arguments":"{\"id\":\"x\"}"}}`
		},
		results: each(``, ``, func(id string) string {
			return `{"role":"tool","tool_call_id":` + q(id) + `,"content":"out of ` + id + `"}`
		}),
	}
	return map[string]*shape{"anthropic": &anthropic, "converse": &converse, "gemini": &gemini, "responses": &responses, "chat": &chat}
}

// elements are a turn as elements of a conversation.
func (s *shape) elements(pieces ...string) string {
	turn := s.wrap(pieces...)
	if s.dialect == wire.OpenAIResponses {
		return turn[1 : len(turn)-1]
	}
	return turn
}

// body is a request of these elements.
func (s *shape) body(elements ...string) string {
	return s.front + strings.Join(append([]string{s.user}, elements...), ",") + s.back
}

const expandTool = pipeline.ExpandTool

// turn is a turn as the other side of an exchange hands it over. Pieces that are
// calls are found by the name they call.
func (s *shape) turn(text string, signatures []string, pieces ...string) *round.Turn {
	t := &round.Turn{Assistant: []byte(s.wrap(pieces...)), Text: text, Signatures: signatures, Complete: true}
	for _, p := range pieces {
		call := round.Call{Name: "sh", Index: len(t.Ours) + len(t.Others)}
		switch {
		case strings.Contains(p, expandTool):
			call.Name = expandTool
			call.ID = idIn(p)
			t.Ours = append(t.Ours, call)
		case strings.Contains(p, `"sh"`):
			call.ID = idIn(p)
			t.Others = append(t.Others, call)
		}
	}
	return t
}

// idIn returns the id of a call piece.
func idIn(p string) string {
	for _, key := range []string{`"call_id":"`, `"toolUseId":"`, `"id":"`} {
		if _, rest, ok := strings.Cut(p, key); ok && !strings.HasPrefix(p, `{"functionCall"`) {
			id, _, _ := strings.Cut(rest, `"`)
			return id
		}
	}
	return ""
}

// answers are results for all calls of ours.
func answers(t *round.Turn, text string) (list []round.Result) {
	for _, c := range t.Ours {
		list = append(list, round.Result{Call: c, Text: text})
	}
	return list
}

// rig is a keeper with its store.
type rig struct {
	*hidden.Keeper

	keys  *pipeline.Keyring
	store store.Store
}

func newRig(tb testing.TB, s store.Store, change func(*hidden.Config)) *rig {
	tb.Helper()
	if s == nil {
		m, err := store.NewMemory(store.MemoryOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		s = m
	}
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		tb.Fatal(err)
	}
	c := hidden.Config{Store: s, Keys: keys, Deadline: time.Minute}
	if change != nil {
		change(&c)
	}
	k, err := hidden.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return &rig{k, keys, s}
}

// restore restores a request and returns what goes out.
func (r *rig) restore(tb testing.TB, d wire.Dialect, body string, answer hidden.Answer) (string, hidden.Restored) {
	tb.Helper()
	p := wire.NewParser(wire.Limits{})
	t, err := p.Parse(d, []byte(body))
	if err != nil {
		tb.Fatalf("%v: %s", err, body)
	}
	got := r.Restore(tb.Context(), hidden.Request{Dialect: d, Transcript: t, Outline: p.Outline(), Tenants: []string{"t"}, Answer: answer})
	out, err := wire.Splice(nil, []byte(body), got.Patches)
	if err != nil {
		tb.Fatalf("%v: %v", err, got.Patches)
	}
	if json.Valid([]byte(body)) && !json.Valid(out) {
		tb.Fatalf("no JSON: %s", out)
	}
	return string(out), got
}

// exchanged runs an exchange on a request: what the provider gets in its last
// round. The record is written.
func (r *rig) exchanged(tb testing.TB, s *shape, body string, rounds []hidden.Round, last *round.Turn, beside []round.Result) string {
	tb.Helper()
	rewritten, got := r.restore(tb, s.dialect, body, nil)
	sent := []byte(rewritten)
	for i := range rounds {
		exchange, err := turns.Exchange(nil, s.dialect, rounds[i].Turn.Assistant, rounds[i].Results)
		if err != nil {
			tb.Fatal(err)
		}
		if sent, err = turns.Continue(nil, s.dialect, sent, exchange, 0); err != nil {
			tb.Fatal(err)
		}
	}
	err := r.Record(tb.Context(), hidden.Exchange{
		Dialect: s.dialect, Tenants: []string{"t"}, Place: got.Place, Hidden: rounds, Last: last, Beside: beside,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return string(sent)
}

// startsLike checks that a request goes on where another ended.
func (s *shape) startsLike(tb testing.TB, next, before string) {
	tb.Helper()
	if !strings.HasPrefix(next, strings.TrimSuffix(before, s.back)) {
		tb.Errorf("the request\n%s\ndoes not start like\n%s", next, before)
	}
}
