package turns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Errors of [Exchange] and [Continue].
var (
	// ErrTurn says that the model's turn has no form that a request takes.
	ErrTurn = errors.New("the turn cannot be sent back")
	// ErrTooLarge says that the request would exceed its limit.
	ErrTooLarge = errors.New("the continuation would be too large")
)

// Exchange appends what a round adds to a conversation: the turn and the
// results, as elements of the conversation with commas between them. Results
// stand in the order given, which should be that of the calls.
func Exchange(dst []byte, d wire.Dialect, turn []byte, results []round.Result) ([]byte, error) {
	if d == wire.OpenAIResponses { // a list of items
		if len(turn) < 2 || turn[0] != '[' || turn[len(turn)-1] != ']' {
			return dst, fmt.Errorf("%w: no list of items", ErrTurn)
		}
		turn = []byte(strings.TrimSpace(string(turn[1 : len(turn)-1])))
	} else if len(turn) < 2 || turn[0] != '{' {
		return dst, fmt.Errorf("%w: no message", ErrTurn)
	}
	if len(turn) == 0 || len(results) == 0 {
		return dst, fmt.Errorf("%w: it calls nothing", ErrTurn)
	}
	dst = append(dst, turn...)
	open, shut := wrapping(d)
	dst = append(append(dst, ','), open...)
	for i := range results {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = Result(dst, d, &results[i])
	}
	return append(dst, shut...), nil
}

// wrapping is what stands around the results of one turn.
func wrapping(d wire.Dialect) (open, shut string) {
	switch d {
	case wire.AnthropicMessages, wire.AnthropicPlatform, wire.BedrockConverse:
		return `{"role":"user","content":[`, `]}`
	case wire.Gemini:
		return `{"role":"user","parts":[`, `]}`
	default:
		return "", ""
	}
}

// Result appends one result in its own form: a message, an item, a block or a
// part.
func Result(dst []byte, d wire.Dialect, r *round.Result) []byte {
	text := said(r.Text)
	switch d {
	case wire.AnthropicMessages, wire.AnthropicPlatform:
		dst = quote(append(dst, `{"type":"tool_result","tool_use_id":`...), r.Call.ID)
		dst = quote(append(dst, `,"content":`...), text)
		if r.Error {
			dst = append(dst, `,"is_error":true`...)
		}
		return append(dst, '}')
	case wire.OpenAIResponses:
		dst = quote(append(dst, `{"type":"function_call_output","call_id":`...), r.Call.ID)
		return append(quote(append(dst, `,"output":`...), text), '}')
	case wire.Gemini:
		dst = append(dst, `{"functionResponse":{`...)
		if r.Call.ID != "" {
			dst = append(quote(append(dst, `"id":`...), r.Call.ID), ',')
		}
		dst = quote(append(dst, `"name":`...), r.Call.Name)
		key := `,"response":{"output":`
		if r.Error {
			key = `,"response":{"error":`
		}
		return append(quote(append(dst, key...), text), `}}}`...)
	case wire.BedrockConverse:
		dst = quote(append(dst, `{"toolResult":{"toolUseId":`...), r.Call.ID)
		dst = append(quote(append(dst, `,"content":[{"text":`...), text), `}]`...)
		if r.Error {
			dst = append(dst, `,"status":"error"`...)
		}
		return append(dst, `}}`...)
	default:
		dst = quote(append(dst, `{"role":"tool","tool_call_id":`...), r.Call.ID)
		return append(quote(append(dst, `,"content":`...), text), '}')
	}
}

// said makes a text one that every provider takes.
func said(text string) string {
	switch {
	case text == "":
		return "(empty)"
	case strings.TrimSpace(text) == "":
		return fmt.Sprintf("(%d bytes of white space)", len(text))
	default:
		return strings.ToValidUTF8(text, "\uFFFD")
	}
}

// quote appends a text as a JSON string.
func quote(dst []byte, text string) []byte {
	return append(dst, wire.Encode(emptyString(), text)...)
}

func emptyString() []byte { return []byte(`""`) }

// Continue appends the request that goes on after an exchange: body up to the end
// of its conversation, the exchange as [Exchange] made it, the rest of body. The
// body must be one that [wire.Parser] reads. With a limit above 0 the request
// has at most so many bytes, or there is none. On error dst comes back as it was.
func Continue(dst []byte, d wire.Dialect, body, exchange []byte, limit int) ([]byte, error) {
	p := wire.NewParser(wire.Limits{})
	if _, err := p.Parse(d, body); err != nil {
		return dst, fmt.Errorf("continue a request: %w", err)
	}
	patches, err := appending(body, p.Outline(), exchange)
	if err != nil {
		return dst, err
	}
	size := len(body)
	for i := range patches {
		size += len(patches[i].Raw)
	}
	if limit > 0 && size > limit {
		return dst, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, limit)
	}
	out, err := wire.Splice(dst, body, patches)
	if err != nil {
		return dst, fmt.Errorf("continue a request: %w", err)
	}
	return out, nil
}

// appending returns the patches that put elements behind a conversation. They go
// right behind its last element, where the next request has its comma.
func appending(body []byte, o wire.Outline, elements []byte) ([]wire.Patch, error) {
	insert := func(at int, parts ...string) wire.Patch {
		raw := strings.Join(parts, string(elements))
		return wire.Patch{Span: pipeline.Span{Start: at, End: at}, Raw: []byte(raw)}
	}
	switch body[o.Value.Start] {
	case '[':
		if o.Cut {
			return nil, fmt.Errorf("%w: the request has too many elements", ErrTurn)
		}
		if len(o.Elements) == 0 {
			return []wire.Patch{insert(o.Value.Start+1, "", "")}, nil
		}
		return []wire.Patch{insert(o.Elements[len(o.Elements)-1].Span.End, ",", "")}, nil
	case '"': // a text, which is short for one user message
		return []wire.Patch{
			insert(o.Value.Start, `[{"role":"user","content":`),
			insert(o.Value.End, `},`, `]`),
		}, nil
	case '{': // a list of one, without its brackets
		return []wire.Patch{insert(o.Value.Start, `[`), insert(o.Value.End, `,`, `]`)}, nil
	default:
		return nil, fmt.Errorf("%w: the request has no list to append to", ErrTurn)
	}
}
