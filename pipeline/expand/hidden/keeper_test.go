package hidden_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// faulty is a store that counts what it is asked, and can be down.
type faulty struct {
	store.Store

	reads, puts atomic.Int32
	down        atomic.Bool
}

func newFaulty(tb testing.TB) *faulty {
	tb.Helper()
	m, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return &faulty{Store: m}
}

func (f *faulty) GetAll(ctx context.Context, keys []store.Key) ([][]byte, error) {
	f.reads.Add(1)
	if f.down.Load() {
		return nil, store.ErrUnavailable
	}
	return f.Store.GetAll(ctx, keys)
}

func (f *faulty) PutAll(ctx context.Context, items []store.Item) error {
	f.puts.Add(1)
	if f.down.Load() {
		return store.ErrUnavailable
	}
	return f.Store.PutAll(ctx, items)
}

// simple is an exchange of one hidden round in front of a call, or of an answer.
func simple(s *shape, call bool) (rounds []hidden.Round, last *round.Turn, visible string) {
	first := s.turn("", nil, s.text("I look. "), s.call("ours_1", expandTool))
	pieces := []string{s.text("I know.")}
	if call {
		pieces = append(pieces, s.call("sh_1", "sh"))
	}
	rounds = []hidden.Round{{Turn: first, Results: answers(first, "the original")}}
	return rounds, s.turn("", nil, pieces...), s.elements(append([]string{s.text("I look. ")}, pieces...)...)
}

// What the store does not know it is asked once for, and what it cannot say is
// asked again.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			r := newRig(t, f, nil)
			rounds, last, visible := simple(s, true)
			sent := r.exchanged(t, s, s.body(), rounds, last, nil)
			if n := f.reads.Load(); n != 0 {
				t.Errorf("%d reads for a conversation without turns", n)
			}
			next := s.body(visible, s.results("sh_1"), s.elements(s.text("Other.")), s.user)
			other := newRig(t, f, nil)
			f.down.Store(true)
			got, report := other.restore(t, s.dialect, next, nil)
			if got != next || !errors.Is(report.StoreError, store.ErrUnavailable) || report.Turns != 0 {
				t.Errorf("the store is down: %+v\n%s", report, got)
			}
			// Who held the exchange knows it all the same.
			if got, _ := r.restore(t, s.dialect, next, nil); got == next {
				t.Error("the replica of the exchange forgot it")
			}
			f.down.Store(false)
			before := f.reads.Load()
			for range 3 {
				got, report = other.restore(t, s.dialect, next, nil)
				s.startsLike(t, got, sent)
			}
			if n := f.reads.Load() - before; n != 1 || report.Asked != 0 || report.StoreError != nil {
				t.Errorf("%d reads, %+v", n, report)
			}
			f.down.Store(true)
			if got, _ = other.restore(t, s.dialect, next, nil); got == next {
				t.Error("what is known is lost with the store")
			}
		})
	}
}

// An exchange that could not be stored is known to its own replica, which stores
// it later.
func TestStoreDownAtRecord(t *testing.T) {
	t.Parallel()
	s := shapes()["anthropic"]
	f, now := newFaulty(t), time.Unix(0, 0)
	r := newRig(t, f, func(c *hidden.Config) { c.Now = func() time.Time { return now }; c.TTL = 24 * time.Hour })
	rounds, last, visible := simple(s, true)
	f.down.Store(true)
	x := hidden.Exchange{Dialect: s.dialect, Tenants: []string{"t"}, Hidden: rounds, Last: last}
	_, x.Place = place(t, r, s)
	if err := r.Record(t.Context(), x); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the store is down: %v", err)
	}
	f.down.Store(false)
	next := s.body(visible, s.results("sh_1"))
	if got, report := r.restore(t, s.dialect, next, nil); got == next || report.Turns != 1 {
		t.Errorf("%+v", report)
	}
	if got, _ := newRig(t, f, nil).restore(t, s.dialect, next, nil); got == next {
		t.Error("was not stored with the next request")
	}
	now = now.Add(time.Hour)
	puts := f.puts.Load()
	for range 3 {
		r.restore(t, s.dialect, next, nil)
	}
	if n := f.puts.Load() - puts; n != 1 {
		t.Errorf("renewed %d times", n)
	}
}

