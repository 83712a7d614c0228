// Package collapse cuts the middle out of an oversized tool output.
//
// It knows nothing of what the output is about and is meant to come last. The
// first and the last lines stay, what a client put in for the model to heed
// does, and so do lines in between that report an
// error, in their places and as they are, each different one once. Of more than
// an output of max_tokens could hold, or than a quarter of all, the first and the
// last stay and the others are counted, as are the lines of a diff or a listing.
// A file that was read and is no log, or searched, reports none. Every gap is announced by a line of its own:
//
//	... (1960 lines omitted) <<cg:ID>> [full output: call context_guru_expand] lines 21-1980
//	... (88 lines omitted) lines 1893-1980, 5 of them report errors
//
// The numbers are those of the client's lines, in which a reader can ask for
// them; where a component in front wrote the text in other lines, the notes
// have none. The first such line carries the marker, and with keep_names the
// next one lists the names in all gaps (paths, identifiers, numbers):
//
//	... names in there: parseBody ./cmd/main.go v1.2.3 4096
//
// A text of few lines is left alone, however long they are: cutting inside a
// line is another trade.
package collapse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/components/internal/failed"
	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/names"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonFits     pipeline.Reason = "within_max_tokens"
	reasonFewLines pipeline.Reason = "few_lines"
)

// Config is the settings of collapse.
type Config struct {
	// MaxTokens is the size up to which a tool output is left alone, in tokens.
	MaxTokens int `json:"max_tokens"`
	// MaxFrac is MaxTokens as a fraction of the model's context window, in its place where the window is known.
	MaxFrac float64 `json:"max_frac"`
	// HeadLines is how many lines stay at the beginning.
	HeadLines int `json:"head_lines"`
	// TailLines is how many lines stay at the end.
	TailLines int `json:"tail_lines"`
	// KeepNames is how much of what is left out may be spent on the names in it, in percent; 0 names nothing.
	KeepNames int `json:"keep_names"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	var frac error
	if !(c.MaxFrac >= 0 && c.MaxFrac <= 1) { // true for NaN as well
		frac = &pipeline.FieldError{Field: "max_frac", Problem: fmt.Sprintf("must be a fraction from 0 to 1, got %v", c.MaxFrac)}
	}
	return errors.Join(
		frac,
		pipeline.AtLeast("max_tokens", c.MaxTokens, 1),
		pipeline.AtLeast("head_lines", c.HeadLines, 0),
		pipeline.AtLeast("tail_lines", c.TailLines, 0),
		names.CheckShare(c.KeepNames),
	)
}

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:     "collapse",
		Kind:     pipeline.KindOffload,
		Fallback: true,
		Summary:  "Keeps the first and last lines of an oversized tool output, and the errors in between.",
	}, Config{MaxTokens: 2000, HeadLines: 20, TailLines: 20}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return failed.Guard(inside.Lines(collapser{c})), nil
	})
}

type collapser struct{ Config }

// Rewrite implements pipeline.Component.
func (c collapser) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	budget := c.MaxTokens
	if share := pipeline.Fraction(c.MaxFrac, s.Request.Window); share > 0 {
		budget = share
	}
	// Noise that another component took out needs no cut.
	if s.Tokens <= budget || s.View > 0 && s.View <= budget {
		return pipeline.Decline(reasonFits), nil
	}
	start, ok := afterLines(s.Text, c.HeadLines)
	if !ok {
		return pipeline.Decline(reasonFewLines), nil
	}
	end, ok := beforeLines(s.Text, c.TailLines)
	if !ok || end <= start {
		return pipeline.Decline(reasonFewLines), nil
	}
	m, err := scan(ctx, &s, s.Text[:start], s.Text[start:end], c.HeadLines+1)
	if err != nil {
		return pipeline.Edit{}, err
	}
	m.numbered, m.names = !s.Renumbered, c.KeepNames
	loss, ok := m.view(s.Text[:start], s.Text[end:])
	if !ok {
		return pipeline.Decline(reasonFewLines), nil
	}
	return pipeline.Offload(loss), nil
}

// afterLines returns where the first n lines end.
func afterLines(text string, n int) (int, bool) {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return 0, false
		}
		at += i + 1
	}
	return at, true
}

// beforeLines returns where the last n lines begin. What follows the last line
// end is a line too, unless it is nothing.
func beforeLines(text string, n int) (int, bool) {
	if n == 0 {
		return len(text), true
	}
	at := len(strings.TrimSuffix(text, "\n"))
	for range n {
		at = strings.LastIndexByte(text[:at], '\n')
		if at < 0 {
			return 0, false
		}
	}
	return at + 1, true
}
