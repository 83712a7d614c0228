package laws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// sample is a conversation in which every component has something to do, and
// every law something to judge.
func sample(d wire.Dialect) conversation {
	w := newWriter(1)
	var doc, long, noisy strings.Builder
	doc.WriteString("[\n")
	for i := range 60 {
		fmt.Fprintf(&doc, "  {\n    \"n\": %d.0,\n    \"n\": 12345678901234567890123,\n    \"b\": \"x\",\n    \"a\": null\n  },\n", i)
	}
	doc.WriteString("  {}\n]")
	for i := range 400 {
		fmt.Fprintf(&long, "line %d of a long log that says hardly anything\n", i)
		if i == 150 {
			long.WriteString("ERROR: the disk is full\n")
		}
	}
	for i := range 30 {
		fmt.Fprintf(&noisy, "step %d\n%s\n\n\n", i, strings.TrimSuffix(strings.Repeat("warning: the same warning again\n", 12), "\n"))
	}
	noisy.WriteString("ERROR: it went wrong\n")
	p := plot{model: "gpt-4o", system: `"be brief"`, look: look{comma: ",", colon: ":"}}
	turn := func(tool string, texts ...string) {
		t := plotTurn{say: `"next"`}
		for i, text := range texts {
			id := fmt.Sprintf("call_%d_%d", len(p.turns), i)
			t.results = append(t.results, plotResult{id: id, tool: tool, args: `{}`, leaves: []string{w.spell(text, spellHTML)}, asString: true})
		}
		p.turns = append(p.turns, t)
	}
	turn("run", doc.String(), noisy.String())
	turn("run", long.String())
	turn("run", doc.String(), "error: it stopped\nexit status 1: "+doc.String())
	p.turns[2].results[1].failed = d == wire.AnthropicMessages
	turn("context_guru_expand", long.String())
	turn("run", noisy.String()+"and more\n")
	return conversation{name: "sample", dialect: d, model: p.model, requests: p.write(d)}
}

// edits a broken product makes on its own.
type fake func(s pipeline.Segment) pipeline.Edit

func (f fake) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	return f(s), nil
}

// lie is an equivalence that is always claimed.
func lie() pipeline.Equivalence {
	return pipeline.Equivalence{Name: "a lie", Check: func(string, string) error { return nil }}
}

func broken(kind pipeline.Kind, f fake) []pipeline.Step {
	return []pipeline.Step{{Meta: pipeline.Meta{Name: "broken", Kind: kind}, Component: f}}
}

// onSent makes a bend that looks at nothing but what was about to be sent.
func onSent(f func(sent []byte) []byte) func() func(request, []byte) []byte {
	return func() func(request, []byte) []byte {
		return func(_ request, sent []byte) []byte { return f(bytes.Clone(sent)) }
	}
}

// replacing replaces all of one text by another in what is sent.
func replacing(old, with string) func() func(request, []byte) []byte {
	return onSent(func(sent []byte) []byte { return bytes.ReplaceAll(sent, []byte(old), []byte(with)) })
}

// outputs rewrites every tool output that is about to be sent.
func outputs(q request, sent []byte, f func(t *pipeline.Transcript, s *pipeline.Segment, text string) string) []byte {
	t, err := wire.NewParser(wire.Limits{}).Parse(q.dialect, sent)
	if err != nil {
		return sent
	}
	var patches []wire.Patch
	for i := range t.Segments {
		if text, ok := t.Original(i); ok {
			if changed := f(t, &t.Segments[i], text); changed != text {
				patches = append(patches, wire.Patch{Span: t.Segments[i].Span, Text: changed})
			}
		}
	}
	out, err := wire.Splice(nil, sent, patches)
	if err != nil {
		return sent
	}
	return out
}

const noMarker = "<<cg:aaaaaaaaaaaaaaaaaaaa>>"

// TestBrokenProductsAreCaught holds products with one fault each to the laws.
func TestBrokenProductsAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range brokenProducts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broke []string
			for _, d := range []wire.Dialect{wire.OpenAIChat, wire.AnthropicMessages} {
				for _, f := range try(t, c.parts, sample(d), 1).found {
					broke = append(broke, f.law)
				}
			}
			slices.Sort(broke)
			if broke = slices.Compact(broke); !slices.Contains(broke, c.law) {
				t.Errorf("the %s law did not notice, only %v", c.law, broke)
			}
		})
	}
}

