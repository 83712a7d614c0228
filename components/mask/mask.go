// Package mask hides old tool outputs.
//
// The newest outputs stay as they are: whole turns, counted from the newest,
// until at least so many are kept. What is older is replaced by a line that
// says how it began, how long it was and how to read it:
//
//	[older tool output masked; starts: PEEK] <<cg:ID>> [full output: call context_guru_expand] 240 lines
//
// The beginning is what the tool itself wrote, without the header a client put
// in front of it and without what a terminal would not show. What a client put
// into the output for the model to heed stays, word for word.
//
// With keep_errors the lines that report an error stay, with their numbers,
// half of them from the front and half from the back when there are too many:
//
//	... 240 lines, 3 errors:
//	17: error: cannot find symbol
//	88: FAILED tests/test_x.py::test_y
//	... and in line 190
//
// With keep_names a line lists the names in the output (paths, identifiers,
// numbers), the shorter ones first where they take too much.
//
// A file that was read for its lines has none of those: there, the words are
// part of a program. A failed result is left alone, and with keep_errors masked
// only if it is oversized: what went wrong is seldom long.
//
// A client may answer that a file has not changed since it was read. While that
// answer stays, what it refers to does, too; later the masked output says that
// one refers to it, and where no marker is left it is not masked at all.
//
// What is old is decided at horizons, since every change of an old output bills
// the whole prefix behind it anew.
package mask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errview"
	"github.com/contextguru/contextguru/components/internal/excerpt"
	"github.com/contextguru/contextguru/components/internal/names"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave an output alone.
const (
	reasonRecent   pipeline.Reason = "recent"
	reasonReferred pipeline.Reason = "referred_to"
)

// oversized is the size from which a failed result may be masked, in tokens:
// where collapse begins to cut, by default.
const oversized = 2000

// Config is the settings of mask.
type Config struct {
	// KeepRecent is how many of the newest tool outputs stay at least, in whole turns.
	KeepRecent int `json:"keep_recent"`
	// MinTokens is the least size of a tool output that is masked, in tokens.
	MinTokens int `json:"min_tokens"`
	// KeepHeadChars is how many characters of a masked output stay readable; 0 hides all.
	KeepHeadChars int `json:"keep_head_chars"`
	// KeepErrors leaves the lines that report errors readable, up to a bound.
	KeepErrors bool `json:"keep_errors"`
	// KeepNames is how much of a masked output may be spent on the names in it, in percent; 0 names nothing.
	KeepNames int `json:"keep_names"`
	// MarkerMode is full (marker and hint), summary (marker only) or off, which keeps no original and has to be allowed.
	MarkerMode pipeline.MarkerMode `json:"marker_mode"`
}

// maxHeadChars is where a peek stops being one.
const maxHeadChars = 4096

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	var mode, head error
	if err := c.MarkerMode.Validate(); err != nil {
		mode = &pipeline.FieldError{Field: "marker_mode", Problem: err.Error()}
	}
	if c.KeepHeadChars > maxHeadChars {
		head = &pipeline.FieldError{Field: "keep_head_chars", Problem: fmt.Sprintf("must be at most %d, got %d", maxHeadChars, c.KeepHeadChars)}
	}
	return errors.Join(
		pipeline.AtLeast("keep_recent", c.KeepRecent, 0),
		pipeline.AtLeast("min_tokens", c.MinTokens, 0),
		pipeline.AtLeast("keep_head_chars", c.KeepHeadChars, 0),
		head, mode, names.CheckShare(c.KeepNames),
	)
}

// Irreversible implements pipeline.Irreversible.
func (c Config) Irreversible() bool { return c.MarkerMode == pipeline.MarkerOff }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "mask",
		Kind:    pipeline.KindOffload,
		When:    pipeline.AtHorizon,
		Summary: "Hides all but the newest tool outputs, and says how each of them began and how long it was.",
	}, Config{KeepRecent: 3, MinTokens: 100, KeepHeadChars: 96, MarkerMode: pipeline.MarkerFull},
		func(c Config, _ pipeline.Deps) (pipeline.Component, error) { return masker{c}, nil })
}

type masker struct{ Config }

// Rewrite implements pipeline.Component.
func (m masker) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < m.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	seen := pipeline.Once(v, m, func() outlook { return m.look(v) })
	referred, again := seen.referred[s.Index]
	switch {
	case s.Index >= seen.firstKept:
		return pipeline.Decline(reasonRecent), nil
	case again && (referred >= seen.firstKept || m.MarkerMode == pipeline.MarkerOff):
		return pipeline.Decline(reasonReferred), nil
	}
	inside := wrapper.Unwrap(s.Text)
	failed := s.IsError || inside.Failed()
	if failed && (!m.KeepErrors || s.Tokens <= oversized) {
		return pipeline.Decline(pipeline.ReasonErrorResult), nil
	}
	var after strings.Builder
	after.WriteString(" " + errview.CountLines(s.Text))
	if m.KeepErrors {
		found, err := errview.Find(ctx, &s)
		if err != nil {
			return pipeline.Edit{}, err
		}
		found.Write(&after)
	}
	if m.KeepNames > 0 {
		list := names.Known(after.String())
		list.Add(inside.Body)
		if line := list.Line(len(s.Text)*m.KeepNames/100, ""); line != "" {
			after.WriteString("\n" + line)
		}
	}
	for _, reminder := range wrapper.Reminders(s.Text) {
		after.WriteString("\n" + reminder)
	}
	about := "[older tool output masked"
	if again {
		about += "; a later one refers to it"
	}
	if peek := m.peek(s.Text, inside, failed); peek != "" {
		about += "; starts: " + peek
	}
	loss := pipeline.Loss{Before: about + "] ", After: after.String(), Hint: pipeline.HintFullOutput, Mode: m.MarkerMode}
	if m.MarkerMode == pipeline.MarkerOff {
		loss.Before = strings.TrimSuffix(loss.Before, " ")
	}
	return pipeline.Offload(loss), nil
}

// peek is how an output begins. A client's header says nothing, unless it says
// that the command failed.
func (m masker) peek(text string, inside wrapper.Output, failed bool) string {
	if m.KeepHeadChars == 0 {
		return ""
	}
	for _, from := range []string{inside.Body, text} {
		if failed {
			from = text
		}
		if peek := excerpt.Line(wrapper.SkipReminders(from), m.KeepHeadChars); peek != "" {
			return peek
		}
	}
	return ""
}
