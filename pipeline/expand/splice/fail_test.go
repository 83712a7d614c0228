package splice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// streams are the speakers that stream.
func streams() (list []speaker) {
	for _, p := range speakers {
		if p.stream(answer{}) != nil {
			list = append(list, p)
		}
	}
	return list
}

// cutWord is how a dialect says that the model ran out of tokens.
func cutWord(p speaker) string {
	return map[wire.Dialect]string{
		wire.AnthropicMessages: "max_tokens", wire.OpenAIChat: "length", wire.OpenAIResponses: "incomplete", wire.Gemini: "MAX_TOKENS",
	}[p.dialect()]
}

// let is an answer in which calls of ours are to be seen.
func let(p speaker, rounds []answer) answer {
	a := visible(p, rounds)
	for _, b := range rounds[len(rounds)-1].blocks {
		if b.name == tool {
			a.blocks = append(a.blocks, b)
		}
	}
	a.stop = "calls"
	return a
}

// begin writes rounds of which each but the last has calls of ours only.
func begin(tb testing.TB, p speaker, rounds ...answer) (*splice.Stream, *strings.Builder) {
	tb.Helper()
	cfg := streamed(p)
	cfg.Tool = tool
	s, err := splice.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	var out strings.Builder
	for _, r := range rounds {
		for _, e := range p.stream(r) {
			out.Write(s.Write([]byte(e)))
		}
		b, turn := s.End()
		out.Write(b)
		if turn == nil || !turn.Complete {
			tb.Fatalf("%+v", turn)
		}
		s.Continue()
	}
	return s, &out
}

// A continuation that never comes lets the calls through, and so does the last
// round that is allowed.
func TestLetThrough(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		for name, rounds := range map[string][]answer{
			"ours":       {reply(0, ours("o1"))},
			"text, ours": {reply(0, text("a"), ours("o1"), ours("o2"))},
			"two rounds": {reply(0, text("a"), ours("o1")), reply(1, text("b"), ours("o2"))},
			"bad":        {reply(0, text("a"), call("o1", tool, `{"id`))},
		} {
			want := p.read(t, strings.Join(p.stream(let(p, rounds)), ""))
			s, out := begin(t, p, rounds...)
			if out.Len() <= 1 { // nothing has been sent
				want = said{Failed: "INTERNAL"}
			}
			out.Write(s.Fail("no answer"))
			compareAll(t, fmt.Sprintf("%T %s, failed", p, name), want, p.read(t, out.String()), out.String())
			if s.Write([]byte(p.stream(rounds[0])[0])) != nil || s.Fail("again") != nil || s.Finish() != nil {
				t.Errorf("%T %s: more behind the end", p, name)
			}

			want = p.read(t, strings.Join(p.stream(let(p, rounds)), ""))
			s, out = begin(t, p, rounds[:len(rounds)-1]...)
			for _, e := range p.stream(rounds[len(rounds)-1]) {
				out.Write(s.Write([]byte(e)))
			}
			b, _ := s.End()
			out.Write(b)
			out.Write(s.Finish())
			compareAll(t, fmt.Sprintf("%T %s, at the limit", p, name), want, p.read(t, out.String()), out.String())
		}
	}
}

func compareAll(tb testing.TB, name string, want, have said, raw string) {
	tb.Helper()
	compare(tb, name, want, have, strings.ReplaceAll(strings.ReplaceAll(raw, tool, "T"), "abcdefghijklmnop2345", "I"))
}

// A body has no place for an error: it lets the calls through, too.
func TestBodiesLetThrough(t *testing.T) {
	t.Parallel()
	for _, p := range speakers {
		if p == (gemini{array: true}) {
			continue
		}
		rounds := []answer{reply(0, text("a"), ours("o1")), reply(1, text("b"), ours("o2"))}
		want := p.readBody(t, p.body(let(p, rounds)))
		s, err := splice.New(splice.Config{Dialect: p.dialect(), Tool: tool})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rounds {
			s.Write([]byte(p.body(r)))
			if out, turn := s.End(); out != nil || len(turn.Ours) != 1 {
				t.Fatalf("%q %+v", out, turn)
			}
			s.Continue()
		}
		s.Write([]byte(`{"error":{"message":"busy"}}`))
		if _, turn := s.End(); !turn.Failed || turn.Assistant != nil {
			t.Errorf("%T: %+v", p, turn)
		}
		out := string(s.Fail("busy"))
		compareAll(t, fmt.Sprintf("%T", p), want, p.readBody(t, out), out)
	}
}

