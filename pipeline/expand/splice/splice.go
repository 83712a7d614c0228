package splice

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Stream is one exchange. It is not safe for concurrent use.
type Stream struct {
	cfg   Config
	state codec.State
	out   codec.Out
	ev    codec.Event // the one at hand
	codec codec.Codec
	frame framer

	// Where nothing is streamed, the bodies are kept: those of the rounds behind
	// us, and what came of this one.
	body   codec.Body
	bodies [][]byte
	buf    []byte

	turn   round.Turn // of the last round that ended
	ended  bool
	closed bool // the client has everything it will get
}

// Write takes the next piece of the round's body and returns what the client
// gets now, whole events only. It may be the piece itself or memory of the
// stream: it is valid until the next call or until the piece changes.
func (s *Stream) Write(piece []byte) []byte {
	switch {
	case len(piece) == 0:
		return nil
	case s.state.Blind:
		return piece
	case s.closed, s.ended, s.state.Failed && s.state.Mine:
		return nil
	}
	if s.frame == nil {
		if s.out.Array = s.isArray(piece); !s.out.Array {
			return s.whole(piece)
		}
		s.frame = newArray(s.cfg.Limits.Event)
		piece, s.buf = append(s.buf, piece...), nil
	}
	s.out.Reset()
	s.frame.Feed(piece)
	for !s.state.Blind {
		var ok bool
		if s.ev, ok = s.frame.Next(); !ok {
			break
		}
		s.event(&s.ev)
	}
	if s.frame.Over() {
		s.state.GiveUp()
	}
	if s.state.Blind {
		s.out.Gap()
		s.out.Raw(s.frame.Rest())
	}
	return s.out.Bytes()
}

// isArray reports whether a body that is no stream of events is one of items.
func (s *Stream) isArray(piece []byte) bool {
	if s.cfg.Dialect != wire.Gemini || s.state.Round > 0 {
		return false
	}
	if _, decided := arrays(s.buf); decided {
		return false
	}
	yes, _ := arrays(piece)
	return yes
}

// whole takes a piece of a body that is not streamed.
func (s *Stream) whole(piece []byte) []byte {
	if s.state.Failed {
		return nil
	}
	s.buf = append(s.buf, piece...)
	if !s.state.Grow(len(piece)) {
		all := s.buf
		s.buf = nil
		if s.state.GiveUp(); s.state.Blind {
			s.out.Sent = true
			return all
		}
	}
	return nil
}

// event hands one event to the codec.
func (s *Stream) event(e *codec.Event) {
	s.out.Like(e)
	s.out.Mended = s.state.Mine
	before := s.out.Passed()
	switch {
	case e.Data == nil && s.out.Array:
		s.bracket(e)
	case e.Data == nil:
		s.out.Pass(e)
	case s.state.Mine && (s.state.Done || s.state.Dead || s.state.Failed):
	case s.state.Done || s.state.Dead:
		s.out.Pass(e)
	default:
		s.codec.Event(&s.out, e)
	}
	if s.out.Passed() == before {
		s.out.Gap()
	}
	if s.state.Full {
		s.state.GiveUp()
	}
}

// bracket takes what is no item of an array. Of several rounds, the first one's
// passes, until there is a call of ours.
func (s *Stream) bracket(e *codec.Event) {
	s.state.Done = s.state.Done || e.Last
	if s.state.Mine {
		return
	}
	s.out.Opened, s.out.Closed = true, s.out.Closed || e.Last
	s.out.Pass(e)
}

// Done reports whether the round has sent its last event, so that End need not
// wait for the end of its body.
func (s *Stream) Done() bool { return s.state.Done && !s.state.Blind }

// Said reports whether the client has got any of the content of this round. As
// long as it has not, the round may be tried again: with Continue.
func (s *Stream) Said() bool { return s.state.Said }

// Blind reports whether a limit was passed before there was a call of ours, so
// that everything passes unread.
func (s *Stream) Blind() bool { return s.state.Blind }

// Usage returns what the last round that reported any has used, and the sum over
// all rounds. Both are known as soon as the provider has told.
func (s *Stream) Usage() (last, sum round.Usage) {
	return s.state.Last(), s.state.Prior.Plus(s.state.Usage)
}

// End tells that the round's body has ended. out goes to the client.
//
// With a nil turn the exchange is over: there was no call of ours, or the client
// got the provider's own error. Any other is what the model said in this round,
// and something of it waits: decide on Continue, Finish or Fail.
func (s *Stream) End() (out []byte, turn *round.Turn) {
	if s.closed || s.ended {
		return nil, nil
	}
	s.out.Reset()
	if s.frame == nil {
		return s.endBody()
	}
	switch {
	case s.state.Blind:
		s.closed = true
		return nil, nil
	case s.state.Failed && s.state.Mine:
	default:
		if e, ok := s.frame.Last(); ok {
			s.last(&e)
		}
	}
	if s.state.Dead || !s.state.Mine {
		s.closed = true
		return s.out.Bytes(), nil
	}
	s.ended = true
	s.turn = s.codec.Turn()
	s.turn.ID, s.turn.Stop, s.turn.Usage = s.state.ID, s.state.Stop, s.state.Usage
	s.turn.Failed, s.turn.Complete = s.state.Failed, s.state.Stop != "" && !s.state.Failed
	s.check()
	return s.out.Bytes(), &s.turn
}

