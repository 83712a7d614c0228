package expand

import (
	"context"
	"fmt"
	"strings"
)

// Selection is the part of an original that was asked for.
type Selection struct {
	// Text is the part. Without a pattern it is bytes of the original; with one
	// its lines are numbered as grep does: 12:match, 11-context, -- between groups.
	Text string
	// Note says in one line of ASCII which part it is. It is empty for the whole.
	Note string
	// Short says that the original has less than was asked for, or that more
	// matched than is shown; then the note belongs to the answer.
	Short bool
}

// Select returns the part of an original that a query asks for, in time and
// memory linear in the original. The error is a [*SelectorError], or ctx's.
func Select(ctx context.Context, original string, q Query) (Selection, error) {
	q.Head, q.Tail = max(q.Head, 0), max(q.Tail, 0)
	if q.whole() {
		return Selection{Text: original}, nil
	}
	total := countLines(original)
	window, first := lineWindow(original, q.Lines)
	last := first + countLines(window) - 1
	if window == "" {
		return Selection{Note: "no such lines: the text has " + lines(total), Short: true}, nil
	}
	if q.Grep != "" {
		s, err := grep(ctx, window, first, q)
		if err != nil {
			return Selection{}, err
		}
		s.Note += fmt.Sprintf("; searched lines %d-%d of %d", first, last, total)
		return s, nil
	}
	s := Selection{Text: window, Short: q.Lines.To > last}
	s.Note = fmt.Sprintf("lines %d-%d of %d", first, last, total)
	count := last - first + 1
	switch head, tail := q.Head, q.Tail; {
	case head+tail == 0, head+tail >= count:
	case tail == 0:
		s.Text = headLines(window, head)
		s.Note = fmt.Sprintf("lines %d-%d of %d", first, first+head-1, total)
	case head == 0:
		s.Text = tailLines(window, tail)
		s.Note = fmt.Sprintf("lines %d-%d of %d", last-tail+1, last, total)
	default:
		s.Text = fmt.Sprintf("%s[lines %d-%d left out]\n%s", headLines(window, head), first+head, last-tail, tailLines(window, tail))
		s.Note = fmt.Sprintf("lines %d-%d and %d-%d of %d", first, first+head-1, last-tail+1, last, total)
	}
	return s, nil
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// countLines counts lines the way an editor numbers them: a newline ends a
// line, and text after the last one is a line too.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// lineWindow cuts the lines of a range out of a text, ends kept, and returns
// the number of the first. It is empty when the text ends before the range.
func lineWindow(s string, r Range) (window string, first int) {
	first = max(r.From, 1)
	skipped := headLines(s, first-1)
	s = s[len(skipped):]
	if r.To > 0 {
		s = headLines(s, r.To-first+1)
	}
	return s, first
}

// headLines is the first n lines, ends kept.
func headLines(s string, n int) string {
	end := 0
	for range n {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}

// tailLines is the last n lines, ends kept.
func tailLines(s string, n int) string {
	if n <= 0 {
		return ""
	}
	start := len(strings.TrimSuffix(s, "\n"))
	for range n {
		start = strings.LastIndexByte(s[:max(start, 0)], '\n')
		if start < 0 {
			return s
		}
	}
	return s[start+1:]
}
