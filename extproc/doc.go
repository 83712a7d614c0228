// Package extproc is the Envoy external-processing service: one gRPC stream per
// HTTP exchange, one state machine per stream. Envoy's types exist only here.
//
// # Form
//
// Envoy is configured with every body mode NONE and both header modes SEND.
// At the request headers an exchange that concerns us is switched to a BUFFERED
// request body by a mode override; every other exchange is told to skip us for
// good, so that Envoy closes the side stream after one round trip and a large
// upload on the same listener is never buffered. The body reply carries the new
// body together with its exact content-length; an unchanged body is an empty
// reply. At the response headers the exchange is switched to
// FULL_DUPLEX_STREAMED and echoed: leaving the mode alone would lose bytes when
// another streaming ext_proc stands behind us.
//
// The state machine does not assume these modes. It reads the modes in force
// from the first message's protocol_config, follows its own overrides, and
// answers whatever arrives in the form that mode demands: one reply per
// message, or streamed chunks.
//
// # Failing
//
// Whatever goes wrong inside, the reply is "unchanged" and the client's bytes
// go out. A panic ends the stream with a gRPC error, never with nil: to Envoy a
// nil return in the middle of a body is a clean end, and the client would get a
// truncated 200.
package extproc
