// Package skeleton leaves the bodies of functions out of source code.
//
// Signatures, imports, types and the bodies of classes stay, and so do comments
// in front of functions and the docstrings of Python. A body becomes one line that says which
// lines of the output it was, and is a syntax error in every language, so that
// nobody takes it for code:
//
//	func (s *Server) Close() error {
//		… (36 lines omitted) lines 42-77
//	}
//	<<cg:ID>> [full source: call context_guru_expand]
//
// In a listing with numbers the other lines keep theirs. An agent edits what it
// has read, so the newest reading of a file stays whole, whatever its age: only
// an older one becomes a skeleton, once a later one with the same arguments shows
// what the file has become. Where both show the same text, another component may
// have put a pointer to the first in the place of the second, so both stay.
//
// Fenced blocks in what is no file (an answer, a page) become skeletons when they
// are old, or with when: first_sight at once; files that are read never do then.
//
// Only source that is well formed as a whole is touched, and only if it is well
// formed without the bodies, too. A build without a parser leaves everything
// alone and says so.
package skeleton

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/syntax"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave an output alone.
const (
	reasonNoParser pipeline.Reason = "no_parser"
	reasonNoCode   pipeline.Reason = "no_code"
	reasonNewest   pipeline.Reason = "newest_read"
	reasonMayBe    pipeline.Reason = "may_be_file" // and which one, and whether it was read again, is not known
	reasonUnclean  pipeline.Reason = "not_well_formed"
	reasonTooSlow  pipeline.Reason = "parse_too_slow" // which only what is not well formed is
	reasonNoBodies pipeline.Reason = "no_bodies"
)

// Values of Config.When.
const (
	whenHorizon    = "horizon"
	whenFirstSight = "first_sight"
)

// Config is the settings of skeleton.
type Config struct {
	// MinTokens is the least size of a body that is left out, in tokens.
	MinTokens int `json:"min_tokens"`
	// When is horizon (old outputs, and files that were read again) or first_sight (fenced blocks at once, files never).
	When string `json:"when"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	var when error
	if c.When != whenHorizon && c.When != whenFirstSight {
		when = &pipeline.FieldError{Field: "when", Problem: fmt.Sprintf("must be %s or %s, got %q", whenHorizon, whenFirstSight, c.When)}
	}
	return errors.Join(pipeline.AtLeast("min_tokens", c.MinTokens, 0), when)
}

// Sight implements pipeline.Timed.
func (c Config) Sight() pipeline.When {
	if c.When == whenFirstSight {
		return pipeline.FirstSight
	}
	return pipeline.AtHorizon
}

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "skeleton",
		Kind:    pipeline.KindOffload,
		When:    pipeline.AtHorizon,
		Summary: "Leaves the bodies of functions out of old source code; the newest reading of a file stays whole.",
	}, Config{MinTokens: 80, When: whenHorizon}, func(c Config, deps pipeline.Deps) (pipeline.Component, error) {
		if !syntax.Available() && deps.Log != nil {
			deps.Log.Warn("skeleton does nothing: this build has no parser", "component", "skeleton", "cure", "build with CGO_ENABLED=1 and without the tag notreesitter")
		}
		return skeleton{Config: c, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}, nil
	})
}

type skeleton struct {
	Config

	// slots bounds the parses at a time, since what they take is no memory of Go's.
	slots chan struct{}
}

// Rewrite implements pipeline.Component.
func (k skeleton) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	switch {
	case !syntax.Available():
		return pipeline.Decline(reasonNoParser), nil
	case s.Tokens < k.MinTokens:
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	lang := syntax.Language("")
	if r, ok := readOf(&s); ok {
		seen := pipeline.Once(v, k, func() map[int]bool { return superseded(v) })
		if !seen[s.Index] {
			return pipeline.Decline(reasonNewest), nil
		}
		lang = syntax.OfFile(r.path)
	} else if mayBeFile(&s) {
		return pipeline.Decline(reasonMayBe), nil
	}
	if s.IsError || wrapper.Unwrap(s.Text).Failed() {
		return pipeline.Decline(pipeline.ReasonErrorResult), nil
	}
	text, frames := inside.Split(s.Text)
	d := document{ctx: ctx, text: text, lang: lang, slots: k.slots}
	d.number(s, frames)
	d.least = k.MinTokens * len(s.Text) / max(s.Tokens, 1)
	view, why, err := d.skeleton()
	if errors.Is(err, syntax.ErrTimeout) {
		return pipeline.Decline(reasonTooSlow), nil
	}
	if err != nil {
		return pipeline.Edit{}, err
	}
	if why != "" {
		return pipeline.Decline(why), nil
	}
	edit := pipeline.Offload(pipeline.Loss{Before: view, Hint: pipeline.HintFullSource})
	for _, f := range frames {
		edit = edit.Within(f)
	}
	return edit, nil
}
