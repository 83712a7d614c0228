package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
	"github.com/contextguru/contextguru/pipeline/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// block is a content block of an answer: a text, or a call.
type block struct{ text, id, name, args string }

func say(text string) block { return block{text: text} }

func ask(id, args string) block { return block{id: id, name: "context_guru_expand", args: args} }

func theirs(id string) block { return block{id: id, name: "bash", args: `{"command":"ls"}`} }

// answer is an answer of Anthropic's API as a stream of events.
func answer(blocks ...block) string {
	var b strings.Builder
	event := func(typ, data string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,%s}\n\n", typ, typ, data) }
	event("message_start", `"message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}`)
	stop := "end_turn"
	for i, x := range blocks {
		start, delta := `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, x.text)
		if x.name != "" {
			stop = "tool_use"
			start, delta = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, x.id, x.name), fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, x.args)
		}
		event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, i, start))
		event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, i, delta))
		event("content_block_stop", fmt.Sprintf(`"index":%d`, i))
	}
	event("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}`, stop))
	event("message_stop", `"x":1`)
	return b.String()
}

// first is the provider's answer to the client's own request, a few bytes at a time.
type first struct {
	rest string
	end  error
}

func (f *first) Next(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.rest == "" {
		return nil, f.end
	}
	n := min(7, len(f.rest))
	piece := f.rest[:n]
	f.rest = f.rest[n:]
	return []byte(piece), nil
}

// rig is a driver with a gateway behind it.
type rig struct {
	t       *testing.T
	id      string // of the original
	text    string
	config  loop.Config
	serve   http.HandlerFunc // in the place of rounds
	rounds  []string         // the answers to continuations
	records []loop.Record
	store   error // what recording fails with

	mu       sync.Mutex
	requests []string
	out      strings.Builder
	onSend   func(piece string)
}

func newRig(t *testing.T, rounds ...string) *rig {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, text: strings.Repeat("a line of the original\n", 40), rounds: rounds}
	r.id = keys.Mint(r.text)
	r.config.Keys = keys
	return r
}

func (r *rig) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	r.requests = append(r.requests, string(body))
	n := len(r.requests) - 1
	r.mu.Unlock()
	if r.serve != nil {
		r.serve(w, q)
		return
	}
	if n >= len(r.rounds) {
		http.Error(w, "no more", http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, r.rounds[n])
}

const request = `{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}],"tools":[{"name":"bash"}]}`

// run drives an exchange that begins with an answer.
func (r *rig) run(ctx context.Context, begin string) loop.Ledger {
	r.t.Helper()
	server := httptest.NewServer(r)
	defer server.Close()
	client, err := upstream.New(upstream.Config{URL: server.URL, Hop: &hop.Signer{Keys: r.config.Keys}, Pause: time.Millisecond})
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close()
	r.config.Sender = client
	x := loop.Exchange{
		Dialect: wire.AnthropicMessages, Form: splice.SSE,
		Request:   upstream.Request{Method: "POST", Path: "/v1/messages", Authority: "gw", Tenants: []string{"t"}, Body: []byte(request)},
		Text:      func(id string) (string, bool) { return r.text, id == r.id },
		Component: func(id string) string { return "hider of " + id }, Tokens: func(text string) int { return 2 * len(text) },
		Record: func(_ context.Context, x loop.Record) error {
			if strings.Contains(r.out.String(), "message_stop") {
				r.t.Error("recorded behind the last event")
			}
			r.records = append(r.records, x)
			return r.store
		},
	}
	l := loop.New(r.config).Run(ctx, x, &first{rest: begin, end: io.EOF}, func(piece []byte) error {
		r.out.Write(piece)
		if r.onSend != nil {
			r.onSend(string(piece))
		}
		return nil
	})
	return l
}

// hidden checks that the client has one whole message and no trace of the tool.
func (r *rig) hidden(texts ...string) {
	r.t.Helper()
	out := r.out.String()
	if strings.Contains(out, "context_guru") || strings.Count(out, "event: message_start") != 1 || strings.Count(out, "event: message_stop") != 1 {
		r.t.Errorf("the client got\n%s", out)
	}
	at := 0
	for _, text := range texts {
		i := strings.Index(out[at:], text)
		if i < 0 {
			r.t.Fatalf("no %q behind byte %d of\n%s", text, at, out)
		}
		at += i
	}
}

// result returns the text of result n of a request.
func (r *rig) result(request, n int) (text string, failed bool) {
	r.t.Helper()
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal([]byte(r.requests[request]), &body); err != nil {
		r.t.Fatal(err)
	}
	var blocks []struct {
		Content string
		IsError bool `json:"is_error"`
	}
	if err := json.Unmarshal(body.Messages[len(body.Messages)-1].Content, &blocks); err != nil {
		r.t.Fatal(err)
	}
	return blocks[n].Content, blocks[n].IsError
}

