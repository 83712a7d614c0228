package expand

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
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

// String is what a reader gets: the text, and if it came out short the note in
// brackets on a line of its own.
func (s Selection) String() string {
	text := s.Text
	if !s.Short {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + s.Note + "]\n"
}

// Select returns the part of an original that a query asks for, in time and
// memory linear in the original. The error is a [*SelectorError], or ctx's.
func Select(ctx context.Context, original string, q Query) (Selection, error) {
	return Window(ctx, original, q, math.MaxInt)
}

// Window does the same for a reader who takes so many bytes at once. What is
// cut off ends with a line where one ends in time, else with a character; the
// selection is then short, and its note says how the rest is asked for.
func Window(ctx context.Context, original string, q Query, most int) (Selection, error) {
	q.Head, q.Tail = max(q.Head, 0), max(q.Tail, 0)
	if q.whole() && len(original) <= most {
		return Selection{Text: original}, nil
	}
	total := countLines(original)
	window, first := lineWindow(original, q.Lines)
	if window == "" {
		return Selection{Note: "no such lines: the text has " + lines(total), Short: true}, nil
	}
	window, at := skip(window, first, q.Skip)
	if window == "" {
		return Selection{Note: fmt.Sprintf("nothing is left behind byte %d of these lines", q.Skip), Short: true}, nil
	}
	first = at.line
	last := first + countLines(window) - 1
	if q.Grep != "" {
		s, err := grep(ctx, window, first, q, min(most, maxGrepBytes))
		if err != nil {
			return Selection{}, err
		}
		s.Note += fmt.Sprintf("; searched lines %d-%d of %d", first, last, total)
		return s, nil
	}
	s := Selection{Short: q.Lines.To > last}
	parts := ends(window, first, last, q.Head, q.Tail)
	at.id, at.last, at.total = q.ID, last, total
	s.fit(parts, at, most)
	return s, nil
}

// skip leaves out bytes at the start of a text whose first line has a number,
// and the rest of a character that they cut.
func skip(window string, first, n int) (string, place) {
	n = min(n, len(window))
	for n < len(window) && !utf8.RuneStart(window[n]) {
		n++
	}
	skipped := window[:n]
	start := strings.LastIndexByte(skipped, '\n') + 1
	return window[n:], place{line: first + strings.Count(skipped, "\n"), byte: n - start}
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
