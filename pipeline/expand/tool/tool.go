// Package tool holds the definition of the expand tool as each API takes it.
//
// A request pays for the definition in every turn, and a definition that
// changes makes the provider read the whole prompt anew: its bytes are fixed,
// and they cost at most [MaxTokens]. A definition says three things: that
// <<cg:ID>> stands for text that was left out, that it is read only when it is
// needed, and how a part of it is asked for. Whatever else a model may send is
// read by expand.ParseArguments and need not be paid for.
package tool

import (
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Name is the tool's name.
const Name = pipeline.ExpandTool

// MaxTokens is the most a definition costs in o200k_base, the comma in front of
// it included.
const MaxTokens = 60

const (
	head = `"name":"` + Name + `","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex",`

	schema = `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`
	// Gemini has types of its own and knows no other schema than the plainest.
	geminiSchema = `{"type":"OBJECT","properties":{"id":{"type":"STRING"}},"required":["id"]}`
)

// Definition returns the JSON value that declares the tool in a request of a
// dialect, and an empty string when the dialect is unknown. It is an element of
// the list of tools; with Gemini, of a tool's functionDeclarations.
func Definition(d wire.Dialect) string {
	switch d {
	case wire.OpenAIChat:
		return `{"type":"function","function":{` + head + `"parameters":` + schema + `}}`
	case wire.OpenAIResponses:
		// Some servers refuse a function that says nothing about strict. True would
		// keep models from asking for lines and the like beside the id.
		return `{"type":"function",` + head + `"parameters":` + schema + `,"strict":false}`
	case wire.AnthropicMessages, wire.AnthropicPlatform:
		return `{` + head + `"input_schema":` + schema + `}`
	case wire.Gemini:
		return `{` + head + `"parameters":` + geminiSchema + `}`
	case wire.BedrockConverse:
		return `{"toolSpec":{` + head + `"inputSchema":{"json":` + schema + `}}}`
	default:
		return ""
	}
}
