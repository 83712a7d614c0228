package capture

import (
	"encoding/json"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// shape is what tells the APIs apart.
type shape struct {
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Input      json.RawMessage `json:"input"`
	Contents   json.RawMessage `json:"contents"`
	System     json.RawMessage `json:"system"`
	Version    json.RawMessage `json:"anthropic_version"`
	ToolConfig json.RawMessage `json:"toolConfig"`
	Inference  json.RawMessage `json:"inferenceConfig"`
	Tools      []struct {
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

// Guess tells the API of a request body from its shape, and false when it is
// none of ours.
func Guess(body []byte) (wire.Dialect, bool) {
	var s shape
	if json.Unmarshal(body, &s) != nil {
		return "", false
	}
	switch {
	case s.Contents != nil:
		return wire.Gemini, true
	case s.Messages == nil && s.Input != nil:
		return wire.OpenAIResponses, true
	case s.Messages == nil:
		return "", false
	case s.ToolConfig != nil, s.Inference != nil:
		return wire.BedrockConverse, true
	case s.Version != nil:
		return wire.AnthropicMessages, true
	}
	for _, tool := range s.Tools {
		if tool.Schema != nil {
			return wire.AnthropicMessages, true
		}
	}
	for _, m := range s.Messages {
		var blocks []map[string]json.RawMessage
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			switch kind := string(b["type"]); kind {
			case "":
				return wire.BedrockConverse, true
			case `"tool_use"`, `"tool_result"`, `"thinking"`:
				return wire.AnthropicMessages, true
			}
		}
	}
	if s.System != nil {
		return wire.AnthropicMessages, true
	}
	return wire.OpenAIChat, true
}