// Whatever a client gets of a stream that is cut anywhere, it is a message or a
// failure; and our tool is in it only if its call is let through as a whole.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		for _, sc := range scenes {
			t.Run(fmt.Sprintf("%T%v/%s", p, p, sc.name), func(t *testing.T) {
				t.Parallel()
				var rounds [][]string
				for i, blocks := range sc.rounds {
					rounds = append(rounds, p.stream(reply(i, blocks...)))
				}
				for i, events := range rounds {
					whole := strings.Join(events, "")
					border := 0
					for _, e := range events {
						for _, at := range []int{border, border + 1, border + len(e)/2, border + len(e) - 1} {
							checkCut(t, p, append(append([][]string{}, rounds[:i]...), []string{whole[:at]}), whole, at)
						}
						border += len(e)
					}
					for at := 0; at <= len(whole); at += 61 + at%7 {
						cut := append(append([][]string{}, rounds[:i]...), []string{whole[:at]})
						checkCut(t, p, cut, whole, at)
					}
				}
			})
		}
	}
}

func checkCut(t *testing.T, p speaker, rounds [][]string, whole string, at int) {
	t.Helper()
	x := run(t, streamed(p), rounds)
	raw := x.out.String()
	if len(rounds) == 1 && len(x.turns) == 0 { // nobody knew of a call
		if plain := whole[:at]; p.dialect() != wire.OpenAIResponses && raw != plain && !strings.Contains(plain, tool[:len(tool)/2]) {
			t.Fatalf("%q became %q", plain, raw)
		}
		return
	}
	s := p.read(t, raw)
	switch mentioned := strings.Contains(raw, tool); {
	case t.Failed():
		t.Fatalf("cut at %d of\n%s\n%q", at, whole, raw)
	case s.Failed != "" && (s.Stop != "" || mentioned):
		t.Fatalf("cut at %d: an end, and an error:\n%s", at, raw)
	case s.Failed == "" && len(s.Blocks) == 0 && strings.Contains(rounds[len(rounds)-1][0], "content_block"):
		// An answer of nothing is the provider's own.
		if last := x.turns[len(x.turns)-1]; !last.Complete {
			t.Fatalf("cut at %d: an empty turn:\n%s", at, raw)
		}
	case mentioned:
		for _, b := range s.Blocks {
			if b.name == tool && b.text != ours("").text && at < len(whole) && !strings.Contains(b.text, `{"id": "abc`) && b.text != "{}" && b.text != "" && !strings.Contains(b.text, "INVALID") {
				t.Fatalf("cut at %d: half a call let through:\n%s", at, raw)
			}
		}
	}
}

func TestCutMidCall(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		if p.dialect() == wire.Gemini {
			continue // calls come whole
		}
		for _, blocks := range [][]block{{text("a"), ours("o1")}, {ours("o1")}} {
			events := p.stream(reply(0, blocks...))
			at := 0
			for i, e := range events {
				if strings.Contains(e, tool) && !strings.Contains(e, `"tools"`) {
					at = i + 5
					break
				}
			}
			s, out := begin(t, p)
			for _, e := range events[:at] {
				out.Write(s.Write([]byte(e)))
			}
			s.End()
			out.Write(s.Finish()) // of half a call it is Fail
			if strings.Contains(out.String(), tool) {
				t.Errorf("%T: half a call let through\n%s", p, out)
			}
			x := run(t, streamed(p), [][]string{events[:at]})
			turn := x.turns[0]
			if x.out.String() != strings.ReplaceAll(out.String(), "the response ended too early", "cut off") {
				t.Errorf("%T:\n%s\n%s", p, x.out.String(), out)
			}
			if len(turn.Ours) != 1 || !strings.HasPrefix(ours("").text, string(turn.Ours[0].Arguments)) || len(turn.Ours[0].Arguments) < 5 ||
				turn.Complete || turn.Failed {
				t.Errorf("%T: %+v", p, turn)
			}
			have := p.read(t, x.out.String())
			if len(blocks) == 1 {
				if have.Failed == "" || have.Stop != "" {
					t.Errorf("%T: %+v\n%s", p, have, x.out.String())
				}
				continue
			}
			if have.Stop != cutWord(p) || len(have.Blocks) != 1 || have.Blocks[0] != text("a") {
				t.Errorf("%T: %+v\n%s", p, have, x.out.String())
			}
		}
	}
}

