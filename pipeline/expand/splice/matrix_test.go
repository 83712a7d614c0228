package splice_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/wire"
)

const tool = "context_guru_expand"

// block is a piece of what a model says.
type block struct{ kind, text, name, id string }

func text(s string) block  { return block{kind: "text", text: s} }
func think(s string) block { return block{kind: "think", text: s, id: sealed(s)} }

// sealed is what a provider makes of what only it can read.
func sealed(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func redacted(s string) block          { return block{kind: "redacted", id: s} }
func call(id, name, args string) block { return block{kind: "call", id: id, name: name, text: args} }
func ours(id string) block             { return call(id, tool, `{"id":"abcdefghijklmnop2345"}`) }
func theirs(id string) block {
	return call(id, "read_file", `{"path":"a \"b\".go","n":[1,{"x":null}]}`)
}

// answer is one response of a provider.
type answer struct {
	id     string
	blocks []block
	stop   string // "" follows from the blocks
	in     int
	out    int
	plain  bool // the provider does not know our tool
}

// reply makes the answer of a round.
func reply(n int, blocks ...block) answer {
	return answer{id: fmt.Sprintf("id-%d", n), blocks: blocks, in: 100 * (n + 1), out: 7 + n}
}

func (a answer) calls() bool {
	return slices.ContainsFunc(a.blocks, func(b block) bool { return b.kind == "call" })
}

// said is what a client has read.
type said struct {
	ID, Model string
	Blocks    []block
	Stop      string
	In, Out   int
	Failed    string
}

// speaker is a provider of one dialect, and a client that reads strictly.
type speaker interface {
	dialect() wire.Dialect
	// stream returns the events of an answer.
	stream(a answer) []string
	body(a answer) string
	read(tb testing.TB, stream string) said
	readBody(tb testing.TB, body string) said
	// keeps reports whether the dialect has a form for a block.
	keeps(b block) bool
}

var speakers = []speaker{anthropic{}, chat{}, responses{}, gemini{}, gemini{array: true}, converse{}}

// scene is an exchange: what the provider answers in each round.
type scene struct {
	name   string
	rounds [][]block
}

var scenes = []scene{
	{"no call", [][]block{{text("hello wörld 😀 \"quoted\"")}}},
	{"their call", [][]block{{think("hm"), text("hello"), theirs("t1")}}},
	{"ours first", [][]block{{ours("o1")}, {text("done")}}},
	{"text, ours", [][]block{{text("let me see "), ours("o1")}, {text("done")}}},
	{"thinking, text, ours", [][]block{{think("first"), text("look"), ours("o1")}, {think("second"), text("done"), theirs("t1")}}},
	{"redacted, ours", [][]block{{redacted("xyz"), ours("o1")}, {redacted("abc"), text("done")}}},
	{"ours twice", [][]block{{ours("o1"), ours("o2")}, {text("done")}}},
	{"ours, theirs", [][]block{{text("a"), ours("o1"), theirs("t1")}}},
	{"theirs, ours", [][]block{{text("a"), theirs("t1"), ours("o1")}}},
	{"theirs, ours, theirs", [][]block{{theirs("t1"), ours("o1"), theirs("t2"), ours("o2"), theirs("t3")}}},
	{"parallel of theirs", [][]block{{theirs("t1"), theirs("t2")}}},
	{"two rounds", [][]block{{text("a"), ours("o1")}, {text("b"), ours("o2")}, {text("c")}}},
	{"two rounds, mute", [][]block{{ours("o1")}, {ours("o2")}, {text("c"), theirs("t1"), theirs("t2")}}},
	{"mixed in the second", [][]block{{text("a"), ours("o1")}, {text("b"), theirs("t1"), ours("o2")}}},
	{"empty answer", [][]block{{}}},
	{"empty second", [][]block{{text("a"), ours("o1")}, {}}},
	{"bad arguments", [][]block{{call("o1", tool, `{"id": "abc`)}, {text("done")}}},
	{"no arguments", [][]block{{call("o1", tool, ``)}, {text("done")}}},
}

// cuts are the ways to cut a stream into pieces.
var cuts = map[string]func(events []string) []string{
	"whole":  func(events []string) []string { return []string{strings.Join(events, "")} },
	"events": func(events []string) []string { return events },
	"bytes":  func(events []string) []string { return sized(events, func() int { return 1 }) },
	"random": func(events []string) []string {
		rng := rand.New(rand.NewPCG(1, uint64(len(events))))
		return sized(events, func() int { return 1 + rng.IntN(90) })
	},
}

func sized(events []string, next func() int) (pieces []string) {
	for s := strings.Join(events, ""); s != ""; {
		n := min(next(), len(s))
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return pieces
}

// exchange drives a stream as the expand loop does.
type exchange struct {
	out   bytes.Buffer
	turns []round.Turn
	live  []string // what went out behind each piece
}

func (x *exchange) send(b []byte) { x.out.Write(b) }

// run writes rounds until the exchange is over.
func run(tb testing.TB, cfg splice.Config, rounds [][]string) *exchange {
	tb.Helper()
	cfg.Tool = tool
	s, err := splice.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	x := &exchange{}
	for i, pieces := range rounds {
		for _, p := range pieces {
			buf := []byte(p)
			out := s.Write(buf)
			x.live = append(x.live, string(out))
			x.send(out)
			clear(buf)
		}
		out, turn := s.End()
		x.send(out)
		if turn == nil {
			if i < len(rounds)-1 {
				tb.Fatal("over before the last round")
			}
			return x
		}
		x.turns = append(x.turns, *turn)
		switch {
		case !turn.Complete:
			x.send(s.Fail("cut off"))
			return x
		case len(turn.Ours) > 0 && len(turn.Others) == 0 && i < len(rounds)-1:
			s.Continue()
		default:
			x.send(s.Finish())
			return x
		}
	}
	return x
}

// visible is what a provider without our tool would have said.
func visible(p speaker, rounds []answer) answer {
	a := rounds[0]
	a.out, a.blocks, a.plain = 0, nil, true
	last := rounds[len(rounds)-1]
	for _, r := range rounds {
		a.out += r.out
		for _, b := range r.blocks {
			if b.name != tool && p.keeps(b) {
				a.blocks = append(a.blocks, b)
			}
		}
	}
	a.in, a.stop = last.in, last.stop
	if a.stop == "" && last.calls() {
		a.stop = "calls"
	}
	return a
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, p := range speakers {
		for _, sc := range scenes {
			var rounds []answer
			for i, blocks := range sc.rounds {
				rounds = append(rounds, reply(i, blocks...))
			}
			direct := visible(p, rounds)
			mute := len(direct.blocks) == 0 && rounds[len(rounds)-1].calls()
			if mute {
				t.Fatalf("%s: nothing to see", sc.name)
			}
			t.Run(fmt.Sprintf("%T%v/%s", p, p, sc.name), func(t *testing.T) {
				t.Parallel()
				want := p.read(t, strings.Join(p.stream(direct), ""))
				for name, cut := range cuts {
					if p.stream(direct) == nil {
						break
					}
					var pieces [][]string
					for _, r := range rounds {
						pieces = append(pieces, cut(p.stream(r)))
					}
					x := run(t, streamed(p), pieces)
					compare(t, name, want, p.read(t, x.out.String()), x.out.String())
					if strings.HasPrefix(sc.name, "no call") && x.out.String() != strings.Join(p.stream(direct), "") {
						t.Errorf("%s: not the same bytes", name)
					}
					turns(t, p, rounds, x.turns)
				}
				if p == (gemini{array: true}) {
					return
				}
				wantBody := p.readBody(t, p.body(direct))
				var bodies [][]string
				for _, r := range rounds {
					bodies = append(bodies, sized([]string{p.body(r)}, func() int { return 50 }))
				}
				x := run(t, splice.Config{Dialect: p.dialect()}, bodies)
				compare(t, "json", wantBody, p.readBody(t, x.out.String()), x.out.String())
				turns(t, p, rounds, x.turns)
			})
		}
	}
}

// streamed is the config of a speaker's streams.
func streamed(p speaker) splice.Config {
	if p == (gemini{array: true}) {
		return splice.Config{Dialect: p.dialect()}
	}
	return splice.Config{Dialect: p.dialect(), Form: splice.SSE}
}

func compare(tb testing.TB, name string, want, have said, raw string) {
	tb.Helper()
	if diff := cmp.Diff(want, have, cmp.AllowUnexported(block{})); diff != "" {
		tb.Errorf("%s (-direct +spliced):\n%s\n%s", name, diff, raw)
	}
	if strings.Contains(raw, tool) || strings.Contains(raw, "abcdefghijklmnop2345") {
		tb.Errorf("%s: our tool is mentioned:\n%s", name, raw)
	}
}

// turns checks what is told about each round.
func turns(tb testing.TB, p speaker, rounds []answer, have []round.Turn) {
	tb.Helper()
	for i, turn := range have {
		var ours, others []string
		want, sigs := "", 0
		for _, b := range rounds[i].blocks {
			switch {
			case !p.keeps(b):
			case b.kind == "text":
				want += b.text
			case b.name == tool:
				ours = append(ours, b.id+b.text)
			case b.kind == "call":
				others = append(others, b.id+b.text)
			default:
				sigs++
			}
		}
		if diff := cmp.Diff([]any{ours, others, want, true, sigs},
			[]any{args(turn.Ours), args(turn.Others), turn.Text, turn.Complete, len(turn.Signatures)}); diff != "" {
			tb.Errorf("round %d:\n%s", i, diff)
		}
		if _, nameless := p.(converse); turn.ID != rounds[i].id && !nameless {
			tb.Errorf("round %d: id %q", i, turn.ID)
		}
		if !json.Valid(turn.Assistant) {
			tb.Errorf("round %d: assistant %s", i, turn.Assistant)
		}
		if turn.Usage.Input != int64(rounds[i].in) || turn.Usage.Output != int64(rounds[i].out) {
			tb.Errorf("round %d: usage %+v", i, turn.Usage)
		}
	}
}

func args(calls []round.Call) (list []string) {
	for _, c := range calls {
		if string(c.Arguments) == "{}" && c.Name == tool { // of none at all
			c.Arguments = nil
		}
		if strings.HasPrefix(string(c.Arguments), `{"INVALID_JSON":`) {
			var v struct {
				Invalid string `json:"INVALID_JSON"`
			}
			_ = json.Unmarshal(c.Arguments, &v)
			c.Arguments = []byte(v.Invalid)
		}
		list = append(list, c.ID+string(c.Arguments))
	}
	return list
}
