package wire

import (
	"net/url"
	"slices"
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
	// OpenAIResponses is OpenAI's Responses.
	OpenAIResponses Dialect = "openai.responses"
	// Gemini is Google's generateContent, on whatever host.
	Gemini Dialect = "gemini"
	// BedrockConverse is Bedrock's Converse.
	BedrockConverse Dialect = "bedrock.converse"
)

// Route tells the dialect of a request path, and false when it is none of ours.
// A query is ignored, percent-encoding is understood, and gateways may put
// anything in front: a path counts by how it ends. A request to count the tokens
// of a conversation, or to compact it, is one of its dialect.
func Route(path string) (Dialect, bool) {
	d, _ := locate(path)
	return d, d != ""
}

// TakesMarks reports whether a model of a dialect is known to take cache marks.
// Platforms refuse the whole request when one of their older models, or one of
// another maker, is sent a mark; a model that hides behind the number of a
// profile may be one. Where the dialect itself is for one maker's models, marks
// are part of the API.
func TakesMarks(d Dialect, model string) bool {
	switch d {
	case AnthropicMessages:
		return true
	case AnthropicPlatform, BedrockConverse:
	default:
		return false
	}
	if strings.HasPrefix(model, "claude") { // Vertex
		return d == AnthropicPlatform
	}
	_, name, found := strings.Cut(model, "anthropic.claude")
	return found && !slices.ContainsFunc(unmarkable(), func(old string) bool { return strings.HasPrefix(name, old) })
}

// unmarkable are Bedrock's Claude models from before caching.
func unmarkable() []string {
	return []string{"-v", "-instant", "-3-haiku", "-3-sonnet", "-3-opus", "-3-5-sonnet-20240620"}
}

// ModelInPath returns the model that a request path names, or the empty string
// when it names none: most APIs have it in the body. Of a resource name, such as
// that of an inference profile, it is the last part.
func ModelInPath(path string) string {
	_, model := locate(path)
	return model
}

// Aside reports that a request path asks about a conversation, to count its
// tokens or to compact it: no model answers it with a turn, and nothing is kept.
func Aside(path string) bool {
	path = plain(path)
	return ends(path, "/messages/count_tokens", "/responses/input_tokens", "/responses/compact", "/count-tokens",
		":countTokens", "/count-tokens:rawPredict")
}

// Binary reports that a request path is answered by a stream of binary frames,
// as Bedrock does, which nobody here can read.
func Binary(path string) bool {
	path = plain(path)
	return ends(path, "/converse-stream", "/invoke-with-response-stream")
}

// plain is a path without its query, decoded if it can be.
func plain(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if decoded, err := url.PathUnescape(path); err == nil {
		return decoded
	}
	return path
}

func locate(path string) (d Dialect, model string) {
	path = plain(path)
	switch {
	case ends(path, "/chat/completions"):
		return OpenAIChat, ""
	case ends(path, "/messages", "/messages/count_tokens"):
		return AnthropicMessages, ""
	case ends(path, "/responses", "/responses/input_tokens", "/responses/compact"):
		return OpenAIResponses, ""
	}
	if d, model = bedrock(path); d != "" {
		return d, model
	}
	return google(path)
}

func ends(path string, with ...string) bool {
	return slices.ContainsFunc(with, func(end string) bool { return strings.HasSuffix(path, end) })
}

// bedrock matches /model/MODEL/invoke and the like. MODEL may be an ARN, which
// has slashes and colons of its own once it is decoded.
func bedrock(path string) (d Dialect, model string) {
	_, rest, _ := strings.Cut(path, "/model/")
	at := strings.LastIndexByte(rest, '/')
	if at < 0 {
		return "", ""
	}
	if model = strings.Trim(rest[:at], "/"); model == "" {
		return "", ""
	}
	model = model[strings.LastIndexByte(model, '/')+1:]
	switch rest[at+1:] {
	case "invoke", "invoke-with-response-stream":
		return AnthropicPlatform, model
	case "converse", "converse-stream", "count-tokens":
		return BedrockConverse, model
	default:
		return "", ""
	}
}

// google matches …/models/MODEL:generateContent and the like, on the Gemini API
// and on Vertex, which has Anthropic's models too: there the last part of the
// path is MODEL:rawPredict.
func google(path string) (d Dialect, model string) {
	at := strings.LastIndexByte(path, '/') + 1
	kind, call := path[:at], path[at:]
	colon := strings.LastIndexByte(call, ':')
	if colon < 0 {
		return "", ""
	}
	model = call[:colon]
	switch call[colon+1:] {
	case "generateContent", "streamGenerateContent", "countTokens":
		if !ends(kind, "/models/", "/tunedModels/") {
			model = "" // an endpoint's number, or an API without models in its paths
		}
		return Gemini, model
	case "rawPredict", "streamRawPredict":
		switch {
		case !ends(kind, "/publishers/anthropic/models/"), model == "":
			return "", ""
		case model == "count-tokens": // not a model: that one stands in the body
			return AnthropicMessages, ""
		default:
			return AnthropicPlatform, model
		}
	default:
		return "", ""
	}
}
