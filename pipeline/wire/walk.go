package wire

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire/internal/marks"
)

// open enters the object or list that comes next.
func (p *Parser) open() error {
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	if p.dec.StackDepth() > p.limits.Depth {
		return p.refuse(TooDeep)
	}
	return nil
}

// name reads the next key of the open object and returns its text. It leaves
// the object and returns nil when there is no further key.
func (p *Parser) name() ([]byte, error) {
	if p.dec.PeekKind() != '"' {
		_, err := p.dec.ReadToken() // the end, or what is wrong
		return nil, err
	}
	value, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if name := word(value); name != nil {
		switch string(name) {
		case "cache_control", "cachePoint":
			p.marked++
		case "source":
			p.sourced = true
		}
		return name, nil
	}
	return value[:0], nil // a key without exact text is none of ours
}

// each reads the list that comes next, its objects by one function and its
// other elements by another. It skips a value of another type and returns false.
func (p *Parser) each(object, other func(*Parser) error) (bool, error) {
	if p.dec.PeekKind() != '[' {
		return false, p.skip()
	}
	if err := p.open(); err != nil {
		return false, err
	}
	for {
		var err error
		switch p.dec.PeekKind() {
		case ']':
			_, err = p.dec.ReadToken()
			return true, err
		case '{':
			err = object(p)
		default:
			err = other(p)
		}
		if err != nil {
			return false, err
		}
	}
}

// skip reads the value that comes next.
func (p *Parser) skip() error {
	_, err := p.value()
	return err
}

// value reads the value that comes next, whatever it is, and returns its bytes.
func (p *Parser) value() ([]byte, error) {
	if p.limits.Depth == DefaultDepth {
		return p.dec.ReadValue() // has the same limit
	}
	switch p.dec.PeekKind() {
	case '{', '[':
	default:
		return p.dec.ReadValue()
	}
	outer := p.dec.StackDepth()
	if err := p.open(); err != nil {
		return nil, err
	}
	start := p.dec.InputOffset() - 1
	for p.dec.StackDepth() > outer {
		if err := p.open(); err != nil { // any token will do
			return nil, err
		}
	}
	return p.body[start:p.dec.InputOffset()], nil
}

// Outline says where a request's conversation stands in its body.
type Outline struct {
	// Value is the value that holds the conversation: a list, or for Responses a
	// string and for Gemini an object, which then is its only element.
	Value pipeline.Span
	// Elements are the elements of the list, in order: messages, items, contents.
	Elements []Element
	// Cut reports that there are more elements than a transcript may have segments.
	// Then none is listed, so that a body of nothing but brackets costs no memory.
	Cut bool
}

// Element is one element of a conversation.
type Element struct {
	// Span is where it stands, without the commas around it.
	Span pipeline.Span
	// Assistant reports that the model spoke it, or the provider for the model.
	Assistant bool
}

// Outline returns the outline of the body that was read last. Its elements are
// valid until the next Parse or Release. An outline is only whole when Parse
// had no error.
func (p *Parser) Outline() Outline { return p.outline }

// note adds the element just read to the outline. An element was read, so the
// conversation's first byte is there.
func (p *Parser) note(assistant bool) {
	if p.outline.Cut {
		return
	}
	if len(p.outline.Elements) >= p.limits.Segments {
		p.outline.Elements, p.outline.Cut = p.outline.Elements[:0], true
		return
	}
	from := p.outline.Value.Start
	if p.body[from] == '[' {
		from++
	}
	if last := len(p.outline.Elements) - 1; last >= 0 {
		from = p.outline.Elements[last].Span.End
	}
	p.outline.Elements = append(p.outline.Elements, Element{p.between(from, int(p.dec.InputOffset())), assistant})
}

// between returns the span of the value that ends at an offset and has nothing
// but white space and punctuation between itself and an earlier offset.
func (p *Parser) between(from, end int) pipeline.Span {
	for from < end {
		switch p.body[from] {
		case ' ', '\t', '\r', '\n', ',', ':':
			from++
		default:
			return pipeline.Span{Start: from, End: end}
		}
	}
	return pipeline.Span{Start: end, End: end}
}

// caching implements pipeline.Caching on the body that was read last. Like the
// parser it is not safe for concurrent use.
type caching struct {
	p       *Parser
	reader  marks.Reader
	counted bool
	marks   int
	tools   answer
	written [2][]byte // the marks, by lifetime
	style   marks.Style
}

// answer is a place that was looked for, or was not.
type answer struct {
	known, ok bool
	at        int
}

