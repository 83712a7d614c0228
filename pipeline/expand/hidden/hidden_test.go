package hidden_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// play is a conversation of one turn with hidden rounds.
type play struct {
	name string
	// first, second and last are the pieces of the rounds; visible is what the
	// client has of them all, rest what of it belongs to the last round.
	first, second, last, visible, rest []string
}

func plays(s *shape) []play {
	ours, ours2, sh := s.call("ours_1", expandTool), s.call("ours_2", expandTool), s.call("sh_1", "sh")
	look, done := s.text("I look. "), s.text("I know.")
	th1, th2 := s.thought("c2lnMQ=="), s.thought("c2lnMg==")
	list := func(p ...string) []string { return p }
	return []play{
		{name: "only the call", first: list(ours), last: list(done, sh), visible: list(done, sh), rest: list(done, sh)},
		{name: "text in front", first: list(look, ours), last: list(done, sh), visible: list(look, done, sh), rest: list(done, sh)},
		{name: "texts merged", first: list(look, ours), last: list(done, sh), visible: list(s.text("I look. I know."), sh), rest: list(done, sh)},
		{name: "a call and no text", first: list(look, ours), last: list(sh), visible: list(look, sh), rest: list(sh)},
		{name: "an answer", first: list(look, ours), last: list(done), visible: list(look, done), rest: list(done)},
		{name: "reasoning", first: list(th1, look, ours), last: list(th2, done, sh), visible: list(th1, look, th2, done, sh), rest: list(th2, done, sh)},
		{name: "reasoning, no text", first: list(th1, ours), last: list(th2, sh), visible: list(th1, th2, sh), rest: list(th2, sh)},
		{name: "reasoning dropped", first: list(th1, look, ours), last: list(th2, done, sh), visible: list(look, done, sh), rest: list(done, sh)},
		{name: "reasoning, an answer", first: list(th1, look, ours), last: list(th2, done), visible: list(th1, look, th2, done), rest: list(th2, done)},
		{name: "reasoning dropped, an answer", first: list(th1, look, ours), last: list(th2, done), visible: list(look, done), rest: list(done)},
		{name: "two calls", first: list(look, ours, ours2), last: list(done, sh), visible: list(look, done, sh), rest: list(done, sh)},
		{name: "two rounds", first: list(look, ours), second: list(th1, s.text("More. "), ours2), last: list(done, sh), visible: list(look, th1, s.text("More. "), done, sh), rest: list(done, sh)},
		{name: "two rounds, merged", first: list(look, ours), second: list(s.text("More. "), ours2), last: list(done, sh), visible: list(s.text("I look. More. I know."), sh), rest: list(done, sh)},
		{name: "two rounds, the second silent", first: list(look, ours), second: list(ours2), last: list(done), visible: list(look, done), rest: list(done)},
	}
}

// TestOnlyOurs: the next request starts with the last one of the exchange, and
// the one after that with the next one.
func TestOnlyOurs(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		for _, p := range plays(s) {
			t.Run(name+", "+p.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, nil, nil)
				rounds := []hidden.Round{{Turn: s.turn("", nil, p.first...)}}
				if p.second != nil {
					rounds = append(rounds, hidden.Round{Turn: s.turn("", nil, p.second...)})
				}
				for i := range rounds {
					rounds[i].Results = answers(rounds[i].Turn, "the original")
				}
				sent := r.exchanged(t, s, s.body(), rounds, s.turn("", nil, p.last...), nil)
				behind := []string{s.elements(p.rest...), s.results("sh_1")}
				if len(p.rest) == 0 || !slices.Contains(p.rest, s.call("sh_1", "sh")) {
					behind[1] = s.user
				}
				next := s.body(s.elements(p.visible...), behind[1])
				for _, on := range []*rig{r, newRig(t, r.store, nil)} { // and another replica
					got, report := on.restore(t, s.dialect, next, nil)
					s.startsLike(t, got, sent)
					want := sent[:len(sent)-len(s.back)] + "," + behind[0] + "," + behind[1] + s.back
					if got != want || report.Turns != 1 || report.Unfit != 0 {
						t.Fatalf("%+v\n%s\nwant\n%s", report, got, want)
					}
					later, report := on.restore(t, s.dialect, s.body(s.elements(p.visible...), behind[1], s.elements(s.text("Bye.")), s.user), nil)
					s.startsLike(t, later, got)
					if report.Turns != 1 {
						t.Errorf("%+v", report)
					}
				}
			})
		}
	}
}

// TestMixed: calls of ours beside the client's are put back where they were, and
// answered beside them.
func TestMixed(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		ours, sh, sh2 := s.call("ours_1", expandTool), s.call("sh_1", "sh"), s.call("sh_2", "sh")
		look, th := s.text("I look."), s.thought("c2lnMQ==")
		for _, p := range []struct {
			name          string
			last, visible []string
		}{
			{"ours first", []string{look, ours, sh}, []string{look, sh}},
			{"ours last", []string{look, sh, ours}, []string{look, sh}},
			{"between", []string{th, look, sh, ours, sh2}, []string{th, look, sh, sh2}},
			{"twice", []string{ours, sh, s.call("ours_2", expandTool), sh2}, []string{sh, sh2}},
		} {
			for _, hiddenRounds := range []int{0, 1} {
				t.Run(name+", "+p.name+map[int]string{1: ", after a round"}[hiddenRounds], func(t *testing.T) {
					t.Parallel()
					r := newRig(t, nil, nil)
					last := s.turn("", nil, p.last...)
					var rounds []hidden.Round
					visible := p.visible
					if hiddenRounds > 0 {
						first := s.turn("", nil, s.text("First. "), s.call("ours_0", expandTool))
						rounds = []hidden.Round{{Turn: first, Results: answers(first, "the first original")}}
						visible = append([]string{s.text("First. ")}, visible...)
					}
					sent := r.exchanged(t, s, s.body(), rounds, last, answers(last, "the original"))
					ids := []string{"sh_1", "sh_2"}[:len(last.Others)]
					got, report := newRig(t, r.store, nil).restore(t, s.dialect, s.body(s.elements(visible...), s.results(ids...)), nil)
					s.startsLike(t, got, sent)
					want := sent[:len(sent)-len(s.back)] + "," + s.elements(p.last...) + "," + besideResults(s, ids, answers(last, "the original")) + s.back
					if got != want || report.Turns != 1 {
						t.Errorf("%+v\n%s\nwant\n%s", report, got, want)
					}
				})
			}
		}
	}
}

