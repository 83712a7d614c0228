package linecap

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/internal/wrapper"
)

const (
	// hugeLine is the length in characters from which nobody reads a line: it
	// is cut whatever is in it.
	hugeLine = 20_000
	// mainChars is how much stays, at least, of a huge line that is most of the
	// text: it is what was asked for.
	mainChars = hugeLine / 10
	// longFactor is how much longer than others a line may be that a search
	// found, since what was looked for is somewhere in it, or that is prose, which
	// says nothing any more without its middle.
	longFactor = 4
	// linesPerCheck is how often long work looks whether it is still wanted.
	linesPerCheck = 1 << 12
)

// view is the text that stays, and the account of what does not.
type view struct {
	max    int            // characters of a line
	size   int            // of the text, in bytes
	diff   bool           // the text is a diff
	file   bool           // the text is a file
	copies map[string]int // lines that stay once, with their counts

	renumbered bool // the lines are not the client's

	out              strings.Builder
	cutChars         int
	cutLines, folded int
}

// write writes the text without what is left out.
func (v *view) write(ctx context.Context, text string) error {
	v.out.Grow(len(text)/2 + len(text)/4)
	var r wrapper.ReminderLines
	number, last := 0, strings.Count(text, "\n")+1-edgeLines
	if strings.HasSuffix(text, "\n") {
		last--
	}
	for raw := range strings.Lines(text) {
		if number++; number%linesPerCheck == 1 && ctx.Err() != nil {
			return ctx.Err()
		}
		line := withoutEnd(raw)
		if r.Holds(line) {
			v.out.WriteString(raw)
			continue
		}
		count := 0
		if number > edgeLines && number <= last {
			count = v.copies[line]
		}
		if count == written {
			v.folded++
			continue
		}
		v.line(line, number)
		if count > 1 {
			fmt.Fprintf(&v.out, "  (x%d)", count)
			v.copies[line] = written
		}
		v.out.WriteString(raw[len(line):])
	}
	return nil
}

// line writes a line, or what stays of it.
func (v *view) line(line string, number int) {
	pieces := v.pieces(line)
	if len(pieces) < 2 {
		v.out.WriteString(line)
		return
	}
	v.cutLines++
	at := 0
	for i, p := range pieces {
		if i > 0 {
			gap := utf8.RuneCountInString(line[at:p.start])
			v.cutChars += gap
			fmt.Fprintf(&v.out, "...[cut %d chars%s%s]...", gap, v.where(number), mentions(p.errors))
		}
		v.out.WriteString(line[p.start:p.end])
		at = p.end
	}
}

// where names the line something was cut out of, if it can be asked for.
func (v *view) where(number int) string {
	if v.renumbered {
		return ""
	}
	return fmt.Sprintf(" of line %d", number)
}

// mentions tells of errors in what was cut out.
func mentions(errors int) string {
	switch errors {
	case 0:
		return ""
	case 1:
		return ", with an error"
	default:
		return fmt.Sprintf(", with %d mentions of errors", errors)
	}
}

// pieces returns what stays of a line: one piece if that is all of it.
func (v *view) pieces(line string) []piece {
	if len(line) <= v.max || v.diff {
		return nil
	}
	chars := utf8.RuneCountInString(line)
	if chars <= v.max {
		return nil
	}
	if chars > hugeLine {
		keep := v.max
		if len(line) > v.size/2 {
			keep = max(keep, mainChars)
		}
		return cut(line, keep, true)
	}
	hit := hitPrefix(line)
	if chars <= longFactor*v.max && (hit > 0 || isProse(line)) || v.file || isDocument(line) || mustStay(line[hit:]) {
		return nil
	}
	return cut(line, v.max, false)
}

// leftOut names what was left out in words for a reader.
func (v *view) leftOut() string {
	var parts []string
	if v.cutLines > 0 {
		parts = append(parts, fmt.Sprintf("%d characters of %s", v.cutChars, plural(v.cutLines, "line")))
	}
	if v.folded > 0 {
		parts = append(parts, plural(v.folded, "repeated line"))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

func withoutEnd(raw string) string {
	if line, found := strings.CutSuffix(raw, "\n"); found {
		return strings.TrimSuffix(line, "\r")
	}
	return raw
}
