package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// head leaves the first line of an output.
type head struct{}

func (head) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	first, rest, more := strings.Cut(s.Text, "\n")
	if !more || len(rest) < 200 {
		return pipeline.Decline("short"), nil
	}
	return pipeline.Offload(pipeline.Loss{Before: first + "\n[the other lines omitted] "}), nil
}

type letters struct{}

func (letters) Count(text string) pipeline.Count { return pipeline.Count{N: len(text)} }
func (letters) Encoding() string                 { return "letters" }

// replica is one instance of the service.
type replica struct {
	rewriter *rewrite.Rewriter
	keeper   *hidden.Keeper
	driver   *loop.Driver
}

// world is a conversation between a client and a model, with the service between
// them. Both do what a seed makes them do.
type world struct {
	*tongue

	t      *testing.T
	whole  bool // nothing is streamed
	rng    *rand.Rand
	keys   *pipeline.Keyring
	store  store.Store
	sender *upstream.Client

	elements []string // of the conversation, as the client has it
	answered string   // the last request that the model has answered
	plan     [][]block
	sent     []string // what the provider got in this exchange
	refuse   int      // the continuation that is refused, or 0
	calls    int
	hiddens  int // what happened, for the test to be about something
	leaks    int
	markers  int
}

func (w *world) replica() *replica {
	keeper, err := hidden.New(hidden.Config{Store: w.store, Keys: w.keys, Deadline: time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	p := pipeline.New(pipeline.Settings{
		Steps:   []pipeline.Step{{Meta: pipeline.Meta{Name: "head", Kind: pipeline.KindOffload}, Component: head{}}},
		Markers: w.keys, Lossy: true, Counter: letters{}, Memo: pipeline.NewMemo(0),
	})
	return &replica{
		keeper: keeper,
		rewriter: rewrite.New(rewrite.Config{
			Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p },
			Store:    w.store, Expand: rewrite.Expand{Resolver: rewrite.ResolverLoop}, Hidden: keeper,
		}),
		driver: loop.New(loop.Config{Keys: w.keys, Sender: w.sender, Stored: expand.Stored{Store: w.store}}),
	}
}

var markers = regexp.MustCompile(`<<cg:([a-z2-7]{20})>>`)

// asks is a call of the expand tool for something in a request.
func (w *world) asks(request string) block {
	w.calls++
	id := "aaaaaaaaaaaaaaaaaaaa"
	if found := markers.FindAllStringSubmatch(request, -1); len(found) > 0 && w.rng.IntN(8) > 0 {
		id = found[w.rng.IntN(len(found))][1]
	}
	id += []string{"", "", ":2-5", "?line 7"}[w.rng.IntN(4)]
	return ask(fmt.Sprint("ours_", w.calls), `{"id":"`+id+`"}`)
}

func (w *world) theirs() block {
	w.calls++
	return theirs(fmt.Sprint("call_", w.calls))
}

// thinks plans the rounds of the model's next answer.
func (w *world) thinks(request string) {
	w.plan, w.refuse = nil, 0
	text := func() (list []block) {
		for range w.rng.IntN(3) {
			list = append(list, say(fmt.Sprintf("Thought %d. ", w.rng.IntN(1000))))
		}
		return list
	}
	rounds := max(0, w.rng.IntN(8)-3) // up to one more than is allowed
	for range rounds {
		r := text()
		for range 1 + w.rng.IntN(2) {
			r = append(r, w.asks(request))
		}
		w.plan = append(w.plan, r)
	}
	if rounds > 0 && w.rng.IntN(6) == 0 {
		w.refuse = 1 + w.rng.IntN(rounds)
	}
	last := append(text(), say("So. "))
	for range w.rng.IntN(3) {
		last = append(last, w.theirs())
		if w.rng.IntN(4) == 0 {
			last = append(last, w.asks(request))
		}
	}
	if n := len(last); last[n-1].name == tool.Name { // it is the client's turn now
		last = slices.Insert(last, n-1, w.theirs())
	}
	w.plan = append(w.plan, last)
}

// says is the model's answer in a round.
func (w *world) says(round int, stream bool) string {
	if stream {
		return answer(w.plan[round]...)
	}
	return w.answer(w.plan[round])
}

// ServeHTTP is the provider as continuations find it.
func (w *world) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	if len(w.sent) == w.refuse || len(w.sent) >= len(w.plan) {
		http.Error(rw, "no", http.StatusBadRequest)
		return
	}
	w.takes(string(body))
	streams := strings.Contains(string(body), `"stream":true`)
	rw.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[streams])
	_, _ = io.WriteString(rw, w.says(len(w.sent)-1, streams))
}

// takes is the provider, who has seen the one before.
func (w *world) takes(request string) {
	earlier, _, _ := strings.Cut(w.answered, w.behind)
	if !json.Valid([]byte(request)) || w.answered != "" && !strings.HasPrefix(request, earlier+",") {
		w.t.Errorf("the request\n%s\ndoes not start like the one before\n%s", request, w.answered)
	}
	w.answered, w.sent = request, append(w.sent, request)
}

