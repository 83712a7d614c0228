package fakellm

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// openai is the form of OpenAI Chat Completions. Member names, their order and
// the order of chunks follow what the API sends.
type openai struct{}

const (
	// epoch is the timestamp of request 0; those of later ones count up.
	epoch = 1_760_000_000
	// padAlphabet fills the obfuscation member, which evens out chunk sizes.
	padAlphabet = "bV4kQz9TnXw2LrYc"
)

type chatUsage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens,omitzero"`
		AudioTokens      int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens          int `json:"reasoning_tokens"`
		AudioTokens              int `json:"audio_tokens"`
		AcceptedPredictionTokens int `json:"accepted_prediction_tokens"`
		RejectedPredictionTokens int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

type chatFunction struct {
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments"`
}

type chatCall struct {
	Index    *int         `json:"index,omitzero"`
	ID       string       `json:"id,omitzero"`
	Type     string       `json:"type,omitzero"`
	Function chatFunction `json:"function"`
}

type chatDelta struct {
	Role      string         `json:"role,omitzero"`
	Content   jsontext.Value `json:"content,omitzero"`
	ToolCalls []chatCall     `json:"tool_calls,omitzero"`
	Refusal   jsontext.Value `json:"refusal,omitzero"`
}

type chatChoice struct {
	Index        int            `json:"index"`
	Message      any            `json:"message,omitzero"`
	Delta        any            `json:"delta,omitzero"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type chatChunk struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           int            `json:"created"`
	Model             string         `json:"model"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Choices           []chatChoice   `json:"choices"`
	Usage             jsontext.Value `json:"usage,omitzero"`
	Obfuscation       string         `json:"obfuscation,omitzero"`
}

type chatCompletion struct {
	ID                string       `json:"id"`
	Object            string       `json:"object"`
	Created           int          `json:"created"`
	Model             string       `json:"model"`
	Choices           []chatChoice `json:"choices"`
	Usage             chatUsage    `json:"usage"`
	ServiceTier       string       `json:"service_tier"`
	SystemFingerprint string       `json:"system_fingerprint"`
}

type chatError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func (openai) idHeader() string { return "X-Request-Id" }

func (openai) id(a *answer) string {
	if a.turn.ID != "" {
		return a.turn.ID
	}
	return fmt.Sprintf("chatcmpl-%029d", a.seq)
}

// fingerprint is a constant in the API's form.
func (openai) fingerprint() string { return "fp_0123456789" }