type brokenProduct struct {
	law   string
	parts parts
}

func brokenProducts(tb testing.TB) map[string]brokenProduct {
	tb.Helper()
	good := steps(tb, nil)
	bent := func(law string, bend func() func(request, []byte) []byte) brokenProduct {
		return brokenProduct{law, parts{steps: good, bend: bend}}
	}
	with := func(law string, first bool, extra []pipeline.Step) brokenProduct {
		if first {
			return brokenProduct{law, parts{steps: append(extra, good...)}}
		}
		return brokenProduct{law, parts{steps: append(slices.Clone(good), extra...)}}
	}
	var clock atomic.Int64
	marker := regexp.MustCompile(`cg:[a-z2-7]{20}`)
	ranges := regexp.MustCompile(`lines (\d+)-`)
	return map[string]brokenProduct{
		"a clock in the text": with(lawSame, true, broken(pipeline.KindOffload, func(pipeline.Segment) pipeline.Edit {
			return pipeline.Offload(pipeline.Loss{Before: fmt.Sprintf("[cut at %d] ", clock.Add(1))})
		})),
		"a replica's name in the text": bent(lawSame, func() func(request, []byte) []byte {
			name := fmt.Sprint("replica-", clock.Add(1), " (")
			return func(_ request, sent []byte) []byte { return bytes.ReplaceAll(sent, []byte("... ("), []byte(name)) }
		}),
		"turns counted by the process": bent(lawSame, func() func(request, []byte) []byte {
			var seen atomic.Int64
			return func(_ request, sent []byte) []byte {
				return bytes.ReplaceAll(sent, []byte("identical"), fmt.Appendf(nil, "identical since turn %d", seen.Add(1)))
			}
		}),
		"outputs cut when they get old": bent(lawPrefix, func() func(request, []byte) []byte {
			return func(q request, sent []byte) []byte {
				return outputs(q, sent, func(t *pipeline.Transcript, s *pipeline.Segment, text string) string {
					if s.Turn < t.Turn {
						return text[:len(text)/2]
					}
					return text
				})
			}
		}),
		"the tenant in the text": bent(lawTenants, func() func(request, []byte) []byte {
			return func(q request, sent []byte) []byte {
				return bytes.ReplaceAll(sent, []byte("... ("), []byte(q.tenant+" ("))
			}
		}),
		"a byte of the user's text lost":  bent(lawOutside, replacing(`"start"`, `"star"`)),
		"white space lost":                bent(lawOutside, onSent(bytes.TrimSpace)),
		"another id":                      bent(lawOutside, replacing("call_0_0", "call_0_9")),
		"another role":                    bent(lawOutside, replacing(`"role":"assistant"`, `"role":"user"`)),
		"a message less":                  bent(lawOutside, replacing(`{"role":"user","content":"start"},`, ``)),
		"an expand result cut":            bent(lawOutside, expandCut),
		"the end of the body lost":        bent(lawJSON, onSent(func(sent []byte) []byte { return sent[:len(sent)-3] })),
		"edits reported and not sent":     bent(lawCounts, func() func(request, []byte) []byte { return func(q request, _ []byte) []byte { return q.body } }),
		"a marker nobody minted":          bent(lawRestore, onSent(func(sent []byte) []byte { return marker.ReplaceAll(sent, []byte("cg:aaaaaaaaaaaaaaaaaaaa")) })),
		"the marker of another text":      bent(lawRestore, onSent(func(sent []byte) []byte { return swapped(marker, sent) })),
		"a trimmed original":              {lawRestore, parts{steps: good, read: strings.TrimSpace}},
		"originals open to all":           {lawPrivate, parts{steps: good, open: true}},
		"real conversations refused":      {lawRead, parts{steps: good, limits: wire.Limits{Segments: 1}}},
		"a view with a range off by one":  bent(lawView, onSent(func(sent []byte) []byte { return ranges.ReplaceAll(sent, []byte("lines 1$1-")) })),
		"a view that lost a line":         bent(lawView, replacing(`line 399 of a long log that says hardly anything\n`, ``)),
		"a pointer to nothing":            with(lawView, true, broken(pipeline.KindOffload, pointerToNothing)),
		"repetitions miscounted":          bent(lawView, replacing("... (previous line x12)", "... (previous line x11)")),
		"an error lost with the noise":    bent(lawErrors, replacing(`ERROR: it went wrong\n`, ``)),
		"an error in a range nobody told": bent(lawErrors, replacing(`ERROR: the disk is full\n`, ``)),
		"a failed call cut":               bent(lawErrors, failedCut),
		"a view longer than the text":     bent(lawSmaller, replacing(`"[identical`, `"`+strings.Repeat("long ", 9999)+"[identical")),
		"numbers written anew": with(lawEquivalent, true, broken(pipeline.KindReformat, func(s pipeline.Segment) pipeline.Edit {
			var v any
			if json.Unmarshal([]byte(s.Text), &v) != nil {
				return pipeline.Decline("text")
			}
			out, _ := json.Marshal(v)
			return pipeline.Replace(string(out), lie())
		})),
		"a word less": with(lawEquivalent, true, broken(pipeline.KindReformat, func(s pipeline.Segment) pipeline.Edit {
			return pipeline.Replace(strings.Replace(s.Text, "hardly ", "", 1), lie())
		})),
		"a line less every time": with(lawAgain, true, broken(pipeline.KindReformat, func(s pipeline.Segment) pipeline.Edit {
			_, rest, _ := strings.Cut(s.Text, "\n")
			return pipeline.Replace(rest, lie())
		})),
	}
}

