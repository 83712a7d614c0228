// Package format takes the white space out of pretty-printed JSON.
//
// It works on the text, not on values: what it writes is the input with the
// insignificant white space cut out, so that numbers, escapes, the order of
// keys and repeated keys stay as they were, byte for byte. White space around
// the document is insignificant too (RFC 8259, section 2) and goes with the
// rest. The whole text must be one document: with anything behind it, a second
// document included, the text is left alone.
//
// Agents often see JSON inside a string of JSON, such as the stdout field of a
// command's result. Such a document is compacted in its place, in the escapes
// it was written in, a few strings deep.
package format

import (
	"context"
	"strings"

	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonNotJSON pipeline.Reason = "not_json"
	reasonTooDeep pipeline.Reason = "too_deep"
	reasonCompact pipeline.Reason = "already_compact"
)

// Config is the settings of format.
type Config struct {
	// MinTokens is the least size of a tool output that is compacted, in tokens.
	MinTokens int `json:"min_tokens"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error { return pipeline.AtLeast("min_tokens", c.MinTokens, 0) }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "format",
		Kind:    pipeline.KindReformat,
		Summary: "Takes the insignificant white space out of JSON, JSON inside strings included.",
	}, Config{MinTokens: 50}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return inside.Body(formatter{c}), nil
	})
}

type formatter struct{ Config }

// Rewrite implements pipeline.Component.
func (f formatter) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < f.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	if !rawjson.Opens(s.Text) {
		return pipeline.Decline(reasonNotJSON), nil
	}
	doc := []byte(s.Text)
	cuts, reason := insignificant(ctx, doc, maxStrings)
	if err := ctx.Err(); err != nil {
		return pipeline.Edit{}, err
	}
	if reason != "" {
		return pipeline.Decline(reason), nil
	}
	if len(cuts) == 0 {
		return pipeline.Decline(reasonCompact), nil
	}
	var out strings.Builder
	out.Grow(len(doc))
	at := 0
	for _, cut := range cuts {
		out.Write(doc[at:cut.Start])
		at = cut.End
	}
	out.Write(doc[at:])
	return pipeline.Replace(out.String(), pipeline.Equivalence{Name: "the same JSON literals in the same order", Check: sameLiterals}), nil
}
