package wire

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

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