func pointerToNothing(s pipeline.Segment) pipeline.Edit {
	if len(s.Text) < 1000 {
		return pipeline.Decline("short")
	}
	return pipeline.Offload(pipeline.Loss{Before: "[identical to an earlier tool output] "})
}

func expandCut() func(request, []byte) []byte {
	return func(q request, sent []byte) []byte {
		return outputs(q, sent, func(_ *pipeline.Transcript, s *pipeline.Segment, text string) string {
			if string(s.Tool) == "context_guru_expand" {
				return noMarker
			}
			return text
		})
	}
}

func failedCut() func(request, []byte) []byte {
	return func(q request, sent []byte) []byte {
		return outputs(q, sent, func(_ *pipeline.Transcript, s *pipeline.Segment, text string) string {
			if s.IsError {
				return noMarker
			}
			return text
		})
	}
}

// swapped puts the second marker in the place of the first.
func swapped(marker *regexp.Regexp, sent []byte) []byte {
	ids := marker.FindAll(sent, -1)
	if len(ids) < 2 {
		return sent
	}
	return bytes.ReplaceAll(sent, bytes.Clone(ids[0]), bytes.Clone(ids[1]))
}

// A product without faults breaks no law on the sample; one that leaves markers
// where nobody resolves them does, and so does one that reads one dialect only.
func TestSample(t *testing.T) {
	t.Parallel()
	chat, anthropic := sample(wire.OpenAIChat), sample(wire.AnthropicMessages)
	good := parts{steps: steps(t, nil)}
	a, b := try(t, good, chat, 1), try(t, good, anthropic, 1)
	report(t, chat, a.found)
	report(t, anthropic, b.found)
	if len(a.edits) < 4 {
		t.Errorf("only %d edits: the sample shows too little", len(a.edits))
	}
	s := newSubject(t, good)
	defer func() { _ = s.close() }()
	found := judge(s, s, chat, 1).found
	for _, law := range []string{lawRestore, lawCounts} {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.law == law }) {
			t.Errorf("markers without a resolver, and the %s law found %v", law, found)
		}
	}
	blind := good
	blind.bend = func() func(request, []byte) []byte { return func(q request, _ []byte) []byte { return q.body } }
	if sameDecisions(a, try(t, blind, anthropic, 1)) == nil {
		t.Errorf("no edits in one dialect, and the %s law did not notice", lawDialects)
	}
}
