package fakellm

import (
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// gemini is the form of Gemini's generateContent. Member names, their order and
// the way an answer is spread over chunks follow what the API sends.
type gemini struct{}

func (gemini) idHeader() string { return "X-Request-Id" }

// parts makes the parts of an answer, a text in pieces of n runes; 0 leaves it whole.
func (gemini) parts(a *answer, n int) (parts []jsontext.Value) {
	for _, b := range a.choices[0] {
		texts := []string{b.Text}
		if n > 0 {
			texts = pieces(b.Text, n)
		}
		switch {
		case b.Raw != nil:
			parts = append(parts, b.Raw)
		case b.Tool != "":
			call := members{{"name", quote(b.Tool)}, {"args", object(b)}}
			if b.ID != "" {
				call = append(call, member{"id", quote(b.ID)})
			}
			part := members{{"functionCall", must(call)}}
			if b.Signature != "" {
				part = append(part, member{"thoughtSignature", quote(b.Signature)})
			}
			parts = append(parts, must(part))
		case b.Thinking != "":
			sealed := b.Signature
			if sealed == "" {
				sealed = base64.StdEncoding.EncodeToString([]byte(b.Thinking))
			}
			parts = append(parts, must(members{
				{"text", quote(b.Thinking)}, {"thought", jsontext.Value("true")}, {"thoughtSignature", quote(sealed)},
			}))
		default:
			for _, s := range texts {
				parts = append(parts, must(members{{"text", quote(s)}}))
			}
		}
	}
	return parts
}

// object makes the arguments of a call where they have to be an object.
func object(b Block) jsontext.Value {
	switch {
	case b.Args == "":
		return jsontext.Value("{}")
	case isObject(string(b.Args)):
		return jsontext.Value(b.Args)
	default:
		return must(members{{"INVALID_JSON", quote(string(b.Args))}})
	}
}

// must encodes members whose values are JSON already, which cannot fail.
func must(m members) jsontext.Value {
	v, _ := encode(m)
	return v
}

func (gemini) stop(a *answer) string {
	switch a.turn.Stop {
	case "", "end_turn", "stop", "stop_sequence", "tool_use", "tool_calls":
		return "STOP"
	case "max_tokens", "length":
		return "MAX_TOKENS"
	case "refusal", "content_filter":
		return "SAFETY"
	}
	return a.turn.Stop
}

// chunk makes a response with some of the parts; the last one says why it ends.
func (d gemini) chunk(a *answer, parts []jsontext.Value, last bool) ([]byte, error) {
	if parts == nil {
		parts = []jsontext.Value{jsontext.Value(`{"text":""}`)}
	}
	list, err := encode(parts)
	if err != nil {
		return nil, err
	}
	candidate := members{{"content", must(members{{"parts", list}, {"role", quote("model")}})}}
	if last {
		candidate = append(candidate, member{"finishReason", quote(d.stop(a))})
	}
	candidate = append(candidate, member{"index", jsontext.Value("0")})
	id, u := a.turn.ID, a.usage
	if id == "" {
		id = fmt.Sprintf("gen%019d", a.seq)
	}
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return encode(members{
		{"candidates", append(append(jsontext.Value("["), must(candidate)...), ']')},
		{"usageMetadata", fmt.Appendf(nil, `{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d,"cachedContentTokenCount":%d}`,
			prompt, u.Output, prompt+u.Output, u.CacheRead)},
		{"modelVersion", quote(a.model)},
		{"responseId", quote(id)},
	})
}

// events makes the stream: a part each, and the reason to stop with the last one.
func (d gemini) events(a *answer) (list []event, err error) {
	n := a.turn.DeltaRunes
	if n <= 0 {
		n = DefaultDeltaRunes
	}
	parts := d.parts(a, n)
	for i := 0; i < max(1, len(parts)) && err == nil; i++ {
		var data []byte
		data, err = d.chunk(a, parts[i:min(i+1, len(parts))], i+1 >= len(parts))
		list = append(list, event{data: data})
	}
	return list, err
}

func (d gemini) body(a *answer) ([]byte, error) { return d.chunk(a, d.parts(a, 0), true) }

// items makes the stream for a client that did not ask for events: the chunks
// as the items of one array.
func (d gemini) items(a *answer) ([][]byte, error) {
	events, err := d.events(a)
	var parts [][]byte
	for i, e := range events {
		lead := "[" // the API ends its lines in this odd way
		if i > 0 {
			lead = ",\r\n"
		}
		parts = append(parts, append([]byte(lead), e.data...))
	}
	return append(parts, []byte("\n]\n")), err
}

func (gemini) failure(status int, e *ErrorBody, _ int) ([]byte, error) {
	name := "INVALID_ARGUMENT"
	switch {
	case status == http.StatusUnauthorized:
		name = "UNAUTHENTICATED"
	case status == http.StatusForbidden:
		name = "PERMISSION_DENIED"
	case status == http.StatusNotFound:
		name = "NOT_FOUND"
	case status == http.StatusTooManyRequests:
		name = "RESOURCE_EXHAUSTED"
	case status == http.StatusServiceUnavailable:
		name = "UNAVAILABLE"
	case status >= http.StatusInternalServerError:
		name = "INTERNAL"
	}
	message := fmt.Sprintf("scripted error %d", status)
	if e != nil && e.Type != "" {
		name = e.Type
	}
	if e != nil && e.Message != "" {
		message = e.Message
	}
	return encode(members{{"error", must(members{
		{"code", fmt.Appendf(nil, "%d", status)}, {"message", quote(message)}, {"status", quote(name)},
	})}})
}

func (d gemini) failureEvent(status int, e *ErrorBody) (event, error) {
	data, err := d.failure(status, e, 0)
	return event{data: data}, err
}

// converse is the form of Bedrock's Converse. Its stream is binary and not
// served.
type converse struct{}

func (converse) idHeader() string { return "X-Amzn-Requestid" }

func (converse) body(a *answer) ([]byte, error) {
	content := jsontext.Value("[")
	for i, b := range a.choices[0] {
		if i > 0 {
			content = append(content, ',')
		}
		block := b.Raw
		switch {
		case b.Raw != nil:
		case b.Tool != "":
			id := b.ID
			if id == "" {
				id = fmt.Sprintf("tooluse_%017d%05d", a.seq, i)
			}
			block = must(members{{"toolUse", must(members{{"toolUseId", quote(id)}, {"name", quote(b.Tool)}, {"input", object(b)}})}})
		case b.Thinking != "":
			text := must(members{{"text", quote(b.Thinking)}, {"signature", quote(signature(b))}})
			block = must(members{{"reasoningContent", must(members{{"reasoningText", text}})}})
		default:
			block = must(members{{"text", quote(b.Text)}})
		}
		content = append(content, block...)
	}
	u := a.usage
	return encode(members{
		{"metrics", jsontext.Value(`{"latencyMs":1}`)},
		{"output", must(members{{"message", must(members{{"content", append(content, ']')}, {"role", quote("assistant")}})}})},
		{"stopReason", quote(anthropic{}.stop(a).StopReason)},
		{"usage", fmt.Appendf(nil, `{"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d,"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}`,
			u.CacheRead, u.CacheWrite, u.Input, u.Output, u.Input+u.CacheRead+u.CacheWrite+u.Output)},
	})
}

func (d converse) events(a *answer) ([]event, error) {
	return nil, fmt.Errorf("answer %d: the stream of Converse is binary, which is not served", a.seq)
}

func (converse) failure(status int, e *ErrorBody, _ int) ([]byte, error) {
	message := fmt.Sprintf("scripted error %d", status)
	if e != nil && e.Message != "" {
		message = e.Message
	}
	return encode(members{{"message", quote(message)}})
}

func (d converse) failureEvent(status int, e *ErrorBody) (event, error) {
	data, err := d.failure(status, e, 0)
	return event{data: data}, err
}
