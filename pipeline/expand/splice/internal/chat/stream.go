// Package chat splices OpenAI Chat Completions.
//
// Only answers with one choice are spliced: from a chunk of another choice on,
// everything passes.
package chat

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Stream is the codec of chunks.
type Stream struct {
	*codec.State

	names     names // of the first round
	next      int   // the client's next index of a call
	theirs    int   // the client's calls
	ended     bool  // there was a reason to stop
	message   message
	chunkAt   chunk // the one at hand
	end       []codec.Held
	before    []codec.Held // of the round before
	reasoning int64        // tokens of all rounds behind us
	thought   int64        // and of this one
}

// names are the members that say which answer a chunk belongs to, as JSON.
type names struct{ id, created, model, fingerprint []byte }

// chunk is a chunk and where its parts stand.
type chunk struct {
	data     []byte
	edits    []scan.Edit
	now      names
	usage    []byte
	usageAt  int
	failed   bool
	delta    []byte
	deltaAt  int
	finish   []byte
	finishAt int
	several  bool
	some     bool // it has a choice
}

// New returns a codec.
func New(s *codec.State) *Stream { return &Stream{State: s} }

// Event implements codec.Codec.
func (s *Stream) Event(o *codec.Out, e *codec.Event) {
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		s.Done = true
		if !s.Mine {
			o.Pass(e)
		}
		return
	}
	s.chunkAt = chunk{data: e.Data}
	c := &s.chunkAt
	if !c.read() {
		o.Pass(e) // the client will make of it what it can
		return
	}
	if s.Unusable(o, e, c.failed, c.several) {
		return
	}
	s.name(c)
	if !scan.IsNull(c.usage) {
		s.Usage, s.thought = readUsage(c.usage)
	}
	switch behind := s.ended || !scan.IsNull(c.usage); {
	case c.some && !s.ended:
		s.choice(o, e, c)
	case !s.Mine, s.Round == 0 && !behind:
		o.Pass(e)
	case behind:
		s.hold(c.apply())
	}
}

// read finds the parts of a chunk; false if it is none.
func (c *chunk) read() bool {
	var choices []byte
	it := scan.Open(c.data, 0)
	if !it.Object() {
		return false
	}
	at := 0
	for it.Next() {
		switch string(it.Name) {
		case "id":
			c.now.id = it.Value
		case "created":
			c.now.created = it.Value
		case "model":
			c.now.model = it.Value
		case "system_fingerprint":
			c.now.fingerprint = it.Value
		case "choices":
			choices, at = it.Value, it.Start
		case "usage":
			c.usage, c.usageAt = it.Value, it.Start
		case "error":
			c.failed = !scan.IsNull(it.Value)
		}
	}
	if it.Bad() {
		return false
	}
	if choices == nil {
		return true
	}
	list := scan.Open(choices, 0)
	for list.Next() {
		index, _ := scan.Int(scan.Path(list.Value, "index"))
		if c.several = c.some || index > 0; c.several {
			return true
		}
		c.some = true
		item := scan.Open(list.Value, 0)
		for item.Next() {
			switch string(item.Name) {
			case "delta":
				c.delta, c.deltaAt = item.Value, at+list.Start+item.Start
			case "finish_reason":
				c.finish, c.finishAt = item.Value, at+list.Start+item.Start
			}
		}
	}
	return true
}

// name makes the chunks of later rounds look like those of the first one. Azure
// sends chunks without a choice and without a name; they name nothing.
func (s *Stream) name(c *chunk) {
	if len(scan.Inner(c.now.id)) == 0 && !c.some {
		return
	}
	if s.ID == "" {
		s.ID = scan.Text(scan.Inner(c.now.id))
	}
	if s.Round == 0 {
		if s.names.id == nil {
			s.names = names{
				bytes.Clone(c.now.id), bytes.Clone(c.now.created), bytes.Clone(c.now.model), bytes.Clone(c.now.fingerprint),
			}
		}
		return
	}
	it := scan.Open(c.data, 0)
	for it.Next() {
		var want []byte
		switch string(it.Name) {
		case "id":
			want = s.names.id
		case "created":
			want = s.names.created
		case "model":
			want = s.names.model
		case "system_fingerprint":
			want = s.names.fingerprint
		}
		if want != nil && !bytes.Equal(want, it.Value) {
			c.edits = append(c.edits, scan.Edit{Start: it.Start, End: it.End, New: want})
		}
	}
}

// apply returns the chunk with its edits made.
func (c *chunk) apply() []byte {
	if len(c.edits) == 0 {
		return bytes.Clone(c.data)
	}
	return scan.Apply(nil, c.data, c.edits...)
}