func (r *rig) wants(l loop.Ledger, outcome loop.Outcome, reason string, rounds, expands int) {
	r.t.Helper()
	if l.Outcome != outcome || l.Reason != reason || l.Rounds != rounds || len(l.Expands) != expands {
		r.t.Errorf("ledger %+v; want %s %q, %d rounds, %d expands", l, outcome, reason, rounds, expands)
	}
}

func TestNoCall(t *testing.T) {
	t.Parallel()
	r, begin := newRig(t), answer(say("Hello."), theirs("c1"))+": behind the end\n\n"
	r.wants(r.run(t.Context(), begin), loop.Untouched, "", 0, 0)
	if r.out.String() != begin || len(r.records) > 0 {
		t.Errorf("the client got\n%s", r.out.String())
	}
}

func TestOnlyOurs(t *testing.T) {
	t.Parallel()
	r := newRig(t, answer(say("Two."), ask("c2", `{"id":"ID:2-3"}`)), answer(say("Three.")))
	r.rounds[0] = strings.ReplaceAll(r.rounds[0], "ID:", r.id+":")
	l := r.run(t.Context(), answer(say("One."), ask("c1", fmt.Sprintf(`{"id":"<<cg:%s>>"}`, r.id))))
	r.wants(l, loop.Answered, "", 2, 2)
	r.hidden("One.", "Two.", "Three.", "end_turn")
	if text, failed := r.result(0, 0); text != r.text || failed {
		t.Errorf("the model read %q, %v", text, failed)
	}
	if text, failed := r.result(1, 0); text != "a line of the original\na line of the original\n" || failed {
		t.Errorf("the model read %q, %v", text, failed)
	}
	front, _, _ := strings.Cut(request, "]")
	if !strings.HasPrefix(r.requests[0], front) || !strings.HasPrefix(r.requests[1], strings.TrimSuffix(r.requests[0], `],"tools":[{"name":"bash"}]}`)) {
		t.Errorf("requests do not go on like those before:\n%s", strings.Join(r.requests, "\n"))
	}
	if len(r.records) != 1 || len(r.records[0].Hidden) != 2 || r.records[0].Last.Text != "Three." {
		t.Errorf("recorded %+v", r.records)
	}
	for i, x := range l.Expands {
		if x.Component != "hider of "+r.id || x.Round != i+1 || x.Tokens != 2*x.Bytes || x.Bytes == 0 {
			t.Errorf("expand %d: %+v", i, x)
		}
	}
	if l.Last.Input != 10 || l.Sum.Input != 30 || l.Sum.Output != 15 {
		t.Errorf("usage %+v, %+v", l.Last, l.Sum)
	}
}

func TestMixed(t *testing.T) {
	t.Parallel()
	for _, ours := range []int{0, 1} {
		r := newRig(t)
		r.store = errors.New("down")
		blocks := []block{theirs("c1"), theirs("c2")}
		blocks[ours] = ask("c0", fmt.Sprintf(`{"id":%q}`, r.id))
		l := r.run(t.Context(), answer(blocks...))
		r.wants(l, loop.Mixed, "", 0, 1)
		r.hidden("bash", "tool_use")
		if len(r.records) != 1 || len(r.records[0].Beside) != 1 || !strings.HasPrefix(r.records[0].Beside[0].Text, r.text) || l.RecordError == nil {
			t.Errorf("recorded %+v, %v", r.records, l.RecordError)
		}
	}
}

// A model that never stops asking is let through in the end, and was told so.
func TestRoundsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	again := answer(ask("c1", fmt.Sprintf(`{"id":%q}`, r.id)))
	r.rounds = []string{again, again, again, again}
	r.wants(r.run(t.Context(), again), loop.Failed, loop.ReasonRounds, 3, 3)
	for i, want := range []bool{false, false, true} {
		if text, _ := r.result(i, 0); strings.HasSuffix(text, "[no further lookups are possible in this turn]") != want {
			t.Errorf("round %d ends with %q", i+1, text[max(0, len(text)-60):])
		}
	}
	if out := r.out.String(); strings.Count(out, "event: message_stop") != 1 || !strings.Contains(out, `"tool_use"`) {
		t.Errorf("an empty turn, or half of one:\n%s", out)
	}
}

