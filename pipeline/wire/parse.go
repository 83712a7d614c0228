package wire

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
)

// Defaults of Limits.
const (
	// DefaultSegments is far above any conversation that fits a model's window
	// and keeps the memory of one transcript within a few megabytes.
	DefaultSegments = 20000
	// DefaultDepth is the most jsontext reads.
	DefaultDepth = 10000
)

// Limits bounds what a body may cost. Zero fields mean the defaults.
type Limits struct {
	// Segments is the most segments of a transcript.
	Segments int
	// Depth is the deepest nesting of the whole body, at most DefaultDepth. A
	// smaller one costs some speed, because every level is then looked at.
	Depth int
}

// Parser reads requests one after the other and keeps its memory between them.
// It is not safe for concurrent use; pool parsers instead.
type Parser struct {
	limits Limits
	opts   []jsontext.Options
	src    bytes.Buffer
	dec    jsontext.Decoder
	seed   maphash.Seed
	body   []byte
	chat   bool // OpenAI's format, else Anthropic's

	t       pipeline.Transcript
	running bool            // the message before was the assistant's
	calls   []call          // of the assistant messages so far
	pending []call          // of the message being read
	leaves  []pipeline.Span // text leaves of the message being read
	results []result        // tool results of the message being read
}

// NewParser returns a parser.
func NewParser(l Limits) *Parser {
	if l.Segments <= 0 {
		l.Segments = DefaultSegments
	}
	if l.Depth <= 0 || l.Depth > DefaultDepth {
		l.Depth = DefaultDepth
	}
	return &Parser{
		limits: l,
		seed:   maphash.MakeSeed(), // finds calls faster, decides nothing
		// What a client may send is wider than what we would edit: both
		// questions are answered per segment and per object.
		opts: []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)},
	}
}

// Parse locates the segments of a request. The transcript aliases body and is
// valid until the next Parse or Release. The error is an *UnreadableError, and
// then the body must be passed on as it is.
func (p *Parser) Parse(d Dialect, body []byte) (*pipeline.Transcript, error) {
	p.reset(d, body)
	switch d {
	case OpenAIChat, AnthropicMessages, AnthropicPlatform:
	default:
		return nil, p.refuse(UnknownDialect)
	}
	if err := p.request(d == AnthropicPlatform); err != nil {
		return nil, p.unreadable(err)
	}
	return &p.t, nil
}

// Release drops what the parser holds of the last body, so that a pooled parser
// does not keep it in memory. The transcript is no longer valid.
func (p *Parser) Release() {
	p.reset("", nil)
	clear(p.t.Segments[:cap(p.t.Segments)])
	clear(p.calls[:cap(p.calls)])
	clear(p.pending[:cap(p.pending)])
	clear(p.results[:cap(p.results)])
}

func (p *Parser) reset(d Dialect, body []byte) {
	p.body = body
	p.src = *bytes.NewBuffer(body)
	p.dec.Reset(&p.src, p.opts...)
	p.chat = d == OpenAIChat
	p.running = false
	p.calls = p.calls[:0]
	// Most clients keep their model, so its string is kept as well.
	p.t = pipeline.Transcript{
		Dialect:  string(d),
		Model:    p.t.Model,
		Body:     body,
		Segments: p.t.Segments[:0],
		Decode:   literal.Decode,
		Encode:   Encode,
	}
}

// request reads the whole body.
func (p *Parser) request(versioned bool) error {
	switch p.dec.PeekKind() {
	case '{':
	case '[', '"', '0', 't', 'f', 'n':
		return p.refuse(NotAnObject)
	default:
		_, err := p.dec.ReadToken()
		return err
	}
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: rootKeys}
	messages, model := false, []byte(nil)
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyMessages:
			if messages, err = p.messages(); err != nil {
				return err
			}
		case keyModel:
			value, err := p.value()
			if err != nil {
				return err
			}
			model = word(value)
		case keyStream:
			value, err := p.value()
			if err != nil {
				return err
			}
			p.t.Stream = string(value) == "true"
		default:
			if _, err := p.value(); err != nil {
				return err
			}
		}
	}
	if p.t.Model != string(model) {
		p.t.Model = string(model)
	}
	end := int(p.dec.InputOffset())
	switch {
	case len(bytes.TrimLeft(p.body[end:], " \t\r\n")) > 0:
		return p.refuse(TrailingData)
	case keys.again&^keyVersion != 0: // one version is as good as two
		return p.refuse(AmbiguousKeys)
	case !messages:
		return p.refuse(NoMessages)
	case versioned && keys.had&keyVersion == 0:
		return p.refuse(NoAnthropicVersion)
	}
	return nil
}

// messages reads the conversation and reports whether it is a list.
func (p *Parser) messages() (bool, error) {
	return p.each((*Parser).message, (*Parser).stray)
}

// stray reads what is no message but stands where one belongs.
func (p *Parser) stray() error {
	p.t.Messages++
	p.running = false
	return p.skip()
}
