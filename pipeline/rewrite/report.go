package rewrite

import (
	"slices"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
)

// Verdict says what became of a body.
type Verdict string

// The verdicts.
const (
	Rewritten   Verdict = "rewritten"   // the body was made smaller, or the expand tool was put in
	Unchanged   Verdict = "unchanged"   // read, and nothing to do
	PassThrough Verdict = "passthrough" // not read to the end; the client's bytes go out
)

// Why a body was passed through, beside the reasons of wire.UnreadableError.
const (
	ReasonDeadline  = "deadline"   // the wall-clock safety net fired
	ReasonCancelled = "cancelled"  // the caller went away
	ReasonOverLimit = "over_limit" // the rewritten body would exceed the cap
	ReasonSplice    = "splice"     // the edits did not fit the body
	ReasonPanic     = "panic"      // something panicked outside the components
	ReasonEncoding  = "bad_encoding"
)

// Why a request got lossless edits only.
const (
	LosslessNoResolver = "no_resolver" // nobody could read an original back
	LosslessNoTenant   = "no_tenant"   // no credential to keep originals under
	LosslessAsked      = "asked"       // the caller allowed no marker
	LosslessStore      = "store"       // the store did not acknowledge the originals
	LosslessKept       = "kept"        // a later request may continue this one without holding it
	LosslessBinary     = "binary"      // the answer, and a call in it, cannot be read
	LosslessSeveral    = "several"     // one of several answers cannot be continued without the others
	LosslessShed       = "overload"    // a conversation that begins while there is no room to answer calls
	LosslessGate       = "gate"        // the conversation is too small for the expand tool
	LosslessNoTool     = "no_tool"     // the expand tool cannot or must not be put in: see Report.Tool
	LosslessServerHeld = "server_held" // the provider keeps history that the request does not hold
)

// ComponentEdits sums what one component did to one request, history included.
type ComponentEdits struct {
	Component string
	// Segments counts edited segments.
	Segments int
	// TokensBefore and TokensAfter sum those segments around this component.
	TokensBefore, TokensAfter int
}

// Report says what was done to one body. It holds sizes, counts and names and
// never content.
type Report struct {
	Dialect, Model string
	Stream         bool
	Verdict        Verdict
	// Reason explains PassThrough.
	Reason string
	// Lossless is why the request got lossless edits only, or empty.
	Lossless string
	// StoreError is the store's error behind LosslessStore, or nil. Under
	// ResolverLoop markers are sent all the same.
	StoreError error

	// Tool says whether the body that goes out carries the expand tool, or why it
	// does not. It is empty unless the resolver is the loop.
	Tool tool.State
	// ToolTokens is what the tool costs in this request, each time it is sent.
	ToolTokens int
	// Gate is the state of the gate, and Preamble the size in tokens that it goes
	// by.
	Gate     Gate
	Preamble int

	// Restored counts the answers that got their hidden rounds back, Unfit those
	// whose record does not fit what the client sent.
	Restored, Unfit int
	// Healed counts results of expand calls that reached the client, and that were
	// replaced by what the model asked for.
	Healed int
	// Echoes counts the markers that the model repeated in its newest answer.
	Echoes int
	// HiddenError is the store's error for which hidden rounds may be missing, or nil.
	HiddenError error

	Messages, Segments, Turn int
	// Horizon is the turn as of which old outputs were decided about, or 0.
	Horizon int
	// PlannedBreak reports that the horizon is the newest turn, so that this is
	// the first request, or a repetition of it, whose old outputs may be sent
	// differently than before.
	PlannedBreak bool
	// Conflicts counts markers that were not sent because the store holds
	// another value under their ids: a collision, or a value that was sealed with
	// an encryption key the service was not given.
	Conflicts int
	// Markers counts the lossy edits sent.
	Markers int
	// Marks counts the cache marks that were added.
	Marks int
	// Acts says what was done, or why not, by components that decide about the
	// request and not about its outputs.
	Acts                    []pipeline.Act
	BytesBefore, BytesAfter int
	// TokensBefore and TokensAfter count the text of all segments as sent.
	TokensBefore, TokensAfter int
	// NewBefore and NewAfter count the segments of the newest turn only, and
	// not those of a request that is sent again: over a conversation they sum
	// every output once.
	NewBefore, NewAfter int
	// Estimated reports that a count is not exact.
	Estimated bool
	// Fresh counts segments whose outcome was computed and not remembered.
	Fresh int
	// Edits has one entry per component that edited a segment, in pipeline order.
	Edits []ComponentEdits
	// New has the outcomes that NewBefore and NewAfter count.
	New []NewOutput
	// Explained has every segment, when the request asked for it.
	Explained []Explanation
}

