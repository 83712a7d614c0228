package pipeline

import (
	"crypto/sha256"
	"iter"
	"strings"
)

// Span is a half-open range of byte offsets into a request body.
type Span struct{ Start, End int }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// Digest is a SHA-256 digest.
type Digest [sha256.Size]byte

// Segment is one tool output: one editable text leaf of a request.
type Segment struct {
	// Index is the position among the transcript's segments, in body order.
	Index int
	// Turn counts the runs of assistant messages in front of the segment.
	// Segments of one turn reach the model together.
	Turn int
	// Span covers the JSON value in the body: a string, quotes included, or where
	// a text can stand in more than one way the block around it.
	Span Span
	// Tool is the name of the call this output answers, Args the call's JSON
	// arguments: for a component the arguments themselves, elsewhere as the body
	// has them, which in some APIs is a JSON string that holds them. Args is
	// empty when the call is not in the body, Tool when the body does not name
	// it either.
	Tool, Args []byte
	// IsError reports that the client marked the output as a failure.
	IsError bool
	// Text is the decoded text, with the lossless edits of earlier components. The
	// runner fills it in for the segment it hands to a component; elsewhere
	// it is empty.
	Text string
	// Renumbered reports that the lines of Text are not those of the client's
	// text any more, which is what a reader of the original will see.
	Renumbered bool
	// Tokens counts the client's original text, whatever Text holds now.
	Tokens int
	// View is the size in tokens of the view another component in front made of
	// the segment, which a much smaller one can take the place of; 0 without one.
	// Text is the text in front of that.
	View int
	// Messages counts the conversation's messages up to the one that holds the
	// segment.
	Messages int
	// Request is the size of the request when this segment was new. The runner
	// fills it in for components that look beyond their segment.
	Request RequestSize
}

// RequestSize is how large a request was when a segment of it was new.
type RequestSize struct {
	// Tokens counts the tool outputs up to and including the segment.
	Tokens int
	// Messages counts the messages up to the one that holds the segment.
	Messages int
	// Window is the model's context window in tokens, or 0 when it is unknown.
	Window int
}

// Transcript is an immutable view over one request body.
type Transcript struct {
	// Dialect and Model label reports. No decision looks at the dialect.
	Dialect, Model string
	// Stream reports that the client asked for a streamed answer.
	Stream bool
	// ServerHeld reports that the provider keeps history which this request does
	// not hold: an earlier response it continues, items it names by id, a cached
	// content. What calls the outputs answer and whether an earlier request was
	// rewritten may then be unknown.
	ServerHeld bool
	// Kept reports that the provider keeps this request and its answer, so that a
	// later request may continue them without holding them.
	Kept bool
	// Several reports that the request asks for more than one answer.
	Several bool
	// Body is the request as the client sent it.
	Body []byte
	// Segments are the tool outputs in body order; their turns never decrease.
	Segments []Segment
	// Messages counts the conversation's messages.
	Messages int
	// Turn is the newest turn: outputs of this turn are unseen by the model.
	Turn int
	// Decode returns the text of a segment's JSON value, and false when it has
	// no exact text (a lone surrogate, invalid UTF-8). Such a segment is never
	// edited.
	Decode func(value []byte) (string, bool)
	// Encode returns the JSON value that stands for a text in a value's place.
	Encode func(value []byte, text string) []byte
	// Preamble yields the texts in front of the first assistant message: the
	// system's and the user's, not those of tools. Every request of a
	// conversation has the same; the form a client gives them, cache marks and
	// where the system's stand in the body do not show. Each call reads those
	// texts in the body anew. Nil means that they are not known.
	Preamble iter.Seq[string]
	// Caching is how the request says what its provider is to cache; nil when
	// the provider does not go by that, or it is not known.
	Caching Caching
	// Opening is where the preamble stands: the system's texts, and the messages
	// in front of the first assistant message. Equal bytes there are an equal
	// preamble; the reverse does not hold.
	Opening [2]Span
}

// Value returns the segment's JSON value as the client wrote it.
func (t *Transcript) Value(s *Segment) []byte { return t.Body[s.Span.Start:s.Span.End] }

// arguments returns the JSON arguments of the call a segment answers.
func (t *Transcript) arguments(s *Segment) []byte {
	if len(s.Args) == 0 || s.Args[0] != '"' {
		return s.Args
	}
	text, ok := t.Decode(s.Args)
	if !ok {
		return nil
	}
	return []byte(text)
}

// Original returns the client's text of a segment, and false when it has none.
func (t *Transcript) Original(index int) (string, bool) {
	return t.Decode(t.Value(&t.Segments[index]))
}

// View is what a component may see: the transcript cut off at the end of its
// segment's turn. The zero View shows nothing.
type View struct {
	run   *run
	end   int  // of the segments Outputs shows
	whole bool // for a component that decides about the request
}

// Earlier returns the first segment in front of s, in this very request, whose
// text is the same: either the texts the client sent, or the texts as they
// stand now, edits included. The second makes rewriting a rewritten request a
// no-op. The returned segment's Text is not filled in.
func (v View) Earlier(s Segment) (Segment, bool) {
	if v.run == nil {
		return Segment{}, false
	}
	at, ok := v.run.earlier(s)
	if !ok {
		return Segment{}, false
	}
	return v.run.t.Segments[at], true
}

// Alike returns the first segment in front of s, in this very request, with the
// same gist in another wrapping, as the pipeline's Recogniser sees it. The
// returned segment's Text is not filled in.
func (v View) Alike(s Segment) (Segment, bool) {
	if v.run == nil {
		return Segment{}, false
	}
	at, ok := v.run.alike(s)
	if !ok {
		return Segment{}, false
	}
	return v.run.t.Segments[at], true
}

// ExpandTool is the name of the tool that reads an original back. Clients may
// qualify it ("mcp__gateway__context_guru_expand").
const ExpandTool = "context_guru_expand"

// isExpandResult reports whether a segment answers a call of the expand tool.
// What a model asked to see in full is never compressed again.
func isExpandResult(s *Segment) bool {
	name := string(s.Tool)
	rest, ok := strings.CutSuffix(name, ExpandTool)
	return ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "_.:/-"))
}
