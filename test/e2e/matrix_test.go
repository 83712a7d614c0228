package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

const (
	cellHeader = "X-Cell"
	ourTool    = "context_guru_expand"
	// placeID stands for the marker's id in arguments.
	placeID = "MARKER"

	parallelScenes = 16
)

// cells are scripts, one per value of a header, so that exchanges can run side
// by side.
type cells struct {
	mu    sync.Mutex
	turns map[string][]fakellm.Turn
	seen  map[string][]*fakellm.Request
}

// respond answers a cell's requests with its turns; the last one answers for ever.
func (c *cells) respond(r *fakellm.Request) *fakellm.Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := r.Header.Get(cellHeader)
	turns, n := c.turns[name], len(c.seen[name])
	if len(turns) == 0 {
		return nil
	}
	c.seen[name] = append(c.seen[name], r)
	turn := turns[min(n, len(turns)-1)]
	return &turn
}

func (c *cells) set(name string, turns []fakellm.Turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns[name], c.seen[name] = turns, nil
}

func (c *cells) requests(name string) []*fakellm.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[name]
}

// speech is a dialect in one form of its answers.
type speech struct {
	form

	dialect string
	stream  bool
	id      string // of the marker in its request
}

func speeches() (list []speech) {
	for _, stream := range []bool{false, true} {
		ends := ""
		if stream {
			ends = " stream"
		}
		for _, d := range []struct {
			chat.Dialect

			name string
		}{{chat.OpenAI, "chat"}, {chat.Anthropic, "anthropic"}} {
			request := strings.ReplaceAll(string(asking{d.Dialect, stream}.body()), "%", "%%")
			if stream && d.name == "chat" {
				request = `{"stream_options":{"include_usage":true},` + request[1:]
			}
			list = append(list, speech{form: form{name: d.name + ends, path: d.Path(), request: request}, dialect: d.name, stream: stream})
		}
	}
	for _, f := range forms() {
		dialect, rest, stream := strings.Cut(f.name, " ")
		list = append(list, speech{form: f, dialect: dialect, stream: stream && rest != ""})
	}
	return list
}

func (s speech) body() []byte {
	if !strings.Contains(s.request, "%[1]q") {
		return []byte(strings.ReplaceAll(s.request, "%%", "%"))
	}
	quoted, _ := json.Marshal(output())
	return fmt.Appendf(nil, s.request, strings.Repeat("You are careful and say what you did. ", 100), quoted)
}

func ours(id, args string) fakellm.Block { return fakellm.ToolID(id, ourTool, args) }

func oursFull(id string) fakellm.Block { return ours(id, `{"id":"`+placeID+`"}`) }

func theirs(id string) fakellm.Block {
	return fakellm.ToolID(id, "ls", `{"path":"/a \"b\"","n":[1,{"x":null}]}`)
}

// scene is what the model says in each round.
type scene struct {
	name   string
	rounds [][]fakellm.Block
	// fault strikes the last round for ever, or with once one time.
	fault *fakellm.Turn
	once  bool
	// let says that the last round's calls of ours reach the client.
	let bool
}

