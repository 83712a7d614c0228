// Package gemini splices Gemini's generateContent.
//
// Only answers with one candidate are spliced: from a chunk of another one on,
// everything passes.
package gemini

import (
	"bytes"
	"fmt"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// nothing is the content of a chunk that says nothing, as the API sends it
// itself. Without content, clients take a chunk for a failure.
const nothing = `{"parts":[{"text":""}],"role":"model"}`

// Stream is the codec of chunks, each a whole response with new parts.
type Stream struct {
	*codec.State

	id, model []byte // of the first round, as JSON
	theirs    int    // calls of the client
	cut       bool   // a call of ours is being sent in pieces
	turn      turn
	chunkAt   chunk     // the one at hand
	kept      [][]byte  // memory for parts
	tokens    [2]tokens // of the rounds before, and of this one
	end       []codec.Held
	before    []codec.Held // of the round before
}

// chunk is a chunk and where its parts stand.
type chunk struct {
	data      []byte
	edits     []scan.Edit
	id, model scan.Edit
	usage     []byte
	failed    bool
	some      bool
	several   bool
	content   []byte
	contentAt int
	parts     []byte
	finish    []byte
	reason    scan.Edit // takes finish out
}

// New returns a codec.
func New(s *codec.State) *Stream { return &Stream{State: s} }

// Event implements codec.Codec.
func (s *Stream) Event(o *codec.Out, e *codec.Event) {
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
		s.Usage, s.tokens[1] = readUsage(c.usage)
	}
	if !c.some {
		s.pass(o, e, c)
		return
	}
	s.candidate(o, e, c)
}

// read finds the parts of a chunk; false if it is none.
func (c *chunk) read() bool {
	var list []byte
	at := 0
	it := scan.Open(c.data, 0)
	if !it.Object() {
		return false
	}
	for it.Next() {
		switch string(it.Name) {
		case "candidates":
			list, at = it.Value, it.Start
		case "usageMetadata":
			c.usage = it.Value
		case "responseId":
			c.id = scan.Edit{Start: it.Start, End: it.End}
		case "modelVersion":
			c.model = scan.Edit{Start: it.Start, End: it.End}
		case "error":
			c.failed = !scan.IsNull(it.Value)
		}
	}
	if it.Bad() {
		return false
	}
	if list == nil {
		return true
	}
	candidates := scan.Open(list, 0)
	for candidates.Next() {
		index, _ := scan.Int(scan.Path(candidates.Value, "index"))
		if c.several = c.some || index > 0; c.several {
			return true
		}
		c.some = true
		from := at + candidates.Start
		m := scan.Open(candidates.Value, 0)
		for m.Next() {
			switch string(m.Name) {
			case "content":
				c.content, c.contentAt = m.Value, from+m.Start
			case "finishReason":
				c.finish, c.reason = m.Value, scan.Drop(c.data, from+m.First, from+m.End)
			}
		}
	}
	c.parts = scan.Path(c.content, "parts")
	return true
}

// name makes the chunks of later rounds look like those of the first one.
func (s *Stream) name(c *chunk) {
	id, model := c.data[c.id.Start:c.id.End], c.data[c.model.Start:c.model.End]
	if s.ID == "" {
		s.ID = scan.Text(scan.Inner(id))
	}
	if s.Round == 0 {
		if s.id == nil && len(id) > 0 {
			s.id = bytes.Clone(id)
		}
		if s.model == nil && len(model) > 0 {
			s.model = bytes.Clone(model)
		}
		return
	}
	if c.id.New = s.id; len(id) > 0 && s.id != nil && !bytes.Equal(id, s.id) {
		c.edits = append(c.edits, c.id)
	}
	if c.model.New = s.model; len(model) > 0 && s.model != nil && !bytes.Equal(model, s.model) {
		c.edits = append(c.edits, c.model)
	}
}

func (s *Stream) pass(o *codec.Out, e *codec.Event, c *chunk) {
	if len(c.edits) == 0 {
		o.Pass(e)
		return
	}
	o.Edit(e, scan.Apply(nil, c.data, c.edits...))
}

// with returns a chunk with another content, and with or without the reason to
// stop.
func (c *chunk) with(content []byte, stop bool) []byte {
	edits := append([]scan.Edit{}, c.edits...)
	if c.content != nil {
		edits = append(edits, scan.Edit{Start: c.contentAt, End: c.contentAt + len(c.content), New: content})
	}
	if c.finish != nil && !stop {
		edits = append(edits, c.reason)
	}
	return scan.Apply(nil, c.data, edits...)
}