func TestWhatAModelIsTold(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("a", 20)
	for name, c := range map[string]struct {
		calls []string
		want  []string
		ok    bool
	}{
		"unknown id":     {[]string{`{"id":"` + other + `"}`}, []string{"Run the command or tool again"}, false},
		"no id":          {[]string{`{}`}, []string{"Copy it from the marker"}, false},
		"not JSON":       {[]string{`{"id":`}, []string{"Copy it from the marker"}, false},
		"bad part":       {[]string{`{"id":"ID?("}`}, []string{"The id alone gives the whole text"}, false},
		"asked too much": {[]string{`{"id":"ID"}`, `{"id":"ID:1-2"}`, `{"id":"ID:3-4"}`}, []string{"", "", "Too many lookups"}, false},
		"missed twice":   {[]string{`{"id":"` + other + `"}`, `{"id":"` + other + `b"}`}, []string{"", "answer with what you have"}, false},
		"same twice":     {[]string{`{"id":"ID"}`, `{"id":"ID"}`}, []string{"a line", "asked before in this turn"}, true},
		"to its end":     {[]string{`{"id":"ID:1-2"}`, `{"id":"ID:1-2"}`}, []string{"a line", "given above already"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, answer(say("Fine.")))
			r.config.Calls, r.config.Window = 2, 500
			var blocks []block
			for i, args := range c.calls {
				blocks = append(blocks, ask(fmt.Sprint("c", i), strings.ReplaceAll(args, "ID", r.id)))
			}
			r.wants(r.run(t.Context(), answer(blocks...)), loop.Answered, "", 1, len(blocks))
			r.hidden("Fine.")
			for i, want := range c.want {
				text, failed := r.result(0, i)
				if !strings.Contains(text, want) || i == len(c.want)-1 && failed == c.ok {
					t.Errorf("call %d: the model reads %q, failed %v; want %q", i, text, failed, want)
				}
			}
		})
	}
}

// unreadable is a store that is down.
type unreadable struct{}

func (unreadable) Get(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("down")
}

func TestStoreDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, answer(say("Fine.")))
	r.config.Stored = unreadable{}
	elsewhere := r.config.Keys.Mint("the original of another conversation")
	l := r.run(t.Context(), answer(ask("c1", `{"id":"`+r.id+`"}`), ask("c2", `{"id":"`+elsewhere+`"}`)))
	r.wants(l, loop.Answered, "", 1, 2)
	if text, failed := r.result(0, 0); text != r.text || failed {
		t.Errorf("what the request holds itself is read as %q, %v", text, failed)
	}
	if text, failed := r.result(0, 1); !strings.Contains(text, "cannot be read now") || !failed {
		t.Errorf("what it does not hold is read as %q, %v", text, failed)
	}
}

func TestContinuationFails(t *testing.T) {
	t.Parallel()
	whole := answer(say("Half of an answer."))
	for name, c := range map[string]struct {
		serve  func(n int, w http.ResponseWriter)
		reason string
	}{
		"refused":       {func(_ int, w http.ResponseWriter) { http.Error(w, "no", http.StatusTooManyRequests) }, loop.ReasonUpstream},
		"another type":  {func(_ int, w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, loop.ReasonUpstream},
		"cut in a text": {func(_ int, w http.ResponseWriter) { stream(w, whole[:len(whole)*2/3]) }, loop.ReasonBroken},
		"aborted":       {func(_ int, w http.ResponseWriter) { stream(w, whole[:len(whole)*2/3]); panic(http.ErrAbortHandler) }, loop.ReasonUpstream},
		"cut at once":   {func(int, http.ResponseWriter) { panic(http.ErrAbortHandler) }, loop.ReasonUpstream},
		"error event": {func(_ int, w http.ResponseWriter) {
			stream(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n")
		}, loop.ReasonBroken},
		"second attempt": {func(n int, w http.ResponseWriter) {
			if n == 1 {
				stream(w, whole[:60])
				panic(http.ErrAbortHandler)
			}
			stream(w, whole)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.serve = func(w http.ResponseWriter, _ *http.Request) { c.serve(len(r.requests), w) }
			l := r.run(t.Context(), answer(say("Let me look."), ask("c1", `{"id":"`+r.id+`"}`)))
			if l.Reason != c.reason {
				t.Errorf("ledger %+v, want %q", l, c.reason)
			}
			if out := r.out.String(); strings.Count(out, "event: message_stop") != 1 || !strings.Contains(out, "Let me look.") {
				t.Errorf("half a message:\n%s", out)
			}
		})
	}
}

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// While the gateway says nothing, the client gets blank lines.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.KeepAlive = time.Millisecond
	alive := make(chan struct{})
	var once sync.Once
	r.onSend = func(piece string) {
		if piece == "\n" {
			once.Do(func() { close(alive) })
		}
	}
	r.serve = func(w http.ResponseWriter, _ *http.Request) {
		<-alive
		stream(w, answer(say("At last.")))
	}
	r.wants(r.run(t.Context(), answer(ask("c1", `{"id":"`+r.id+`"}`))), loop.Answered, "", 1, 1)
	r.hidden("At last.")
}

// A client that goes away takes everything with it.
func TestClientGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	r.serve = func(w http.ResponseWriter, q *http.Request) {
		stream(w, ": here\n\n")
		cancel()
		<-q.Context().Done()
		close(gone)
	}
	r.wants(r.run(ctx, answer(ask("c1", `{"id":"`+r.id+`"}`))), loop.Gone, "", 0, 1)
	<-gone
	if len(r.records) > 0 {
		t.Error("recorded for nobody")
	}
}

func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Time = 20 * time.Millisecond
	r.serve = func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
	r.wants(r.run(t.Context(), answer(say("Wait."), ask("c1", `{"id":"`+r.id+`"}`))), loop.Failed, loop.ReasonTime, 0, 1)
}

var _ expand.Originals = unreadable{}
