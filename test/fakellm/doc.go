// Package fakellm is a scriptable stand-in for an LLM provider. It speaks
// OpenAI Chat Completions and Responses, Anthropic Messages and Gemini, as JSON
// and as streams in the providers' own forms, and Bedrock Converse as JSON, over
// HTTP/1.1 and cleartext HTTP/2 on one port, and it records every request it
// receives.
//
// A [Server] is an [net/http.Handler]; [Server.Start] also gives it a listener:
//
//	fake := fakellm.New(fakellm.WithScript(
//		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Tool("read_file", `{"path":"a.go"}`)}},
//		fakellm.Turn{Status: 429, RetryAfter: 1},
//		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("done")}},
//	))
//	url, err := fake.Start("127.0.0.1:0")
//
// # What is answered
//
//   - POST to a path ending in /chat/completions: Chat Completions.
//   - POST to a path ending in /messages, to a Vertex :rawPredict or
//     :streamRawPredict method, or to a Bedrock /model/ID/invoke path:
//     Anthropic Messages.
//   - POST to a path ending in /responses: OpenAI Responses.
//   - POST to a :generateContent or :streamGenerateContent method: Gemini, the
//     stream as server-sent events with alt=sse in the query, else as an array.
//   - POST to a Bedrock /model/ID/converse path: Converse.
//   - POST to a path ending in /messages/count_tokens: a token count.
//   - A WebSocket upgrade: 101, then every message comes back.
//   - Anything else: a JSON object with the length and SHA-256 of the body
//     received, which lets a test verify an upload without keeping it.
//
// Requests that ask for generation take the next fitting [Turn] of the script;
// when none is left they get a short text. "stream": true in the request
// selects server-sent events, but for Gemini, where the path does. A body that is
// not a JSON object is answered with 400 in the provider's error form, as a real
// provider would do.
//
// Nothing here waits unless a script says so, ids and timestamps count up from
// fixed values, and every wait ends when the client goes away or the server
// closes. Two runs of one script over one connection at a time give the same
// bytes.
package fakellm
