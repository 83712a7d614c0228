package laws_test

import "strconv"

// chat writes a plot as messages of OpenAI's Chat Completions.
func (p *plot) chat() (messages []message) {
	l := p.look
	user := func(raw string) {
		messages = append(messages, message{write: func(marked bool) string {
			return l.members("user", l.extra+l.member("content", l.text(raw, marked)))
		}})
	}
	messages = append(messages, message{write: func(bool) string { return l.members("system", l.member("content", p.system)) }})
	user(`"start"`)
	for i := range p.turns {
		t := &p.turns[i]
		if t.split {
			messages = append(messages, message{assistant: true, write: func(bool) string {
				return l.members("assistant", l.member("content", `"one moment"`))
			}})
		}
		var calls []string
		for _, r := range t.results {
			function := l.object(l.member("name", `"`+r.tool+`"`), l.member("arguments", strconv.Quote(r.args)))
			calls = append(calls, l.object(l.member("id", `"`+r.id+`"`), l.member("type", `"function"`), l.member("function", function)))
		}
		messages = append(messages, message{assistant: true, write: func(bool) string {
			members := []string{l.member("content", t.say)}
			if len(calls) > 0 {
				members = append(members, l.member("tool_calls", l.list(calls...)))
			}
			return l.members("assistant", members...)
		}})
		image := l.object(l.member("type", `"image_url"`), l.member("image_url", `{"url":"data:image/png;base64,iVBORw0KGgo="}`))
		for j := range t.results {
			r := &t.results[j]
			messages = append(messages, message{write: func(marked bool) string {
				members := []string{l.member("tool_call_id", `"`+r.id+`"`), l.extra + l.member("content", l.content(r, image, marked))}
				if r.twice {
					members = append(members, l.member("role", `"tool"`))
				}
				return l.members("tool", members...)
			}})
		}
		if t.ask != "" || len(t.results) == 0 {
			user(orStart(t.ask))
		}
	}
	return messages
}

func orStart(ask string) string {
	if ask == "" {
		return `"go on"`
	}
	return ask
}

// anthropic writes a plot as messages of Anthropic's API.
func (p *plot) anthropic() (messages []message) {
	l := p.look
	user := func(raw string) {
		messages = append(messages, message{write: func(marked bool) string {
			return l.members("user", l.extra+l.member("content", l.text(raw, marked)))
		}})
	}
	user(`"start"`)
	for i := range p.turns {
		t := &p.turns[i]
		if t.split {
			messages = append(messages, message{assistant: true, write: func(bool) string {
				return l.members("assistant", l.member("content", `"one moment"`))
			}})
		}
		blocks := []string{`{"type":"thinking","thinking":"hm\u002e","signature":"c2ln"}`, l.block(t.say, false)}
		for _, r := range t.results {
			blocks = append(blocks, l.object(l.member("type", `"tool_use"`), l.member("id", `"`+r.id+`"`), l.member("name", `"`+r.tool+`"`), l.member("input", r.args)))
		}
		if t.remote != "" {
			blocks = append(blocks, `{"type":"mcp_tool_use","id":"mcp_1","name":"search","server_name":"s","input":{}}`,
				l.object(l.member("type", `"mcp_tool_result"`), l.member("tool_use_id", `"mcp_1"`), l.member("content", l.list(l.block(t.remote, false)))))
		}
		messages = append(messages, message{assistant: true, write: func(bool) string {
			return l.members("assistant", l.member("content", l.list(blocks...)))
		}})
		if len(t.results) == 0 {
			user(orStart(t.ask))
			continue
		}
		messages = append(messages, message{write: func(marked bool) string {
			return l.members("user", l.extra+l.member("content", l.list(p.toolResults(t, marked)...)))
		}})
	}
	return messages
}

func (p *plot) toolResults(t *plotTurn, marked bool) (blocks []string) {
	l := p.look
	image := l.object(l.member("type", `"image"`), l.member("source", `{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}`))
	for i := range t.results {
		r := &t.results[i]
		members := []string{l.member("type", `"tool_result"`), l.member("tool_use_id", `"`+r.id+`"`), l.extra + l.member("content", l.content(r, image, marked && i%2 == 1))}
		if r.twice {
			members = append(members, l.member("type", `"tool_result"`))
		}
		if r.failed {
			members = append(members, l.member("is_error", "true"))
		}
		if marked && i == len(t.results)-1 {
			members = append(members, l.member("cache_control", directive))
		}
		blocks = append(blocks, l.object(members...))
	}
	if t.ask != "" {
		blocks = append(blocks, l.block(t.ask, marked))
	}
	return blocks
}
