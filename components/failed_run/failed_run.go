// Package failedrun hides failed runs of tests and builds that were repeated.
//
// A run is superseded when it failed and the same command ran again in a later
// turn. What is left says so and how it failed, in the words of the output:
//
//	[superseded by a later run] <<cg:ID>> [full output: call context_guru_expand]
//	========= 3 failed, 5 passed in 0.12s =========
//
// With keep_errors all lines that report an error stay, up to a bound and with
// their numbers.
//
// Commands are compared as the calls spell them, a change of folder in front
// aside; runs in two folders are two runs. The newest run stays, and so does
// every run that passed, every output that is not one (a diff, a listing, a
// command that shows or searches files) and a run whose very text the newest has:
// that one may point to it.
package failedrun

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/contextguru/contextguru/components/internal/command"
	"github.com/contextguru/contextguru/components/internal/errview"
	"github.com/contextguru/contextguru/components/internal/exact"
	"github.com/contextguru/contextguru/components/internal/excerpt"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave an output alone.
const (
	reasonNewest    pipeline.Reason = "no_later_run"
	reasonNoCommand pipeline.Reason = "no_command"
	reasonNotRun    pipeline.Reason = "not_a_run"
	reasonPassed    pipeline.Reason = "run_passed"
	reasonRepeated  pipeline.Reason = "repeated_later"
)

// maxVerdict is how many characters of a verdict stay: more than a line of a
// terminal.
const maxVerdict = 160

// Config is the settings of failed_run.
type Config struct {
	// MinTokens is the least size of a tool output that is replaced, in tokens.
	MinTokens int `json:"min_tokens"`
	// KeepErrors leaves the lines that report errors readable, up to a bound, and not only the verdict.
	KeepErrors bool `json:"keep_errors"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error { return pipeline.AtLeast("min_tokens", c.MinTokens, 0) }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "failed_run",
		Kind:    pipeline.KindOffload,
		When:    pipeline.AtHorizon,
		Summary: "Replaces a failed run of a command that ran again later by its verdict.",
	}, Config{MinTokens: 100}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return superseder{c}, nil
	})
}

type superseder struct{ Config }

// Rewrite implements pipeline.Component.
func (r superseder) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < r.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	c, ok := command.Of(s.Args)
	if !ok {
		return pipeline.Decline(reasonNoCommand), nil
	}
	if c.Shows() {
		return pipeline.Decline(reasonNotRun), nil
	}
	again := pipeline.Once(v, r, func() map[string]*reruns { return findReruns(v) })[c.Text]
	if !again.after(c.Dir, s.Turn) {
		return pipeline.Decline(reasonNewest), nil
	}
	if exact.IsNumbered(s.Text) || exact.IsDiff(s.Text) {
		return pipeline.Decline(reasonNotRun), nil
	}
	inside := wrapper.Unwrap(s.Text)
	j := judge(inside.Body)
	switch {
	case s.IsError || inside.Failed() || j.failed:
	case j.run:
		return pipeline.Decline(reasonPassed), nil
	default:
		return pipeline.Decline(reasonNotRun), nil
	}
	if again.texts[sha256.Sum256([]byte(s.Text))] > s.Turn {
		return pipeline.Decline(reasonRepeated), nil
	}
	var after strings.Builder
	if r.KeepErrors {
		found, err := errview.Find(ctx, &s)
		if err != nil {
			return pipeline.Edit{}, err
		}
		if found.Total > 0 {
			after.WriteString(" " + errview.CountLines(s.Text))
			found.Write(&after)
			j.verdict = ""
		}
	}
	if j.verdict == "" && inside.Failed() && !strings.Contains(after.String(), inside.StatusLine) {
		j.verdict = inside.StatusLine
	}
	if line := excerpt.Whole(j.verdict, maxVerdict); line != "" {
		after.WriteString("\n" + line)
	}
	for _, reminder := range wrapper.Reminders(s.Text) {
		after.WriteString("\n" + reminder)
	}
	return pipeline.Offload(pipeline.Loss{
		Before: "[superseded by a later run] ", After: after.String(), Hint: pipeline.HintFullOutput,
	}), nil
}

// reruns is what is known of the runs of one command.
type reruns struct {
	latest map[string]int            // folder, turn of the latest run there
	texts  map[[sha256.Size]byte]int // text of a run that stays, its turn
}

// after reports whether there is a run behind a turn. A call that names no
// folder ran in whatever folder the others did.
func (r *reruns) after(dir string, turn int) bool {
	if r == nil {
		return false
	}
	for where, latest := range r.latest {
		if latest > turn && (where == dir || where == "" || dir == "") {
			return true
		}
	}
	return false
}

// findReruns looks at all commands of a view that came in more than one turn.
// A call that was refused or never ran counts as no run: an error without any
// sign of one.
func findReruns(v pipeline.View) map[string]*reruns {
	type call struct {
		pipeline.Segment

		dir string
	}
	calls := map[string][]call{}
	for o := range v.Outputs() {
		if c, ok := command.Of(o.Args); ok && !c.Shows() {
			calls[c.Text] = append(calls[c.Text], call{o, c.Dir})
		}
	}
	found := map[string]*reruns{}
	for text, all := range calls {
		if all[0].Turn == all[len(all)-1].Turn {
			continue
		}
		r := &reruns{latest: map[string]int{}, texts: map[[sha256.Size]byte]int{}}
		for _, o := range all {
			output, ok := v.Text(o.Segment)
			if !ok {
				continue
			}
			if inside := wrapper.Unwrap(output); !o.IsError || inside.HasStatus || judge(inside.Body).run {
				r.latest[o.dir] = o.Turn
			}
		}
		for _, o := range all {
			if output, ok := v.Text(o.Segment); ok && !r.after(o.dir, o.Turn) {
				r.texts[sha256.Sum256([]byte(output))] = o.Turn
			}
		}
		found[text] = r
	}
	return found
}