// with returns it with another delta and another reason to stop.
func (c *chunk) with(delta, finish, usage []byte) []byte {
	edits := append([]scan.Edit{{Start: c.deltaAt, End: c.deltaAt + len(c.delta), New: delta}}, c.edits...)
	if c.finish != nil {
		edits = append(edits, scan.Edit{Start: c.finishAt, End: c.finishAt + len(c.finish), New: finish})
	}
	if c.usage != nil {
		edits = append(edits, scan.Edit{Start: c.usageAt, End: c.usageAt + len(c.usage), New: usage})
	}
	return scan.Apply(nil, c.data, edits...)
}

func (s *Stream) hold(data []byte) {
	if s.Grow(len(data)) {
		s.end = append(s.end, codec.Held{Data: data})
	}
}

// choice takes a chunk with a piece of the answer.
func (s *Stream) choice(o *codec.Out, e *codec.Event, c *chunk) {
	delta, live := s.delta(c.delta)
	if s.Blind {
		o.Pass(e)
		return
	}
	changed := len(delta) != len(c.delta) || len(delta) > 0 && &delta[0] != &c.delta[0]
	finish := !scan.IsNull(c.finish)
	if finish {
		s.ended, s.Stop = true, scan.Text(scan.Inner(c.finish))
		for i := range s.Open {
			s.Open[i].Whole = s.Open[i].Whole || s.OpenHere()
		}
	}
	switch {
	case finish && s.Mine:
		if live {
			null := []byte("null")
			o.Edit(e, c.with(delta, null, null))
		}
		if c.delta == nil {
			s.hold(c.apply())
			return
		}
		s.hold(c.with([]byte("{}"), c.finish, c.usage))
	case changed && !live && !finish:
	case changed:
		o.Edit(e, c.with(delta, c.finish, c.usage))
	case len(c.edits) > 0:
		o.Edit(e, c.apply())
	default:
		o.Pass(e)
	}
}

// delta takes a piece of the answer and returns what the client gets of it, the
// same slice if that is all of it. live is false if there is nothing in it.
func (s *Stream) delta(delta []byte) (rest []byte, live bool) {
	rest = delta
	it := scan.Open(delta, 0)
	for it.Next() {
		switch string(it.Name) {
		case "role":
			if s.Round > 0 {
				rest = scan.Without(rest, "role")
			} else {
				live = true
			}
		case "tool_calls":
			if entries, changed := s.calls(it.Value); changed && len(entries) == 0 {
				rest = scan.Without(rest, "tool_calls")
			} else if live = live || len(entries) > 0; changed {
				rest = scan.Set(rest, "tool_calls", scan.Join(nil, entries))
			}
		default:
			if s.message.add(s.State, it.Name, it.Value) {
				live = true
				s.Say(string(it.Name) == "content")
			}
		}
	}
	return rest, live
}

// calls takes the pieces of calls and returns those for the client; changed is
// false if that is all of them, as they are.
func (s *Stream) calls(list []byte) (entries [][]byte, changed bool) {
	it := scan.Open(list, 0)
	for it.Next() {
		if len(s.message.calls) > maxCalls {
			s.GiveUp()
			return nil, s.Mine
		}
		c := s.message.call(it.Value)
		if c == nil {
			c = s.begin(it.Value)
		} else {
			c.grow(s.State, it.Value)
		}
		if c.mine >= 0 {
			s.Open[c.mine].Args = c.args
			changed = true
			continue
		}
		s.Say(true)
		entry := it.Value
		if index, at := scan.Get(entry, "index"); index != nil && c.up != c.down {
			entry = scan.Apply(nil, entry, scan.Number(at, at+len(index), int64(c.down)))
			changed = true
		}
		entries = append(entries, entry)
	}
	return entries, changed
}

// begin opens a call.
func (s *Stream) begin(entry []byte) *call {
	c := newCall(s.State, entry)
	if c.name(s.Tool) {
		c.mine = s.Hold(codec.Call{Start: c.entry})
	} else {
		s.theirs++
		if c.down = c.up; s.Mine {
			c.down = s.next
		}
		s.next = max(s.next, c.down+1)
	}
	s.message.calls = append(s.message.calls, c)
	return c
}

// Turn implements codec.Codec.
func (s *Stream) Turn() round.Turn {
	for _, c := range s.message.calls {
		if c.mine >= 0 && !s.ended { // it may still be all there
			s.Open[c.mine].Whole = scan.Valid(scan.Unquote(c.args))
		}
	}
	return s.message.turn(s.State)
}

// Next implements codec.Codec.
func (s *Stream) Next() {
	s.reasoning, s.thought = s.reasoning+s.thought, 0
	s.message, s.ended = message{}, false
	if s.OpenHere() {
		s.before = s.end
	}
	s.end = nil
}
