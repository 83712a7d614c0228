// Package chat plays the client of a tool-calling conversation: it builds the
// request bodies of each turn, and it judges what the provider received by the
// laws every rewritten conversation keeps.
package chat

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Dialect is the API a conversation speaks.
type Dialect int

// The dialects.
const (
	// OpenAI is Chat Completions.
	OpenAI Dialect = iota
	// Anthropic is Messages.
	Anthropic
)

// String names the dialect.
func (d Dialect) String() string {
	if d == Anthropic {
		return "anthropic"
	}
	return "openai"
}

// Path is where the dialect's requests go.
func (d Dialect) Path() string {
	if d == Anthropic {
		return "/v1/messages"
	}
	return "/v1/chat/completions"
}

// Call is one tool call of the assistant.
type Call struct {
	ID, Name string
	// Args is the JSON text of the arguments.
	Args string
}

// Result is one tool output.
type Result struct {
	ID, Text string
	// Failed marks an error result, which only Anthropic's API can say.
	Failed bool
}

// Conversation is a history that only grows: the messages of an earlier body are
// the first messages of every later one, byte for byte.
type Conversation struct {
	dialect  Dialect
	model    string
	system   string
	messages []jsontext.Value
	err      error
}

// New starts a conversation.
func New(d Dialect, model, system string) *Conversation {
	c := &Conversation{dialect: d, model: model, system: system}
	if d == OpenAI && system != "" {
		c.add(text{Role: "system", Content: system})
	}
	return c
}

// The shapes of the messages, with the members in the order the official
// clients write them.
type (
	text struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	openAICalls struct {
		Role    string       `json:"role"`
		Content *string      `json:"content"`
		Calls   []openAICall `json:"tool_calls"`
	}
	openAICall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	openAIResult struct {
		Role    string `json:"role"`
		ID      string `json:"tool_call_id"`
		Content string `json:"content"`
	}
	anthropicBlocks struct {
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	anthropicText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	anthropicCall struct {
		Type  string         `json:"type"`
		ID    string         `json:"id"`
		Name  string         `json:"name"`
		Input jsontext.Value `json:"input"`
	}
	anthropicResult struct {
		Type    string          `json:"type"`
		ID      string          `json:"tool_use_id"`
		Content []anthropicText `json:"content"`
		Failed  bool            `json:"is_error,omitzero"`
	}
)

// User adds what the user says.
func (c *Conversation) User(say string) *Conversation { return c.add(text{"user", say}) }

// Assistant adds what the assistant says.
func (c *Conversation) Assistant(say string) *Conversation { return c.add(text{"assistant", say}) }

// Calls adds the assistant's tool calls, after a text if there is one.
func (c *Conversation) Calls(say string, calls ...Call) *Conversation {
	if c.dialect == Anthropic {
		m := anthropicBlocks{Role: "assistant"}
		if say != "" {
			m.Content = append(m.Content, anthropicText{"text", say})
		}
		for _, call := range calls {
			m.Content = append(m.Content, anthropicCall{"tool_use", call.ID, call.Name, jsontext.Value(call.Args)})
		}
		return c.add(m)
	}
	m := openAICalls{Role: "assistant"}
	if say != "" {
		m.Content = &say
	}
	for _, call := range calls {
		one := openAICall{ID: call.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = call.Name, call.Args
		m.Calls = append(m.Calls, one)
	}
	return c.add(m)
}

// Results adds the outputs of the calls, in one message where the dialect allows it.
func (c *Conversation) Results(results ...Result) *Conversation {
	if c.dialect == OpenAI {
		for _, r := range results {
			c.add(openAIResult{"tool", r.ID, r.Text})
		}
		return c
	}
	m := anthropicBlocks{Role: "user"}
	for _, r := range results {
		m.Content = append(m.Content, anthropicResult{"tool_result", r.ID, []anthropicText{{"text", r.Text}}, r.Failed})
	}
	return c.add(m)
}

// Raw adds a message as it is, such as one the provider answered with.
func (c *Conversation) Raw(message []byte) *Conversation {
	c.messages = append(c.messages, jsontext.Value(bytes.Clone(message)))
	return c
}

func (c *Conversation) add(message any) *Conversation {
	encoded, err := encode(message)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.messages = append(c.messages, encoded)
	return c
}

// encode writes strings as they are, without the escapes only HTML needs, as
// most clients do.
func encode(v any) (jsontext.Value, error) {
	out, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return out, nil
}

// Dialect is the conversation's dialect.
func (c *Conversation) Dialect() Dialect { return c.dialect }

// Path is where the conversation's requests go.
func (c *Conversation) Path() string { return c.dialect.Path() }

// Len is the number of messages.
func (c *Conversation) Len() int { return len(c.messages) }

// Body renders the request of the next turn. It returns an error if a message
// could not be encoded.
func (c *Conversation) Body(stream bool) ([]byte, error) { return c.upTo(len(c.messages), stream) }

// Bodies renders the request of every turn: the history up to each message
// after which a client would call the model.
func (c *Conversation) Bodies() ([][]byte, error) {
	var bodies [][]byte
	for n := range c.messages {
		next := n+1 == len(c.messages) || bytes.HasPrefix(c.messages[n+1], []byte(`{"role":"assistant"`))
		if !next || bytes.HasPrefix(c.messages[n], []byte(`{"role":"assistant"`)) {
			continue
		}
		body, err := c.upTo(n+1, false)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func (c *Conversation) upTo(n int, stream bool) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	const description = "Run a shell command and return what it prints."
	type schema struct {
		Type       string         `json:"type"`
		Properties jsontext.Value `json:"properties"`
	}
	command := schema{"object", jsontext.Value(`{"command":{"type":"string"}}`)}
	if c.dialect == Anthropic {
		type tool struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Schema      schema `json:"input_schema"`
		}
		return encode(struct {
			MaxTokens int              `json:"max_tokens"`
			Messages  []jsontext.Value `json:"messages"`
			Model     string           `json:"model"`
			System    string           `json:"system,omitzero"`
			Tools     []tool           `json:"tools"`
			Stream    bool             `json:"stream,omitzero"`
		}{4096, c.messages[:n], c.model, c.system, []tool{{"run", description, command}}, stream})
	}
	type function struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  schema `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	return encode(struct {
		Messages []jsontext.Value `json:"messages"`
		Model    string           `json:"model"`
		Stream   bool             `json:"stream,omitzero"`
		Tools    []tool           `json:"tools"`
	}{c.messages[:n], c.model, stream, []tool{{"function", function{"run", description, command}}}})
}
