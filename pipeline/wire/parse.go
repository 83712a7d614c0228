package wire

import (
	"bytes"
	"hash/maphash"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
	"github.com/contextguru/contextguru/pipeline/wire/internal/marks"
	"github.com/contextguru/contextguru/pipeline/wire/internal/preamble"
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
	format format

	t       pipeline.Transcript
	root    root
	running bool     // the message before was the assistant's
	calls   []call   // of the assistant messages so far
	run     int      // where the calls of the last run of them begin
	pending []call   // of the message being read
	leaves  []leaf   // text leaves of the message being read
	results []result // tool results of the message being read
	outline Outline  // where the conversation stands

	marked   int              // cache marks met
	sourced  bool             // some block has its content from somewhere
	preamble iter.Seq[string] // of the body, made once
	caching  caching
}

// NewParser returns a parser.
func NewParser(l Limits) *Parser {
	if l.Segments <= 0 {
		l.Segments = DefaultSegments
	}
	if l.Depth <= 0 || l.Depth > DefaultDepth {
		l.Depth = DefaultDepth
	}
	p := &Parser{
		limits: l,
		seed:   maphash.MakeSeed(), // finds calls faster, decides nothing
		// What a client may send is wider than what we would edit: both
		// questions are answered per segment and per object.
		opts: []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)},
	}
	p.preamble = func(yield func(string) bool) {
		system, messages := p.t.Opening[0], p.t.Opening[1]
		preamble.Texts(p.body[system.Start:system.End], p.body[messages.Start:messages.End], yield)
	}
	return p
}

// Parse locates the segments of a request. The transcript aliases body and is
// valid until the next Parse or Release. The error is an *UnreadableError, and
// then the body must be passed on as it is.
func (p *Parser) Parse(d Dialect, body []byte) (*pipeline.Transcript, error) {
	p.reset(d, body)
	var known bool
	if p.format, known = formatOf(d); !known {
		return nil, p.refuse(UnknownDialect)
	}
	if err := p.whole(); err != nil {
		return nil, p.unreadable(err)
	}
	p.caches()
	return &p.t, nil
}

// Release drops what the parser holds of the last body, so that a pooled parser
// does not keep it in memory. The transcript is no longer valid.
func (p *Parser) Release() {
	p.reset("", nil)
	p.caching.reader.Release()
	clear(p.t.Segments[:cap(p.t.Segments)])
	clear(p.calls[:cap(p.calls)])
	clear(p.pending[:cap(p.pending)])
	clear(p.results[:cap(p.results)])
}

func (p *Parser) reset(d Dialect, body []byte) {
	p.body = body
	p.src = *bytes.NewBuffer(body)
	p.dec.Reset(&p.src, p.opts...)
	p.root = root{}
	p.running, p.run = false, 0
	p.marked, p.sourced = 0, false
	p.calls = p.calls[:0]
	p.outline = Outline{Elements: p.outline.Elements[:0]}
	// Most clients keep their model, so its string is kept as well.
	p.t = pipeline.Transcript{
		Dialect:  string(d),
		Model:    p.t.Model,
		Body:     body,
		Segments: p.t.Segments[:0],
		Decode:   literal.Decode,
		Encode:   Encode,
		Preamble: p.preamble,
	}
}

// format is how a dialect arranges a request.
type format struct {
	// levels are the keys that matter in the request and, for requests about
	// requests, in what that one is wrapped in.
	levels [3]keys
	wraps  keys // those that hold a request, one level further in
	list   keys // the one that holds the conversation
	// element reads an element of the conversation, block one of the content of
	// a message, where tool results are blocks.
	element, block func(*Parser) error
	text           bool // the conversation may be a string, and is kept unless told otherwise
	lone           bool // the conversation may be its only element
	versioned      bool // anthropic_version has to be there
	marked         bool // the provider caches what is marked
	marks          marks.Style
	resources      bool // models are named by a path, whose last part is the name
}

// formatOf returns the format of a dialect, and false when there is none.
func formatOf(d Dialect) (f format, ok bool) {
	switch d {
	case OpenAIChat:
		f.levels[0] = keyMessages | keyModel | keyStream | keyTools | keyFunctions | keyN
		f.list, f.element = keyMessages, (*Parser).message
	case AnthropicMessages, AnthropicPlatform:
		f.levels[0] = keyMessages | keyModel | keyStream | keyVersion | keyThread | keySystem | keyTools
		f.list, f.element, f.block = keyMessages, (*Parser).message, (*Parser).block
		f.versioned = d == AnthropicPlatform
		f.marked = true
	case OpenAIResponses:
		f.levels[0] = keyInput | keyModel | keyStream | keyPreviousResponse | keyConversation | keySystem | keyTools | keyStore
		f.list, f.element, f.text = keyInput, (*Parser).item, true
	case Gemini:
		f.levels = [3]keys{
			keyContents | keyModel | keyCachedContent | keySystem | keyTools | keyGenerationConfig | keyRequest | keyGenerateRequest,
			keyContents | keyModel | keyCachedContent | keySystem | keyTools | keyGenerationConfig,
		}
		f.wraps = keyRequest | keyGenerateRequest
		f.list, f.element, f.lone, f.resources = keyContents, (*Parser).geminiContent, true, true
	case BedrockConverse:
		f.levels = [3]keys{keyMessages | keySystem | keyToolConfig | keyInput, keyConverse, keyMessages | keySystem | keyToolConfig}
		f.wraps = keyInput | keyConverse
		f.list, f.element, f.block = keyMessages, (*Parser).message, (*Parser).converseBlock
		f.marked, f.marks = true, marks.Block
	default:
		return f, false
	}
	return f, true
}

