package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteComparison writes the figures of reports over the same conversations side
// by side, for people.
func WriteComparison(w io.Writer, reports []*Report) error {
	p := &printer{w: w}
	p.table(func(line func(string, ...any)) {
		for _, r := range reports {
			line("%s\t%s", r.Setup, list(r.Components))
		}
	})
	for i := range reports[0].Sets {
		p.compare(reports, func(r *Report) *Set { return r.Sets[i] })
	}
	if len(reports[0].Sets) > 1 {
		p.compare(reports, func(r *Report) *Set { return r.Total })
	}
	return p.err
}

func (p *printer) compare(reports []*Report, of func(*Report) *Set) {
	first := of(reports[0])
	p.line("\n%s: %d conversations, %d requests", title(first), first.Conversations, first.Requests)
	p.table(func(line func(string, ...any)) {
		line("\toutput tokens, each once\tas sent\tfacts readable\terror lines\tlost\tplanned breaks\tunplanned\trestores failed")
		for _, r := range reports {
			s := of(r)
			line("%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d of %d", r.Setup, change(s.OutputsUnique), change(s.OutputsSent), readable(s.Facts), readable(s.ErrorLines),
				s.Facts.Lost+s.ErrorLines.Lost, s.Breaks.Planned, s.Breaks.Unplanned, s.Restores.Failed, s.Restores.Checked)
		}
	})
	for i := range first.Bills {
		p.table(func(line func(string, ...any)) {
			line("bill: %s%s\t\tdearer\tby more than the tool\tworst", first.Bills[i].Name, covered(&first.Bills[i], first))
			for _, r := range reports {
				b := of(r).bill(first.Bills[i].Name)
				line("%s\t%+.2f %%\t%d\t%d\t%s %+.2f %%", r.Setup, 0-b.SavedPercent, b.Dearer, b.BeyondTool, b.Worst, 0-b.WorstSavedPercent)
			}
		})
	}
	for _, r := range reports {
		for _, failure := range of(r).Failures {
			p.line("  FAILED %s: %s", r.Setup, failure)
		}
	}
}

func readable(v Visibility) string {
	if v.Total == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*v.Readable())
}

// WriteMarkdown writes one table with a row for every folder and setup.
func WriteMarkdown(w io.Writer, reports []*Report) error {
	p := &printer{w: w}
	var names []string
	for i := range reports[0].Total.Bills {
		names = append(names, reports[0].Total.Bills[i].Name)
	}
	p.line("| data | setup | %s | dearer bills (beyond the tool) | facts readable | error lines readable | planned breaks |", strings.Join(names, " | "))
	p.line("|---|---|%s---:|---:|---:|---:|", strings.Repeat("---:|", len(names)))
	for i := range reports[0].Folders {
		for _, r := range reports {
			p.row(r.Setup, r.Folders[i], names)
		}
	}
	return p.err
}

func (p *printer) row(setup string, s *Set, names []string) {
	cells := make([]string, len(names))
	all, dearer, beyond := 0, 0, 0
	for i, name := range names {
		b := s.bill(name)
		all, dearer, beyond = all+b.Conversations, dearer+b.Dearer, beyond+b.BeyondTool
		if cells[i] = "–"; b.Conversations > 0 {
			cells[i] = fmt.Sprintf("%+.1f %%", 0-round(b.SavedPercent, 1))
		}
	}
	p.line("| %s | %s | %s | %d (%d) of %d | %s | %s | %d |", s.Name, setup, strings.Join(cells, " | "),
		dearer, beyond, all, readable(s.Facts), readable(s.ErrorLines), s.Breaks.Planned)
}