// A continuation that is cut ends the message as far as it got.
func TestCutContinuation(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		events := p.stream(reply(1, text("0123456789abcdef")))
		x := run(t, streamed(p), [][]string{p.stream(reply(0, text("a"), ours("o1"))), events[:len(events)*2/3]})
		s := p.read(t, x.out.String())
		var all strings.Builder
		for _, b := range s.Blocks {
			all.WriteString(b.text)
		}
		if s.Stop != cutWord(p) || !strings.HasPrefix(all.String(), "a012") || s.Out < 7 || strings.Contains(x.out.String(), tool) {
			t.Errorf("%T: %+v\n%s", p, s, x.out.String())
		}
	}
}

// errorEvents are what providers send in place of the rest.
var errorEvents = map[wire.Dialect]string{
	wire.AnthropicMessages: named("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
	wire.OpenAIChat:        plain(`{"error":{"message":"busy","type":"server_error"}}`),
	wire.OpenAIResponses:   named("error", `{"type":"error","sequence_number":7,"code":"server_error","message":"busy"}`),
	wire.Gemini:            plain(`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`),
}

func errorEvent(p speaker, first bool) string {
	e := errorEvents[p.dialect()]
	if p == (gemini{array: true}) {
		lead := ","
		if first {
			lead = "["
		}
		return lead + strings.TrimSpace(strings.TrimPrefix(e, "data: ")) + "]"
	}
	return e
}

func TestErrorEvents(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		t.Run(fmt.Sprintf("%T%v", p, p), func(t *testing.T) {
			t.Parallel()
			// In the first round it passes, and so does all around it.
			events := p.stream(visible(p, []answer{reply(0, text("abcdef"))}))
			events = append(events[:len(events)/2:len(events)/2], errorEvent(p, false))
			x := run(t, streamed(p), [][]string{events})
			if x.out.String() != strings.Join(events, "") || len(x.turns) > 0 {
				t.Errorf("%q", x.out.String())
			}
			// Behind a call of ours, too.
			events = p.stream(reply(0, text("abcdef"), ours("o1")))
			end := len(events) - 2
			if p.dialect() == wire.Gemini {
				end = 1
			}
			x = run(t, streamed(p), [][]string{append(events[:end:end], errorEvent(p, false))})
			if s := p.read(t, x.out.String()); s.Failed == "" || strings.Contains(x.out.String(), tool) || len(x.turns) > 0 {
				t.Errorf("%+v\n%s", s, x.out.String())
			}
			// In a later one it can be tried again.
			first, last := reply(0, text("a"), ours("o1")), reply(1, text("b"))
			s, out := begin(t, p, first)
			out.Write(s.Write([]byte(errorEvent(p, true))))
			b, turn := s.End()
			out.Write(b)
			if !turn.Failed || s.Said() {
				t.Errorf("%+v, said %t", turn, s.Said())
			}
			s.Continue()
			for _, e := range p.stream(last) {
				out.Write(s.Write([]byte(e)))
			}
			b, _ = s.End()
			out.Write(b)
			out.Write(s.Finish())
			want := p.read(t, strings.Join(p.stream(visible(p, []answer{first, last})), ""))
			compare(t, "again", want, p.read(t, out.String()), out.String())
			// Tried again in vain, the call is let through as if at once.
			s, out = begin(t, p, first)
			out.Write(s.Write([]byte(errorEvent(p, true))))
			s.End()
			s.Continue()
			out.Write(s.Fail("busy"))
			want = p.read(t, strings.Join(p.stream(let(p, []answer{first})), ""))
			if p == (anthropic{}) && !strings.Contains(out.String(), `"x_end":1`) {
				t.Errorf("not the end that the provider sent:\n%s", out)
			}
			compareAll(t, "in vain", want, p.read(t, out.String()), out.String())
		})
	}
}