func (openai) usage(a *answer) chatUsage {
	u := chatUsage{
		PromptTokens:     a.usage.Input + a.usage.CacheRead + a.usage.CacheWrite,
		CompletionTokens: a.usage.Output,
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	u.PromptTokensDetails.CachedTokens = a.usage.CacheRead
	u.PromptTokensDetails.CacheWriteTokens = a.usage.CacheWrite
	return u
}

func (openai) finish(a *answer, blocks []Block) string {
	switch a.turn.Stop {
	case "end_turn", "stop_sequence", "stop":
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "max_tokens":
		return "length"
	case "refusal":
		return "content_filter"
	case "":
		for _, b := range blocks {
			if b.Tool != "" && b.Raw == nil {
				return "tool_calls"
			}
		}
		return "stop"
	}
	return a.turn.Stop
}

// events makes the stream. The choices take turns, chunk by chunk, as they do
// with the API; then come the usage chunk, if it was asked for, and the end mark.
func (d openai) events(a *answer) ([]event, error) {
	queues := make([][]chatChoice, len(a.choices))
	for i, blocks := range a.choices {
		queues[i] = d.chunks(a, i, blocks)
	}
	base := chatChunk{
		ID: d.id(a), Object: "chat.completion.chunk", Created: epoch + a.seq, Model: a.model,
		ServiceTier: "default", SystemFingerprint: d.fingerprint(),
	}
	if a.head.includeUsage {
		base.Usage = jsontext.Value("null")
	}
	var list []event
	add := func(c chatChunk) error {
		data, err := encode(c)
		list = append(list, event{data: data})
		return err
	}
	for row, more := 0, true; more; row++ {
		more = false
		for _, q := range queues {
			if row >= len(q) {
				continue
			}
			more = true
			c := base
			c.Choices = q[row : row+1]
			if !a.head.noObfuscation {
				c.Obfuscation = padAlphabet[:1+(row*7+3)%len(padAlphabet)]
			}
			if err := add(c); err != nil {
				return nil, err
			}
		}
	}
	if a.head.includeUsage {
		usage, err := encode(d.usage(a))
		if err != nil {
			return nil, err
		}
		base.Choices, base.Usage = []chatChoice{}, usage
		if err := add(base); err != nil {
			return nil, err
		}
	}
	return append(list, event{data: []byte("[DONE]")}), nil
}

// chunks makes the chunks of one choice: the role, the blocks, the reason to stop.
func (d openai) chunks(a *answer, choice int, blocks []Block) []chatChoice {
	null := jsontext.Value("null")
	var list []chatChoice
	add := func(delta any) { list = append(list, chatChoice{Index: choice, Delta: delta, Logprobs: null}) }
	role := chatDelta{Role: "assistant", Content: quote(""), Refusal: null}
	if !hasText(blocks) {
		role.Content = null
	}
	add(role)
	call := 0
	for i, b := range blocks {
		switch {
		case b.Raw != nil:
			add(b.Raw)
		case b.Tool != "":
			index := call
			call++
			add(chatDelta{ToolCalls: []chatCall{{
				Index: &index, ID: callID(a, choice, i, b), Type: "function", Function: chatFunction{Name: b.Tool},
			}}})
			for _, p := range pieces(string(b.Args), a.turn.DeltaRunes) {
				add(chatDelta{ToolCalls: []chatCall{{Index: &index, Function: chatFunction{Arguments: p}}}})
			}
		case b.Thinking != "":
		default:
			for _, p := range pieces(b.Text, a.turn.DeltaRunes) {
				add(chatDelta{Content: quote(p)})
			}
		}
	}
	reason := d.finish(a, blocks)
	return append(list, chatChoice{Index: choice, Delta: chatDelta{}, Logprobs: null, FinishReason: &reason})
}

func (d openai) body(a *answer) ([]byte, error) {
	c := chatCompletion{
		ID: d.id(a), Object: "chat.completion", Created: epoch + a.seq, Model: a.model,
		Usage: d.usage(a), ServiceTier: "default", SystemFingerprint: d.fingerprint(),
	}
	for i, blocks := range a.choices {
		message, err := d.message(a, i, blocks)
		if err != nil {
			return nil, err
		}
		reason := d.finish(a, blocks)
		c.Choices = append(c.Choices, chatChoice{
			Index: i, Message: message, Logprobs: jsontext.Value("null"), FinishReason: &reason,
		})
	}
	return encode(c)
}

// message makes the whole message of a choice. Members of raw blocks come last
// and replace those of the same name.
func (openai) message(a *answer, choice int, blocks []Block) (members, error) {
	var (
		text  strings.Builder
		calls []chatCall
		extra members
	)
	for i, b := range blocks {
		switch {
		case b.Raw != nil:
			if err := extra.merge(b.Raw); err != nil {
				return nil, err
			}
		case b.Tool != "":
			calls = append(calls, chatCall{
				ID: callID(a, choice, i, b), Type: "function",
				Function: chatFunction{Name: b.Tool, Arguments: string(b.Args)},
			})
		case b.Thinking == "":
			text.WriteString(b.Text)
		}
	}
	m := members{{"role", quote("assistant")}, {"content", jsontext.Value("null")}}
	if hasText(blocks) {
		m.set("content", quote(text.String()))
	}
	if calls != nil {
		js, err := encode(calls)
		if err != nil {
			return nil, err
		}
		m.set("tool_calls", js)
	}
	m.set("refusal", jsontext.Value("null"))
	m.set("annotations", jsontext.Value("[]"))
	for _, x := range extra {
		m.set(x.name, x.value)
	}
	return m, nil
}

func hasText(blocks []Block) bool {
	for _, b := range blocks {
		if b.Raw == nil && b.Tool == "" && b.Thinking == "" {
			return true
		}
	}
	return false
}

func callID(a *answer, choice, i int, b Block) string {
	if b.ID != "" {
		return b.ID
	}
	return fmt.Sprintf("call_%016d%03d%05d", a.seq, choice, i)
}

// object fills in the error object for a status, with the types and codes that
// the API uses for it.
func (openai) object(status int, e *ErrorBody) chatError {
	var v chatError
	code := ""
	v.Error.Message, v.Error.Type = fmt.Sprintf("scripted error %d", status), "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		v.Error.Type, code = "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		v.Error.Type = "server_error"
	}
	if e != nil {
		if e.Code != "" {
			code = e.Code
		}
		if e.Type != "" {
			v.Error.Type = e.Type
		}
		if e.Message != "" {
			v.Error.Message = e.Message
		}
		if e.Param != "" {
			v.Error.Param = &e.Param
		}
	}
	if code != "" {
		v.Error.Code = &code
	}
	return v
}

func (d openai) failure(status int, e *ErrorBody, _ int) ([]byte, error) {
	return encode(d.object(status, e))
}

func (d openai) failureEvent(status int, e *ErrorBody) (event, error) {
	data, err := encode(d.object(status, e))
	return event{data: data}, err
}
