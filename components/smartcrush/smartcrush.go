// Package smartcrush leaves most items of a long JSON array out.
//
// The first and the last items stay, and so do those in between that matter
// most: items that report an error, and items unlike the rest. The document
// around them stays, and behind it stands how many items are shown and which
// are missing, counted from 0, with the marker:
//
//	[{"id":0},{"id":1},{"id":2},{"id":198},{"id":199}] [5 of 200 items shown; items 3-197 omitted] <<cg:ID>> [full array: call context_guru_expand]
//
// Nothing is written anew: the view is the text with pieces cut out of it, so
// that every item is there byte for byte or not at all, and what was one JSON
// document still is one. The array may be the document, stand up to maxKeys
// names and positions deep in it, or in JSON that a string of it holds (one or
// two strings deep), and the document may stand behind a short line of other
// text; of several arrays the longest is taken.
//
// # What is kept
//
// An item reports an error by the meaning of a field, not by its name alone:
// "error": null, "errors": 0 or [] and "failed": false report none; "status":
// 503, "level": "error", "exit_code": 2 and "success": false do. A text that
// mentions an error counts, too, after those. Up to maxErrors such items stay,
// and at most a quarter of all: half of them the first and half the last. The
// note names every one that does not stay ("errors in items 7, 12-15").
//
// Unlike the rest is a number far from the others of its field (by the median
// of the distances from the median, which outliers do not move), or a value
// that is seen once or twice in a field that otherwise repeats, a missing or an
// extra field included. Up to maxUnusual such items stay, and at most a tenth
// of all.
//
// Time and memory are linear in the text, and nothing depends on more than the
// text and the settings.
package smartcrush

import (
	"context"
	"errors"

	"github.com/contextguru/contextguru/components/internal/failed"
	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonNoArray pipeline.Reason = "no_long_array"
	reasonAllKept pipeline.Reason = "all_items_kept"
	reasonLittle  pipeline.Reason = "little_to_omit"
)

// minGain is the least share of the text, in percent, that the omitted items
// have to make up. For less, a marker that may cost a call, and that keeps the
// components behind this one from the text, is a bad bargain.
const minGain = 10

// Config is the settings of smartcrush.
type Config struct {
	// MinItems is the least number of items of an array that is shortened.
	MinItems int `json:"min_items"`
	// MinTokens is the least size of a tool output that is looked at, in tokens.
	MinTokens int `json:"min_tokens"`
	// KeepFirst is how many items stay at the beginning.
	KeepFirst int `json:"keep_first"`
	// KeepLast is how many items stay at the end.
	KeepLast int `json:"keep_last"`
	// MarkerMode is full (marker and hint), summary (marker only) or off, which keeps no original and has to be allowed.
	MarkerMode pipeline.MarkerMode `json:"marker_mode"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	var mode error
	if err := c.MarkerMode.Validate(); err != nil {
		mode = &pipeline.FieldError{Field: "marker_mode", Problem: err.Error()}
	}
	return errors.Join(
		pipeline.AtLeast("min_items", c.MinItems, 1),
		pipeline.AtLeast("min_tokens", c.MinTokens, 0),
		pipeline.AtLeast("keep_first", c.KeepFirst, 0),
		pipeline.AtLeast("keep_last", c.KeepLast, 0),
		mode,
	)
}

// Irreversible implements pipeline.Irreversible.
func (c Config) Irreversible() bool { return c.MarkerMode == pipeline.MarkerOff }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "smartcrush",
		Kind:    pipeline.KindOffload,
		Summary: "Keeps the first and last items of a long JSON array, those that report errors and those unlike the rest.",
	}, Config{MinItems: 5, MinTokens: 200, KeepFirst: 3, KeepLast: 2, MarkerMode: pipeline.MarkerFull}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return failed.Guard(crusher{c}), nil
	})
}

type crusher struct{ Config }

// Rewrite implements pipeline.Component.
func (c crusher) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < c.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	p, ok := find(s.Text, max(c.MinItems, c.KeepFirst+c.KeepLast+1))
	if !ok {
		return pipeline.Decline(reasonNoArray), nil
	}
	items := make([]rawjson.Span, 0, p.items)
	for item := range rawjson.Items(p.doc, p.start) {
		items = append(items, item)
	}
	sel, err := c.choose(ctx, p.doc, items)
	if err != nil {
		return pipeline.Edit{}, err
	}
	if sel.kept == len(items) {
		return pipeline.Decline(reasonAllKept), nil
	}
	cuts := p.outward(sel.cuts(items))
	omitted := 0
	for _, cut := range cuts {
		omitted += cut.Len()
	}
	if omitted*100 < minGain*len(s.Text) {
		return pipeline.Decline(reasonLittle), nil
	}
	loss := p.view(s.Text, cuts, sel.note(p.path))
	loss.Mode = c.MarkerMode
	return pipeline.Offload(loss), nil
}
