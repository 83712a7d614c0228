package prompt

import (
	"bytes"
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/internal/bounded"
	"github.com/contextguru/contextguru/pipeline"
)

// Digest names what a unit says.
type Digest = [sha256.Size]byte

// Unit is a part of a prompt that a provider caches as a whole.
type Unit struct {
	Digest Digest
	Tokens int
}

// In front of the messages stand the tools and the system prompt, either of
// which may be empty.
const (
	_ = iota // the tools
	_        // the system prompt
	FirstMessage
)

// Reader turns requests into units. It remembers the messages it has read, as
// clients send them again with every request. It must not be used by two
// goroutines at once.
type Reader struct {
	counter pipeline.Counter
	known   *bounded.Map[Digest, Unit] // by the raw value
}

// NewReader returns a reader that remembers at least so many units, 0 for every
// one. Without a counter no unit has any tokens.
func NewReader(counter pipeline.Counter, remembered int) *Reader {
	if counter == nil {
		counter = nobody{}
	}
	return &Reader{counter: counter, known: bounded.New[Digest, Unit](remembered)}
}

// Units returns the units of a request in the order a provider reads them.
func (r *Reader) Units(o *Outline) []Unit {
	units := make([]Unit, 0, FirstMessage+len(o.messages))
	units = append(units, r.unit(o.Tools, true), r.unit(o.System, false))
	for i := range o.messages {
		units = append(units, r.unit(o.Message(i), false))
	}
	return units
}

func (r *Reader) unit(raw []byte, tools bool) Unit {
	if len(raw) == 0 {
		return Unit{}
	}
	key := sha256.Sum256(raw)
	if u, ok := r.known.Get(key); ok {
		return u
	}
	c := canon{counter: r.counter}
	c.value(jsontext.NewDecoder(bytes.NewReader(raw), lenient()...), "")
	u := Unit{Digest: sha256.Sum256(c.out), Tokens: c.tokens}
	if tools {
		u.Tokens = r.counter.Count(string(raw)).N
	}
	r.known.Put(key, u)
	return u
}

// Texts returns what a model reads of the messages.
func (o *Outline) Texts() []string {
	var texts []string
	c := canon{counter: nobody{}, keep: func(text string) { texts = append(texts, text) }}
	for i := range o.messages {
		c.out = c.out[:0]
		c.value(jsontext.NewDecoder(bytes.NewReader(o.Message(i)), lenient()...), "")
	}
	return texts
}

// nobody counts nothing.
type nobody struct{}

// Count implements pipeline.Counter.
func (nobody) Count(string) pipeline.Count { return pipeline.Count{} }

// Encoding implements pipeline.Counter.
func (nobody) Encoding() string { return "none" }

// canon writes a value in the one form it has for a provider: decoded texts, no
// cache directives, and a content that is a string as the one block it stands
// for. It counts the texts on the way.
type canon struct {
	counter pipeline.Counter
	keep    func(text string) // of what a model reads, if set
	out     []byte
	tokens  int
}

// isDirective reports whether a name marks what is to be cached.
func isDirective(name string) bool {
	return name == "cache_control" || name == "cachePoint"
}

// isSilent reports whether what stands under a name is not read by a model as
// text.
func isSilent(name string) bool {
	switch name {
	case "type", "role", "id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "status",
		"signature", "thoughtSignature", "thought_signature", "encrypted_content",
		"data", "bytes", "image_url", "file_data", "file_id", "fileUri", "uri", "media_type", "mimeType", "format", "detail":
		return true
	default:
		return false
	}
}

// isWhole reports whether an object under a name is read by a model as JSON:
// what a call was given or has returned.
func isWhole(name string) bool {
	switch name {
	case "input", "args", "arguments", "response", "json":
		return true
	default:
		return false
	}
}

func (c *canon) count(text string) {
	c.tokens += c.counter.Count(text).N
	if c.keep != nil {
		c.keep(text)
	}
}

// value writes the value that comes next, which stands under a name. What is
// broken ends it; whether a body can be read is not decided here.
func (c *canon) value(d *jsontext.Decoder, name string) {
	switch kind := d.PeekKind(); {
	case kind == '"':
		token, err := d.ReadToken()
		if err != nil {
			return
		}
		c.text(token.String(), name)
	case kind == '{' && isWhole(name):
		if raw, err := d.ReadValue(); err == nil {
			c.out = append(c.out, raw...)
			c.count(string(raw))
		}
	case kind == '{':
		c.object(d)
	case kind == '[':
		c.list(d, name)
	default:
		if raw, err := d.ReadValue(); err == nil {
			c.out = append(c.out, raw...)
		}
	}
}

func (c *canon) text(text, name string) {
	if !isSilent(name) {
		c.count(text)
	}
	if name != "content" && name != "system" {
		c.quote(text)
		return
	}
	c.out = append(c.out, `[{"type""text""text"`...)
	c.quote(text)
	c.out = append(c.out, `}]`...)
}

// quote writes a text so that no other can look like it.
func (c *canon) quote(text string) {
	if quoted, err := jsontext.AppendQuote(c.out, text); err == nil {
		c.out = quoted
		return
	}
	sum := sha256.Sum256([]byte(text)) // no exact form in JSON
	c.out = append(append(append(c.out, '<'), sum[:]...), '>')
}

// object writes an object; of one that only holds directives nothing is left.
func (c *canon) object(d *jsontext.Decoder) {
	start := len(c.out)
	if _, err := d.ReadToken(); err != nil {
		return
	}
	c.out = append(c.out, '{')
	kept, dropped := false, false
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return
		}
		name := token.String()
		if isDirective(name) {
			dropped = true
			if d.SkipValue() != nil {
				return
			}
			continue
		}
		kept = true
		c.quote(name)
		c.value(d, name)
	}
	if _, err := d.ReadToken(); err != nil {
		return
	}
	c.out = append(c.out, '}')
	if dropped && !kept {
		c.out = c.out[:start]
	}
}

func (c *canon) list(d *jsontext.Decoder, name string) {
	if _, err := d.ReadToken(); err != nil {
		return
	}
	c.out = append(c.out, '[')
	for {
		switch d.PeekKind() {
		case ']':
			if _, err := d.ReadToken(); err == nil {
				c.out = append(c.out, ']')
			}
			return
		case jsontext.KindInvalid:
			return
		}
		element := name
		if name == "content" || isWhole(name) {
			element = "" // blocks and parts
		}
		c.value(d, element)
	}
}