// candidate takes a chunk with a piece of the answer.
func (s *Stream) candidate(o *codec.Out, e *codec.Event, c *chunk) {
	kept, changed, live := s.parts(c.parts)
	finish := !scan.IsNull(c.finish)
	if finish {
		s.Stop = scan.Text(scan.Inner(c.finish))
	}
	content := c.content
	if changed {
		content = scan.Set(content, "parts", scan.Join(nil, kept))
	}
	switch {
	case finish && s.Mine:
		if live {
			o.Edit(e, c.with(content, false))
		}
		if live || changed {
			content = []byte(nothing)
		}
		if data := c.with(content, true); s.Grow(len(data)) {
			s.end = append(s.end, codec.Held{Data: data})
		}
	case changed && live:
		o.Edit(e, c.with(content, true))
	case changed:
	default:
		s.pass(o, e, c)
	}
}

// parts takes new parts and returns those for the client; changed is false if
// these are all, live if there is something in one of them.
func (s *Stream) parts(list []byte) (kept [][]byte, changed, live bool) {
	kept = s.kept[:0]
	defer func() { s.kept = kept }()
	it := scan.Open(list, 0)
	for it.Next() {
		p := read(it.Value)
		mine := p.call != nil && (p.named(s.Tool) || s.cut && p.name == nil)
		if p.call != nil {
			s.cut = mine && p.more
			s.Lossy = s.Lossy || p.more || mine && p.name == nil
		}
		if s.Grow(len(it.Value)) {
			s.turn.add(&p, it.Value, mine)
		}
		if mine {
			changed = true
			if p.name != nil {
				s.Hold(codec.Call{Start: bytes.Clone(it.Value), Whole: !p.more})
			}
			continue
		}
		kept = append(kept, it.Value)
		if p.empty() {
			continue
		}
		live = true
		s.Say(p.call != nil || len(p.text) > 0 && !p.thought)
		if p.call != nil {
			s.theirs++
		}
	}
	return kept, changed, live
}

// Turn implements codec.Codec.
func (s *Stream) Turn() round.Turn { return s.turn.result() }

// Next implements codec.Codec.
func (s *Stream) Next() {
	s.turn, s.cut = turn{}, false
	s.tokens[0], s.tokens[1] = s.tokens[0].plus(s.tokens[1]), tokens{}
	if s.OpenHere() {
		s.before = s.end
	}
	s.end = nil
}

// Finish implements codec.Codec.
func (s *Stream) Finish(o *codec.Out) {
	stop := "MAX_TOKENS"
	if s.theirs > 0 {
		stop = "STOP"
	}
	s.finish(o, s.end, stop)
}

// finish sends the end; stop is the reason if the provider gave none.
func (s *Stream) finish(o *codec.Out, end []codec.Held, stop string) {
	if len(end) == 0 {
		usage := s.tokens[0].plus(s.tokens[1])
		o.Add("", s.chunk([]byte(nothing), fmt.Appendf(nil, `,"finishReason":"%s"`, stop),
			mergeUsage(fmt.Appendf(nil, `{"promptTokenCount":%d,"candidatesTokenCount":0,"totalTokenCount":0}`, usage.prompt), usage)))
	}
	for _, h := range end {
		if usage, _ := scan.Get(h.Data, "usageMetadata"); s.Round > 0 && !scan.IsNull(usage) {
			h.Data = scan.Set(h.Data, "usageMetadata", mergeUsage(usage, s.tokens[0].plus(s.tokens[1])))
		}
		o.AddHeld(h, h.Data)
	}
}

// chunk makes a chunk of our own.
func (s *Stream) chunk(content, finish, usage []byte) []byte {
	out := fmt.Appendf(nil, `{"candidates":[{"content":%s%s,"index":0}]`, content, finish)
	for _, m := range []struct {
		name  string
		value []byte
	}{{"usageMetadata", usage}, {"modelVersion", s.model}, {"responseId", s.id}} {
		if m.value != nil {
			out = fmt.Appendf(out, `,"%s":%s`, m.name, m.value)
		}
	}
	return append(out, '}')
}

// Let implements codec.Codec.
func (s *Stream) Let(o *codec.Out) {
	var parts [][]byte
	for _, c := range s.Open {
		parts = append(parts, c.Start)
	}
	o.Add("", s.chunk(append(scan.Join([]byte(`{"parts":`), parts), `,"role":"model"}`...), nil, nil))
	end := s.before
	if s.OpenHere() {
		end = s.end
	}
	s.finish(o, end, "STOP")
}

// Error implements codec.Codec.
func (s *Stream) Error(o *codec.Out, reason string) {
	data := scan.Quote([]byte(`{"error":{"code":500,"message":`), reason)
	o.Add("", append(data, `,"status":"INTERNAL"}}`...))
}
