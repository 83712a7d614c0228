package mask

import (
	"context"
	"fmt"
	"strconv"
	"strings"

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

// errorLine is a line with an error, as it is shown.
type errorLine struct {
	number int
	text   string
}

// errorLines are the lines with errors of one output.
type errorLines struct {
	total       int // equal ones included
	first, last []errorLine
	dropped     []int // numbers of those that were in last
	seen        map[string]bool
}

// findErrors looks for the lines with errors of an output. In a text that was
// read for its lines the words mean nothing.
func findErrors(ctx context.Context, s *pipeline.Segment) (errorLines, error) {
	e := errorLines{seen: map[string]bool{}}
	if exact.ReadsFile(string(s.Tool), s.Args) || exact.IsNumbered(s.Text) || exact.IsDiff(s.Text) {
		return e, nil
	}
	number := 0
	for line := range strings.Lines(s.Text) {
		if number%linesPerCheck == 0 && ctx.Err() != nil {
			return e, ctx.Err()
		}
		number++
		line = strings.TrimRight(line, "\r\n")
		if len(line) <= maxErrorBytes {
			e.look(number, line)
			continue
		}
		// A long line tends to be JSON, with the lines of a log in a string.
		for piece := range strings.SplitSeq(line, `\n`) {
			e.look(number, piece)
		}
	}
	return e, nil
}

// look takes a line in if it reports an error and is not there yet.
func (e *errorLines) look(number int, line string) {
	at := errline.Index(line)
	if at < 0 {
		return
	}
	e.total++
	if plain, ok := terminal.Strip(line); ok {
		if i := errline.Index(plain); i >= 0 {
			line, at = plain, i
		}
	}
	if len(line) > maxErrorBytes {
		line = excerpt.Around(line, at, around)
	}
	if e.seen[line] {
		return
	}
	if len(e.seen) < maxSeen {
		e.seen[line] = true
	}
	shown := errorLine{number, excerpt.Defuse(line)}
	if len(e.first) < maxErrors/2 {
		e.first = append(e.first, shown)
		return
	}
	if len(e.last) == maxErrors/2 {
		e.dropped = append(e.dropped, e.last[0].number)
		copy(e.last, e.last[1:])
		e.last = e.last[:len(e.last)-1]
	}
	e.last = append(e.last, shown)
}

// write says how many lines have errors, quotes those that stay and names the
// others.
func (e *errorLines) write(b *strings.Builder) {
	if e.total == 0 {
		return
	}
	if e.total == 1 {
		b.WriteString(", 1 error:")
	} else {
		fmt.Fprintf(b, ", %d errors:", e.total)
	}
	for _, l := range e.first {
		fmt.Fprintf(b, "\n%d: %s", l.number, l.text)
	}
	if len(e.dropped) > 0 {
		b.WriteString("\n... and in " + runs(e.dropped))
	}
	for _, l := range e.last {
		fmt.Fprintf(b, "\n%d: %s", l.number, l.text)
	}
}

// runs names lines in the units a reader can ask for.
func runs(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		if len(parts) == maxRuns {
			parts = append(parts, fmt.Sprintf("%d more up to %d", len(numbers)-i, numbers[len(numbers)-1]))
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
