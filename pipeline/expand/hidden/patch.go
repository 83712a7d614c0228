package hidden

import (
	"bytes"
	"slices"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// patcher works on one turn of a request.
type patcher struct {
	r        *reader
	elements []wire.Element
	list     pipeline.Span // the value of the conversation
	visit    visit
	turn     said

	patches []wire.Patch
}

func (p *patcher) add(at pipeline.Span, raw []byte) {
	p.patches = append(p.patches, wire.Patch{Span: at, Raw: raw})
}

// sorted returns the patches in body order.
func (p *patcher) sorted() []wire.Patch {
	slices.SortStableFunc(p.patches, func(a, b wire.Patch) int { return a.Span.Start - b.Span.Start })
	return p.patches
}

// boundary is a place between the pieces of a turn, or inside a text.
type boundary struct {
	piece  int // the first one behind it
	offset int // bytes of that piece's text in front of it
}

// restore gives a turn its hidden rounds back, or nothing at all when the record
// does not fit.
func (p *patcher) restore(rec *record) bool {
	var at boundary
	for i := range rec.rounds {
		next, ok := p.pass(at, &rec.rounds[i])
		if !ok {
			return false
		}
		at = next
	}
	if at.piece >= len(p.turn.pieces) || p.r.body[p.list.Start] != '[' {
		return false // nothing would be left of what the client has
	}
	kept := len(p.patches)
	if len(rec.rounds) > 0 && !p.split(at, rec.rounds) || len(rec.beside) > 0 && !p.beside(at, rec.beside) {
		p.patches = p.patches[:kept]
		return false
	}
	return true
}

// pass finds where the visible pieces of a hidden round end. Texts may have been
// joined with those of the next round.
func (p *patcher) pass(from boundary, h *hiddenRound) (boundary, bool) {
	at, need, others := from, h.length, h.others
	var text []byte
	for ; at.piece < len(p.turn.pieces); at.piece, at.offset = at.piece+1, 0 {
		switch q := &p.turn.pieces[at.piece]; {
		case q.kind == kindText && need > 0:
			rest := q.text[at.offset:]
			if len(rest) > need {
				text = append(text, rest[:need]...)
				at.offset, need = at.offset+need, 0
				return at, others == 0 && sumOf(string(text)) == h.sum
			}
			text, need = append(text, rest...), need-len(rest)
		case q.kind == kindSigned && slices.Contains(h.signatures, q.signature):
		case q.kind == kindOther && others > 0:
			others--
		case q.kind == kindLoose && need > 0: // a client that drops signatures
		default:
			return at, need == 0 && others == 0 && sumOf(string(text)) == h.sum
		}
	}
	return at, need == 0 && others == 0 && sumOf(string(text)) == h.sum
}

// split takes the pieces in front of a boundary out of the turn and puts the
// rounds there as they were sent. They go right behind the element in front,
// where the request that was sent had them.
func (p *patcher) split(at boundary, rounds []hiddenRound) bool {
	exchange := make([][]byte, len(rounds))
	for i := range rounds {
		exchange[i] = rounds[i].exchange
	}
	raw := bytes.Join(exchange, []byte(","))
	start, first := p.turn.at.Start, p.visit.from == 0
	if first {
		raw = append(raw, ',')
	} else {
		start = p.elements[p.visit.from-1].Span.End
		raw = append([]byte(","), raw...)
	}
	if p.r.dialect == wire.OpenAIResponses {
		end := start
		if at.piece > 0 {
			end = p.turn.pieces[at.piece-1].at.End
			if first { // up to what stays
				end = p.turn.pieces[at.piece].at.Start
			}
		}
		p.add(pipeline.Span{Start: start, End: end}, raw)
		return p.shorten(at)
	}
	p.add(pipeline.Span{Start: start, End: start}, raw)
	p.cut(at)
	return p.shorten(at)
}

// cut takes the pieces in front of a boundary out of a message's content.
func (p *patcher) cut(at boundary) {
	pieces := p.turn.pieces
	if at.piece == 0 {
		return
	}
	if next := &pieces[at.piece]; !p.turn.list || !within(next.at, p.turn.content) {
		// All of the content goes; what stays are the calls of a Chat message.
		p.add(p.turn.content, []byte("null"))
		return
	}
	p.add(pipeline.Span{Start: pieces[0].at.Start, End: pieces[at.piece].at.Start}, []byte{})
}

func within(inner, outer pipeline.Span) bool {
	return outer.Start <= inner.Start && inner.End <= outer.End
}

// shorten takes the front of a text away.
func (p *patcher) shorten(at boundary) bool {
	if at.offset == 0 {
		return true
	}
	q := &p.turn.pieces[at.piece]
	if q.leaf.Len() == 0 {
		return false
	}
	p.patches = append(p.patches, wire.Patch{Span: q.leaf, Text: q.text[at.offset:]})
	return true
}

// beside puts calls of ours back between the client's, behind a boundary, and
// their results in front of the client's.
func (p *patcher) beside(at boundary, list []besideCall) bool {
	var calls []pipeline.Span
	for i := at.piece; i < len(p.turn.pieces); i++ {
		if p.turn.pieces[i].kind == kindCall {
			calls = append(calls, p.turn.pieces[i].at)
		}
	}
	if len(calls) == 0 || p.visit.to >= len(p.elements) || p.elements[p.visit.to].Assistant {
		return false // nobody has answered
	}
	var results []byte
	for i := range list {
		b := &list[i]
		if n := min(b.calls, len(calls)); n < len(calls) {
			at := calls[n].Start
			p.add(pipeline.Span{Start: at, End: at}, append(bytes.Clone(b.call), ','))
		} else {
			at := calls[n-1].End
			p.add(pipeline.Span{Start: at, End: at}, append([]byte(","), b.call...))
		}
		results = append(append(results, b.result...), ',')
	}
	switch p.r.dialect {
	case wire.OpenAIChat, wire.OpenAIResponses: // elements of their own
		end := p.turn.at.End
		p.add(pipeline.Span{Start: end, End: end}, append([]byte(","), results[:len(results)-1]...))
		return true
	default:
		front, ok := p.answers(p.elements[p.visit.to].Span)
		p.add(pipeline.Span{Start: front, End: front}, results)
		return ok
	}
}

// answers returns where the content of a message that holds results begins.
func (p *patcher) answers(at pipeline.Span) (int, bool) {
	members, ok := p.r.members(at)
	if !ok {
		return 0, false
	}
	items, ok := p.r.items(find(members, "content", "parts"))
	if !ok {
		return 0, false
	}
	for _, item := range items {
		block, _ := p.r.members(item)
		if p.r.word(find(block, "type")) == "tool_result" || find(block, "toolResult", "functionResponse", "function_response").Len() > 0 {
			return items[0].Start, true
		}
	}
	return 0, false
}
