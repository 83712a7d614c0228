// Package linecap shortens what makes a text long in the small: overlong lines,
// and lines that are there again and again. It is meant to run last, since a
// marker keeps other components away.
//
// A line of more than max_chars characters loses its middle; two thirds of what
// stays are its beginning:
//
//	{"rows":[{"id":1,"na...[cut 8123 chars of line 17]...],"next":null}
//
// The cut is between characters as a reader sees them, never inside one, and
// never inside a path at the end. A line stays whole when what a reader looks
// for may be anywhere in it: an error, a verdict or an exit status, a place in a
// file, a frame of a stack, an address; only the place that a search puts in
// front of what it found stays anyway. So do the lines of a diff, reminders of
// the client to the model, prose that is not too long, documents of JSON and the
// lines of a file that was read. But for diffs and reminders, what is longer
// than anybody reads is cut all the same: every mention of an error stays in it,
// up to a few at both ends, and the others are counted.
//
// A line that is there several times, not only at once, stays in its first
// place with the count behind it:
//
//	warning: peer dependency unmet  (x15)
//
// The first and the last lines are left out of that, and so are short, indented
// and unfinished ones, for which their place is what matters, and reports of
// errors and verdicts, which belong to what stands above them.
//
// The last line says what was left out and carries the marker. The numbers of
// lines are those of the client's lines, in which a reader can ask for them;
// where a component in front wrote the text in other lines, there are none.
package linecap

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/components/internal/exact"
	"github.com/contextguru/contextguru/components/internal/failed"
	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonBinary  pipeline.Reason = "binary"
	reasonNothing pipeline.Reason = "nothing_long_or_repeated"
	reasonLittle  pipeline.Reason = "little_to_gain"
)

// minGain is the least share of the text, in percent, that has to go. For less,
// a marker that may cost a call is a bad bargain.
const minGain = 5

// Config is the settings of linecap.
type Config struct {
	// MaxChars is the length up to which a line is left alone, in characters.
	MaxChars int `json:"max_chars"`
	// MinTokens is the least size of a tool output that is looked at, in tokens.
	MinTokens int `json:"min_tokens"`
	// FoldRepeats leaves out the copies of lines that are there several times.
	FoldRepeats bool `json:"fold_repeats"`
	// MarkerMode is full (marker and hint), summary (marker only) or off, which keeps no original and has to be allowed.
	MarkerMode pipeline.MarkerMode `json:"marker_mode"`
}

// minMaxChars is the least max_chars: what stays of a line has to be worth more
// than the note that tells of the cut.
const minMaxChars = 120

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	var mode error
	if err := c.MarkerMode.Validate(); err != nil {
		mode = &pipeline.FieldError{Field: "marker_mode", Problem: err.Error()}
	}
	return errors.Join(pipeline.AtLeast("max_chars", c.MaxChars, minMaxChars), pipeline.AtLeast("min_tokens", c.MinTokens, 0), mode)
}

// Irreversible implements pipeline.Irreversible.
func (c Config) Irreversible() bool { return c.MarkerMode == pipeline.MarkerOff }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "linecap",
		Kind:    pipeline.KindOffload,
		Summary: "Cuts the middle out of overlong lines and the copies of repeated ones. Runs last.",
	}, Config{MaxChars: 500, MinTokens: 100, FoldRepeats: true, MarkerMode: pipeline.MarkerFull}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return failed.Guard(inside.Lines(capper{c})), nil
	})
}

type capper struct{ Config }

// Rewrite implements pipeline.Component.
func (c capper) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	switch {
	case s.Tokens < c.MinTokens:
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	case strings.IndexByte(s.Text, 0) >= 0:
		return pipeline.Decline(reasonBinary), nil
	}
	v := view{max: c.MaxChars, size: len(s.Text), diff: exact.IsDiff(s.Text), file: exact.ReadsFile(string(s.Tool), s.Args, s.Text), renumbered: s.Renumbered}
	if c.FoldRepeats && !v.diff && !v.file && !exact.IsNumbered(s.Text) {
		var err error
		if v.copies, err = repeats(ctx, s.Text); err != nil {
			return pipeline.Edit{}, err
		}
	}
	if err := v.write(ctx, s.Text); err != nil {
		return pipeline.Edit{}, err
	}
	switch {
	case v.cutLines == 0 && v.folded == 0:
		return pipeline.Decline(reasonNothing), nil
	case (len(s.Text)-v.out.Len())*100 < minGain*len(s.Text):
		return pipeline.Decline(reasonLittle), nil
	}
	if text := v.out.String(); !strings.HasSuffix(text, "\n") {
		v.out.WriteByte('\n')
	}
	fmt.Fprintf(&v.out, "... (left out: %s) ", v.leftOut())
	return pipeline.Offload(pipeline.Loss{Before: v.out.String(), Hint: pipeline.HintFullOutput, Mode: c.MarkerMode}), nil
}
