package laws_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

var (
	plots = flag.Int("plots", 24, "how many conversations are made up for each set of settings")
	seed  = flag.Uint64("seed", 1, "what the made-up conversations are made from")
)

// TestGenerated holds the product to the laws on made-up conversations, each
// written in both dialects: with the settings it comes with, with settings that
// edit whatever they can, gated by the size a request had, and with any
// components in any order.
func TestGenerated(t *testing.T) {
	t.Parallel()
	table := []string{heading()}
	for _, settings := range []struct {
		name  string
		parts func(rnd *rand.Rand) parts
	}{
		{"generated", func(*rand.Rand) parts { return parts{steps: steps(t, nil)} }},
		{"generated eager", func(*rand.Rand) parts { return parts{steps: steps(t, eager()), horizon: 1500} }},
		{"generated gated", func(*rand.Rand) parts { return parts{steps: steps(t, gated()), messages: true} }},
		{"generated with rules for tools", func(*rand.Rand) parts {
			return parts{steps: steps(t, eager()), horizon: 1500, tools: someTools()}
		}},
		{"generated any order", func(rnd *rand.Rand) parts {
			made := slices.DeleteFunc(steps(t, eager()), func(pipeline.Step) bool { return rnd.IntN(5) == 0 })
			rnd.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
			// What writes a text anew has to come before what cuts lines out, or the
			// cut is made in what was written when it is sent again.
			slices.SortStableFunc(made, func(a, b pipeline.Step) int { return cmp.Compare(b.Kind, a.Kind) })
			return parts{steps: made, bare: rnd.IntN(2) == 0, horizon: 200 << rnd.IntN(6)}
		}},
	} {
		sum := newTally(settings.name)
		t.Run(settings.name, func(t *testing.T) {
			for i := range uint64(*plots) {
				n := *seed*1000 + i
				t.Run(strconv.FormatUint(n, 10), func(t *testing.T) {
					t.Parallel()
					generated(t, settings.parts(rand.New(rand.NewPCG(n, 3))), n, sum)
				})
			}
		})
		table = append(table, sum.row())
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

func generated(t *testing.T, made parts, n uint64, sum *tally) {
	t.Helper()
	w := newWriter(n)
	p := w.plot()
	respelled := w.respell(p)
	write := func(how string, p plot, d wire.Dialect) *trial {
		c := conversation{name: fmt.Sprintf("%d %s%s", n, d, how), dialect: d, model: p.model, requests: p.write(d)}
		judged := try(t, made, c, n)
		report(t, c, judged.found)
		if how == "" {
			sum.add(judged)
		}
		return judged
	}
	chat, anthropic := write("", p, wire.OpenAIChat), write("", p, wire.AnthropicMessages)
	if p.plain && !made.messages {
		if err := sameDecisions(chat, anthropic); err != nil {
			t.Errorf("%d: %s law: %v", n, lawDialects, err)
		}
	}
	if n%4 == 0 {
		if err := sameDecisions(chat, write(" respelled", respelled, wire.OpenAIChat)); err != nil {
			t.Errorf("%d: %s law, written by another client: %v", n, lawDialects, err)
		}
	}
}

// sameDecisions checks that the outputs of one conversation were sent as the
// same texts in two dialects.
func sameDecisions(a, b *trial) error {
	if len(a.edits) != len(b.edits) {
		return fmt.Errorf("%d edits in one dialect, %d in the other", len(a.edits), len(b.edits))
	}
	for i := range a.edits {
		if x, y := &a.edits[i], &b.edits[i]; x.client != y.client || x.sent != y.sent {
			return fmt.Errorf("edit %d, at %s and %s: %s", i+1, x.path, y.path, parting(x.sent, y.sent))
		}
	}
	return nil
}

// TestLong holds the product to the laws on outputs as long as they get in
// practice: a line, a document, a log, each sent twice.
func TestLong(t *testing.T) {
	t.Parallel()
	w := newWriter(2)
	const size = 200 << 10
	var line, doc, log strings.Builder
	for line.Len() < size {
		line.WriteString(w.words(50))
	}
	doc.WriteString("[\n")
	for doc.Len() < size {
		doc.WriteString(indented(w.container(3), "  ") + ",\n")
	}
	doc.WriteString("null]")
	for log.Len() < size {
		log.WriteString(w.log(50))
	}
	p := plot{model: "gpt-4o", system: `""`, look: look{comma: ",", colon: ":"}, plain: true}
	for range 2 {
		turn := plotTurn{say: `"next"`}
		for i, text := range []string{line.String(), doc.String(), log.String()} {
			turn.results = append(turn.results, plotResult{
				id: fmt.Sprint("c", len(p.turns), i), tool: "run", args: `{}`, leaves: []string{w.spell(text, spellASCII)}, asString: true,
			})
		}
		p.turns = append(p.turns, turn)
	}
	for name, made := range map[string]parts{"defaults": {steps: steps(t, nil)}, "eager": {steps: steps(t, eager()), horizon: 1000}} {
		c := conversation{name: name, dialect: wire.OpenAIChat, model: p.model, requests: p.write(wire.OpenAIChat)}
		judged := try(t, made, c, 1)
		report(t, c, judged.found)
		if len(judged.edits) < 4 {
			t.Errorf("%s: only %d edits", name, len(judged.edits))
		}
	}
}
