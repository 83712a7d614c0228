package hidden

import (
	"bytes"
	"slices"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Answer answers a call of the expand tool out of what every request of the
// conversation can know. It is false when it has no original to give.
type Answer func(call round.Call) (round.Result, bool)

// mostHealed bounds the results replaced in one request, and the calls of one turn
// that are looked at. The first ones count, so that a conversation which grows
// past it keeps what it has.
const mostHealed = 64

// heal replaces the results of calls that reached the client, whatever it made
// of them, up to a number of them, and returns how many.
func (p *patcher) heal(answer Answer, most int) (healed int) {
	var found []result
	for i := range p.turn.pieces {
		q := &p.turn.pieces[i]
		if q.kind != kindCall || q.name != pipeline.ExpandTool {
			continue
		}
		if most--; most < 0 {
			return healed
		}
		if found == nil {
			found = p.results()
		}
		at := slices.IndexFunc(found, func(r result) bool { return r.answers(q) })
		if at < 0 {
			continue
		}
		r := found[at]
		found[at] = result{} // it answers one call
		call := round.Call{ID: q.id, Name: q.name, Arguments: p.arguments(q.args)}
		given, ok := answer(call)
		if !ok {
			continue
		}
		given.Call = call
		raw := turns.Result(nil, p.r.dialect, &given)
		if r.mark.Len() > 0 {
			raw = append(raw[:len(raw)-1], `,"cache_control":`...)
			raw = append(append(raw, p.r.value(r.mark)...), '}')
		}
		if !bytes.Equal(raw, p.r.value(r.at)) {
			p.add(r.at, raw)
			healed++
		}
	}
	return healed
}

// arguments are the arguments of a call as the model wrote them.
func (p *patcher) arguments(at pipeline.Span) []byte {
	if text, ok := p.r.text(at); ok {
		return []byte(text)
	}
	return p.r.value(at)
}

// result is a result as the client sent it. By order means that an id is missing
// where results may do without.
type result struct {
	at       pipeline.Span
	id, name string
	byOrder  bool
	mark     pipeline.Span // of its cache_control
}

// answers reports whether it is the result of a call.
func (r *result) answers(call *piece) bool {
	if r.byOrder {
		return r.name == call.name && (r.id == "" || call.id == "" || r.id == call.id)
	}
	return r.id != "" && r.id == call.id
}

// results are those between the turn and the model's next one.
func (p *patcher) results() []result {
	found := []result{}
	for i := p.visit.to; i < len(p.elements) && !p.elements[i].Assistant; i++ {
		at := p.elements[i].Span
		members, _ := p.r.members(at)
		if p.r.dialect == wire.OpenAIChat || p.r.dialect == wire.OpenAIResponses {
			found = p.result(found, at, members)
			continue
		}
		items, _ := p.r.items(find(members, "content", "parts"))
		for _, item := range items {
			inner, _ := p.r.members(item)
			found = p.result(found, item, inner)
		}
		if len(found) > mostItems {
			return found
		}
	}
	return found
}

// result adds an element, block or part, if it is a result.
func (p *patcher) result(found []result, at pipeline.Span, members []member) []result {
	r := result{at: at, mark: find(members, "cache_control")}
	switch p.r.dialect {
	case wire.OpenAIChat:
		r.id = p.r.word(find(members, "tool_call_id"))
	case wire.OpenAIResponses:
		if p.r.word(find(members, "type")) == "function_call_output" {
			r.id = p.r.word(find(members, "call_id"))
		}
	case wire.BedrockConverse:
		inner, _ := p.r.members(find(members, "toolResult"))
		r.id = p.r.word(find(inner, "toolUseId"))
	case wire.Gemini:
		inner, _ := p.r.members(find(members, "functionResponse", "function_response"))
		r.id, r.name, r.byOrder = p.r.word(find(inner, "id")), p.r.word(find(inner, "name")), len(inner) > 0
	default:
		if p.r.word(find(members, "type")) == "tool_result" {
			r.id = p.r.word(find(members, "tool_use_id"))
		}
	}
	if r.id == "" && !r.byOrder {
		return found
	}
	return append(found, r)
}