// Behind the end of an answer there is nothing left to fail.
func TestFailBehindTheEnd(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		s, _ := begin(t, p)
		for _, e := range p.stream(reply(0, text("a"))) {
			s.Write([]byte(e))
		}
		if out := s.Fail("too late"); out != nil {
			t.Errorf("%T: %q", p, out)
		}
	}
}

// Before the client has anything, failing is an error event.
func TestFailAtOnce(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		s, _ := begin(t, p)
		s.Write([]byte("\n"))
		out := string(s.Fail(`no "answer"`))
		if p == (gemini{array: true}) {
			continue // told by its first character, which has not come
		}
		if have := p.read(t, out); have.Failed == "" || !strings.Contains(out, `no \"answer\"`) {
			t.Errorf("%T: %+v %q", p, have, out)
		}
	}
}

// What is no answer passes as it is.
func TestOtherBodies(t *testing.T) {
	t.Parallel()
	for _, p := range speakers {
		for _, body := range []string{
			"", " ", "{}", "[]", "null", `{"error":{"message":"context_guru_expand"}}`, `{"type":"message","content":[`, "\xff\x00", "[[[[", `{"choices":[{},{}]}`,
			`{"content":[{"type":"tool_use","name":"context_guru_expand"}]}`, `[{"a":1}, {"b":"]}"}]x`, `[1,2]`, `{"output":[],"error":{"message":"x"}}`,
		} {
			for _, form := range []splice.Form{splice.JSON, splice.SSE} {
				if form == splice.SSE && p.stream(answer{}) == nil {
					continue
				}
				for _, size := range []int{1, 1000} {
					x := run(t, splice.Config{Dialect: p.dialect(), Form: form}, [][]string{sized([]string{body}, func() int { return size })})
					if x.out.String() != body || len(x.turns) > 0 {
						t.Errorf("%T, form %d: %q became %q", p, form, body, x.out.String())
					}
				}
			}
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, cfg := range []splice.Config{
		{Dialect: wire.AnthropicMessages},
		{Dialect: "other", Tool: tool},
		{Dialect: wire.BedrockConverse, Form: splice.SSE, Tool: tool},
	} {
		if _, err := splice.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	for contentType, want := range map[string]string{
		"text/event-stream": "1 true", "text/event-stream; charset=utf-8": "1 true", "application/json": "0 true",
		"Application/JSON;charset=UTF-8": "0 true", "application/vnd.amazon.eventstream": "0 false", "": "0 false", "text/html": "0 false",
	} {
		if form, ok := splice.FormOf(contentType); fmt.Sprint(int(form), " ", ok) != want && fmt.Sprintf("%d %t", form, ok) != want {
			t.Errorf("%s: %d %t", contentType, form, ok)
		}
	}
}

// A first round that is cut in the event that begins our call ends in an error
// or as a whole message, never in nothing and never in half of one.
func TestCutInTheFirstCall(t *testing.T) {
	t.Parallel()
	for _, p := range streams() {
		for name, blocks := range map[string][]block{"ours": {ours("o1")}, "text, ours": {text("a"), ours("o1")}} {
			events := p.stream(reply(0, blocks...))
			at := slices.IndexFunc(events, func(e string) bool { return strings.Contains(e, tool) })
			cut := strings.Index(events[at], tool) + len(tool) + 2
			pieces := append(slices.Clone(events[:at]), events[at][:cut])
			x := run(t, streamed(p), [][]string{pieces})
			got := p.read(t, x.out.String())
			if strings.Contains(x.out.String(), tool) || got.Failed == "" && !strings.Contains(x.out.String(), "a") {
				t.Errorf("%T %s: %s", p, name, x.out.String())
			}
			if len(x.turns) != 1 || !x.turns[0].Failed {
				t.Errorf("%T %s: turns %+v", p, name, x.turns)
			}
		}
	}
}
