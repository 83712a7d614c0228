// Package wire finds the tool outputs in a request and writes edits back, on
// the raw bytes.
//
// A body is never decoded into structs and encoded again: that would change
// numbers, key order, escapes, duplicate keys and every field nobody told the
// structs about. [Parser.Parse] walks the bytes once and notes where each tool
// output starts and ends. [Splice] copies the body and replaces those values
// only, strings in the escaping style each of them had.
//
// # What is a segment
//
//   - OpenAI Chat Completions: the content of a "tool" message (or of the older
//     "function" message), as a string or as text parts, each part by itself.
//   - OpenAI Responses: the output of a function_call_output or a
//     custom_tool_call_output, as a string or as text parts; of a
//     local_shell_call_output, an apply_patch_call_output and an mcp_call; stdout
//     and stderr of every command of a shell_call_output.
//   - Anthropic Messages: the content of a tool_result block of a user message,
//     and of an mcp_tool_result block wherever it stands, as a string or as
//     text blocks, each block by itself.
//   - Gemini: the strings in the response of a functionResponse, to a depth of
//     four and at most 256 of them.
//   - Bedrock Converse: the text and json blocks of a toolResult of a user
//     message. A segment's value is the whole block, because only JSON of the
//     same kind can stay under "json": any other text turns the block into a
//     text block. The text of a json block is the JSON as the client wrote it.
//
// Everything else is left alone: user and assistant text, images, documents,
// search results, tool references, thinking, reasoning and their signatures,
// calls and their arguments, the results of tools that run at the provider.
//
// # Turns
//
// A segment's turn is the number of runs of consecutive assistant messages that
// started in front of it. An mcp_tool_result inside an assistant message, or an
// mcp_call among the items the model made, belongs to the turn that its run
// opens: the client sends both for the first time together with the outputs that
// follow.
//
// # Calls
//
// An output is paired with the nearest call in front of it that has its id,
// compared on decoded text; an id that is empty or has no exact text pairs with
// nothing. Only the 512 nearest calls are looked at, which keeps a hostile body
// linear. Tool is the decoded name and Args the raw JSON value of the arguments,
// so for OpenAI's function calls Args is a string literal, quotes included.
// Where the call is not in the body, Tool is the name the message itself gives,
// if it gives one. A Gemini response without an id answers the first call of its
// name in the last run that no other response has answered.
//
// # Failures
//
// IsError is what the client says about an output, each API in its own way:
// is_error, a status, the outcome of a command, a member "error" of a function's
// response that is neither null nor false nor empty.
//
// # Tools
//
// [Parser.Tools] says where a tool goes that is appended to the client's: behind
// the last element of "tools"; in Gemini, which takes one list of functions
// beside other kinds of tools, behind the last function declared; in Converse,
// in toolConfig. Tools declared twice, or as something that is no list, are left
// alone. What stands behind the last tool (white space, a cache point) keeps its
// bytes.
//
// # Ambiguity
//
// JSON leaves open what a repeated key means, and two readers of one body may
// disagree. A repeated key of the request (messages, model, stream) makes the
// whole body unreadable; one of a message or of a block (role, content, type,
// text and the others that decide) means no segment comes from that message or
// block, and no call either. So do two keys of which only one may be there.
// Other keys may repeat as they like.
package wire