// root is what a request says beside its conversation, gathered over the levels.
type root struct {
	had, again      keys
	lists           int  // how often the conversation is there
	found           bool // and is what it should be
	model           []byte
	system, toolsAt pipeline.Span // what is said in front of it, and the tools
	opening         pipeline.Span // where it stands, up to the first assistant message
	list            place         // of the conversation
	tools           toolbox
}

// whole reads the body.
func (p *Parser) whole() error {
	switch p.dec.PeekKind() {
	case '{':
	case '[', '"', '0', 't', 'f', 'n':
		return p.refuse(NotAnObject)
	default:
		_, err := p.dec.ReadToken()
		return err
	}
	if err := p.request(0); err != nil {
		return err
	}
	p.root.opening.End = max(p.root.opening.Start, p.root.opening.End)
	p.t.Opening = [2]pipeline.Span{p.root.system, p.root.opening}
	if p.t.Model != string(p.root.model) {
		p.t.Model = string(p.root.model)
	}
	p.t.Kept = p.t.Kept || p.format.text && (!p.root.tools.unkept || p.root.again&keyStore != 0)
	end := int(p.dec.InputOffset())
	switch {
	case len(bytes.TrimLeft(p.body[end:], " \t\r\n")) > 0:
		return p.refuse(TrailingData)
	case p.root.again&^repeatable != 0, p.root.lists > 1:
		return p.refuse(AmbiguousKeys)
	case !p.root.found:
		return p.refuse(NoMessages)
	case p.format.versioned && p.root.had&keyVersion == 0:
		return p.refuse(NoAnthropicVersion)
	}
	return nil
}

// request reads the object of a level.
func (p *Parser) request(level int) error {
	if err := p.open(); err != nil {
		return err
	}
	here := place{level: level, at: int(p.dec.InputOffset())}
	keys := seen{mine: p.format.levels[level]}
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch key := keys.note(name); {
		case key == 0:
			err = p.skip()
		case key == p.format.list:
			p.root.list = here
			err = p.conversation()
		case key&p.format.wraps != 0 && p.dec.PeekKind() == '{':
			err = p.request(level + 1)
		case key == keyThread:
			err = p.thread()
		case key == keyGenerationConfig:
			err = p.generation()
		case key&toolKeys != 0:
			err = p.declarations(key, here)
		default:
			err = p.about(key)
		}
		if err != nil {
			return err
		}
	}
	p.root.had |= keys.had
	p.root.again |= keys.again
	return nil
}

// about reads what a request says beside its conversation.
func (p *Parser) about(key keys) error {
	value, err := p.value()
	switch {
	case err != nil:
		return err
	case key == keyModel:
		p.root.model = word(value)
		if p.format.resources {
			p.root.model = p.root.model[bytes.LastIndexByte(p.root.model, '/')+1:]
		}
	case key == keySystem:
		p.root.system = p.span(value)
	case key == keyStream:
		p.t.Stream = string(value) == "true"
	case key == keyN:
		p.answers(value)
	case key == keyStore:
		p.root.tools.unkept = string(value) == "false"
	case key&heldKeys != 0 && string(value) != "null":
		p.t.ServerHeld = true
	}
	return nil
}

// thread reads Anthropic's thread, which may continue a conversation the
// provider keeps.
func (p *Parser) thread() error {
	if p.dec.PeekKind() != '{' {
		return p.skip()
	}
	p.t.Kept = true
	if err := p.open(); err != nil {
		return err
	}
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return err
		}
		if err := p.about(keyOf(name) & keyPreviousMessage); err != nil {
			return err
		}
	}
}

// generation reads Gemini's generationConfig.
func (p *Parser) generation() error {
	if p.dec.PeekKind() != '{' {
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return err
		}
		counts := string(name) == "candidateCount" || string(name) == "candidate_count"
		value, err := p.value()
		if err != nil {
			return err
		}
		if counts {
			p.answers(value)
		}
	}
}

// answers notes how many answers a request asks for.
func (p *Parser) answers(value []byte) {
	p.t.Several = p.t.Several || string(value) != "1" && string(value) != "null"
}

// conversation reads the conversation and notes whether it is one.
func (p *Parser) conversation() error {
	p.root.lists++
	p.root.opening.Start = int(p.dec.InputOffset())
	p.outline.Value = p.between(int(p.dec.InputOffset()), len(p.body))
	defer func() { p.outline.Value.End = int(p.dec.InputOffset()) }()
	switch kind := p.dec.PeekKind(); {
	case kind == '"' && p.format.text:
		p.t.Messages++
		p.root.found = true
		err := p.skip()
		p.root.opening.End = int(p.dec.InputOffset())
		return err
	case kind == '{' && p.format.lone:
		p.root.found = true
		return p.format.element(p)
	}
	found, err := p.each(p.format.element, (*Parser).stray)
	p.root.found = p.root.found || found
	return err
}

// stray reads what is no message but stands where one belongs.
func (p *Parser) stray() error {
	err := p.skip()
	p.spoke(false)
	return err
}

// spoke counts a message and reports whether it opens a turn.
func (p *Parser) spoke(assistant bool) {
	p.t.Messages++
	if !assistant && p.t.Turn == 0 {
		p.root.opening.End = int(p.dec.InputOffset())
	}
	p.note(assistant)
	if assistant && !p.running {
		p.t.Turn++
		p.run = len(p.calls)
	}
	p.running = assistant
}
