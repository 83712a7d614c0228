package splice

import (
	"fmt"
	"mime"

	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/anthropic"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/chat"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/converse"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/gemini"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/responses"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Form is how a response is framed.
type Form int

// The forms.
const (
	// JSON is one JSON value. Gemini streams in this form, too: as an array that
	// grows. That is told by its first character.
	JSON Form = iota
	// SSE is a stream of server-sent events.
	SSE
)

// FormOf tells the form of a response by its content-type, and false when it is
// none that can be spliced.
func FormOf(contentType string) (Form, bool) {
	switch media, _, _ := mime.ParseMediaType(contentType); media {
	case "text/event-stream":
		return SSE, true
	case "application/json":
		return JSON, true
	default:
		return 0, false
	}
}

// Defaults of Limits.
const (
	// DefaultEvent is above the largest events there are: the last one of
	// Responses repeats the whole answer, the instructions and the tools.
	DefaultEvent = 4 << 20
	// DefaultHeld is what one exchange may keep in memory.
	DefaultHeld = 16 << 20
)

// Limits bounds the memory of one exchange. Zero fields mean the defaults.
type Limits struct {
	// Event is the size of one event in bytes.
	Event int
	// Held is how many bytes may be kept: the model's turn, held events, or the
	// bodies of all rounds where they are not streamed.
	Held int
}

// Config says what is to be spliced.
type Config struct {
	// Dialect is that of the request.
	Dialect wire.Dialect
	// Form is that of the response.
	Form Form
	// Tool is the name of the expand tool as the request declares it.
	Tool string
	// Limits bounds memory.
	Limits Limits
}

// New begins an exchange. The error says that there is no codec for it.
func New(cfg Config) (*Stream, error) {
	if cfg.Limits.Event <= 0 {
		cfg.Limits.Event = DefaultEvent
	}
	if cfg.Limits.Held <= 0 {
		cfg.Limits.Held = DefaultHeld
	}
	if cfg.Tool == "" {
		return nil, fmt.Errorf("splice %s: no tool", cfg.Dialect)
	}
	s := &Stream{cfg: cfg, state: codec.State{Tool: cfg.Tool, Most: cfg.Limits.Held}}
	switch cfg.Dialect {
	case wire.AnthropicMessages, wire.AnthropicPlatform:
		s.codec, s.body = anthropic.New(&s.state), anthropic.Body{}
	case wire.OpenAIChat:
		s.codec, s.body = chat.New(&s.state), chat.Body{}
	case wire.Gemini:
		s.codec, s.body = gemini.New(&s.state), gemini.Body{}
	case wire.BedrockConverse:
		s.body = converse.Body{}
	case wire.OpenAIResponses:
		s.codec, s.body = responses.New(&s.state), responses.Body{}
	default:
		return nil, fmt.Errorf("splice %s: no codec", cfg.Dialect)
	}
	if cfg.Form == SSE {
		if s.codec == nil {
			return nil, fmt.Errorf("splice %s: no codec for server-sent events", cfg.Dialect)
		}
		s.frame = newEvents(cfg.Limits.Event)
	}
	return s, nil
}
