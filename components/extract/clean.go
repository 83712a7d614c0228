package extract

import (
	"context"
	"strings"

	"github.com/contextguru/contextguru/components/internal/terminal"
	"github.com/contextguru/contextguru/components/internal/wrapper"
)

const (
	// linesPerCheck is how often long work looks whether it is still wanted.
	linesPerCheck = 1 << 14
	// minProgressRun is how many lines with rising percentages in a row are
	// progress; fewer may be figures.
	minProgressRun = 3
)

// line is a line without its end, and its end.
type line struct {
	text, end string
	fixed     bool // it stays whatever stands around it
}

// cleaner collects the lines that stay.
type cleaner struct {
	lines []line
	left  leftOut

	pending []line // a run of lines that may turn out to be progress
	percent int    // of the last of them
}

// clean takes out terminal codes, redraws, progress and blank runs.
func (c *cleaner) clean(ctx context.Context, text string) error {
	// A text with bare carriage returns and nothing else may end its lines so.
	ends := strings.Count(text, "\n")
	redraws := ends > 0
	c.lines = make([]line, 0, ends+1)
	n := 0
	var reminders wrapper.ReminderLines
	for raw := range strings.Lines(text) {
		if n++; n%linesPerCheck == 1 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := split(raw)
		if l.fixed = reminders.Holds(raw); l.fixed {
			c.flush()
			c.lines = append(c.lines, l)
			continue
		}
		if strings.IndexByte(l.text, '\x1b') >= 0 {
			if plain, ok := terminal.Strip(l.text); ok && plain != l.text {
				l.text, c.left.codes = plain, true
			}
		}
		if redraws && strings.IndexByte(l.text, '\r') >= 0 {
			if last, n, ok := lastDrawn(l.text); ok {
				c.left.redrawn += n
				c.left.codes = c.left.codes || n == 0 // nothing but carriage returns went
				l.text = last
			}
		}
		c.add(l)
	}
	c.flush()
	return nil
}

// split takes the line end off: a line feed, and a carriage return in front of it.
func split(raw string) line {
	text, found := strings.CutSuffix(raw, "\n")
	if found {
		text = strings.TrimSuffix(text, "\r")
	}
	return line{text: text, end: raw[len(text):]}
}

// add decides whether a line stays.
func (c *cleaner) add(l line) {
	f := terminal.Look(l.text, false)
	switch {
	case f.Progress():
		c.left.progress++
	case f.MaybeProgress():
		if len(c.pending) > 0 && f.Value < c.percent {
			c.flush()
		}
		c.pending, c.percent = append(c.pending, l), f.Value
	default:
		c.flush()
		c.keep(l)
	}
}

// flush ends a run of lines that may be progress.
func (c *cleaner) flush() {
	if len(c.pending) >= minProgressRun {
		c.left.progress += len(c.pending)
	} else {
		for _, l := range c.pending {
			c.keep(l)
		}
	}
	c.pending = c.pending[:0]
}

func (c *cleaner) keep(l line) {
	if isBlank(l.text) && len(c.lines) > 0 && isBlank(c.lines[len(c.lines)-1].text) {
		c.left.blank++
		return
	}
	c.lines = append(c.lines, l)
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
