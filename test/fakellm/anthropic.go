package fakellm

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// anthropic is the form of Anthropic Messages. Member names, their order and
// the order of events follow what the API sends.
type anthropic struct{}

type anthropicUsage struct {
	InputTokens              int             `json:"input_tokens"`
	CacheCreationInputTokens int             `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int             `json:"cache_read_input_tokens"`
	CacheCreation            *anthropicCache `json:"cache_creation,omitzero"`
	OutputTokens             int             `json:"output_tokens"`
	ServiceTier              string          `json:"service_tier,omitzero"`
}

type anthropicCache struct {
	Ephemeral5m int `json:"ephemeral_5m_input_tokens"`
	Ephemeral1h int `json:"ephemeral_1h_input_tokens"`
}

type anthropicMessage struct {
	Model        string           `json:"model"`
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         string           `json:"role"`
	Content      []jsontext.Value `json:"content"`
	StopReason   *string          `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	Usage        anthropicUsage   `json:"usage"`
}

// anthropicBlock is a content block or a delta: Type says which members it has.
type anthropicBlock struct {
	Type        string         `json:"type"`
	Thinking    *string        `json:"thinking,omitzero"`
	Signature   *string        `json:"signature,omitzero"`
	Text        *string        `json:"text,omitzero"`
	PartialJSON *string        `json:"partial_json,omitzero"`
	ID          string         `json:"id,omitzero"`
	Name        string         `json:"name,omitzero"`
	Input       jsontext.Value `json:"input,omitzero"`
}

type anthropicStop struct {
	StopReason   string  `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type anthropicEvent struct {
	Type         string            `json:"type"`
	Message      *anthropicMessage `json:"message,omitzero"`
	Index        *int              `json:"index,omitzero"`
	ContentBlock any               `json:"content_block,omitzero"`
	Delta        any               `json:"delta,omitzero"`
	Usage        *anthropicUsage   `json:"usage,omitzero"`
}

type anthropicError struct {
	Type  string `json:"type"`
	Error struct {
		Details jsontext.Value `json:"details,omitzero"`
		Type    string         `json:"type"`
		Message string         `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id,omitzero"`
}

func (anthropic) idHeader() string { return "Request-Id" }

func (anthropic) message(a *answer) *anthropicMessage {
	id := a.turn.ID
	if id == "" {
		id = fmt.Sprintf("msg_01%022d", a.seq)
	}
	u := a.usage
	return &anthropicMessage{
		Model: a.model, ID: id, Type: "message", Role: "assistant", Content: []jsontext.Value{},
		Usage: anthropicUsage{
			InputTokens: u.Input, CacheCreationInputTokens: u.CacheWrite, CacheReadInputTokens: u.CacheRead,
			CacheCreation: &anthropicCache{Ephemeral5m: u.CacheWrite}, OutputTokens: u.Output, ServiceTier: "standard",
		},
	}
}

func (anthropic) stop(a *answer) *anthropicStop {
	stop := &anthropicStop{StopReason: "end_turn"}
	for _, b := range a.choices[0] {
		if b.Tool != "" && b.Raw == nil {
			stop.StopReason = "tool_use"
		}
	}
	switch a.turn.Stop {
	case "":
	case "stop":
		stop.StopReason = "end_turn"
	case "tool_calls":
		stop.StopReason = "tool_use"
	case "length":
		stop.StopReason = "max_tokens"
	case "content_filter":
		stop.StopReason = "refusal"
	default:
		stop.StopReason = a.turn.Stop
	}
	if a.turn.StopSequence != "" {
		stop.StopSequence = &a.turn.StopSequence
		if a.turn.Stop == "" {
			stop.StopReason = "stop_sequence"
		}
	}
	return stop
}

// events makes the stream: message_start, the blocks with a ping behind the
// start of the first one, message_delta, message_stop.
func (d anthropic) events(a *answer) ([]event, error) {
	var e encoder
	start := d.message(a)
	// The API reports one output token at the start; the count that holds is
	// the cumulative one of message_delta.
	start.Usage.OutputTokens = 1
	e.add(anthropicEvent{Type: "message_start", Message: start})
	if len(a.choices[0]) == 0 {
		e.ping()
	}
	for i, b := range a.choices[0] {
		first, deltas := d.stream(a, i, b)
		e.add(anthropicEvent{Type: "content_block_start", Index: &i, ContentBlock: first})
		if i == 0 {
			e.ping()
		}
		for _, delta := range deltas {
			e.add(anthropicEvent{Type: "content_block_delta", Index: &i, Delta: delta})
		}
		e.add(anthropicEvent{Type: "content_block_stop", Index: &i})
	}
	usage := d.message(a).Usage
	usage.CacheCreation, usage.ServiceTier = nil, ""
	e.add(anthropicEvent{Type: "message_delta", Delta: d.stop(a), Usage: &usage})
	e.add(anthropicEvent{Type: "message_stop"})
	return e.list, e.err
}

// encoder collects events and the first error.
type encoder struct {
	list []event
	err  error
}