// closing closes what is open behind a conversation, but for the request.
func closing(behind string) string {
	var open []byte
	for _, c := range []byte(behind[1:]) {
		switch c {
		case '{':
			open = append(open, '}')
		case '[':
			open = append(open, ']')
		case '}', ']':
			open = open[:len(open)-1]
		}
	}
	slices.Reverse(open)
	return string(open)
}

// turn is one request of the client and its answer.
func (w *world) turn(on *replica) {
	streams := !w.whole && w.rng.IntN(4) > 0
	body := w.front + strings.Join(w.elements, ",") + w.behind + closing(w.behind) + fmt.Sprintf(`,"stream":%v,"model":"m"}`, streams)
	reply := on.rewriter.Rewrite(w.t.Context(), rewrite.Request{Dialect: w.dialect, Body: []byte(body), Tenant: "t"})
	defer reply.Release()
	if reply.Report.Tool != tool.Injected || reply.Report.Unfit != 0 || reply.Report.HiddenError != nil {
		w.t.Fatalf("%+v", reply.Report)
	}
	w.hiddens, w.leaks, w.markers = w.hiddens+reply.Report.Restored, w.leaks+reply.Report.Healed, w.markers+reply.Report.Markers
	w.sent = nil
	w.takes(string(reply.Body))
	w.thinks(w.answered)
	form := splice.JSON
	if streams {
		form = splice.SSE
	}
	var out strings.Builder
	l := on.driver.Run(w.t.Context(), loop.Exchange{
		Dialect: w.dialect, Form: form,
		Request: upstream.Request{Method: "POST", Path: "/v1/messages", Authority: "gw", Tenants: []string{"t"}, Body: reply.Body},
		Text:    reply.Originals.Text, Record: loop.Keep(on.keeper, w.dialect, []string{"t"}, *reply.Place),
	}, &first{rest: w.says(0, streams), end: io.EOF}, func(piece []byte) error { out.Write(piece); return nil })
	if l.RecordError != nil || l.Outcome == loop.Gone || l.Outcome == loop.Failed && w.refuse == 0 && len(w.plan) < loop.DefaultRounds+2 {
		w.t.Errorf("%+v", l)
	}
	w.goesOn(out.String(), streams, l.Outcome)
}

// goesOn is what the client makes of an answer.
func (w *world) goesOn(answer string, streams bool, how loop.Outcome) {
	message, calls := "", []block(nil)
	if streams {
		var ids []string
		message, ids = assistant(w.t, answer)
		for _, id := range ids {
			calls = append(calls, block{id: id, name: map[bool]string{true: tool.Name, false: "bash"}[strings.HasPrefix(id, "ours_")]})
		}
	} else {
		message, calls = w.message(w.t, answer)
	}
	if leaked := strings.Contains(message, tool.Name); leaked && how != loop.Failed {
		w.t.Errorf("%s: the client got %s", how, message)
	}
	if w.rng.IntN(2) == 0 { // some clients add what is a default
		message = strings.ReplaceAll(message, `{"command":"ls"}`, `{"all":false,"command":"ls"}`)
	}
	w.elements = append(w.elements, message)
	var texts []string
	for _, c := range calls {
		text := fmt.Sprintf("output of %s\n%s", c.id, strings.Repeat(fmt.Sprintf("line %d of it\n", w.rng.IntN(100)), w.rng.IntN(60)))
		if c.name == tool.Name {
			text = "<tool_use_error>Error: No such tool available</tool_use_error>"
		}
		texts = append(texts, text)
	}
	if len(calls) == 0 {
		w.elements = append(w.elements, w.user(fmt.Sprintf("Go on with %d.", w.rng.IntN(5))))
		return
	}
	w.elements = append(w.elements, w.results(calls, texts))
}

// TestConversations: over whole conversations, with a replica of three for each
// request, some of them restarted, streamed or not, the provider sees each request
// start with the one before.
func TestConversations(t *testing.T) {
	t.Parallel()
	for name := range tongues() {
		for seed := range uint64(20) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				converses(t, tongues()[name], seed)
			})
		}
	}
}

func converses(t *testing.T, d *tongue, seed uint64) {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		tongue: d, t: t, whole: d.dialect != wire.AnthropicMessages, rng: rand.New(rand.NewPCG(seed, 1)), keys: keys, store: memory,
		elements: []string{d.user("Go.")},
	}
	server := httptest.NewServer(w)
	defer server.Close()
	if w.sender, err = upstream.New(upstream.Config{URL: server.URL, Hop: &hop.Signer{Keys: keys}, Pause: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	defer w.sender.Close()
	replicas := []*replica{w.replica(), w.replica(), w.replica()}
	for range 15 {
		at := w.rng.IntN(len(replicas))
		w.turn(replicas[at])
		if w.rng.IntN(4) == 0 {
			replicas[at] = w.replica()
		}
		if t.Failed() {
			break
		}
	}
	if w.hiddens == 0 || w.markers == 0 {
		t.Errorf("%d hidden rounds came back, %d leaks were healed, %d markers sent", w.hiddens, w.leaks, w.markers)
	}
}
