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

// WriteMarkdown writes one table with a row for every setup and a column for
// every folder.
func WriteMarkdown(w io.Writer, reports []*Report) error {
	p := &printer{w: w}
	var prices, folders []string
	for i := range reports[0].Total.Bills {
		prices = append(prices, reports[0].Total.Bills[i].Name)
	}
	for _, s := range reports[0].Folders {
		folders = append(folders, s.Name)
	}
	p.line("The bill as %s; facts and error lines of tool outputs that can be read without asking; conversations that are dearer, by whichever bill.", strings.Join(prices, " / "))
	p.line("")
	p.line("| | %s |", strings.Join(folders, " | "))
	p.line("|---|%s", strings.Repeat("---|", len(folders)))
	for _, r := range reports {
		var cells []string
		for _, s := range r.Folders {
			cells = append(cells, cell(s, prices))
		}
		p.line("| %s | %s |", r.Setup, strings.Join(cells, " | "))
	}
	return p.err
}

// cell says of a folder what decides.
func cell(s *Set, prices []string) string {
	saved := make([]string, len(prices))
	dearer, beyond := 0, 0
	for i, name := range prices {
		b := s.bill(name)
		dearer, beyond = max(dearer, b.Dearer), max(beyond, b.BeyondTool)
		if saved[i] = "–"; b.Conversations > 0 {
			saved[i] = fmt.Sprintf("%+.1f", 0-round(b.SavedPercent, 1))
		}
	}
	text := fmt.Sprintf("%s %%<br>facts %s, errors %s<br>dearer %d of %d", strings.Join(saved, " / "), readable(s.Facts), readable(s.ErrorLines), dearer, s.most())
	if beyond > 0 {
		text += fmt.Sprintf(", %d by more than the tool", beyond)
	}
	return text
}

// most is the largest number of conversations that one bill is for.
func (s *Set) most() int {
	most := 0
	for i := range s.Bills {
		most = max(most, s.Bills[i].Conversations)
	}
	return most
}
