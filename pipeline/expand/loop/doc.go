// Package loop answers the calls of the expand tool inside of one exchange: it
// reads the provider's answer, resolves what the model asks for, sends the
// request on, and gives the client one answer without a trace of it.
//
// [Driver.Run] drives one exchange from the first piece of the provider's answer
// to the last piece for the client. Package splice cuts and joins the answers,
// package turns writes the requests, package upstream sends them, package hidden
// remembers what the client did not see; this package decides what happens next:
//
//   - No call of ours: every piece goes on as it comes.
//   - Only calls of ours: they are answered, and the request is sent on.
//   - Ours and the client's: ours are answered and remembered, the client gets
//     its own, and the exchange ends.
//   - It cannot go on (a bound, an answer that broke off, no form to send the turn
//     back in): the message is finished in the dialect's own form.
//
// A call is always answered: with an original or a part of it, or with an error
// result that says what to do instead. What was hidden is recorded before the
// client can have the last event, because some clients hang up with it.
//
// # Bounds
//
// Rounds, calls, bytes of a result, bytes of a request and the time of an
// exchange are bounded by [Config]. The results of the last round that is allowed
// say that there will be no more.
//
// # Waiting
//
// While a client waits for a round of ours, it gets a blank line now and then:
// that is the one sign of life that every client takes. Nothing is sent before
// the first piece of the provider's own answer has come. When the context ends,
// everything ends with it and Run returns.
package loop
