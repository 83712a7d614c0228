package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// printer writes lines and remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// table writes lines whose cells tabs separate.
func (p *printer) table(fill func(line func(format string, args ...any))) {
	t := tabwriter.NewWriter(p.w, 0, 8, 2, ' ', 0)
	fill(func(format string, args ...any) { _, _ = fmt.Fprintf(t, "  "+format+"\n", args...) })
	if err := t.Flush(); p.err == nil {
		p.err = err
	}
}

// WriteText writes a report for people.
func WriteText(w io.Writer, r *Report) error {
	p := &printer{w: w}
	p.line("%s: %s", r.Setup, list(r.Components))
	sets := r.Sets
	if len(sets) > 1 {
		sets = append(slices.Clip(sets), r.Total)
	}
	for _, s := range sets {
		p.line("")
		p.set(s)
	}
	for i := range r.Diffs {
		p.line("")
		p.diff(&r.Diffs[i])
	}
	if r.DiffsLeftOut > 0 {
		p.line("\nand %d more edits", r.DiffsLeftOut)
	}
	return p.err
}

func list(names []string) string {
	if len(names) == 0 {
		return "no component"
	}
	return strings.Join(names, ", ")
}

func (p *printer) set(s *Set) {
	p.line("%s: %d conversations, %d requests", title(s), s.Conversations, s.Requests)
	p.table(func(line func(string, ...any)) {
		line("tokens of requests, as sent\t%s", change(s.RequestTokens))
		line("tokens of tool outputs, as sent\t%s", change(s.OutputsSent))
		line("tokens of tool outputs, each once\t%s", change(s.OutputsUnique))
		for i := range s.Bills {
			b := &s.Bills[i]
			line("bill: %s%s\t%s -> %s  %+.2f %%%s", b.Name, covered(b, s), thousands(int(b.Before+0.5)), thousands(int(b.After+0.5)), 0-b.SavedPercent, dollars(b))
			line("\t%s", dearer(b))
		}
		line("prefix breaks\t%d unplanned, %d planned", s.Breaks.Unplanned, s.Breaks.Planned)
		line("restores\t%d checked, %d failed%s", s.Restores.Checked, s.Restores.Failed, some(", %d edits irreversible", s.Restores.Irreversible))
		line("facts in outputs\t%s", visible(s.Facts))
		line("error lines in outputs\t%s", visible(s.ErrorLines))
		for _, reason := range byCount(s.PassedThrough) {
			line("passed through\t%d requests: %s", s.PassedThrough[reason], reason)
		}
		for _, reason := range byCount(s.LosslessOnly) {
			line("lossless edits only\t%d requests: %s", s.LosslessOnly[reason], reason)
		}
	})
	if len(s.Components) > 0 {
		p.line("")
		p.components(s)
	}
	for _, failure := range s.Failures {
		p.line("  FAILED %s", failure)
	}
}

func (p *printer) components(s *Set) {
	p.table(func(line func(string, ...any)) {
		line("component\toutputs edited\ttokens, each once\ttokens, as sent\tof the bill\tleft alone")
		for _, c := range s.Components {
			var reasons []string
			for _, reason := range byCount(c.Refusals) {
				reasons = append(reasons, fmt.Sprintf("%s %d", reason, c.Refusals[reason]))
			}
			line("%s\t%d\t%s\t%s\t%s\t%s", c.Name, c.Edits, change(c.Unique), change(c.Sent), ofBill(s, c), strings.Join(reasons, ", "))
		}
	})
}

// ofBill is what a component saved of the first bill of a set.
func ofBill(s *Set, c *Component) string {
	if len(s.Bills) == 0 || s.Bills[0].Before == 0 || c.Edits == 0 {
		return "-"
	}
	b := &s.Bills[0]
	return fmt.Sprintf("%+.2f %%", 0-round(100*c.BillSaved[b.Name]/b.Before, 2))
}

func (p *printer) diff(d *Diff) {
	p.line("%s (%s), output %d of %s: %s, %s tokens", d.Conversation, d.Dialect, d.Output, d.Tool, list(d.Components), change(d.Tokens))
	for line := range strings.Lines(d.Before) {
		p.line("- %s", strings.TrimRight(line, "\r\n"))
	}
	for line := range strings.Lines(d.After) {
		p.line("+ %s", strings.TrimRight(line, "\r\n"))
	}
}

func title(s *Set) string {
	if s.Dialect == "" {
		return s.Name
	}
	return s.Name + " (" + s.Dialect + ")"
}

// covered says for how many of a set's conversations a bill is, if not for all.
func covered(b *Charge, s *Set) string {
	if b.Conversations == s.Conversations {
		return ""
	}
	return fmt.Sprintf(" (%d conversations)", b.Conversations)
}

// change shows a number of tokens before and after, and by how much it changed.
func change(p Pair) string {
	saved := 0.0
	if p.Before != 0 {
		saved = 100 * float64(p.Before-p.After) / float64(p.Before)
	}
	return fmt.Sprintf("%s -> %s (%+.1f %%)", thousands(p.Before), thousands(p.After), 0-round(saved, 2))
}

// thousands groups the digits of a count.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func dollars(b *Charge) string {
	if b.USDBefore == 0 {
		return ""
	}
	return fmt.Sprintf(" ($%.4f -> $%.4f)", b.USDBefore, b.USDAfter)
}

func dearer(b *Charge) string {
	return fmt.Sprintf("%d dearer, %d by more than the tool; worst %s %+.2f %%", b.Dearer, b.BeyondTool, b.Worst, 0-b.WorstSavedPercent)
}

func visible(v Visibility) string {
	if v.Total == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %% of %s readable (%.1f %% elsewhere), %.1f %% behind a marker, %d lost",
		100*v.Readable(), thousands(v.Total), share(v.Elsewhere, v.Total), share(v.BehindMarker, v.Total), v.Lost)
}

// share is a part of a whole in percent.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// some shows a count that is not zero.
func some(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}
