package wire

import "github.com/contextguru/contextguru/pipeline"

// role is who speaks a message.
type role uint8

const (
	roleOther role = iota
	roleUser
	roleAssistant
	roleTool
	roleFunction // what came before roleTool
)

func roleOf(value []byte) role {
	switch string(word(value)) {
	case "user":
		return roleUser
	case "assistant":
		return roleAssistant
	case "tool":
		return roleTool
	case "function":
		return roleFunction
	default:
		return roleOther
	}
}

// message is what one message says beside its content. The slices are literals.
type message struct {
	role      role
	id, name  []byte
	ambiguous bool
}

// leaf is a text that may turn out to be a segment.
type leaf struct {
	span   pipeline.Span
	kind   leafKind
	failed bool // it comes from something that failed
}

// leafKind is where a leaf stands.
type leafKind uint8

const (
	leafWhole  leafKind = 1 << iota // it is the whole output
	leafPart                        // a text part
	leafStream                      // what a command printed
)

// result is a tool result.
type result struct {
	id, name []byte // literals of the call's id, and of its name where results have one
	from, to int    // its text leaves
	isError  bool
	remote   bool // the tool ran at the provider
}

// message reads one message. Keys come in any order, so what the content means
// is decided at the end.
func (p *Parser) message() error {
	if err := p.open(); err != nil {
		return err
	}
	p.leaves, p.results, p.pending = p.leaves[:0], p.results[:0], p.pending[:0]
	var m message
	keys := seen{mine: messageKeys}
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		var value []byte
		switch keys.note(name) {
		case keyContent:
			err = p.content(m.role)
		case keyToolCalls:
			err = p.toolCalls()
		case keyFunctionCall:
			err = p.functionCall()
		case keyRole:
			value, err = p.value()
			m.role = roleOf(value)
		case keyToolCallID:
			m.id, err = p.value()
		case keyName:
			m.name, err = p.value()
		default:
			_, err = p.value()
		}
		if err != nil {
			return err
		}
	}
	m.ambiguous = keys.ambiguous()
	if keys.again&keyRole != 0 {
		m.role = roleOther
	}
	return p.close(&m)
}

// content reads a message's content. The role is only known if it came first.
func (p *Parser) content(who role) error {
	switch {
	case p.format.block != nil: // as a string it is nobody's output
		_, err := p.each(p.format.block, (*Parser).skip)
		return err
	case who == roleUser, who == roleAssistant:
		return p.skip()
	default:
		return p.texts()
	}
}

// texts reads a string, or a list whose text blocks hold strings, and notes
// where the strings are.
func (p *Parser) texts() error {
	if p.dec.PeekKind() == '"' {
		value, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		return p.leaf(p.span(value), leafWhole)
	}
	_, err := p.each((*Parser).text, (*Parser).skip)
	return err
}

// text reads one element of such a list.
func (p *Parser) text() error {
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: blockKeys}
	var isText bool
	var span pipeline.Span
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		key := keys.note(name)
		value, err := p.value()
		if err != nil {
			return err
		}
		switch {
		case key == keyType:
			isText = string(word(value)) == "text"
		case key == keyText && isString(value):
			span = p.span(value)
		}
	}
	if !isText || span.End == 0 || keys.ambiguous() {
		return nil
	}
	return p.leaf(span, leafPart)
}

// block reads one block: a call, a result, or something that is left alone.
func (p *Parser) block() error {
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: blockKeys}
	r := result{from: len(p.leaves)}
	var kind, id, label, input []byte
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		key := keys.note(name)
		if key == keyContent {
			if err := p.texts(); err != nil {
				return err
			}
			continue
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		switch key {
		case keyType:
			kind = word(value)
		case keyID:
			id = value
		case keyName:
			label = value
		case keyInput:
			input = value
		case keyToolUseID:
			r.id = value
		case keyIsError:
			r.isError = string(value) == "true"
		}
	}
	if !keys.ambiguous() {
		switch string(kind) {
		case "tool_use", "mcp_tool_use":
			p.called(id, label, input)
		case "tool_result", "mcp_tool_result":
			r.to, r.remote = len(p.leaves), string(kind) == "mcp_tool_result"
			if r.from < r.to {
				p.results = append(p.results, r)
			}
			return nil
		}
	}
	p.leaves = p.leaves[:r.from]
	return nil
}

// span returns where the value just read stands.
func (p *Parser) span(value []byte) pipeline.Span {
	end := int(p.dec.InputOffset())
	return pipeline.Span{Start: end - len(value), End: end}
}

// leaf notes a text that may turn out to be a segment.
func (p *Parser) leaf(span pipeline.Span, kind leafKind) error {
	if len(p.leaves) >= p.limits.Segments {
		return p.refuse(TooManySegments)
	}
	p.leaves = append(p.leaves, leaf{span: span, kind: kind})
	return nil
}

// close adds what the message holds to the transcript.
func (p *Parser) close(m *message) error {
	assistant := m.role == roleAssistant
	p.spoke(assistant)
	if m.ambiguous {
		return nil
	}
	if assistant {
		p.adopt()
	}
	switch {
	case p.format.block != nil:
		for i := range p.results {
			r := &p.results[i]
			if m.role == roleUser || assistant && r.remote {
				if err := p.emit(p.leaves[r.from:r.to], p.find(word(r.id), byID), nil, r.isError); err != nil {
					return err
				}
			}
		}
	case len(p.leaves) == 0:
	case m.role == roleTool:
		return p.emit(p.leaves, p.find(word(m.id), byID), word(m.name), false)
	case m.role == roleFunction:
		label := word(m.name)
		return p.emit(p.leaves, p.find(label, byName), label, false)
	}
	return nil
}

// emit makes segments of text leaves.
func (p *Parser) emit(leaves []leaf, answered *call, label []byte, isError bool) error {
	if len(p.t.Segments)+len(leaves) > p.limits.Segments {
		return p.refuse(TooManySegments)
	}
	var args []byte
	if answered != nil {
		label, args = answered.name, answered.args
	}
	for i := range leaves {
		p.t.Segments = append(p.t.Segments, pipeline.Segment{
			Index:    len(p.t.Segments),
			Turn:     p.t.Turn,
			Messages: p.t.Messages,
			Span:     leaves[i].span,
			Tool:     label,
			Args:     args,
			IsError:  isError || leaves[i].failed,
		})
	}
	return nil
}
