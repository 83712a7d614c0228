package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
)

// Outline is where the parts of a request stand in its body.
type Outline struct {
	// Body is the request. It must not be changed.
	Body []byte
	// Tools and System are raw values, nil when absent.
	Tools, System []byte

	list     pipeline.Span // of the messages, brackets included; empty when they are one string
	messages []pipeline.Span
}

// Len returns the number of messages.
func (o *Outline) Len() int { return len(o.messages) }

// Message returns the raw value of a message.
func (o *Outline) Message(i int) []byte {
	return o.Body[o.messages[i].Start:o.messages[i].End]
}

// lenient are the options of everything that reads a client's JSON.
func lenient() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// Read finds the parts of a request of any dialect.
func Read(body []byte) (*Outline, error) {
	o := &Outline{Body: body}
	d := jsontext.NewDecoder(bytes.NewReader(body), lenient()...)
	if kind := d.PeekKind(); kind != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	found := false
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("read %q of the request: %w", name, err)
		}
		end := int(d.InputOffset())
		span := pipeline.Span{Start: end - len(value), End: end}
		switch name {
		case "tools", "functions", "toolConfig":
			o.Tools = body[span.Start:span.End]
		case "system", "instructions", "systemInstruction", "system_instruction":
			o.System = body[span.Start:span.End]
		case "messages", "input", "contents":
			if err := o.read(span); err != nil {
				return nil, err
			}
			found = true
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if !found {
		return nil, errors.New("it has no messages, input or contents")
	}
	return o, nil
}

// read finds the messages. A conversation that is no list is one message.
func (o *Outline) read(span pipeline.Span) error {
	o.messages = o.messages[:0]
	d := jsontext.NewDecoder(bytes.NewReader(o.Body[span.Start:span.End]), lenient()...)
	if d.PeekKind() != '[' {
		o.list, o.messages = pipeline.Span{}, append(o.messages, span)
		return nil
	}
	o.list = span
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("read the messages: %w", err)
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return fmt.Errorf("read message %d: %w", len(o.messages), err)
		}
		end := span.Start + int(d.InputOffset())
		o.messages = append(o.messages, pipeline.Span{Start: end - len(value), End: end})
	}
	return nil
}

// Cuts returns after how many messages each request of a conversation ended,
// told from its last one: in front of every run of messages by the model, and
// at the end unless the model has the last word.
func (o *Outline) Cuts() []int {
	var cuts []int
	model := false
	for i := range o.messages {
		before := model
		model = ByModel(o.Message(i))
		if model && !before && i > 0 {
			cuts = append(cuts, i)
		}
	}
	if !model && len(o.messages) > 0 {
		cuts = append(cuts, len(o.messages))
	}
	return cuts
}

// Cut returns the request that ends after n messages. Every byte outside of the
// list and between its messages stays.
func (o *Outline) Cut(n int) []byte {
	if n == len(o.messages) {
		return o.Body
	}
	return slices.Concat(o.Body[:o.messages[n-1].End], o.Body[o.list.End-1:])
}

// ByModel reports whether a message or item was made by the model.
func ByModel(message []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(message), lenient()...)
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		switch text, _ := Unquote(value); {
		case name == "role":
			return text == "assistant" || text == "model"
		case name != "type" || text == "" || text == "message":
		case !bytes.HasSuffix([]byte(text), []byte("_output")) && !bytes.HasSuffix([]byte(text), []byte("_response")):
			return true // a call, reasoning, or what the provider did
		}
	}
	return false
}

// Unquote returns the text of a JSON string.
func Unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}