// besideResults are the client's results with ours in front.
func besideResults(s *shape, ids []string, ours []round.Result) string {
	var raw []byte
	for i := range ours {
		raw = append(turns.Result(raw, s.dialect, &ours[i]), ',')
	}
	full := s.results(ids...)
	at := strings.IndexByte(full, '[') + 1
	if s.dialect == wire.OpenAIChat || s.dialect == wire.OpenAIResponses {
		at = 0
	}
	return full[:at] + string(raw) + full[at:]
}

// FuzzRestore: whatever a client makes of a conversation, what goes out can be
// read, and holds all that users and tools said.
func FuzzRestore(f *testing.F) {
	names := []string{"anthropic", "converse", "gemini", "responses", "chat"}
	all := shapes()
	for i, name := range names {
		for j, p := range plays(all[name]) {
			f.Add(byte(i), byte(j), []byte(all[name].body(all[name].elements(p.visible...), all[name].results("sh_1"))))
		}
	}
	f.Fuzz(func(t *testing.T, which, played byte, body []byte) {
		s := all[names[int(which)%len(names)]]
		list := plays(s)
		p := list[int(played)%len(list)]
		parser := wire.NewParser(wire.Limits{})
		before, err := parser.Parse(s.dialect, body)
		if err != nil {
			return
		}
		r := newRig(t, nil, nil)
		first, last := s.turn("", nil, p.first...), s.turn("", nil, p.last...)
		r.exchanged(t, s, s.body(), []hidden.Round{{Turn: first, Results: answers(first, "the original")}}, last, nil)
		beside := s.turn("", nil, p.first[0], s.call("ours_9", expandTool), s.call("sh_9", "sh"))
		r.exchanged(t, s, s.body(), nil, beside, answers(beside, "the original"))
		texts := slices.Collect(before.Preamble)
		outputs := len(before.Segments)
		out, _ := r.restore(t, s.dialect, string(body), func(c round.Call) (round.Result, bool) {
			return round.Result{Text: "healed"}, len(c.Arguments) > 3
		})
		after, err := parser.Parse(s.dialect, []byte(out))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(after.Segments) < outputs && !strings.Contains(out, "healed") || !slices.Equal(texts, slices.Collect(after.Preamble)) {
			t.Errorf("%d outputs became %d, %q became %q: %s", outputs, len(after.Segments), texts, slices.Collect(after.Preamble), out)
		}
	})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	patch := func(from, to int, raw string) wire.Patch {
		return wire.Patch{Span: pipeline.Span{Start: from, End: to}, Raw: []byte(raw)}
	}
	edits := []wire.Patch{patch(0, 2, "a"), patch(4, 6, "b"), patch(6, 8, "c"), patch(12, 14, "d")}
	for _, c := range []struct {
		restored []wire.Patch
		want     string
	}{
		{nil, "abcd"},
		{[]wire.Patch{patch(2, 2, "X")}, "aXbcd"},
		{[]wire.Patch{patch(6, 6, "X")}, "abXcd"},
		{[]wire.Patch{patch(3, 7, "X")}, "aXd"},
		{[]wire.Patch{patch(5, 5, "X")}, "aXcd"},
		{[]wire.Patch{patch(0, 2, "X"), patch(12, 14, "Y"), patch(15, 15, "Z")}, "XbcYZ"},
	} {
		var got strings.Builder
		merged := hidden.Merge(nil, edits, c.restored)
		for _, p := range merged {
			got.Write(p.Raw)
		}
		if got.String() != c.want {
			t.Errorf("%v: %s, want %s", c.restored, got.String(), c.want)
		}
		if _, err := wire.Splice(nil, []byte("0123456789abcdef"), merged); err != nil {
			t.Error(err)
		}
	}
}

// Turns of more pieces than any model makes cost no more than reading them.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		for what, turn := range map[string]string{
			"pieces":  s.elements(slices.Repeat([]string{s.text("x")}, 5000)...),
			"calls":   s.elements(slices.Repeat([]string{s.call("x", expandTool)}, 5000)...),
			"members": "{" + strings.Repeat(`"a":1,`, 5000) + `"role":"assistant"}`,
			"depth":   `{"role":"assistant","content":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
			"number":  `{"role":"assistant","content":7,"parts":7,"tool_calls":7}`,
		} {
			body := s.body(turn, s.results("sh_1"))
			got, report := newRig(t, nil, nil).restore(t, s.dialect, body, func(round.Call) (round.Result, bool) { return round.Result{Text: "x"}, true })
			if got != body && name != "chat" || report.Turns != 0 {
				t.Errorf("%s, %s: %+v", name, what, report)
			}
		}
	}
}