// caches lets the transcript tell about cache marks where the provider goes by
// them and the whole conversation is there.
func (p *Parser) caches() {
	if !p.format.marked || p.t.ServerHeld || p.root.again&(keySystem|toolKeys) != 0 {
		return
	}
	c := &p.caching
	c.p, c.counted, c.tools = p, false, answer{}
	if c.style != p.format.marks || c.written[0] == nil {
		c.style = p.format.marks
		c.written = [2][]byte{[]byte(marks.Mark(c.style, false)), []byte(marks.Mark(c.style, true))}
	}
	p.t.Caching = c
}

// Marks adds up what the parser met on its way and what is in the parts that it
// does not look into: the system prompt, and what a block has its content from.
func (c *caching) Marks() int {
	switch {
	case c.counted:
	case c.p.sourced:
		c.marks = c.reader.Count(c.p.body)
	default:
		c.marks = c.p.marked + c.reader.Count(c.part(c.p.root.system))
	}
	c.counted = true
	return c.marks
}

func (c *caching) Most() int { return marks.Most }

func (c *caching) Tools() bool { return c.lastTool().ok }

func (c *caching) lastTool() answer {
	if !c.tools.known {
		span := c.p.root.toolsAt
		at, ok := c.reader.Tools(c.style, c.part(span))
		c.tools = answer{true, ok, span.Start + at}
	}
	return c.tools
}

func (c *caching) Mark(ttl pipeline.TTL) []byte {
	if ttl == pipeline.TTL1h {
		return c.written[1]
	}
	return c.written[0]
}

func (c *caching) Head() (pipeline.Place, bool) {
	span := c.p.root.system
	if at, ok := c.reader.System(c.style, c.part(span)); ok {
		return pipeline.Place{Offset: span.Start + at}, true
	}
	last := c.lastTool()
	return pipeline.Place{Offset: last.at}, last.ok
}

func (c *caching) End(turn int) (pipeline.Place, bool) {
	elements := c.p.outline.Elements
	end, spoke := 0, 0
	for running := false; end < len(elements); end++ {
		if elements[end].Assistant && !running {
			if spoke++; spoke > turn {
				break
			}
		}
		running = elements[end].Assistant
	}
	for i := end - 1; i >= 0; i-- {
		if elements[i].Assistant {
			continue
		}
		span := elements[i].Span
		if at, ok := c.reader.Message(c.style, c.part(span)); ok {
			return pipeline.Place{Offset: span.Start + at}, true
		}
	}
	return pipeline.Place{}, false
}

func (c *caching) part(span pipeline.Span) []byte { return c.p.body[span.Start:span.End] }

// Reasons why a body is not read. They label metrics.
const (
	UnknownDialect     = "unknown_dialect"      // Parse was asked for a dialect it does not know
	NotJSON            = "not_json"             // a syntax error, a byte order mark, nothing at all
	TrailingData       = "trailing_data"        // something follows the JSON value
	NotAnObject        = "not_an_object"        // the request is a list or a scalar
	AmbiguousKeys      = "ambiguous_keys"       // the conversation, model or stream is there twice
	NoMessages         = "no_messages"          // the conversation is missing or not a list
	NoAnthropicVersion = "no_anthropic_version" // a platform path with another vendor's body
	TooManySegments    = "too_many_segments"    // over Limits.Segments
	TooDeep            = "too_deep"             // over Limits.Depth
)

// UnreadableError says why a body cannot be read. It is no fault of the caller:
// the body goes on as it is. It holds nothing of the body's content.
type UnreadableError struct {
	// Reason is one of the constants above.
	Reason string
	// Offset is the byte at or after which it was noticed.
	Offset int64
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("read request body: %s at byte %d", e.Reason, e.Offset)
}

// refuse returns the error for a reason at the current position.
func (p *Parser) refuse(reason string) error {
	return &UnreadableError{Reason: reason, Offset: p.dec.InputOffset()}
}

// depthMessage is jsontext's text for a value over its own nesting limit. It
// exports no error to compare with; a test notices when the text changes.
const depthMessage = "exceeded max depth"

// unreadable turns any error of the walk into an *UnreadableError.
func (p *Parser) unreadable(err error) error {
	if refused, ok := errors.AsType[*UnreadableError](err); ok {
		return refused
	}
	reason, offset := NotJSON, p.dec.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntax.ByteOffset
		if syntax.Err != nil && syntax.Err.Error() == depthMessage {
			reason = TooDeep
		}
	}
	return &UnreadableError{Reason: reason, Offset: offset}
}
