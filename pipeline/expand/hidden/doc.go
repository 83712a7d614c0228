// Package hidden remembers what a client did not see of a turn, and puts it back
// into the requests that follow.
//
// To the client, an exchange in which the model called the expand tool is one
// assistant message. Upstream it was several rounds: a turn with a call, a
// result, the next turn. If the next request went out with the visible message
// alone, the provider would find another prefix than the one it has in its
// cache, and the model would not know what it has read. So each visible turn
// gets a record, written before the client can have its last event:
//
//   - of a round that had calls of ours only: the elements that were sent for it,
//     byte for byte, and what tells where its visible part ends in the message:
//     the length and digest of its text, its signatures, how many other pieces;
//   - of calls of ours beside the client's own in the last round: the call, the
//     result, and how many of the client's calls stand in front.
//
// # Names
//
// Assistant turns come back rewritten: arguments get defaults, keys another order,
// texts are joined, ids are dropped. A record is therefore never found by bytes, but by
// the conversation's root and
//
//   - the id of the turn's first call, if no earlier turn has that id (never with
//     Gemini, whose clients make ids up);
//   - else its first signature, and besides, since some clients drop signatures,
//     its text and the names of its calls, with a digest of what users and tools
//     said before.
//
// The name in the store is an HMAC of that under a service key, in the tenant's
// space, so a record is found by its own tenant, in its own conversation.
//
// # Restoring
//
// [Keeper.Restore] says how a request gets its rounds back, as patches. The rounds
// go right behind the element in front of the turn, where the last request of
// the exchange had them; what was visible of them leaves the client's message,
// which keeps the rest in the client's own bytes. So each request starts with
// the one before. A record that does not fit what the client sent (its text was
// edited, cut or is another) changes nothing, and neither does one that is lost:
// the visible message is a valid turn by itself.
//
// # What does not move
//
// Restoring is about bytes only. All decisions about tool outputs (turns,
// horizons, sizes, what a component sees) are made on the transcript of the
// client's own request, in which there are no hidden rounds, with a record or
// without one. So a lost record costs the provider's cache and nothing else, and
// no edit of an output moves because the model has looked at an original. The
// restored results are no segments, so nothing compresses them. The patches do not
// overlap with edits, except where the provider's own tools left an output in
// a hidden round: there the bytes that were sent count, see [Merge].
//
// # Steady state
//
// A history is sent again with every request. What its elements say is remembered
// by a hash of their bytes, and what the store knows of a turn (most have no
// record) by the turn's name. A request asks the store only about turns that
// this process has not seen, all at once and within a deadline. A turn without a
// record gets one later only when the store failed as it was to be written: the
// process that held it writes it with the next request, and the others ask again
// about such turns after a minute.
//
// # Leaks
//
// While the service was away a call of ours may have reached the client, which
// answered it with an error of its own. Restore replaces that result with the
// original, in this request and in every later one: see [Request].
package hidden
