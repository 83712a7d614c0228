package pipeline

import (
	"errors"
	"fmt"
	"strings"
)

// Reason says, in snake_case, why a segment was left alone. Reasons label
// metrics, so a component has a handful of constant ones.
type Reason string

// Reasons the runner itself gives.
const (
	ReasonNotText        Reason = "not_text"         // no exact text: lone surrogate, invalid UTF-8
	ReasonExpandResult   Reason = "expand_result"    // the model asked to see it in full
	ReasonMarked         Reason = "already_marked"   // carries a marker of ours
	ReasonErrorResult    Reason = "error_result"     // failures keep their text
	ReasonErrorsHidden   Reason = "errors_hidden"    // a view of a huge failure without all of its errors
	ReasonOutdone        Reason = "outdone"          // another component's view is much smaller
	ReasonBelowMinTokens Reason = "below_min_tokens" // shorter than the component's floor
	ReasonNoWin          Reason = "no_win"           // the result is not smaller, marker and hint included
	ReasonUnchanged      Reason = "unchanged"        // the component returned the same text
	ReasonEmpty          Reason = "empty_result"     // a view must never be blank
	ReasonNotEquivalent  Reason = "not_equivalent"   // a lossless edit did not pass its own check
	ReasonKind           Reason = "kind_contract"    // an edit that the component may not make
	ReasonTooMany        Reason = "too_many_marks"   // more cache marks than a request may carry, or two in one place
	ReasonPanic          Reason = "panic"            // the component panicked
	ReasonFailed         Reason = "error"            // the component returned an error
)

// fault reports whether a reason means that something is wrong with the
// component rather than that the segment did not suit it.
func (r Reason) fault() bool {
	switch r {
	case ReasonNotEquivalent, ReasonKind, ReasonTooMany, ReasonPanic, ReasonFailed, ReasonEmpty:
		return true
	default:
		return false
	}
}

// Equivalence is the claim a lossless edit makes and the check that proves it.
// The check must not share code with the encoder it judges.
type Equivalence struct {
	// Name says in a few words what stays the same.
	Name string
	// Check returns an error that says where the two texts differ.
	Check func(before, after string) error
	// Lines claims that line n of the one text is line n of the other: the number
	// of a line leads to the same place in both.
	Lines bool
}

// MarkerMode says how a lossy edit announces its loss.
type MarkerMode string

// The marker modes of the configuration.
const (
	// MarkerFull leaves the marker and, where the model is not told by the
	// tool's own description, a hint how to use it.
	MarkerFull MarkerMode = "full"
	// MarkerSummary leaves the marker without a hint.
	MarkerSummary MarkerMode = "summary"
	// MarkerOff leaves no marker and keeps no original. It is the one mode
	// that really loses text and must be allowed by the operator.
	MarkerOff MarkerMode = "off"
)

// Validate reports an unknown mode; the empty mode counts as full.
func (m MarkerMode) Validate() error {
	switch m {
	case "", MarkerFull, MarkerSummary, MarkerOff:
		return nil
	default:
		return fmt.Errorf("must be full, summary or off, got %q", string(m))
	}
}

// Hints, worded as the specification words them.
const (
	HintFullOutput = " [full output: call context_guru_expand]"
	HintFullArray  = " [full array: call context_guru_expand]"
	HintFullSource = " [full source: call context_guru_expand]"
)

// Loss describes a lossy edit: the view that stays readable, and where the
// marker stands in it.
type Loss struct {
	// Before and After are the text around the marker. They say what is
	// missing in units a reader can ask for.
	Before, After string
	// Hint follows the marker where markers carry hints; it starts with a blank.
	Hint string
	// Mode is the component's marker_mode.
	Mode MarkerMode
	// Errors, if set, proves that every line of the original that reports an error
	// can be read in the view, or the view is not adopted. Without it a failed
	// result is not offloaded at first sight.
	Errors func(original, view string) error
}

// HugeErrorTokens is the size from which the result of a failed call may be
// offloaded, in tokens. What goes wrong is seldom that long, and then mostly a
// log around it: the edit has to prove that the errors stay.
const HugeErrorTokens = 2000

// showsErrors returns why a view must not be adopted at first sight for the
// errors in it.
func (l *Loss) showsErrors(failed bool, original, view string) (reason Reason) {
	defer func() {
		if recover() != nil {
			reason = ReasonPanic
		}
	}()
	switch {
	case l.Errors == nil && failed:
		return ReasonErrorResult
	case l.Errors == nil:
		return ""
	case l.Errors(original, view) != nil:
		return ReasonErrorsHidden
	default:
		return ""
	}
}

// Frame is what stands around a part of a text.
type Frame struct {
	Before, After string
	// Quote writes a part as it stands between them, piece by piece, and Unquote
	// reads it. Both are nil where it stands as it is.
	Quote   func(part string) string
	Unquote func(quoted string) (part string, err error)
}

func (f *Frame) quote(part string) string {
	if f.Quote == nil {
		return part
	}
	return f.Quote(part)
}

// part returns what stands between.
func (f *Frame) part(text string) (string, error) {
	inside, ok := strings.CutPrefix(text, f.Before)
	if !ok {
		return "", errors.New("what stands in front has changed")
	}
	if inside, ok = strings.CutSuffix(inside, f.After); !ok {
		return "", errors.New("what stands behind has changed")
	}
	if f.Unquote == nil {
		return inside, nil
	}
	return f.Unquote(inside)
}

// Lossy reports whether the edit leaves something out.
func (e Edit) Lossy() bool { return e.kind == editOffload }

// Proving returns the edit with the proof that its view shows every error.
func (e Edit) Proving(errors func(original, view string) error) Edit {
	e.loss.Errors = errors
	return e
}

// Within returns the edit for the text a part of which was decided about: the
// part changes, what is around it stays.
func (e Edit) Within(f Frame) Edit {
	switch e.kind {
	case editReplace:
		same := e.same.Check
		e.text = f.Before + f.quote(e.text) + f.After
		e.same.Lines = e.same.Lines || f.Quote != nil // a quoted part has no line ends
		if same != nil {
			e.same.Check = func(before, after string) error {
				a, err := f.part(before)
				if err != nil {
					return err
				}
				b, err := f.part(after)
				if err != nil {
					return err
				}
				return same(a, b)
			}
		}
	case editOffload:
		e.loss.Before, e.loss.After = f.Before+f.quote(e.loss.Before), f.quote(e.loss.After)+f.After
	}
	return e
}

type editKind uint8

const (
	editNone editKind = iota
	editReplace
	editOffload
	editAnnotate
)

// Edit is what a component wants done to its segment. The zero Edit declines
// without a reason.
type Edit struct {
	kind   editKind
	reason Reason
	text   string
	same   Equivalence
	loss   Loss
	place  Place
	ttl    TTL
}

// Decline leaves the segment as it is.
func Decline(why Reason) Edit { return Edit{reason: why} }

// Replace puts text in the segment's place. It is lossless: the runner adopts
// it only if the equivalence's check passes.
func Replace(text string, same Equivalence) Edit {
	return Edit{kind: editReplace, text: text, same: same}
}

// Offload puts a shorter view in the segment's place. The runner adds the
// marker and keeps the client's original text behind it.
func Offload(loss Loss) Edit { return Edit{kind: editOffload, loss: loss} }