// A process that has looked for a record before it was written finds it later.
func TestRecordIsLate(t *testing.T) {
	t.Parallel()
	s := shapes()["anthropic"]
	f, now := newFaulty(t), time.Unix(0, 0)
	r, other := newRig(t, f, nil), newRig(t, f, func(c *hidden.Config) { c.Now = func() time.Time { return now } })
	rounds, last, visible := simple(s, true)
	next := s.body(visible, s.results("sh_1"))
	if got, report := other.restore(t, s.dialect, next, nil); got != next || report.Asked != 1 {
		t.Errorf("%+v", report)
	}
	sent := r.exchanged(t, s, s.body(), rounds, last, nil)
	now = now.Add(59 * time.Second)
	if got, report := other.restore(t, s.dialect, next, nil); got != next || report.Asked != 0 {
		t.Errorf("asked again too early: %+v", report)
	}
	now = now.Add(time.Second)
	got, _ := other.restore(t, s.dialect, next, nil)
	s.startsLike(t, got, sent)
}

// place returns where the first turn of a conversation stands.
func place(t *testing.T, r *rig, s *shape) (string, hidden.Place) {
	t.Helper()
	out, got := r.restore(t, s.dialect, s.body(), nil)
	return out, got.Place
}

// Nothing is put where it does not belong, and a request that does not get its
// rounds back is what the client sent.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		rounds, last, visible := simple(s, true)
		answered, lastAnswer, answer := simple(s, false)
		sh := s.results("sh_1")
		user := strings.Replace(s.user, "Go.", "Else.", 1)
		for what, c := range map[string]struct {
			body  string
			unfit bool
		}{
			"another call":       {s.body(strings.Replace(visible, "sh_1", "sh_2", 1), s.results("sh_2")), s.dialect == wire.Gemini},
			"an edited text":     {s.body(strings.Replace(visible, "I look", "I took", 1), sh), s.dialect != wire.Gemini},
			"a text cut short":   {s.body(s.elements(s.text("I lo"), s.call("sh_1", "sh")), sh), s.dialect != wire.Gemini},
			"only the call":      {s.body(s.elements(s.call("sh_1", "sh")), sh), s.dialect != wire.Gemini},
			"another start":      {strings.Replace(s.body(visible, sh), s.user, user, 1), false},
			"an answer, edited":  {s.body(strings.Replace(answer, "know", "knew", 1), s.user), false},
			"an answer, later":   {s.body(s.elements(s.text("Hm.")), s.user, answer, s.user), false},
			"what we never said": {s.body(s.elements(s.text("I look. "), s.text("I know. Really."), s.call("x", "sh")), s.results("x")), false},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, nil, nil)
				if s.dialect == wire.Gemini && what == "another call" {
					return // it has no ids
				}
				r.exchanged(t, s, s.body(), rounds, last, nil)
				r.exchanged(t, s, s.body(), answered, lastAnswer, nil)
				got, report := r.restore(t, s.dialect, c.body, nil)
				if got != c.body || report.Turns != 0 || (report.Unfit == 1) != c.unfit {
					t.Errorf("%+v\n%s\nwant\n%s", report, got, c.body)
				}
			})
		}
	}
}