func scenes() []scene {
	type blocks = []fakellm.Block
	text, think := fakellm.Text, func(s string) fakellm.Block { return fakellm.Thinking(s, "c2lnbmVk"+s) }
	list := []scene{
		{name: "no call", rounds: []blocks{{text("hello wörld 😀 \"quoted\"")}}},
		{name: "their call", rounds: []blocks{{think("hm"), text("hello"), theirs("t1")}}},
		{name: "ours first", rounds: []blocks{{oursFull("o1")}, {text("done")}}},
		{name: "text, ours", rounds: []blocks{{text("let me see "), oursFull("o1")}, {text("done")}}},
		{name: "thinking, text, ours", rounds: []blocks{{think("one1"), text("look"), oursFull("o1")}, {think("two2"), text("done"), theirs("t1")}}},
		{name: "ours twice", rounds: []blocks{{oursFull("o1"), ours("o2", `{"id":"MARKER:3-4"}`)}, {text("done")}}},
		{name: "ours, theirs", rounds: []blocks{{text("a"), oursFull("o1"), theirs("t1")}}},
		{name: "theirs, ours", rounds: []blocks{{text("a"), theirs("t1"), oursFull("o1")}}},
		{name: "parallel", rounds: []blocks{{theirs("t1"), oursFull("o1"), theirs("t2"), oursFull("o2"), theirs("t3")}}},
		{name: "two rounds", rounds: []blocks{{text("a"), oursFull("o1")}, {text("b"), oursFull("o2")}, {text("c"), theirs("t1")}}},
		{name: "two rounds, mute", rounds: []blocks{{oursFull("o1")}, {oursFull("o2")}, {theirs("t1"), theirs("t2")}}},
		{name: "mixed in the second", rounds: []blocks{{text("a"), oursFull("o1")}, {text("b"), theirs("t1"), oursFull("o2")}}},
		{name: "three rounds", rounds: []blocks{{oursFull("o1")}, {oursFull("o2")}, {oursFull("o3")}, {text("done")}}},
		{name: "round cap", rounds: []blocks{{text("a"), oursFull("o1")}, {oursFull("o2")}, {oursFull("o3")}, {text("b"), oursFull("o4")}}, let: true},
		{name: "unknown id", rounds: []blocks{{ours("o1", `{"id":"aaaaaaaaaaaaaaaaaaaa"}`)}, {text("done")}}},
		{name: "bad arguments", rounds: []blocks{{ours("o1", `{"id": "abc`)}, {text("done")}}},
		{name: "no arguments", rounds: []blocks{{ours("o1", ``)}, {text("done")}}},
		{name: "empty answer", rounds: []blocks{{}}},
		{name: "empty second", rounds: []blocks{{text("a"), oursFull("o1")}, {}}},
	}
	for _, f := range []struct {
		name string
		turn fakellm.Turn
	}{
		{"429", fakellm.Turn{Status: 429}},
		{"500", fakellm.Turn{Status: 500}},
		{"400", fakellm.Turn{Status: 400}},
		{"cut before the headers", fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultAbort}}},
		{"cut", fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtBytes, N: -1}}},
		{"end", fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultEnd, At: fakellm.AtBytes, N: -1}}},
		{"error event", fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultError, At: fakellm.AtEvents, N: 1}}},
		{"timeout", fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultHang}}},
	} {
		list = append(list,
			scene{name: "ours, then " + f.name, rounds: []blocks{{oursFull("o1")}, {text("this is a longer answer with some words")}}, fault: &f.turn},
			scene{name: "text, ours, then " + f.name, rounds: []blocks{{text("a"), oursFull("o1")}, {text("this is a longer answer with some words")}}, fault: &f.turn},
			scene{name: "their call behind " + f.name, rounds: []blocks{{text("a"), oursFull("o1")}, {text("b"), theirs("t1")}}, fault: &f.turn})
		if f.turn.Fault == nil && f.turn.Status != 400 || strings.HasPrefix(f.name, "cut before") {
			list = append(list, scene{name: f.name + " once", rounds: []blocks{{text("a"), oursFull("o1")}, {text("b"), theirs("t1")}}, fault: &f.turn, once: true})
		}
	}
	for _, f := range []fakellm.FaultKind{fakellm.FaultEnd, fakellm.FaultAbort} {
		turn := fakellm.Turn{Fault: &fakellm.Fault{Do: f, At: fakellm.AtBytes, N: -1}}
		list = append(list,
			scene{name: "ours, " + string(f) + " in mid-call", rounds: []blocks{{oursFull("o1")}}, fault: &turn},
			scene{name: "text, ours, " + string(f) + " in mid-call", rounds: []blocks{{text("a"), oursFull("o1")}}, fault: &turn})
	}
	return list
}

// waits reports whether the service pauses before it asks once more.
func (sc scene) waits() bool { return sc.fault != nil && len(sc.rounds) > 1 }

// slow reports whether the scene runs into the gateway's timeout, again and again.
func (sc scene) slow() bool { return strings.Contains(sc.name, "timeout") }

