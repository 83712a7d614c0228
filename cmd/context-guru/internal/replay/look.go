package replay

import (
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/facts"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
)

// look measures what the last request still shows of the tool outputs.
func (r *replayer) look(x *exchange) error {
	o, err := prompt.Read(x.sent)
	if err != nil {
		return err
	}
	scene := facts.NewScene(o.Texts)
	for i := range x.explained {
		original, ok := x.before.Original(i)
		if !ok {
			continue
		}
		output := facts.OutputOf(original, &x.explained[i])
		r.opts.judge.Facts(scene, output, func(fact string, at facts.Place) {
			if at == facts.Lost {
				r.fail(x, "output %d lost %.80q", i, fact)
			}
			r.out.Facts.Add(at)
		})
		r.opts.judge.ErrorLines(scene, output, func(line string, at facts.Place) {
			if at == facts.Lost {
				r.fail(x, "output %d lost the line %.80q", i, line)
			}
			r.out.ErrorLines.Add(at)
		})
	}
	return nil
}

// maxDiffs bounds the edits shown of one conversation.
const maxDiffs = 40

// diff notes the edits of the last request.
func (r *replayer) diff(x *exchange) {
	for i := range x.explained {
		e := &x.explained[i]
		if e.Text == "" || len(r.out.Diffs) == maxDiffs {
			continue
		}
		original, _ := x.before.Original(i)
		d := report.Diff{
			Conversation: r.c.Name(), Dialect: string(r.c.Dialect), Output: i, Tool: e.Tool,
			Tokens: report.Pair{Before: e.Outcome.Original.N}, Before: report.Clip(original), After: report.Clip(e.Text),
		}
		lossy := e.Outcome.Lossy != nil && e.Text == e.Outcome.Lossy.Text
		d.Tokens.After = e.Outcome.Tokens(lossy)
		for _, act := range e.Outcome.Acts {
			if act.Acted && (lossy || !act.Lossy) {
				d.Components = append(d.Components, act.Component)
			}
		}
		r.out.Diffs = append(r.out.Diffs, d)
	}
}
