// Package anthropic splices Anthropic Messages.
package anthropic

import (
	"fmt"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// maxOpen bounds the blocks that are open at the same time. The API has one.
const maxOpen = 64

// Stream is the codec of event streams.
type Stream struct {
	*codec.State

	next    int // the client's next index
	open    []block
	turn    turn
	started round.Usage // by message_start
	first   round.Usage // by that of the first round, which the client has
	calls   int         // of the client's, whole
	end     ending
	before  ending // of the round before
}

// ending is what waits at the end of a round.
type ending struct {
	delta codec.Held
	stop  codec.Held
}

// block is a content block that has started and not stopped.
type block struct {
	up, down int // its index at the provider and at the client
	mine     int // its place in State.Open; negative if it is not ours
	content  content
}

// New returns a codec.
func New(s *codec.State) *Stream { return &Stream{State: s} }

// Event implements codec.Codec.
func (s *Stream) Event(o *codec.Out, e *codec.Event) {
	var typ, index, delta, inner []byte
	var at int
	it := scan.Open(e.Data, 0)
	for it.Next() {
		switch string(it.Name) {
		case "type":
			typ = scan.Inner(it.Value)
		case "index":
			index, at = it.Value, it.Start
		case "delta":
			delta = it.Value
		case "content_block", "message", "usage":
			inner = it.Value
		}
	}
	if it.Bad() {
		o.Pass(e) // the client will make of it what it can
		return
	}
	switch string(typ) {
	case "content_block_delta":
		s.delta(o, e, index, at, delta)
	case "content_block_start":
		s.start(o, e, index, at, inner)
	case "content_block_stop":
		s.stop(o, e, index, at)
	case "message_start":
		s.message(o, e, inner)
	case "message_delta":
		s.Stop = scan.Text(scan.Inner(scan.Path(delta, "stop_reason")))
		s.Usage = s.usage(inner)
		if !s.Mine {
			o.Pass(e)
			return
		}
		s.end.delta = s.Keep(e)
	case "message_stop":
		s.Done = true
		if !s.Mine {
			o.Pass(e)
			return
		}
		s.end.stop = s.Keep(e)
	case "error":
		if s.Failed = true; s.Round == 0 {
			s.Dead = true
			o.Pass(e)
		}
	default: // pings, and what is not invented yet
		o.Pass(e)
	}
}

func (s *Stream) message(o *codec.Out, e *codec.Event, message []byte) {
	s.ID = scan.Text(scan.Inner(scan.Path(message, "id")))
	s.Usage = readUsage(scan.Path(message, "usage"))
	s.started = s.Usage
	if s.Round == 0 {
		s.first = s.Usage
		o.Pass(e)
	}
}

// usage returns what message_delta reports, filled up from message_start.
func (s *Stream) usage(value []byte) round.Usage {
	u := s.started
	it := scan.Open(value, 0)
	for it.Next() {
		count(&u, &it)
	}
	return u
}

func readUsage(value []byte) (u round.Usage) {
	it := scan.Open(value, 0)
	for it.Next() {
		count(&u, &it)
	}
	return u
}

func count(u *round.Usage, it *scan.Iter) {
	n, ok := scan.Int(it.Value)
	if !ok {
		return
	}
	switch string(it.Name) {
	case "input_tokens":
		u.Input = n
	case "output_tokens":
		u.Output = n
	case "cache_read_input_tokens":
		u.CacheRead = n
	case "cache_creation_input_tokens":
		u.CacheWrite = n
	}
}

func (s *Stream) start(o *codec.Out, e *codec.Event, index []byte, at int, start []byte) {
	up, ok := scan.Int(index)
	if !ok || len(s.open) == maxOpen || start == nil {
		s.stray(o, e)
		return
	}
	typ, name := scan.Path(start, "type"), scan.Path(start, "name")
	b := block{up: int(up), mine: -1}
	b.content.begin(s.State, start)
	if scan.Is(typ, "tool_use") && scan.Is(name, s.Tool) {
		b.mine = s.Hold(codec.Call{Start: b.content.start})
		s.open = append(s.open, b)
		return
	}
	if !s.Mine {
		b.down = b.up
	} else {
		b.down = s.next
	}
	s.next = max(s.next, b.down+1)
	s.open = append(s.open, b)
	s.Say(b.content.kind == use || b.content.kind == text && len(b.content.text) > 0)
	s.pass(o, e, index, at, &b)
}

// stray takes an event of no block: the client's indices may no longer be those
// of the provider.
func (s *Stream) stray(o *codec.Out, e *codec.Event) {
	if s.Lossy = true; !s.Mine {
		o.Pass(e)
	}
}

// pass sends an event of a block with the client's index.
func (s *Stream) pass(o *codec.Out, e *codec.Event, index []byte, at int, b *block) {
	if b.up == b.down {
		o.Pass(e)
		return
	}
	o.Edit(e, scan.Apply(nil, e.Data, scan.Number(at, at+len(index), int64(b.down))))
}

// find returns the open block of an index, or nil.
func (s *Stream) find(index []byte) *block {
	up, ok := scan.Int(index)
	if !ok {
		return nil
	}
	for i := range s.open {
		if s.open[i].up == int(up) {
			return &s.open[i]
		}
	}
	return nil
}

func (s *Stream) delta(o *codec.Out, e *codec.Event, index []byte, at int, delta []byte) {
	b := s.find(index)
	if b == nil {
		s.stray(o, e)
		return
	}
	if !b.content.add(s.State, delta) {
		s.Lossy = true
	}
	if b.mine < 0 {
		if b.content.kind == text {
			s.Say(len(b.content.text) > 0)
		}
		s.pass(o, e, index, at, b)
	}
}

func (s *Stream) stop(o *codec.Out, e *codec.Event, index []byte, at int) {
	b := s.find(index)
	if b == nil {
		s.stray(o, e)
		return
	}
	done := *b
	*b = s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	s.close(&done, true)
	if done.mine < 0 {
		s.pass(o, e, index, at, &done)
	}
}

// close puts a block into the turn.
func (s *Stream) close(b *block, whole bool) {
	if b.mine >= 0 {
		s.Open[b.mine].Args, s.Open[b.mine].Whole = b.content.text, whole
	} else if b.content.kind == use && whole {
		s.calls++
	}
	s.turn.add(s.State, &b.content, b.mine >= 0)
}

// Turn implements codec.Codec.
func (s *Stream) Turn() round.Turn {
	t := s.turn
	for i := range s.open { // cut off
		t.add(s.State, &s.open[i].content, s.open[i].mine >= 0)
	}
	return t.result()
}

// Next implements codec.Codec.
func (s *Stream) Next() {
	s.open, s.turn, s.started = nil, turn{}, round.Usage{}
	if s.OpenHere() {
		s.before = s.end
	}
	s.end = ending{}
}

// Finish implements codec.Codec.
func (s *Stream) Finish(o *codec.Out) {
	stop := "max_tokens"
	if cut := s.shut(o); s.calls > 0 && !cut {
		stop = "tool_use"
	}
	s.finish(o, s.end, stop)
}

// shut ends the blocks that are open at the client and reports whether there
// were any.
func (s *Stream) shut(o *codec.Out) (some bool) {
	for _, b := range s.open {
		if b.mine < 0 {
			some = true
			o.Add("content_block_stop", fmt.Appendf(nil, `{"type":"content_block_stop","index":%d}`, b.down))
		}
	}
	return some
}

// finish sends the last two events; stop is the reason if the provider gave none.
func (s *Stream) finish(o *codec.Out, end ending, stop string) {
	made := end.delta.Data == nil
	if made {
		end.delta.Type = []byte("message_delta")
		end.delta.Data = []byte(`{"type":"message_delta","delta":{"stop_reason":"` + stop + `","stop_sequence":null}}`)
	}
	if end.stop.Data == nil {
		end.stop = codec.Held{Type: []byte("message_stop"), Data: []byte(`{"type":"message_stop"}`)}
	}
	data := end.delta.Data
	if made || s.Round > 0 {
		data = scan.Set(data, "usage", mergeUsage(scan.Path(data, "usage"), s.first, s.Last(), s.Total()))
	}
	o.AddHeld(end.delta, data)
	o.AddHeld(end.stop, end.stop.Data)
}

// Let implements codec.Codec.
func (s *Stream) Let(o *codec.Out) {
	s.shut(o)
	for _, c := range s.Open {
		o.Add("content_block_start", fmt.Appendf(nil, `{"type":"content_block_start","index":%d,"content_block":%s}`, s.next, c.Start))
		if len(c.Args) > 0 {
			o.Add("content_block_delta", fmt.Appendf(nil,
				`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"%s"}}`, s.next, c.Args))
		}
		o.Add("content_block_stop", fmt.Appendf(nil, `{"type":"content_block_stop","index":%d}`, s.next))
		s.next++
	}
	end := s.before
	if s.OpenHere() {
		end = s.end
	}
	s.finish(o, end, "tool_use")
}

// Error implements codec.Codec.
func (s *Stream) Error(o *codec.Out, reason string) {
	data := scan.Quote([]byte(`{"type":"error","error":{"type":"api_error","message":`), reason)
	o.Add("error", append(data, "}}"...))
}