// turns makes the scene's script for one speech.
func (sc scene) turns(s speech, split fakellm.Split) (script []fakellm.Turn) {
	for i, blocks := range sc.rounds {
		turn := fakellm.Turn{ID: fmt.Sprintf("id-%d", i), Usage: &fakellm.Usage{Input: 100 * (i + 1), Output: 7 + i}, Split: split, Blocks: []fakellm.Block{}}
		for _, b := range blocks {
			b.Args = fakellm.Args(strings.ReplaceAll(string(b.Args), placeID, s.id))
			turn.Blocks = append(turn.Blocks, b)
		}
		script = append(script, turn)
	}
	return script
}

// direct is the one turn of a provider that has no need to ask.
func (sc scene) direct(script []fakellm.Turn) fakellm.Turn {
	turn, usage := script[0], *script[len(script)-1].Usage
	usage.Output, turn.Blocks = 0, []fakellm.Block{}
	turn.Split = fakellm.Split{}
	for i, round := range script {
		usage.Output += round.Usage.Output
		for _, b := range round.Blocks {
			if b.Tool != ourTool || sc.let && i == len(script)-1 {
				turn.Blocks = append(turn.Blocks, b)
			}
		}
	}
	turn.Usage = &usage
	return turn
}

// matrix runs cells.
type matrix struct {
	*stack.Stack

	cells *cells
}

// take makes a call in a cell. The error is what a client would call a broken
// connection, or an answer it cannot read.
func (m *matrix) take(t *testing.T, s speech, name string, direct bool, script ...fakellm.Turn) (transcript, *stack.Reply, error) {
	t.Helper()
	m.cells.set(name, script)
	reply, err := m.Do(within(t), stack.Call{Path: s.path, Body: s.body(), Header: map[string]string{cellHeader: name}, Direct: direct})
	if err != nil {
		return transcript{}, nil, err
	}
	got, err := readAnswer(s.dialect, reply.Header.Get("Content-Type"), reply.Body)
	return got, reply, err
}

func splits(s speech) map[string]fakellm.Split {
	all := map[string]fakellm.Split{
		"one chunk": {Mode: fakellm.SplitNone}, "one byte": {Mode: fakellm.SplitBytes},
		"random": {Mode: fakellm.SplitRandom, Size: 90, Seed: 7},
	}
	if s.stream {
		all["events"] = fakellm.Split{Mode: fakellm.SplitEvents}
	}
	return all
}

// TestSpliceMatrix holds what a client reads against what a provider without our
// tool would have said: every scene in every dialect, form and chunking.
func TestSpliceMatrix(t *testing.T) {
	t.Parallel()
	c := &cells{turns: map[string][]fakellm.Turn{}, seen: map[string][]*fakellm.Request{}}
	m := &matrix{cells: c, Stack: stack.New(t, stack.WithLoop(), stack.WithConfig("preset: auto\n"),
		stack.WithLLM(fakellm.WithResponder(c.respond)), stack.WithEnvoy(stack.RouteTimeout(3*time.Second)))}
	if !lossy(m.Stack, false) {
		t.Skipf("Envoy %s gets lossless edits only", m.Envoy.Version())
	}
	// Most of the time goes into pauses, which the limit of parallel tests would
	// line up.
	slots := make(chan struct{}, parallelScenes)
	var all sync.WaitGroup
	for _, s := range speeches() {
		if _, _, err := m.take(t, s, s.name, false, fakellm.Turn{}); err != nil {
			t.Fatal(err)
		}
		s.id = marker(t, c.requests(s.name)[0].Body)
		for _, sc := range scenes() {
			if sc.slow() && (s.dialect != "anthropic" || sc.name != "text, ours, then timeout") {
				continue
			}
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				t.Run(s.name+"/"+sc.name, func(t *testing.T) { m.scene(t, s, sc) })
			})
		}
	}
	all.Wait()
	m.providerSaw(t)
}

