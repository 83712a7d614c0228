// Package wire finds the tool outputs in a request and writes edits back, on
// the raw bytes.
//
// A body is never decoded into structs and encoded again: that would change
// numbers, key order, escapes, duplicate keys and every field nobody told the
// structs about. [Parser.Parse] walks the bytes once and notes where each tool
// output starts and ends. [Splice] copies the body and replaces those JSON
// strings only, in the escaping style each of them had.
//
// # What is a segment
//
//   - OpenAI Chat Completions: the content of a "tool" message (or of the older
//     "function" message), as a string or as text parts, each part by itself.
//   - Anthropic Messages: the content of a tool_result block of a user message,
//     and of an mcp_tool_result block wherever it stands, as a string or as
//     text blocks, each block by itself.
//
// Everything else is left alone: user and assistant text, images, documents,
// search results, tool references, thinking and its signatures, calls and their
// arguments, the results of tools that run at the provider.
//
// # Turns
//
// A segment's turn is the number of runs of consecutive assistant messages that
// started in front of it. An mcp_tool_result inside an assistant message belongs
// to the turn that this message's run opens: the client sends both for the first
// time together with the outputs that follow.
//
// # Calls
//
// An output is paired with the nearest call in front of it that has its id,
// compared on decoded text; an id that is empty or has no exact text pairs with
// nothing. Only the 512 nearest calls are looked at, which keeps a hostile body
// linear. Tool is the decoded name and Args the raw JSON value of the arguments,
// so for OpenAI's function calls Args is a string literal, quotes included.
// Where the call is not in the body, Tool is the name the message itself gives,
// if it gives one.
//
// # Ambiguity
//
// JSON leaves open what a repeated key means, and two readers of one body may
// disagree. A repeated key of the request (messages, model, stream) makes the
// whole body unreadable; one of a message or of a block (role, content, type,
// text and the others that decide) means no segment comes from that message or
// block, and no call either. Other keys may repeat as they like.
package wire
