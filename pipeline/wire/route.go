package wire

import (
	"net/url"
	"strings"
)

// Dialect names a request format.
type Dialect string

// The dialects.
const (
	// OpenAIChat is OpenAI's Chat Completions and everything that copies it.
	OpenAIChat Dialect = "openai.chat"
	// AnthropicMessages is Anthropic's Messages API.
	AnthropicMessages Dialect = "anthropic.messages"
	// AnthropicPlatform is the same body as Vertex and Bedrock take it: the
	// model stands in the path and anthropic_version in the body. Other vendors'
	// models share these paths, so a body without anthropic_version is refused.
	AnthropicPlatform Dialect = "anthropic.platform"
)

// Route tells the dialect of a request path, and false when it is none of ours.
// A query is ignored, percent-encoding is understood, and gateways may put
// anything in front: a path counts by how it ends.
func Route(path string) (Dialect, bool) {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return OpenAIChat, true
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		return AnthropicMessages, true
	case isVertex(path), isBedrock(path):
		return AnthropicPlatform, true
	default:
		return "", false
	}
}

// isVertex matches …/publishers/anthropic/models/MODEL:rawPredict.
func isVertex(path string) bool {
	_, call, ok := strings.Cut(path, "/publishers/anthropic/models/")
	if !ok {
		return false
	}
	model, verb, ok := strings.Cut(call, ":")
	return ok && model != "" && !strings.Contains(model, "/") && (verb == "rawPredict" || verb == "streamRawPredict")
}

// isBedrock matches /model/MODEL/invoke. MODEL may be an ARN, which has slashes
// and colons of its own once it is decoded.
func isBedrock(path string) bool {
	_, call, ok := strings.Cut(path, "/model/")
	if !ok {
		return false
	}
	model, ok := strings.CutSuffix(call, "/invoke")
	if !ok {
		model, ok = strings.CutSuffix(call, "/invoke-with-response-stream")
	}
	return ok && strings.Trim(model, "/") != ""
}