func (m *matrix) scene(t *testing.T, s speech, sc scene) {
	t.Helper()
	script := sc.turns(s, fakellm.Split{})
	want, _, err := m.take(t, s, t.Name()+"/direct", true, sc.direct(script))
	if err != nil {
		t.Fatal("a direct answer: ", err)
	}
	for name, split := range splits(s) {
		if sc.waits() && name != "random" {
			continue // it takes its time, and there is little to cut into chunks
		}
		script := sc.turns(s, split)
		cell := t.Name() + "/" + name
		if sc.fault != nil {
			script = m.strike(t, s, sc, cell, script)
		}
		got, reply, err := m.take(t, s, cell, false, script...)
		if sc.fault != nil && !sc.once {
			m.survives(t, s, sc, name, want, got, reply, err)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" || reply.Status != 200 {
			t.Errorf("%s: status %d (-direct +spliced):\n%s\n%s", name, reply.Status, diff, reply.Body)
		}
		if !sc.let && (bytes.Contains(reply.Body, []byte(ourTool)) || bytes.Contains(reply.Body, []byte(s.id))) {
			t.Errorf("%s: our tool is mentioned:\n%s", name, reply.Body)
		}
	}
}

// strike puts the fault into the script: in the middle of the last round's body.
func (m *matrix) strike(t *testing.T, s speech, sc scene, cell string, script []fakellm.Turn) []fakellm.Turn {
	t.Helper()
	end := len(script) - 1
	struck := script[end]
	struck.Status, struck.Fault = sc.fault.Status, sc.fault.Fault
	if f := struck.Fault; f != nil && f.N < 0 {
		whole := append(slices.Clone(script), fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("end")}})
		for i := range whole {
			whole[i].Split = fakellm.Split{}
		}
		if _, _, err := m.take(t, s, cell, false, whole...); err != nil {
			t.Fatal(err)
		}
		reply, err := m.cells.requests(cell)[end].Reply(within(t))
		if err != nil {
			t.Fatal(err)
		}
		at := len(reply.Body) / 2
		if strings.Contains(sc.name, "mid-call") {
			at = bytes.LastIndex(reply.Body, []byte(s.id[15:])) // the arguments come in pieces
			at = max(at, bytes.LastIndex(reply.Body, []byte(ourTool))) + 3
		}
		struck.Fault = &fakellm.Fault{Do: f.Do, At: f.At, N: at}
	}
	if sc.once {
		return append(slices.Clone(script[:end]), struck, script[end])
	}
	return append(script[:end], struck)
}

// survives checks that what fails is a whole message that begins as the direct
// one does, or an error that clients know.
func (m *matrix) survives(t *testing.T, s speech, sc scene, name string, want, got transcript, reply *stack.Reply, err error) {
	t.Helper()
	switch {
	case reply == nil || reply.Status >= 400: // as if the provider had failed
		return
	case err != nil && len(sc.rounds) == 1: // what the provider itself sent, cut where it was
		return
	case err == nil && got.Error != "":
		if len(got.Parts) > 0 && len(sc.rounds) > 1 {
			t.Errorf("%s: half a message, then an error:\n%s", name, reply.Body)
		}
		return
	case err == nil && s.dialect == "gemini" && len(sc.rounds) == 1 && !got.Ended: // a call is one event there, so nobody knew of it
		return
	case err == nil && (!got.Ended || got.Stop == "" || len(got.Parts) == 0):
		err = errHalf
	}
	if err != nil {
		t.Errorf("%s: %v:\n%s", name, err, reply.Body)
		return
	}
	for i, p := range got.Parts {
		switch {
		case p.Name == ourTool && i == len(got.Parts)-1:
		case p.Kind == "call" && i == len(got.Parts)-1 && got.Stop != want.Stop: // cut off, as when the tokens run out
		case i >= len(want.Parts), p.Kind != want.Parts[min(i, len(want.Parts)-1)].Kind, !strings.HasPrefix(want.Parts[i].Text, p.Text):
			t.Errorf("%s: part %d is %v, of %v", name, i, p, want.Parts)
		}
	}
}

// providerSaw checks that nothing of the inside of the product reached the provider.
func (m *matrix) providerSaw(t *testing.T) {
	t.Helper()
	requests := m.LLM.Requests()
	for _, r := range requests {
		for name := range r.Header {
			if strings.HasPrefix(strings.ToLower(name), "x-context-guru") {
				t.Errorf("the provider got the header %s", name)
			}
		}
	}
	t.Logf("%d requests", len(requests))
}
