package pipeline

import (
	"errors"
	"fmt"
	"math"
)

// Trigger gates a component by size. Everything is judged as of the segment:
// how large the request was when this output was new, whatever it has grown to
// since, so that a trigger never fires for an output that was sent before. The
// zero Trigger lets everything through.
//
// Fractions are of the model's context window. The absolute and the fraction
// both have to be reached; where the window is unknown, absolutes alone count.
type Trigger struct {
	// MinRequestTokens is the least size of the tool outputs so far, in tokens.
	MinRequestTokens int `json:"min_request_tokens"`
	// MinMessages is the least number of messages so far.
	MinMessages int `json:"min_messages"`
	// MinOutputTokens is the least size of the output itself, in tokens.
	MinOutputTokens int `json:"min_output_tokens"`
	// MinRequestFrac is MinRequestTokens as a fraction of the window.
	MinRequestFrac float64 `json:"min_request_frac"`
	// MinOutputFrac is MinOutputTokens as a fraction of the window.
	MinOutputFrac float64 `json:"min_output_frac"`
	// HugeOutputFrac is the fraction of the window from which an output is
	// worked on however small the request is.
	HugeOutputFrac float64 `json:"huge_output_frac"`
}

// ReasonTrigger says that the request or the output was too small then.
const ReasonTrigger Reason = "below_trigger"

// Validate reports negative sizes and fractions outside 0 to 1.
func (t Trigger) Validate() error {
	frac := func(field string, f float64) error {
		if f >= 0 && f <= 1 { // false for NaN as well
			return nil
		}
		return &FieldError{Field: "trigger." + field, Problem: fmt.Sprintf("must be a fraction from 0 to 1, got %v", f)}
	}
	return errors.Join(
		AtLeast("trigger.min_request_tokens", t.MinRequestTokens, 0),
		AtLeast("trigger.min_messages", t.MinMessages, 0),
		AtLeast("trigger.min_output_tokens", t.MinOutputTokens, 0),
		frac("min_request_frac", t.MinRequestFrac),
		frac("min_output_frac", t.MinOutputFrac),
		frac("huge_output_frac", t.HugeOutputFrac),
	)
}

// Scope is what a component with this trigger looks at beyond its segment.
func (t Trigger) Scope() Scope {
	if t.MinRequestTokens > 0 || t.MinMessages > 0 || t.MinRequestFrac > 0 {
		return ScopeTranscript
	}
	return ScopeSegment
}

// Allows reports whether the component may work on a segment. floor is the
// component's own least output size in tokens.
func (t Trigger) Allows(s Segment, floor int) bool {
	window := s.Request.Window
	if s.Tokens < max(floor, t.MinOutputTokens, Fraction(t.MinOutputFrac, window)) {
		return false
	}
	if huge := Fraction(t.HugeOutputFrac, window); huge > 0 && s.Tokens >= huge {
		return true
	}
	return s.Request.Messages >= t.MinMessages &&
		s.Request.Tokens >= max(t.MinRequestTokens, Fraction(t.MinRequestFrac, window))
}

// Fraction is a share of a window in tokens, rounded up; 0 when either is unset.
func Fraction(share float64, window int) int {
	if share <= 0 || window <= 0 {
		return 0
	}
	return int(math.Ceil(share * float64(window)))
}