// ReasonNotSent says that a component's edit was not part of the version sent:
// the request got lossless edits only, or the store holds another text.
const ReasonNotSent pipeline.Reason = "not_sent"

// NewOutput is one output that was new, and what was sent in its place.
type NewOutput struct {
	Outcome *pipeline.Outcome
	// Sent is the version sent; nil means the client's own bytes.
	Sent *pipeline.Version
}

// Acts yields what every component did for the version sent. An edit that was
// decided and not sent counts as declined: it saved nothing.
func (n NewOutput) Acts(yield func(pipeline.Act) bool) {
	for _, act := range n.Outcome.Acts {
		if act.Acted && (n.Sent == nil || act.Lossy && n.Sent != n.Outcome.Lossy) {
			act.Acted, act.Reason, act.After = false, ReasonNotSent, act.Before
		}
		if !yield(act) {
			return
		}
	}
}

// Explanation is what was decided about one segment.
type Explanation struct {
	Index, Turn int
	// Tool is the name of the call the segment answers.
	Tool string
	// Text is the version sent; empty when it is the client's.
	Text    string
	Outcome *pipeline.Outcome
}

func (r *Report) explain(t *pipeline.Transcript, res *pipeline.Result, w *work) {
	r.Explained = make([]Explanation, len(res.Outcomes))
	for i, o := range res.Outcomes {
		s := &t.Segments[i]
		r.Explained[i] = Explanation{Index: i, Turn: s.Turn, Tool: string(s.Tool), Outcome: o}
		if v := w.version(o); v != nil {
			r.Explained[i].Text = v.Text
		}
	}
}

// tally fills in the report's figures about the segments.
func (r *Report) tally(t *pipeline.Transcript, res *pipeline.Result, steps []pipeline.Step, w *work) {
	r.Messages, r.Segments, r.Turn, r.Fresh = t.Messages, len(t.Segments), t.Turn, res.Fresh
	if w.lossy {
		r.Horizon, r.PlannedBreak = res.Horizon, res.Horizon > 0 && res.Horizon == t.Turn
	}
	clear(w.edits)
	edits := slices.Grow(w.edits[:0], len(steps))[:len(steps)]
	w.edits = edits
	for i, o := range res.Outcomes {
		v, after := w.version(o), o.Original.N
		if v != nil {
			after = v.Tokens
		}
		r.TokensBefore += o.Original.N
		r.TokensAfter += after
		r.Estimated = r.Estimated || o.Original.Estimated
		if t.Segments[i].Turn == t.Turn && res.New[i] {
			r.NewBefore += o.Original.N
			r.NewAfter += after
			r.New = append(r.New, NewOutput{Outcome: o, Sent: v})
		}
		if v != nil {
			if v.ID != "" {
				r.Markers++
			}
			count(edits, o, v == o.Lossy)
		}
	}
	for _, e := range edits {
		if e.Segments > 0 {
			r.Edits = append(r.Edits, e)
		}
	}
}

// count adds the edits behind one sent version.
func count(edits []ComponentEdits, o *pipeline.Outcome, lossy bool) {
	for i := range o.Edits {
		act := &o.Edits[i]
		if act.Lossy && !lossy {
			continue
		}
		e := &edits[act.Step]
		e.Component = act.Component
		e.Segments++
		e.TokensBefore += act.Before
		e.TokensAfter += act.After
	}
}
