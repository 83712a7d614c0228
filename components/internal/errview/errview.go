// Package errview picks the lines with errors that stay readable when the rest
// of an output does not.
//
// They stay as they are and with their numbers, each different one once, half of
// them from the front and half from the back when there are too many; then the
// others are named by their numbers:
//
//	17: error: cannot find symbol
//	... and in lines 40-52, 60
//	88: FAILED tests/test_x.py::test_y
//
// Where a text was read or searched for its lines, the words for errors are
// part of what was found, and none of those lines is one; what a log says is.
package errview

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/contextguru/contextguru/components/internal/command"
	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/exact"
	"github.com/contextguru/contextguru/components/internal/excerpt"
	"github.com/contextguru/contextguru/components/internal/terminal"
	"github.com/contextguru/contextguru/pipeline"
)

const (
	// maxErrors is how many different lines with errors stay, an even number.
	// With maxErrorBytes it bounds the view: about 2,000 tokens where every line
	// is as long as may be, a few hundred where they are usual.
	maxErrors = 20
	// maxErrorBytes is the length of the longest line that stays whole.
	maxErrorBytes = 400
	// around is how many characters of a longer one stay.
	around = 160
	// maxRuns is how many runs of further lines with errors are named.
	maxRuns = 10
	// maxSeen bounds the memory of lines that are there already.
	maxSeen = 4096
	// linesPerCheck is how often a long scan looks whether it is still wanted.
	linesPerCheck = 1 << 14
)

// line is a line with an error, as it is shown.
type line struct {
	number int
	text   string
}

// Lines are the lines with errors of one output.
type Lines struct {
	// Total counts them all, equal ones included.
	Total int

	first, last []line
	dropped     []int // numbers of those that were in last
	seen        map[string]bool
}

// Find looks for the lines with errors of an output.
func Find(ctx context.Context, s *pipeline.Segment) (Lines, error) {
	l := Lines{seen: map[string]bool{}}
	quoted, all := Quoted(s)
	if all {
		return l, nil
	}
	number := 0
	for text := range strings.Lines(s.Text) {
		if number%linesPerCheck == 0 && ctx.Err() != nil {
			return l, ctx.Err()
		}
		number++
		text = strings.TrimRight(text, "\r\n")
		switch {
		case quoted(text):
		case len(text) <= maxErrorBytes:
			l.look(number, text)
		default:
			// A long line tends to be JSON, with the lines of a log in a string.
			for piece := range strings.SplitSeq(text, `\n`) {
				l.look(number, piece)
			}
		}
	}
	return l, nil
}

// Quoted returns a function that tells which lines of an output quote a file,
// whose words for errors are part of what was found, and whether all do: the
// call read a file or searched some.
func Quoted(s *pipeline.Segment) (quoted func(line string) bool, all bool) {
	switch {
	case exact.ReadsFile(string(s.Tool), s.Args, s.Text) || command.Searches(string(s.Tool), s.Args):
		return nil, true
	case exact.IsDiff(s.Text):
		return inDiff, false
	case exact.IsNumbered(s.Text) && !exact.IsLog(s.Text) && !exact.ReadsLog(string(s.Tool), s.Args, s.Text):
		return numbered, false
	default:
		return func(string) bool { return false }, false
	}
}

// inDiff reports whether a line of a diff quotes a file.
func inDiff(text string) bool { return text != "" && strings.IndexByte(" +-@", text[0]) >= 0 }

// numbered reports whether a line of a listing quotes a file: it begins with
// its number.
func numbered(text string) bool {
	text = strings.TrimLeft(text, " \t(")
	return text != "" && text[0] >= '0' && text[0] <= '9'
}

// look takes a line in if it reports an error and is not there yet.
func (l *Lines) look(number int, text string) {
	at := errline.Index(text)
	if at < 0 {
		return
	}
	l.Total++
	if plain, ok := terminal.Strip(text); ok {
		if i := errline.Index(plain); i >= 0 {
			text, at = plain, i
		}
	}
	if len(text) > maxErrorBytes {
		text = excerpt.Around(text, at, around)
	}
	if l.seen[text] {
		return
	}
	if len(l.seen) < maxSeen {
		l.seen[text] = true
	}
	shown := line{number, excerpt.Defuse(text)}
	if len(l.first) < maxErrors/2 {
		l.first = append(l.first, shown)
		return
	}
	if len(l.last) == maxErrors/2 {
		l.dropped = append(l.dropped, l.last[0].number)
		copy(l.last, l.last[1:])
		l.last = l.last[:len(l.last)-1]
	}
	l.last = append(l.last, shown)
}

// Write says how many lines have errors, quotes those that stay and names the
// others. Without any it writes nothing.
func (l *Lines) Write(b *strings.Builder) {
	switch l.Total {
	case 0:
		return
	case 1:
		b.WriteString(", 1 error:")
	default:
		fmt.Fprintf(b, ", %d errors:", l.Total)
	}
	for _, shown := range l.first {
		fmt.Fprintf(b, "\n%d: %s", shown.number, shown.text)
	}
	if len(l.dropped) > 0 {
		b.WriteString("\n... and in " + runs(l.dropped))
	}
	for _, shown := range l.last {
		fmt.Fprintf(b, "\n%d: %s", shown.number, shown.text)
	}
}

// CountLines counts the lines of a text as a reader asks for them, in words:
// what follows the last line end is one, unless it is nothing.
func CountLines(text string) string {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprint(n, " lines")
}

// runs names lines in the units a reader can ask for.
func runs(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		if len(parts) == maxRuns {
			parts = append(parts, fmt.Sprintf("%d more in %d-%d", len(numbers)-i, numbers[i], numbers[len(numbers)-1]))
			break
		}
		from := i
		for i++; i < len(numbers) && numbers[i] <= numbers[i-1]+1; i++ {
		}
		if part := strconv.Itoa(numbers[from]); numbers[i-1] == numbers[from] {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprint(part, "-", numbers[i-1]))
		}
	}
	if len(parts) == 1 && !strings.Contains(parts[0], "-") {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts, ", ")
}