func TestOthersRecords(t *testing.T) {
	t.Parallel()
	s := shapes()["chat"]
	f := newFaulty(t)
	rounds, last, visible := simple(s, true)
	newRig(t, f, nil).exchanged(t, s, s.body(), rounds, last, nil)
	body := s.body(visible, s.results("sh_1"))
	p := wire.NewParser(wire.Limits{})
	tr, err := p.Parse(s.dialect, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, tenants := range [][]string{{"u"}, {""}, nil} {
		got := newRig(t, f, nil).Restore(t.Context(), hidden.Request{Dialect: s.dialect, Transcript: tr, Outline: p.Outline(), Tenants: tenants})
		if len(got.Patches) > 0 {
			t.Errorf("tenants %q got %v", tenants, got.Patches)
		}
	}
}

// While keys rotate, records are found by the names of each key.
func TestRotation(t *testing.T) {
	t.Parallel()
	ring := func(ids ...string) *pipeline.Keyring {
		var keys []pipeline.Key
		for _, id := range ids {
			keys = append(keys, pipeline.Key{ID: id, Secret: []byte("the secret key of " + id)})
		}
		r, err := pipeline.NewKeyring(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, s := range shapes() {
		f := newFaulty(t)
		rounds, last, visible := simple(s, false)
		old := newRig(t, f, func(c *hidden.Config) { c.Keys = ring("a", "b") })
		_, at := place(t, old, s)
		if err := old.Record(t.Context(), hidden.Exchange{Dialect: s.dialect, Tenants: []string{"t by a", "t by b"}, Place: at, Hidden: rounds, Last: last}); err != nil {
			t.Fatal(err)
		}
		for keys, want := range map[*pipeline.Keyring]int{ring("b", "a"): 1, ring("a"): 1, ring("b"): 0} {
			k := newRig(t, f, func(c *hidden.Config) { c.Keys = keys })
			p := wire.NewParser(wire.Limits{})
			tr, err := p.Parse(s.dialect, []byte(s.body(visible, s.user)))
			if err != nil {
				t.Fatal(err)
			}
			tenants := map[string][]string{"a": {"t by a"}, "b": {"t by b", "t by a"}}[keys.ID()]
			got := k.Restore(t.Context(), hidden.Request{Dialect: s.dialect, Transcript: tr, Outline: p.Outline(), Tenants: tenants})
			if got.Turns != want {
				t.Errorf("%s, key %s: %+v, want %d turns", s.dialect, keys.ID(), got, want)
			}
		}
	}
}

// A request that is sent twice has two answers. If nothing tells them apart, the
// first record counts, for both and everywhere.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s := shapes()["chat"]
	f := newFaulty(t)
	a, b := newRig(t, f, nil), newRig(t, f, nil)
	rounds, last, visible := simple(s, false)
	again, lastAgain, _ := simple(s, false)
	again[0].Results[0].Text = "another part of it"
	first := a.exchanged(t, s, s.body(), rounds, last, nil)
	b.exchanged(t, s, s.body(), again, lastAgain, nil)
	for _, r := range []*rig{a, b, newRig(t, f, nil)} {
		got, _ := r.restore(t, s.dialect, s.body(visible, s.user), nil)
		s.startsLike(t, got, first)
	}
}

// Ids that are used again name the first turn that has them.
func TestRepeatedIDs(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		f := newFaulty(t)
		r := newRig(t, f, nil)
		rounds, last, visible := simple(s, true)
		one := r.exchanged(t, s, s.body(), rounds, last, nil)
		second, secondLast, _ := simple(s, true)
		second[0].Results[0].Text = "the second original"
		two := r.exchanged(t, s, s.body(visible, s.results("sh_1")), second, secondLast, nil)
		s.startsLike(t, two, one)
		for _, on := range []*rig{r, newRig(t, f, nil)} {
			got, report := on.restore(t, s.dialect, s.body(visible, s.results("sh_1"), visible, s.results("sh_1")), nil)
			s.startsLike(t, got, two)
			if report.Turns != 2 {
				t.Errorf("%s: %+v", name, report)
			}
		}
	}
}

func TestNotRecorded(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		f := newFaulty(t)
		r := newRig(t, f, func(c *hidden.Config) { c.Most = 1000 })
		rounds, last, _ := simple(s, true)
		_, at := place(t, r, s)
		x := hidden.Exchange{Dialect: s.dialect, Tenants: []string{"t"}, Place: at, Hidden: rounds, Last: last}
		if err := r.Record(t.Context(), x); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.puts.Store(0)
		for want, change := range map[error]func(*hidden.Exchange){
			hidden.ErrTooLarge: func(x *hidden.Exchange) {
				x.Hidden = []hidden.Round{{Turn: rounds[0].Turn, Results: answers(rounds[0].Turn, strings.Repeat("x", 1000))}}
			},
			hidden.ErrNameless: func(x *hidden.Exchange) { x.Tenants = nil },
			nil:                func(x *hidden.Exchange) { x.Hidden = nil },
		} {
			bad := x
			change(&bad)
			if err := r.Record(t.Context(), bad); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
		bad := x
		bad.Hidden = []hidden.Round{{Turn: &round.Turn{}, Results: rounds[0].Results}}
		if err := r.Record(t.Context(), bad); err == nil {
			t.Errorf("%s: a turn that was not put together is recorded", name)
		}
		if n := f.puts.Load(); n != 0 {
			t.Errorf("%s: %d puts", name, n)
		}
	}
}

// When the last round could not be put together, what is known of it names it.
func TestLastUnknown(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		r := newRig(t, nil, nil)
		rounds, last, visible := simple(s, true)
		sent := r.exchanged(t, s, s.body(), rounds, &round.Turn{Text: "I know.", Others: last.Others}, nil)
		got, report := r.restore(t, s.dialect, s.body(visible, s.results("sh_1")), nil)
		s.startsLike(t, got, sent)
		if report.Turns != 1 {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// The forms in which clients send back what they got.
func TestClients(t *testing.T) {
	t.Parallel()
	s := shapes()
	th1, th2 := s["anthropic"].thought("c2lnMQ=="), s["anthropic"].thought("c2lnMg==")
	marked := `{"cache_control":{"type":"ephemeral"},"text":"I know.","type":"text"}`
	for name, c := range map[string]struct {
		shape            *shape
		thoughts         bool
		user, visible    string
		rest, behind     string
		signatureForName bool
	}{
		"arguments with defaults": {
			shape: s["anthropic"], visible: `{"content":[{"text":"I look. ","type":"text"},{"text":"I know.","type":"text"},{"type":"tool_use","input":{"all":false,"id":"x"},"id":"sh_1","name":"sh"}],"role":"assistant"}`,
			rest: `{"content":[{"text":"I know.","type":"text"},{"type":"tool_use","input":{"all":false,"id":"x"},"id":"sh_1","name":"sh"}],"role":"assistant"}`,
		},
		"a string, and no thoughts": {
			shape: s["anthropic"], thoughts: true, visible: `{"role":"assistant","content":"I look. I know."}`, rest: `{"role":"assistant","content":"I know."}`, behind: `{"role":"user","content":"x"}`,
		},
		"marks and null parts": {
			shape: s["anthropic"], thoughts: true,
			visible: `{"role":"assistant","content":[` + th1 + `,{"type":"text","text":"I look. "},` + th2 + `,` + marked + `],"parsed":null}`,
			rest:    `{"role":"assistant","content":[` + th2 + `,` + marked + `],"parsed":null}`, behind: `{"role":"user","content":"x"}`,
		},
		"white space": {
			shape: s["anthropic"], visible: "\n {\n \"role\" : \"assistant\",\"content\":[ {\"type\":\"text\",\"text\":\"I look. \"} ,\n{\"type\":\"text\",\"text\":\"I kn\\u006fw.\"}, " + s["anthropic"].call("sh_1", "sh") + "\n] }",
			rest: "\n {\n \"role\" : \"assistant\",\"content\":[ {\"type\":\"text\",\"text\":\"I kn\\u006fw.\"}, " + s["anthropic"].call("sh_1", "sh") + "\n] }",
		},
		"items without ids": {
			shape:   s["responses"],
			visible: `{"role":"assistant","content":[{"type":"output_text","text":"I look. "}]},{"role":"assistant","content":"I know."},` + s["responses"].call("sh_1", "sh"),
			rest:    `{"role":"assistant","content":"I know."},` + s["responses"].call("sh_1", "sh"),
		},
		"parts of a Chat content": {
			shape: s["chat"], visible: `{"role":"assistant","tool_calls":[` + s["chat"].call("sh_1", "sh") + `],"content":[{"type":"text","text":"I look. I know."}]}`,
			rest: `{"role":"assistant","tool_calls":[` + s["chat"].call("sh_1", "sh") + `],"content":[{"type":"text","text":"I know."}]}`,
		},
		"Gemini with an id and a signature of its own": {
			shape: s["gemini"], visible: `{"role":"model","parts":[{"text":"I look. I know."},{"functionCall":{"name":"sh","args":{"id":"x"},"id":"sh_1764_0"},"thoughtSignature":"skip_thought_signature_validator"}]}`,
			rest: `{"role":"model","parts":[{"text":"I know."},{"functionCall":{"name":"sh","args":{"id":"x"},"id":"sh_1764_0"},"thoughtSignature":"skip_thought_signature_validator"}]}`,
		},
		"the user's text as a string": {
			shape: s["anthropic"], user: `{"role":"user","content":"Go."}`, visible: `{"role":"assistant","content":"I look. I know."}`,
			rest: `{"role":"assistant","content":"I know."}`, behind: `{"role":"user","content":"x"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, nil)
			rounds, last, _ := simple(c.shape, strings.Contains(c.visible, "sh_1"))
			if c.thoughts {
				rounds[0].Turn = c.shape.turn("", nil, th1, c.shape.text("I look. "), c.shape.call("ours_1", expandTool))
				last = c.shape.turn("", nil, th2, c.shape.text("I know."))
			}
			sent := r.exchanged(t, c.shape, c.shape.body(), rounds, last, nil)
			if c.behind == "" {
				c.behind = c.shape.results("sh_1")
			}
			body := c.shape.body(c.visible, c.behind)
			if c.user != "" {
				body = strings.Replace(body, c.shape.user, c.user, 1)
				sent = strings.Replace(sent, c.shape.user, c.user, 1)
			}
			got, report := newRig(t, r.store, nil).restore(t, c.shape.dialect, body, nil)
			want := strings.TrimSuffix(sent, c.shape.back) + "," + c.rest + "," + c.behind + c.shape.back
			if got != want || report.Turns != 1 {
				t.Errorf("%+v\n%s\nwant\n%s", report, got, want)
			}
		})
	}
}

// A call of ours that a client answered itself gets the original, from then on.
func TestHeals(t *testing.T) {
	t.Parallel()
	answer := func(call round.Call) (round.Result, bool) {
		var args struct{ ID string }
		if err := json.Unmarshal(call.Arguments, &args); err != nil {
			t.Errorf("arguments %q: %v", call.Arguments, err)
		}
		return round.Result{Text: "the original of " + args.ID}, args.ID == "x"
	}
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, nil)
			leaked := s.elements(s.text("I look."), s.call("sh_1", "sh"), s.call("ours_1", expandTool))
			results := s.results("sh_1", "ours_1")
			if s.dialect == wire.Gemini { // whose results have the call's name
				results = strings.Replace(results, `"sh","response":{"output":"out of ours_1"}`, `"`+expandTool+`","response":{"output":"out of ours_1"}`, 1)
			}
			if s.dialect == wire.AnthropicMessages {
				results = strings.Replace(results, `"content":"out of ours_1"}`, `"content":[{"type":"text","text":"out of ours_1"}],"is_error":true,"cache_control":{"type":"ephemeral"}}`, 1)
			}
			body := s.body(leaked, results)
			got, report := r.restore(t, s.dialect, body, answer)
			if report.Healed != 1 || !strings.Contains(got, "the original of x") || strings.Contains(got, "out of ours_1") || strings.Contains(got, "is_error") ||
				strings.Count(got, "cache_control") != strings.Count(body, "cache_control") || !strings.Contains(got, "out of sh_1") {
				t.Errorf("%+v\n%s", report, got)
			}
			later, _ := newRig(t, nil, nil).restore(t, s.dialect, s.body(leaked, results, s.elements(s.text("So.")), s.user), answer)
			s.startsLike(t, later, got)
			if again, report := r.restore(t, s.dialect, got, answer); again != got || report.Healed != 0 {
				t.Errorf("healed again: %s", again)
			}
			no := func(round.Call) (round.Result, bool) { return round.Result{}, false }
			if got, _ := r.restore(t, s.dialect, body, no); got != body {
				t.Errorf("healed without an original: %s", got)
			}
			if got, _ := r.restore(t, s.dialect, body, nil); got != body {
				t.Errorf("healed though nobody may: %s", got)
			}
		})
	}
}

// Calls without ids are answered in order.
func TestHealsInOrder(t *testing.T) {
	t.Parallel()
	s := shapes()["gemini"]
	n := 0
	answer := func(round.Call) (round.Result, bool) {
		n++
		return round.Result{Text: "original " + strconv.Itoa(n)}, true
	}
	result := `{"functionResponse":{"name":"` + expandTool + `","response":{"error":"no such tool"}}}`
	body := s.body(s.elements(s.call("", expandTool), s.call("", expandTool)), `{"role":"user","parts":[`+result+`,`+result+`]}`)
	got, report := newRig(t, nil, nil).restore(t, s.dialect, body, answer)
	first, second := strings.Index(got, "original 1"), strings.Index(got, "original 2")
	if report.Healed != 2 || first < 0 || second < first || strings.Contains(got, "no such tool") {
		t.Errorf("%+v\n%s", report, got)
	}
}

// Markers that the model repeats are counted where they are new, and stay.
func TestEchoes(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		r := newRig(t, nil, nil)
		marker := pipeline.Marker(r.keys.Mint("the original"))
		forged := pipeline.Marker("aaaaaaaaaaaaaaaaaaaa")
		echo := s.elements(s.text("See "+marker+" and "+forged), s.call("sh_1", "sh"))
		inCall := s.elements(strings.Replace(s.call("sh_1", "sh"), "x", marker, 1))
		for body, want := range map[string]int{
			s.body(echo, s.results("sh_1")):                                           1,
			s.body(echo, s.results("sh_1"), s.elements(s.text("a")), s.user):          0,
			s.body(s.elements(s.text("a")), strings.Replace(s.user, "Go", marker, 1)): 0,
			s.body(inCall, s.results("sh_1")):                                         1,
			s.body():                                                                  0,
		} {
			if got, report := r.restore(t, s.dialect, body, nil); report.Echoes != want || got != body {
				t.Errorf("%s: %d echoes, want %d, in %s", name, report.Echoes, want, body)
			}
		}
	}
}

// A keeper is used by many requests at once, and forgets what has no room.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := shapes()["anthropic"]
	r := newRig(t, nil, func(c *hidden.Config) { c.Entries, c.Bytes = 8, 600 })
	rounds, last, visible := simple(s, true)
	sent := r.exchanged(t, s, s.body(), rounds, last, nil)
	next := s.body(visible, s.results("sh_1"))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 20 {
				r.restore(t, s.dialect, s.body(s.elements(s.text(strconv.Itoa(100*i+j)), s.call("x", "sh")), s.results("x")), nil)
				got, report := r.restore(t, s.dialect, next, nil)
				s.startsLike(t, got, sent)
				if report.Turns != 1 {
					t.Errorf("%+v", report)
				}
			}
		})
	}
	group.Wait()
}
