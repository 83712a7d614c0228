// Package codec is what the dialects of spliced streams have in common.
package codec

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Codec knows the events of one dialect, for one exchange. What it must keep in
// mind between them it shares with the stream in its State.
type Codec interface {
	// Event takes the next event, which has data, and sends what of it the client
	// gets now. It is not called behind the end of a round.
	Event(o *Out, e *Event)
	// Turn returns what the model said in this round, without usage, outcome and
	// id, which are in the state.
	Turn() round.Turn
	// Next begins the next round; the state does so behind it.
	Next()
	// Finish ends the message with what waits at the end of the round, without
	// the calls of ours. What the provider did not send is made up: everything
	// that is open at the client is closed, and the reason to stop is that the
	// model ran out of tokens, unless the client has whole calls to answer.
	Finish(o *Out)
	// Let sends the calls of State.Open, all complete, and ends the message with
	// what waited behind them.
	Let(o *Out)
	// Error sends the error event of the dialect.
	Error(o *Out, reason string)
}

// Body knows the bodies of one dialect that are not streamed.
type Body interface {
	// Read returns what the model said. False: nothing that we can read, or more
	// than one answer.
	Read(body []byte, tool string) (round.Turn, bool)
	// Merge makes one body out of those of all rounds, all of which Read has
	// read. Calls of ours are left out, but for those of the last round if let is
	// true. One body without a call of ours comes back as it is.
	Merge(bodies [][]byte, tool string, let bool) []byte
}

// Cleaner is a Body whose bodies may mention the expand tool without a call.
type Cleaner interface {
	// Clean takes that out.
	Clean(body []byte, tool string) []byte
}

// Call is a call of ours that waits.
type Call struct {
	// Start is the JSON that opened it.
	Start []byte
	// Args is what came of its arguments, in the form of Start.
	Args []byte
	// Whole is true when the call has ended.
	Whole bool
}

// Held is an event that waits.
type Held struct{ Type, Data []byte }

// Keep returns a copy of an event that may wait.
func (s *State) Keep(e *Event) Held {
	s.Grow(len(e.SSE.Type) + len(e.Data))
	return Held{bytes.Clone(e.SSE.Type), bytes.Clone(e.Data)}
}

// State is what a codec and its stream know of an exchange.
type State struct {
	// Tool is the name of the expand tool.
	Tool string
	// Most bounds the bytes kept.
	Most int

	// Mine is true once there was a call of ours: from then on, terminal events wait.
	Mine bool
	// Spoke is true when the client has text or a call of its own.
	Spoke bool
	// Said is true when it has anything of the content of this round.
	Said bool
	// Round counts from 0.
	Round int
	// Failed is true when the round is worth nothing more: an error that was held
	// back, or bytes without sense.
	Failed bool
	// Done is true when the round's last event is here.
	Done bool
	// Dead is true when the client got an error from upstream: nothing follows.
	Dead bool
	// Blind is true when everything passes from here on, whatever it is.
	Blind bool
	// Lossy is true when the turn has something that Assistant cannot hold.
	Lossy bool
	// Full is true when more would have to be kept than is allowed.
	Full bool

	// ID is the id of this round's response.
	ID string
	// Stop is why the model stopped in this round.
	Stop string
	// Usage is this round's, Prior the sum of those before.
	Usage, Prior round.Usage
	// Open are the calls of ours that nothing has answered yet, as far as the
	// client can tell.
	Open []Call

	last      round.Usage
	openRound int
	kept      int
}

// Grow counts bytes that are kept. Nothing is to be kept any more when it
// returns false.
func (s *State) Grow(n int) bool {
	s.kept += n
	if s.kept > s.Most {
		s.Full = true
	}
	return !s.Full
}

// GiveUp is what happens at a limit, or at something that cannot be spliced:
// before a call of ours everything passes from here on; after one the round has
// failed.
func (s *State) GiveUp() {
	if s.Mine {
		s.Failed = true
	} else {
		s.Blind = true
	}
}

// Unusable deals with an event that ends the splicing: an error of the
// provider's, which passes in the first round, or one of several answers. It
// reports whether the event was either.
func (s *State) Unusable(o *Out, e *Event, failed, several bool) bool {
	switch {
	case failed:
		if s.Failed = true; s.Round == 0 {
			s.Dead = true
			o.Pass(e)
		}
	case several:
		if s.GiveUp(); s.Blind {
			o.Pass(e)
		}
	default:
		return false
	}
	return true
}

// Append grows a buffer by b, if that is allowed.
func (s *State) Append(buf, b []byte) []byte {
	if !s.Grow(len(b)) {
		return buf
	}
	return append(buf, b...)
}

// Hold notes a call of ours and returns its place in Open.
func (s *State) Hold(c Call) int {
	if s.openRound != s.Round {
		s.Open, s.openRound = nil, s.Round
	}
	s.Mine = true
	s.Open = append(s.Open, c)
	return len(s.Open) - 1
}

// Say notes that the client got content of this round; spoke, that it is text or
// a call. With that, the calls of the round before are answered.
func (s *State) Say(spoke bool) {
	if !s.Said {
		s.Said = true
		if s.openRound != s.Round {
			s.Open = nil
		}
	}
	if spoke {
		s.Spoke = true
	}
}

// OpenHere reports whether the open calls are those of this round.
func (s *State) OpenHere() bool { return s.openRound == s.Round }

// Letable reports whether there are calls to let through, all of them whole.
func (s *State) Letable() bool {
	for _, c := range s.Open {
		if !c.Whole {
			return false
		}
	}
	return len(s.Open) > 0
}

// Next begins the next round.
func (s *State) Next() {
	s.last = s.Last()
	s.Prior, s.Usage = s.Prior.Plus(s.Usage), round.Usage{}
	s.Round++
	s.Said, s.Failed, s.Done, s.Lossy = false, false, false, false
	s.ID, s.Stop = "", ""
}

// Last is the usage of the last round that reported any.
func (s *State) Last() round.Usage {
	if s.Usage != (round.Usage{}) {
		return s.Usage
	}
	return s.last
}

// Total is the tokens of output of all rounds.
func (s *State) Total() int64 { return s.Prior.Output + s.Usage.Output }

// Valid reports whether doc is JSON.
func Valid(doc []byte) bool { return scan.Valid(doc) }

// Whole reports whether the data of an event may be all of it.
func Whole(data []byte) bool { return scan.Whole(data) || string(bytes.TrimSpace(data)) == "[DONE]" }

// Object returns text as the JSON object that arguments have to be where a
// dialect has no place for anything else. Nothing is an empty object.
func Object(text []byte) []byte {
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return []byte("{}")
	case trimmed[0] == '{' && scan.Valid(trimmed):
		return trimmed
	default:
		return append(scan.Quote([]byte(`{"INVALID_JSON":`), string(text)), '}')
	}
}
