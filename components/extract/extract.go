// Package extract takes noise out of tool output: what a terminal would have
// overwritten, and what is there a second time.
//
// In order: terminal codes go; a line that was drawn over itself keeps its
// last state; lines that hold nothing but a progress bar or a spinner go; of a
// run of blank lines one stays; a line or a block of up to maxBlock lines that
// is repeated at once stays one time, followed by a line that states the count:
//
//	warning: peer dependency unmet
//	... (previous line x15)
//
// Every other line stays as it is and where it is. The last line says what was
// left out and carries the marker:
//
//	... (left out: 14 repeated lines, 3 blank lines) <<cg:ID>> [full output: call context_guru_expand]
//
// Each step would rather keep noise than lose a line that says something: a
// code that never ends is kept, a redraw that reports an error is kept, and a
// text that may be read for its exact lines (a source file, a numbered
// listing, a diff) is left alone altogether. So is one with hardly any noise. What
// a client put in for the model to heed stays word for word.
package extract

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
	reasonBinary   pipeline.Reason = "binary"
	reasonDiff     pipeline.Reason = "diff"
	reasonFileRead pipeline.Reason = "file_read"
	reasonNoNoise  pipeline.Reason = "no_noise"
	reasonLittle   pipeline.Reason = "little_noise"
	reasonNumbered pipeline.Reason = "numbered_lines"
)

// minGain is the least share of the text, in percent, that noise has to make
// up. For less, a marker that may cost a call, and that keeps the components
// behind this one from the text, is a bad bargain.
const minGain = 5

// Config is the settings of extract.
type Config struct {
	// MinTokens is the least size of a tool output that is looked at, in tokens.
	MinTokens int `json:"min_tokens"`
	// Trigger gates it by the size of the request and of the output when it was new.
	Trigger pipeline.Trigger `json:"trigger"`
	// MarkerMode is full (marker and hint), summary (marker only) or off, which keeps no original and has to be allowed.
	MarkerMode pipeline.MarkerMode `json:"marker_mode"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	var mode error
	if err := c.MarkerMode.Validate(); err != nil {
		mode = &pipeline.FieldError{Field: "marker_mode", Problem: err.Error()}
	}
	return errors.Join(pipeline.AtLeast("min_tokens", c.MinTokens, 0), c.Trigger.Validate(), mode)
}

// Looks implements pipeline.Scoped.
func (c Config) Looks() pipeline.Scope { return c.Trigger.Scope() }

// Irreversible implements pipeline.Irreversible.
func (c Config) Irreversible() bool { return c.MarkerMode == pipeline.MarkerOff }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "extract",
		Kind:    pipeline.KindOffload,
		Summary: "Takes out terminal codes, progress bars, blank runs and lines repeated at once, and states how many.",
	}, Config{MinTokens: 300, MarkerMode: pipeline.MarkerFull}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return failed.Guard(inside.Lines(extractor{c})), nil
	})
}

type extractor struct{ Config }

// Rewrite implements pipeline.Component.
func (x extractor) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < x.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	if !x.Trigger.Allows(s, x.MinTokens) {
		return pipeline.Decline(pipeline.ReasonTrigger), nil
	}
	if reason := mustStay(&s); reason != "" {
		return pipeline.Decline(reason), nil
	}
	c := cleaner{}
	if err := c.clean(ctx, s.Text); err != nil {
		return pipeline.Edit{}, err
	}
	found := repeats(c.lines)
	if c.left == (leftOut{}) && len(found) == 0 {
		return pipeline.Decline(reasonNoNoise), nil
	}
	var b strings.Builder
	b.Grow(len(s.Text) / 2)
	c.left.repeated = fold(&b, c.lines, found)
	if noise := len(s.Text) - b.Len(); noise*100 < minGain*len(s.Text) {
		return pipeline.Decline(reasonLittle), nil
	}
	if text := b.String(); text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "... (left out: %s) ", c.left)
	return pipeline.Offload(pipeline.Loss{Before: b.String(), Hint: pipeline.HintFullOutput, Mode: x.MarkerMode}), nil
}

// mustStay returns why a text must stay exactly as it is, or nothing.
func mustStay(s *pipeline.Segment) pipeline.Reason {
	switch {
	case strings.IndexByte(s.Text, 0) >= 0:
		return reasonBinary
	case exact.ReadsFile(string(s.Tool), s.Args, s.Text):
		return reasonFileRead
	case exact.IsDiff(s.Text):
		return reasonDiff
	case exact.IsNumbered(s.Text):
		return reasonNumbered
	default:
		return ""
	}
}

// leftOut counts what a view is without.
type leftOut struct {
	repeated, blank, progress, redrawn int
	codes                              bool
}

// String names what was left out in words for a reader.
func (l leftOut) String() string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprint(n, " ", many))
		}
	}
	add(l.repeated, "repeated line", "repeated lines")
	add(l.blank, "blank line", "blank lines")
	add(l.progress, "progress line", "progress lines")
	add(l.redrawn, "redraw", "redraws")
	if l.codes {
		parts = append(parts, "terminal codes")
	}
	return strings.Join(parts, ", ")
}
