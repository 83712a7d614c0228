package collapse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/errview"
	"github.com/contextguru/contextguru/components/internal/names"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

const (
	// errorText is how much of the middle stays for its errors in any case, in
	// bytes: about 2,000 tokens, from which on an output is cut by default.
	errorText = 8 << 10
	// errorShare is the reciprocal of the share of the middle that does when that
	// is more.
	errorShare = 4
	// maxErrorBytes is the length of the longest line that stays for its error.
	maxErrorBytes = 1000
	// noteBytes is about what a note takes; what is shorter is not left out.
	noteBytes = 40
	// maxErrors bounds the lines with errors that are looked at, an even number;
	// half of them are the first and half the last.
	maxErrors = 1 << 13
	// linesPerCheck is how often a long scan looks whether it is still wanted.
	linesPerCheck = 1 << 14
)

// middle is what lies between head and tail.
type middle struct {
	text   string
	first  int // number of its first line
	lines  int
	errors int
	kept   []line // lines that stay, in order: errors and reminders
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
	error              bool
}

// scan reads the middle, which stands behind head and whose first line has the
// given number. The segment says which lines may report errors.
func scan(ctx context.Context, s *pipeline.Segment, head, text string, first int) (middle, error) {
	m := middle{text: text, first: first}
	var errors collected
	seen := map[string]bool{}
	var told []line // what a client put in for the model to heed
	var reminders wrapper.ReminderLines
	for raw := range strings.Lines(head) {
		reminders.Holds(raw)
	}
	quoted, all := errview.Quoted(s)
	for at := 0; at < len(text); m.lines++ {
		if m.lines%linesPerCheck == 0 && ctx.Err() != nil {
			return m, ctx.Err()
		}
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		raw, l := text[at:end], line{number: first + m.lines, start: at, end: end, errors: m.errors}
		at = end
		if reminders.Holds(raw) {
			told = append(told, l)
			continue
		}
		if all || !errline.Is(raw) {
			continue
		}
		l.error = true
		m.errors++
		same := strings.TrimSpace(raw[:min(len(raw), maxErrorBytes)])
		if len(raw) > maxErrorBytes || seen[same] || quoted(raw) {
			continue // once is enough
		}
		errors.add(l)
		if len(seen) < maxErrors {
			seen[same] = true
		}
	}
	m.kept = append(fit(errors.lines(), max(errorText, len(text)/errorShare)), told...)
	slices.SortFunc(m.kept, func(a, b line) int { return a.number - b.number })
	return m, nil
}

// collected is the first and the last of many lines.
type collected struct {
	first, last []line // last is a ring
	more        int    // lines that fell out of the ring
}

func (c *collected) add(l line) {
	switch {
	case len(c.first) < maxErrors/2:
		c.first = append(c.first, l)
	case len(c.last) < maxErrors/2:
		c.last = append(c.last, l)
	default:
		c.last[c.more%len(c.last)] = l
		c.more++
	}
}

func (c *collected) lines() []line {
	all := c.first
	for i := range c.last {
		all = append(all, c.last[(c.more+i)%len(c.last)])
	}
	return all
}

// fit returns the lines that stay in so many bytes: the first and the last ones,
// in turns, since the first tends to name the cause and the last the outcome.
func fit(lines []line, room int) []line {
	cost := func(i, beside int) int {
		size := lines[i].end - lines[i].start
		if beside < 0 || beside >= len(lines) || lines[i].number-lines[beside].number != i-beside {
			size += noteBytes
		}
		return size
	}
	low, high := 0, len(lines)
	for low < high {
		if room -= cost(low, low-1); room < 0 {
			break
		}
		if low++; low == high {
			break
		}
		if room -= cost(high-1, high); room < 0 {
			break
		}
		high--
	}
	return slices.Delete(lines, low, high)
}

// view puts head, notes, errors and tail together, split where the marker
// belongs. It returns false when nothing is left out.
func (m *middle) view(head, tail string) (loss pipeline.Loss, ok bool) {
	var b strings.Builder
	b.WriteString(head)
	ending := lineEnd(head, m.text)
	number, hidden, end := m.first, 0, 0
	named := m.named(head, tail, ending)
	gap := func(next line) {
		lines, errors := next.number-number, next.errors-hidden
		if next.start-end <= noteBytes {
			b.WriteString(m.text[end:next.start])
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
		number, hidden, end = l.number+1, l.errors, l.end
		if l.error {
			hidden++
		}
	}
	gap(line{number: m.first + m.lines, start: len(m.text), errors: m.errors})
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