func (e *encoder) add(v anthropicEvent) {
	data, err := encode(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.list = append(e.list, event{v.Type, data})
}

// ping spells the event as the API does, with a space behind the colon.
func (e *encoder) ping() {
	e.list = append(e.list, event{"ping", []byte(`{"type": "ping"}`)})
}

// stream returns the block as content_block_start shows it, and its deltas.
func (anthropic) stream(a *answer, i int, b Block) (any, []anthropicBlock) {
	var (
		empty  = ""
		deltas []anthropicBlock
	)
	switch {
	case b.Raw != nil:
		return b.Raw, nil
	case b.Tool != "":
		// The API opens the arguments with an empty piece.
		for _, p := range append([]string{""}, pieces(string(b.Args), a.turn.DeltaRunes)...) {
			deltas = append(deltas, anthropicBlock{Type: "input_json_delta", PartialJSON: &p})
		}
		return anthropicBlock{Type: "tool_use", ID: toolUseID(a, i, b), Name: b.Tool, Input: jsontext.Value("{}")}, deltas
	case b.Thinking != "":
		for _, p := range pieces(b.Thinking, a.turn.DeltaRunes) {
			deltas = append(deltas, anthropicBlock{Type: "thinking_delta", Thinking: &p})
		}
		sig := signature(b)
		deltas = append(deltas, anthropicBlock{Type: "signature_delta", Signature: &sig})
		return anthropicBlock{Type: "thinking", Thinking: &empty, Signature: &empty}, deltas
	}
	for _, p := range pieces(b.Text, a.turn.DeltaRunes) {
		deltas = append(deltas, anthropicBlock{Type: "text_delta", Text: &p})
	}
	return anthropicBlock{Type: "text", Text: &empty}, deltas
}

func (d anthropic) body(a *answer) ([]byte, error) {
	m := d.message(a)
	for i, b := range a.choices[0] {
		block, err := d.whole(a, i, b)
		if err != nil {
			return nil, err
		}
		m.Content = append(m.Content, block)
	}
	stop := d.stop(a)
	m.StopReason, m.StopSequence = &stop.StopReason, stop.StopSequence
	return encode(m)
}

// whole returns a content block in full.
func (anthropic) whole(a *answer, i int, b Block) (jsontext.Value, error) {
	switch {
	case b.Raw != nil:
		return b.Raw, nil
	case b.Tool != "":
		input := jsontext.Value(b.Args)
		if b.Args == "" {
			input = jsontext.Value("{}")
		} else if !isObject(string(b.Args)) {
			wrapped, err := encode(map[string]string{"INVALID_JSON": string(b.Args)})
			if err != nil {
				return nil, err
			}
			input = wrapped
		}
		return encode(anthropicBlock{Type: "tool_use", ID: toolUseID(a, i, b), Name: b.Tool, Input: input})
	case b.Thinking != "":
		sig := signature(b)
		return encode(anthropicBlock{Type: "thinking", Thinking: &b.Thinking, Signature: &sig})
	}
	return encode(anthropicBlock{Type: "text", Text: &b.Text})
}

func toolUseID(a *answer, i int, b Block) string {
	if b.ID != "" {
		return b.ID
	}
	return fmt.Sprintf("toolu_01%017d%05d", a.seq, i)
}

// signature returns the scripted signature, or one that depends on the thinking.
func signature(b Block) string {
	if b.Signature != "" {
		return b.Signature
	}
	sum := sha512.Sum512([]byte(b.Thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func countBody(a *answer) ([][]byte, error) {
	body, err := encode(struct {
		InputTokens int `json:"input_tokens"`
	}{a.usage.Input})
	return [][]byte{body}, err
}

// object fills in the error object for a status. The pairs are those of the
// API's error reference.
func (anthropic) object(status int, e *ErrorBody) anthropicError {
	v := anthropicError{Type: "error"}
	switch status {
	case http.StatusUnauthorized:
		v.Error.Type = "authentication_error"
	case http.StatusPaymentRequired:
		v.Error.Type = "billing_error"
	case http.StatusForbidden:
		v.Error.Type = "permission_error"
	case http.StatusNotFound:
		v.Error.Type = "not_found_error"
	case http.StatusRequestEntityTooLarge:
		v.Error.Type = "request_too_large"
	case http.StatusTooManyRequests:
		v.Error.Type = "rate_limit_error"
	case http.StatusGatewayTimeout:
		v.Error.Type = "timeout_error"
	case 529: // Anthropic's own status for overload.
		v.Error.Type = "overloaded_error"
	default:
		v.Error.Type = "invalid_request_error"
		if status >= http.StatusInternalServerError {
			v.Error.Type = "api_error"
		}
	}
	v.Error.Message = fmt.Sprintf("scripted error %d", status)
	if e != nil {
		v.Error.Details = e.Details
		if e.Type != "" {
			v.Error.Type = e.Type
		}
		if e.Message != "" {
			v.Error.Message = e.Message
		}
	}
	return v
}

func (d anthropic) failure(status int, e *ErrorBody, seq int) ([]byte, error) {
	v := d.object(status, e)
	v.RequestID = fmt.Sprintf("req_%024d", seq)
	return encode(v)
}

func (d anthropic) failureEvent(status int, e *ErrorBody) (event, error) {
	data, err := encode(d.object(status, e))
	return event{"error", data}, err
}
