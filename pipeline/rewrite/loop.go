package rewrite

import (
	"cmp"
	"slices"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Resolver says who reads an original back.
type Resolver uint8

// The resolvers. The pipelines have to permit lossy edits for the first two.
const (
	// ResolverExternal is somebody outside: the client, an MCP server, GET on the
	// expand path. A marker is sent when its original is known to be stored.
	ResolverExternal Resolver = iota
	// ResolverLoop is the service itself: it puts the expand tool into requests
	// and answers the calls. What it is asked for is in the very request it was
	// asked with, so the store decides nothing.
	ResolverLoop
	// ResolverNone is nobody: only lossless edits are made.
	ResolverNone
)

// Inject says when the expand tool is put into a request under ResolverLoop.
type Inject uint8

// The ways to inject.
const (
	// InjectAuto is where the client declares tools and the gate is open.
	InjectAuto Inject = iota
	// InjectAlways is everywhere, even where the client declares none.
	InjectAlways
	// InjectNever is nowhere: only lossless edits are made.
	InjectNever
)

// DefaultGateTokens is the size of a preamble from which on the expand tool is
// put into a conversation. Agents begin with more: the shortest of the recorded
// coding agents with 760, the tool-calling chats with 1600, and in both the open
// gate saves more than the closed one (Anthropic's prices: 66 % against 4 %, and
// 6.5 % against 6.0 %), with no conversation dearer by more than the tool. What
// begins with less is mostly a single question, whose few turns would pay for the
// tool and never use it.
const DefaultGateTokens = 500

// Expand says how requests are prepared for whoever reads originals back. It is
// fixed for the life of a Rewriter: changed in the middle of a conversation it
// makes the provider read the whole prompt anew.
type Expand struct {
	Resolver Resolver
	// Inject and GateTokens are for ResolverLoop.
	Inject Inject
	// GateTokens is the size from which on the gate is open under InjectAuto: of
	// the texts in front of the first assistant message, without tools, at 4 bytes
	// a token. Below it a conversation gets lossless edits only. 0 opens it always.
	GateTokens int
}

// Gate says whether a conversation is one that gets the expand tool.
type Gate string

// The states of the gate; it is empty when nobody asked.
const (
	GateOpen   Gate = "open"
	GateClosed Gate = "closed"
)

// Why the expand tool is not in a request, beside the reasons of tool.State.
const (
	ToolLosslessOnly tool.State = "lossless_only" // see Report.Lossless
	ToolGateClosed   tool.State = "gate_closed"   // the preamble is small
	ToolNever        tool.State = "never"         // InjectNever
	ToolNoMarkers    tool.State = "no_markers"    // no component leaves any
)

// bytesPerToken is the usual rule of thumb. The gate goes by it rather than by a
// count, which would take longer and change with the model's vocabulary.
const bytesPerToken = 4

// preamble is the size of a conversation's preamble in tokens. It is the same
// in every request of the conversation.
func preamble(t *pipeline.Transcript) int {
	if t.Preamble == nil {
		return 0
	}
	size := 0
	for text := range t.Preamble {
		size += len(text)
	}
	return size / bytesPerToken
}

// prepare decides about the tool. It returns the state for the report and why
// only lossless edits may be made, if that is so. A request that has no tools
// gets the edits of those that have: it is its conversation's own, sent to make
// a title or a summary, and with its originals restored it could be larger than
// any before.
func (r *Rewriter) prepare(w *work, req Request, p *pipeline.Pipeline, t *pipeline.Transcript, report *Report) (state tool.State, lossless string) {
	x := &w.expand
	switch {
	case t.Kept && !req.Aside:
		return ToolLosslessOnly, LosslessKept
	case req.Binary:
		return ToolLosslessOnly, LosslessBinary
	case t.Several:
		return ToolLosslessOnly, LosslessSeveral
	}
	switch {
	case !p.Offloads():
		return ToolNoMarkers, ""
	case req.Shed && t.Turn == 0:
		return ToolLosslessOnly, LosslessShed
	}
	report.Preamble = preamble(t)
	report.Gate = GateOpen
	switch {
	case x.Inject == InjectNever:
		report.Gate = ""
		return ToolNever, LosslessNoTool
	case x.Inject == InjectAuto && report.Preamble < x.GateTokens:
		report.Gate = GateClosed
		return ToolGateClosed, LosslessGate
	}
	patch, state := tool.Place(req.Dialect, req.Body, w.parser.Tools(), x.Inject == InjectAlways)
	switch state {
	case tool.Injected:
		w.inserted = append(w.inserted, patch)
		return state, ""
	case tool.NoTools:
		return state, ""
	default:
		return state, LosslessNoTool
	}
}

// insert adds patches that insert something to the others, in the order of the
// body. Where several are at one place, they stay in the order they came in.
func (w *work) insert(patches ...wire.Patch) {
	if len(patches) == 0 {
		return
	}
	w.patches = append(w.patches, patches...)
	slices.SortStableFunc(w.patches, func(a, b wire.Patch) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
}

// Originals are the client's texts behind the markers of one request. They are
// read in the request itself, which it keeps in memory, when somebody asks. Safe
// for concurrent use; nil has none.
type Originals struct {
	body    []byte
	decode  func(value []byte) (string, bool)
	counter pipeline.Counter
	held    []held
}

// held is one marker, where its original stands, and who hid it.
type held struct {
	id        string
	span      pipeline.Span
	component string
}

// Text returns the original behind a marker that was sent in the request, and
// false when it was not.
func (o *Originals) Text(id string) (string, bool) {
	if o == nil {
		return "", false
	}
	for _, h := range o.held {
		if h.id == id {
			return o.decode(o.body[h.span.Start:h.span.End])
		}
	}
	return "", false
}

// Component returns the component that left a marker of the request, and nothing
// when there is no such marker. What is read back behind it is to be taken off
// what that component has saved.
func (o *Originals) Component(id string) string {
	if o == nil {
		return ""
	}
	for _, h := range o.held {
		if h.id == id {
			return h.component
		}
	}
	return ""
}

// Tokens counts a text in the encoding of the request's model.
func (o *Originals) Tokens(text string) int {
	if o == nil {
		return 0
	}
	return o.counter.Count(text).N
}

// Len is the number of markers.
func (o *Originals) Len() int {
	if o == nil {
		return 0
	}
	return len(o.held)
}

// Size is how many bytes stay in memory for them.
func (o *Originals) Size() int {
	if o == nil {
		return 0
	}
	return len(o.body)
}

// originals notes where the texts behind the markers that were sent stand.
func (w *work) originals(t *pipeline.Transcript, res *pipeline.Result, counter pipeline.Counter, markers int) *Originals {
	if markers == 0 {
		return nil
	}
	o := &Originals{body: t.Body, decode: t.Decode, counter: counter, held: make([]held, 0, markers)}
	for i, outcome := range res.Outcomes {
		if v := w.version(outcome); v != nil && v.ID != "" {
			o.held = append(o.held, held{v.ID, t.Segments[i].Span, hid(outcome)})
		}
	}
	return o
}

// hid is the component whose edit left the marker of an outcome: the last one
// that hid anything.
func hid(o *pipeline.Outcome) (component string) {
	for _, act := range o.Acts {
		if act.Acted && act.Lossy {
			component = act.Component
		}
	}
	return component
}
