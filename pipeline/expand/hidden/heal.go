package hidden

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Answer answers a call of the expand tool out of what every request of the
// conversation can know. It is false when it has no original to give.
type Answer func(call round.Call) (round.Result, bool)

// heal replaces the results of calls that reached the client, whatever it made
// of them, and returns how many.
func (p *patcher) heal(answer Answer) (healed int) {
	used := map[int]bool{} // results by where they stand
	for i := range p.turn.pieces {
		q := &p.turn.pieces[i]
		if q.kind != kindCall || q.name != pipeline.ExpandTool {
			continue
		}
		at, members, found := p.resultOf(q, used)
		if !found {
			continue
		}
		used[at.Start] = true
		call := round.Call{ID: q.id, Name: q.name, Arguments: p.arguments(q.args)}
		result, ok := answer(call)
		if !ok {
			continue
		}
		result.Call = call
		raw := turns.Result(nil, p.r.dialect, &result)
		if mark := find(members, "cache_control"); mark.Len() > 0 {
			raw = append(raw[:len(raw)-1], `,"cache_control":`...)
			raw = append(append(raw, p.r.value(mark)...), '}')
		}
		if !bytes.Equal(raw, p.r.value(at)) {
			p.add(at, raw)
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

// resultOf finds the result of a call between it and the model's next turn.
func (p *patcher) resultOf(call *piece, used map[int]bool) (at pipeline.Span, members []member, ok bool) {
	for i := p.visit.to; i < len(p.elements) && !p.elements[i].Assistant; i++ {
		for _, at := range p.parts(p.elements[i].Span) {
			if members, ok = p.r.members(at); ok && !used[at.Start] && p.answersTo(call, members) {
				return at, members, true
			}
		}
	}
	return pipeline.Span{}, nil, false
}

// parts are the places where an element can hold results.
func (p *patcher) parts(element pipeline.Span) []pipeline.Span {
	if p.r.dialect == wire.OpenAIChat || p.r.dialect == wire.OpenAIResponses {
		return []pipeline.Span{element}
	}
	members, _ := p.r.members(element)
	items, _ := p.r.items(find(members, "content", "parts"))
	return items
}

// answersTo reports whether an element, block or part is the result of a call.
func (p *patcher) answersTo(call *piece, members []member) bool {
	switch p.r.dialect {
	case wire.OpenAIChat:
		return p.names(call, members, "tool_call_id")
	case wire.OpenAIResponses:
		return p.names(call, members, "call_id") && p.r.word(find(members, "type")) == "function_call_output"
	case wire.BedrockConverse:
		inner, _ := p.r.members(find(members, "toolResult"))
		return p.names(call, inner, "toolUseId")
	case wire.Gemini:
		inner, _ := p.r.members(find(members, "functionResponse", "function_response"))
		if p.r.word(find(inner, "name")) != call.name {
			return false
		}
		id := p.r.word(find(inner, "id"))
		return id == "" || call.id == "" || id == call.id
	default:
		return p.names(call, members, "tool_use_id") && p.r.word(find(members, "type")) == "tool_result"
	}
}

func (p *patcher) names(call *piece, members []member, key string) bool {
	return call.id != "" && p.r.word(find(members, key)) == call.id
}
