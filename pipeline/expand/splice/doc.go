// Package splice makes the rounds of an exchange look like one answer.
//
// A [Stream] takes the bytes of the provider's responses, one round after the
// other, and gives the bytes for the client. The client never sees a call of the
// expand tool, an index that is missing, a second beginning or a second end:
//
//	s, err := splice.New(splice.Config{Dialect: d, Form: form, Tool: "context_guru_expand"})
//	for {
//		for piece := range response { send(s.Write(piece)) } // until its end, or s.Done()
//		out, turn := s.End()
//		send(out)
//		switch {
//		case turn == nil: // there was no call of ours: all has been sent
//		case len(turn.Ours) > 0 && len(turn.Others) == 0 && turn.Complete:
//			// request the next round: turn.Assistant and the results
//			s.Continue()
//			continue
//		default:
//			// remember what the client will not send back, then
//			send(s.Finish())
//		}
//		break
//	}
//
// It knows no transport, no store and no clock.
//
// # What waits and what does not
//
// As long as there is no call of ours, the client gets the very bytes that came
// in, each event with the piece that completes it. Text, reasoning and the
// client's own calls always leave at once. Our call is withheld, and from it on
// the terminal events are, in this round and in all later ones: what must be
// recorded is recorded before the client can hang up.
//
// A body that is not streamed waits until it is whole.
//
// # Several rounds
//
// The first round begins the message and the last one ends it. Content follows
// content; indices go on from 0 without gaps; ids, model and time stamps are
// those of the first response. The usage reported is the input of the last round
// and the output of all, because clients compact by the input they read.
//
// When our call and calls of the client meet in one turn, the client gets its
// own and the stop reason that belongs to them. The round ends the message.
//
// A last round without content ends the message as it is: a provider that
// answers with nothing would have done so without us.
//
// # When it cannot go on
//
// See [Stream.Fail]. In short: an error while the client has nothing yet, else a
// whole message. A call of ours that cannot be answered is let through rather
// than dropped, and so are those of the last round when no further round is
// allowed. The request of the last round that is allowed stays as it is, tool
// and all: without the tool it would not share its prefix with the others. Its
// results should say that there will be no more.
//
// An error that the provider sends in the first round passes as it is. In a later
// one it ends the round with Failed: as long as nothing of the round was [Stream.Said],
// it can be tried again.
//
// # Limits
//
// Memory is bounded by [Limits]. At a limit before a call of ours, everything
// passes unread from there on, and [Stream.Blind] says so; behind one, the round
// has failed. The same holds for what cannot be spliced: a Chat Completions or
// Gemini answer with several choices. The tool should not be in such requests.
package splice