// last takes an event that the end of the body has cut off. It passes as it is
// if nothing of ours follows it, and unless it may be the beginning of our call:
// then the round broke off in the middle of it.
func (s *Stream) last(e *codec.Event) {
	if !codec.Whole(e.Data) && (s.state.Mine || e.Data != nil && bytes.Contains(e.Raw, []byte(s.cfg.Tool))) {
		if !s.state.Mine {
			s.state.Mine, s.state.Failed = true, true
		}
		return
	}
	if s.event(e); s.state.Mine && !s.out.Array {
		s.out.Text("\n\n")
	}
}

// check keeps an assistant turn that no provider would take from being used.
func (s *Stream) check() {
	if s.state.Lossy || s.turn.Failed || !codec.Valid(s.turn.Assistant) {
		s.turn.Assistant = nil
	}
}

func (s *Stream) endBody() (out []byte, turn *round.Turn) {
	t, ok := s.body.Read(s.buf, s.cfg.Tool)
	if s.state.Failed {
		ok = false
	}
	s.state.Usage = t.Usage
	if s.state.Round == 0 && (!ok || len(t.Ours) == 0) {
		s.closed = true
		if c, mentions := s.body.(codec.Cleaner); mentions && ok {
			return c.Clean(s.buf, s.cfg.Tool), nil
		}
		return s.buf, nil
	}
	s.state.Mine, s.ended = true, true
	if !ok {
		t = round.Turn{Failed: true}
	} else {
		s.bodies = append(s.bodies, s.buf)
	}
	s.buf, s.turn = nil, t
	s.check()
	return nil, &s.turn
}

// Continue begins the next round: its bytes are written next. The calls of ours
// have been answered in its request. After a round that failed before the client
// got anything of it, it begins the same round again.
func (s *Stream) Continue() {
	if s.closed || !s.ended {
		return
	}
	s.ended = false
	if s.frame != nil {
		s.codec.Next()
		s.frame = s.frame.again()
	}
	s.state.Next()
}

// Finish ends the message for the client: with what waited, without calls of
// ours. If there are no calls but ours in the last round, they are let through:
// an empty turn would end most sessions.
func (s *Stream) Finish() []byte {
	if s.closed || !s.ended {
		return nil
	}
	alone := len(s.turn.Ours) > 0 && len(s.turn.Others) == 0
	switch {
	case s.frame == nil:
		s.closed = true
		return s.merge(alone)
	case alone && !s.state.Letable():
		return s.Fail("the response ended too early")
	}
	s.closed = true
	s.out.Reset()
	if alone {
		s.codec.Let(&s.out)
	} else {
		s.codec.Finish(&s.out)
	}
	s.frame.close(&s.out)
	return s.out.Bytes()
}

// Fail ends an exchange that cannot go on, in whatever state it is. What the
// client gets is, in this order:
//
//   - the error event of the dialect, if nothing has been sent yet;
//   - the calls of ours that no round has answered, let through, if they are
//     whole: clients answer an unknown tool with an error result and go on;
//   - the end of its message, as if the model had run out of tokens, if it has
//     text or calls of its own;
//   - the error event.
//
// Where nothing is streamed there is no place for an error, so the rounds that
// there are make up the answer.
func (s *Stream) Fail(reason string) []byte {
	if s.closed || s.state.Blind || s.state.Dead || !s.state.Mine && s.state.Stop != "" {
		return nil
	}
	s.closed = true
	s.out.Reset()
	if s.frame == nil {
		if len(s.bodies) == 0 {
			return s.buf
		}
		t, _ := s.body.Read(s.bodies[len(s.bodies)-1], s.cfg.Tool)
		return s.merge(len(t.Others) == 0)
	}
	switch {
	case !s.out.Sent:
		s.codec.Error(&s.out, reason)
	case s.state.Letable() && !s.theirs():
		s.codec.Let(&s.out)
	case s.state.Spoke:
		s.codec.Finish(&s.out)
	default:
		s.codec.Error(&s.out, reason)
	}
	s.frame.close(&s.out)
	return s.out.Bytes()
}

// theirs reports whether the client has calls of its own to answer in the round
// that has calls of ours.
func (s *Stream) theirs() bool { return s.ended && len(s.turn.Others) > 0 }

func (s *Stream) merge(let bool) []byte {
	s.out.Sent = true
	return s.body.Merge(s.bodies, s.cfg.Tool, let)
}
