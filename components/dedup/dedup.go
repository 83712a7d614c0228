// Package dedup points from a repeated tool output to the first copy of it.
//
// Only an output of the very same request counts, and only an exact copy: the
// same text as the client sent it, or as it stands after the components in
// front. The pointer carries a marker of its own, so it can be read even when
// the first copy is shortened too.
//
// What a client puts around an output (an id, the time it took, the exit
// status) is none of it: where only that differs, it stays, and the pointer
// stands in the place of the output. So do reminders to the model. A failed
// result is never replaced.
package dedup

import (
	"context"

	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// pointer stands in front of the marker. It says all there is to know, so no
// hint follows.
const pointer = "[identical to an earlier tool output] "

const reasonFirstCopy pipeline.Reason = "no_earlier_copy"

// Config is the settings of dedup.
type Config struct {
	// MinTokens is the least size of a tool output that is replaced, in tokens.
	MinTokens int `json:"min_tokens"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error { return pipeline.AtLeast("min_tokens", c.MinTokens, 0) }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "dedup",
		Kind:    pipeline.KindOffload,
		Scope:   pipeline.ScopeTranscript,
		Summary: "Replaces a tool output that is a copy of an earlier one in the same request by a pointer to it.",
	}, Config{MinTokens: 100}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return deduper{c}, nil
	})
}

type deduper struct{ Config }

// Rewrite implements pipeline.Component.
func (d deduper) Rewrite(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < d.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	edit := pipeline.Offload(pipeline.Loss{Before: pointer})
	if _, found := v.Earlier(s); found {
		if wrapper.Unwrap(s.Text).Failed() {
			return pipeline.Decline(pipeline.ReasonErrorResult), nil
		}
		for _, reminder := range wrapper.Reminders(s.Text) {
			edit = edit.Within(pipeline.Frame{After: "\n" + reminder})
		}
		return edit, nil
	}
	if _, found := v.Alike(s); !found {
		return pipeline.Decline(reasonFirstCopy), nil
	}
	_, frames := inside.Split(s.Text)
	switch {
	case len(frames) == 0: // a component in front wrote it otherwise
		return pipeline.Decline(reasonFirstCopy), nil
	case wrapper.Unwrap(s.Text).Failed():
		return pipeline.Decline(pipeline.ReasonErrorResult), nil
	}
	for _, f := range frames {
		edit = edit.Within(f)
	}
	return edit, nil
}

// Gist implements pipeline.Recogniser.
func (d deduper) Gist(text string) string {
	gist, _ := inside.Split(text)
	return gist
}
