// Package responses splices OpenAI Responses.
//
// The API repeats the request's tools in its answers. The expand tool, which is
// not the client's, is taken out of them, whether it was called or not.
package responses

import (
	"bytes"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// maxOpen bounds the items that are open at the same time. The API has one.
const maxOpen = 64

// Stream is the codec of event streams.
type Stream struct {
	*codec.State

	seq     int64  // the client's next sequence number
	next    int    // the client's next output index
	first   []byte // the response as the first event showed it
	visible [][]byte
	theirs  int // calls of the client, whole
	open    []item
	turn    turn
	end     codec.Held
	before  codec.Held // of the round before
	tokens  tokens     // reasoning
}

// tokens are those of the output that were reasoning: of the rounds before, and
// of this one.
type tokens struct{ before, now int64 }

// item is an output item that has been added and is not done.
type item struct {
	up, down int
	mine     int // its place in State.Open; negative if it is not ours
	start    []byte
	text     []byte // of a message, in the spelling of its strings
}

// event is an event and where its parts stand.
type event struct {
	data           []byte
	typ            []byte
	index, seq     []byte
	indexAt, seqAt int
	response       []byte
	responseAt     int
	item, delta    []byte
	up             int
	indexed        bool
}

// New returns a codec.
func New(s *codec.State) *Stream { return &Stream{State: s} }

// Event implements codec.Codec.
func (s *Stream) Event(o *codec.Out, e *codec.Event) {
	ev := event{data: e.Data}
	if !ev.read() {
		o.Pass(e) // the client will make of it what it can
		return
	}
	switch string(ev.typ) {
	case "response.created", "response.queued", "response.in_progress":
		if s.ID == "" {
			s.ID = scan.Text(scan.Inner(scan.Path(ev.response, "id")))
		}
		if s.Round > 0 {
			return
		}
		if s.first == nil && s.Grow(len(ev.response)) {
			s.first = bytes.Clone(without(ev.response, s.Tool))
		}
		s.snapshot(o, e, &ev)
	case "response.output_item.added":
		s.added(o, e, &ev)
	case "response.output_item.done":
		s.done(o, e, &ev)
	case "response.completed", "response.incomplete":
		s.Done = true
		s.Stop = scan.Text(scan.Inner(scan.Path(ev.response, "status")))
		s.Usage, s.tokens.now = readUsage(scan.Path(ev.response, "usage"))
		if s.Mine {
			s.end = s.Keep(e)
			return
		}
		s.snapshot(o, e, &ev)
	case "response.failed", "error":
		s.fail(o, e, &ev)
	default:
		s.other(o, e, &ev)
	}
}

func (ev *event) read() bool {
	it := scan.Open(ev.data, 0)
	if !it.Object() {
		return false
	}
	for it.Next() {
		switch string(it.Name) {
		case "type":
			ev.typ = scan.Inner(it.Value)
		case "output_index":
			n, ok := scan.Int(it.Value)
			ev.index, ev.indexAt, ev.indexed, ev.up = it.Value, it.Start, ok, int(n)
		case "sequence_number":
			ev.seq, ev.seqAt = it.Value, it.Start
		case "response":
			ev.response, ev.responseAt = it.Value, it.Start
		case "item":
			ev.item = it.Value
		case "delta":
			ev.delta = it.Value
		}
	}
	return !it.Bad()
}

// send sends an event with the client's numbers and other edits.
func (s *Stream) send(o *codec.Out, e *codec.Event, ev *event, down int, edits ...scan.Edit) {
	if ev.indexed && down != ev.up {
		edits = append(edits, scan.Number(ev.indexAt, ev.indexAt+len(ev.index), int64(down)))
	}
	if n, ok := scan.Int(ev.seq); ok {
		if !s.Mine {
			s.seq = n
		}
		if n != s.seq {
			edits = append(edits, scan.Number(ev.seqAt, ev.seqAt+len(ev.seq), s.seq))
		}
		s.seq++
	}
	if len(edits) == 0 {
		o.Pass(e)
		return
	}
	o.Edit(e, scan.Apply(nil, e.Data, edits...))
}

// snapshot sends an event that shows the whole response.
func (s *Stream) snapshot(o *codec.Out, e *codec.Event, ev *event) {
	clean := without(ev.response, s.Tool)
	if len(clean) == len(ev.response) {
		s.send(o, e, ev, ev.up)
		return
	}
	s.send(o, e, ev, ev.up, scan.Edit{Start: ev.responseAt, End: ev.responseAt + len(ev.response), New: clean})
}

func (s *Stream) fail(o *codec.Out, e *codec.Event, ev *event) {
	if s.Failed = true; s.Round > 0 {
		return
	}
	s.Dead = true
	if ev.response == nil {
		s.send(o, e, ev, ev.up)
		return
	}
	clean := without(ev.response, s.Tool)
	if s.Mine {
		clean = scan.Set(clean, "output", scan.Join(nil, s.visible))
	}
	s.send(o, e, ev, ev.up, scan.Edit{Start: ev.responseAt, End: ev.responseAt + len(ev.response), New: clean})
}

func (s *Stream) added(o *codec.Out, e *codec.Event, ev *event) {
	if !ev.indexed || len(s.open) == maxOpen {
		s.stray(o, e, ev)
		return
	}
	it := item{up: ev.up, mine: -1}
	if s.Grow(len(ev.item)) {
		it.start = bytes.Clone(ev.item)
	}
	if mine(ev.item, s.Tool) {
		args := scan.Inner(scan.Path(it.start, "arguments"))
		it.mine = s.Hold(codec.Call{Start: it.start, Args: slices.Clip(args)})
		s.open = append(s.open, it)
		return
	}
	if it.down = it.up; s.Mine {
		it.down = s.next
	}
	s.next = max(s.next, it.down+1)
	s.open = append(s.open, it)
	s.Say(called(it.start))
	s.send(o, e, ev, it.down)
}

// stray takes an event of an item that was never added.
func (s *Stream) stray(o *codec.Out, e *codec.Event, ev *event) {
	if s.Lossy = true; !s.Mine {
		s.send(o, e, ev, ev.up)
	}
}

func (s *Stream) find(ev *event) *item {
	for i := range s.open {
		if s.open[i].up == ev.up {
			return &s.open[i]
		}
	}
	return nil
}

func (s *Stream) done(o *codec.Out, e *codec.Event, ev *event) {
	it := s.find(ev)
	if it == nil && mine(ev.item, s.Tool) { // some servers send calls whole
		whole := bytes.Clone(ev.item)
		s.Grow(len(whole))
		s.Hold(codec.Call{Start: whole, Args: scan.Inner(scan.Path(whole, "arguments")), Whole: true})
		s.turn.add(whole, true)
		return
	}
	if it == nil || !ev.indexed {
		s.stray(o, e, ev)
		return
	}
	done := *it
	*it = s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	if !s.Grow(len(ev.item)) {
		return
	}
	whole := bytes.Clone(ev.item)
	s.turn.add(whole, done.mine >= 0)
	if done.mine >= 0 {
		s.Open[done.mine].Args = bytes.Clone(scan.Inner(scan.Path(whole, "arguments")))
		s.Open[done.mine].Whole = true
		return
	}
	if s.visible = append(s.visible, whole); called(whole) {
		s.theirs++
	}
	s.send(o, e, ev, done.down)
}

// other takes an event of an item, or one of none.
func (s *Stream) other(o *codec.Out, e *codec.Event, ev *event) {
	if !ev.indexed {
		s.send(o, e, ev, 0)
		return
	}
	it := s.find(ev)
	switch {
	case it == nil:
		s.stray(o, e, ev)
		return
	case it.mine >= 0:
		if c := &s.Open[it.mine]; string(ev.typ) == "response.function_call_arguments.delta" {
			c.Args = s.Append(c.Args, scan.Inner(ev.delta))
		}
		return
	case string(ev.typ) == "response.output_text.delta":
		it.text = s.Append(it.text, scan.Inner(ev.delta))
		if s.Full && s.Mine {
			return // the client must not have more than we know
		}
		s.Say(len(it.text) > 0)
	}
	s.send(o, e, ev, it.down)
}

// Turn implements codec.Codec.
func (s *Stream) Turn() round.Turn {
	t := s.turn
	for _, it := range s.open { // cut off
		switch {
		case it.mine >= 0:
			t.add(withArgs(it.start, s.Open[it.mine].Args), true)
		case called(it.start):
			t.add(it.start, false)
		}
	}
	return t.result()
}

// Next implements codec.Codec.
func (s *Stream) Next() {
	s.open, s.turn = nil, turn{}
	if s.OpenHere() {
		s.before = s.end
	}
	s.end = codec.Held{}
	s.tokens = tokens{before: s.tokens.before + s.tokens.now}
}

func withArgs(item, args []byte) []byte {
	return scan.Set(item, "arguments", append(append([]byte{'"'}, args...), '"'))
}

// mine reports whether an item is a call of the expand tool.
func mine(item []byte, tool string) bool {
	return scan.Is(scan.Path(item, "type"), "function_call") && scan.Is(scan.Path(item, "name"), tool)
}

// called reports whether an item is a call that somebody else has to answer.
func called(item []byte) bool {
	return strings.HasSuffix(string(scan.Inner(scan.Path(item, "type"))), "_call") && scan.IsString(scan.Path(item, "call_id"))
}
