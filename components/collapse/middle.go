package collapse

import (
	"context"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/names"
	"github.com/contextguru/contextguru/pipeline"
)

const (
	// maxErrors is how many lines with errors stay visible in the middle, an
	// even number. With maxErrorBytes it bounds the view: about 2,000 tokens
	// where every line is as long as may be, a few hundred where they are
	// usual.
	maxErrors = 20
	// maxErrorBytes is the length of the longest line that stays for its error.
	maxErrorBytes = 400
	// linesPerCheck is how often a long scan looks whether it is still wanted.
	linesPerCheck = 1 << 14
)

// middle is what lies between head and tail.
type middle struct {
	text   string
	first  int // number of its first line
	lines  int
	errors int
	kept   []line // lines with errors that stay, in order
	// numbered allows notes to name lines by number.
	numbered bool
	// names is the share of what is left out, in percent of its bytes, that may
	// be spent on the names in it.
	names int
}

// line is a line of the middle.
type line struct {
	number, start, end int
	errors             int // lines with errors in front of it
}

// scan reads the middle, whose first line has the given number.
func scan(ctx context.Context, text string, first int) (middle, error) {
	m := middle{text: text, first: first}
	var last []line // a ring of the last lines with errors behind the first ones
	candidates := 0
	for at := 0; at < len(text); m.lines++ {
		if m.lines%linesPerCheck == 0 && ctx.Err() != nil {
			return m, ctx.Err()
		}
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if errline.Is(text[at:end]) {
			l := line{number: first + m.lines, start: at, end: end, errors: m.errors}
			m.errors++
			switch {
			case end-at > maxErrorBytes:
			case len(m.kept) < maxErrors/2:
				m.kept = append(m.kept, l)
			case len(last) < maxErrors/2:
				last = append(last, l)
			default:
				last[candidates%len(last)] = l
				candidates++
			}
		}
		at = end
	}
	for i := range last {
		m.kept = append(m.kept, last[(candidates+i)%len(last)])
	}
	return m, nil
}

// view puts head, notes, errors and tail together, split where the marker
// belongs. It returns false when nothing is left out.
func (m *middle) view(head, tail string) (loss pipeline.Loss, ok bool) {
	if m.lines == len(m.kept) {
		return loss, false
	}
	var b strings.Builder
	b.WriteString(head)
	ending := lineEnd(head, m.text)
	number, hidden := m.first, 0
	named := m.named(head, tail, ending)
	gap := func(next line) {
		lines, errors := next.number-number, next.errors-hidden
		if lines == 0 {
			return
		}
		fmt.Fprintf(&b, "... (%s omitted)", plural(lines))
		if !ok {
			b.WriteByte(' ')
			loss.Before, ok = b.String(), true
			b.Reset()
		}
		b.WriteString(m.about(number, lines, errors))
		b.WriteString(ending)
		b.WriteString(named)
		named = ""
	}
	for _, l := range m.kept {
		gap(l)
		b.WriteString(m.text[l.start:l.end])
		number, hidden = l.number+1, l.errors+1
	}
	gap(line{number: m.first + m.lines, errors: m.errors})
	b.WriteString(tail)
	loss.After, loss.Hint = b.String(), pipeline.HintFullOutput
	return loss, ok
}

// named is a line that lists the names in what is left out and in nothing that
// stays, or nothing.
func (m *middle) named(head, tail, ending string) string {
	if m.names == 0 {
		return ""
	}
	shown := []string{head, tail}
	for _, l := range m.kept {
		shown = append(shown, m.text[l.start:l.end])
	}
	list, at, hidden := names.Known(shown...), 0, 0
	add := func(end int) {
		list.Add(m.text[at:end])
		hidden += end - at
	}
	for _, l := range m.kept {
		add(l.start)
		at = l.end
	}
	add(len(m.text))
	return list.Line(hidden*m.names/100, ending)
}

// lineEnd is how the lines of a text end, judged by the first one.
func lineEnd(head, text string) string {
	if head == "" {
		head = text
	}
	if first, _, _ := strings.Cut(head, "\n"); strings.HasSuffix(first, "\r") {
		return "\r\n"
	}
	return "\n"
}

func plural(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprint(lines, " lines")
}

// about names a gap in the units a reader can ask for, if there are any, and
// the errors in it.
func (m *middle) about(first, lines, errors int) string {
	name := ""
	switch {
	case !m.numbered:
	case lines == 1:
		name = fmt.Sprint(" line ", first)
	default:
		name = fmt.Sprintf(" lines %d-%d", first, first+lines-1)
	}
	switch {
	case errors == 0:
		return name
	case lines == 1:
		return name + ", which reports an error"
	case errors == 1:
		return name + ", 1 of them reports an error"
	default:
		return fmt.Sprint(name, ", ", errors, " of them report errors")
	}
}
