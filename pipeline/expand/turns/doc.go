// Package turns writes the request that continues a turn: the bytes of the one
// before, the model's turn as it sent it, and a result for each call of ours.
//
// It is a splice. Nothing of the request is read again into anything else, so
// model, tools, cache marks and the wish for a stream stay what they were, and
// the provider's cache sees a request that starts with the last one.
//
// # Forms of a result
//
//   - OpenAI Chat: {"role":"tool","tool_call_id":ID,"content":TEXT}
//   - OpenAI Responses: {"type":"function_call_output","call_id":ID,"output":TEXT}
//   - Anthropic: {"type":"tool_result","tool_use_id":ID,"content":TEXT} with
//     "is_error":true for an error, all results of a turn in one user message
//   - Gemini: {"functionResponse":{"id":ID,"name":NAME,"response":{"output":TEXT}}},
//     "error" in place of "output" for an error, no id where the call had none,
//     all in one content
//   - Bedrock Converse: {"toolResult":{"toolUseId":ID,"content":[{"text":TEXT}]}}
//     with "status":"error" for an error, all in one user message
//
// Providers refuse a text that is empty or white space only, so such a text
// says in words what it is.
package turns
