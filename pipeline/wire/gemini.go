package wire

import "bytes"

const (
	// responseDepth is how many names and indexes lead to a text of a function's
	// response. Four reach the text blocks of an MCP result one level down.
	responseDepth = 4
	// responseTexts is how many texts of one response are looked at. What has
	// more of them is a table of short values and not something to read.
	responseTexts = 256
)

// geminiContent reads one content of a conversation: who speaks, and the parts.
func (p *Parser) geminiContent() error {
	if err := p.open(); err != nil {
		return err
	}
	p.leaves, p.results, p.pending = p.leaves[:0], p.results[:0], p.pending[:0]
	keys := seen{mine: contentKeys}
	who := roleUser // the role may be left out
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyRole:
			var value []byte
			value, err = p.value()
			who = geminiRole(value)
		case keyParts:
			if p.dec.PeekKind() == '{' { // one part may stand for a list
				err = p.geminiPart()
				break
			}
			_, err = p.each((*Parser).geminiPart, (*Parser).skip)
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
	if keys.again&keyRole != 0 {
		who = roleOther
	}
	p.spoke(who == roleAssistant)
	if keys.ambiguous() {
		return nil
	}
	switch who {
	case roleAssistant:
		p.adopt()
	case roleUser:
		return p.responses()
	}
	return nil
}

// geminiRole returns the role, whatever its case: results come from users, from
// functions, or from nobody in particular.
func geminiRole(value []byte) role {
	if string(value) == "null" {
		return roleUser
	}
	name := word(value)
	for _, known := range []struct {
		name string
		role role
	}{{"model", roleAssistant}, {"user", roleUser}, {"function", roleUser}, {"tool", roleUser}} {
		if bytes.EqualFold(name, []byte(known.name)) {
			return known.role
		}
	}
	return roleOther
}

// responses makes segments of the responses of a content.
func (p *Parser) responses() error {
	for i := range p.results {
		r := &p.results[i]
		label := word(r.name)
		var answered *call
		if id := word(r.id); len(id) > 0 {
			answered = p.find(id, byOrder)
		} else if len(label) > 0 {
			answered = p.next(label)
		}
		if answered != nil {
			answered.answered = true
		}
		if err := p.emit(p.leaves[r.from:r.to], answered, label, r.isError); err != nil {
			return err
		}
	}
	return nil
}

// geminiPart reads one part: a call, a response, or something that is left alone.
func (p *Parser) geminiPart() error {
	if err := p.open(); err != nil {
		return err
	}
	const ours = keyFunctionCallPart | keyFunctionCall | keyFunctionResponse
	keys := seen{mine: ours}
	results, leaves := len(p.results), len(p.leaves)
	var called call
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyFunctionCallPart, keyFunctionCall:
			called, err = p.geminiCall()
		case keyFunctionResponse:
			err = p.geminiResponse()
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
	if had := keys.had; keys.ambiguous() || had&(had-1) != 0 { // more than one of them
		p.results, p.leaves = p.results[:results], p.leaves[:leaves]
		return nil
	}
	if called.by == byOrder {
		p.wait(called)
	}
	return nil
}

// geminiCall reads {"name":…,"args":…}, and perhaps an id. It returns the empty
// call when that is none.
func (p *Parser) geminiCall() (call, error) {
	if p.dec.PeekKind() != '{' {
		return call{}, p.skip()
	}
	if err := p.open(); err != nil {
		return call{}, err
	}
	keys := seen{mine: calledKeys}
	c := call{by: byOrder}
	for {
		name, err := p.name()
		if err != nil {
			return call{}, err
		}
		if name == nil {
			break
		}
		key := keys.note(name)
		value, err := p.value()
		if err != nil {
			return call{}, err
		}
		switch key {
		case keyID:
			c.key = word(value)
		case keyName:
			c.name = word(value)
		case keyArgs:
			c.args = value
		}
	}
	if keys.ambiguous() {
		return call{}, nil
	}
	return c, nil
}

// geminiResponse reads {"name":…,"response":{…}}, and perhaps an id.
func (p *Parser) geminiResponse() error {
	if p.dec.PeekKind() != '{' {
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: respondedKeys}
	r := result{from: len(p.leaves)}
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyResponse:
			err = p.response(&r)
		case keyID:
			r.id, err = p.value()
		case keyName:
			r.name, err = p.value()
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
	if r.to = len(p.leaves); keys.ambiguous() || r.from == r.to {
		p.leaves = p.leaves[:r.from]
		return nil
	}
	p.results = append(p.results, r)
	return nil
}

// response reads what a function returned: an object of its own making, where an
// error that is not empty, or a mark as MCP has it, says that it failed.
func (p *Parser) response(r *result) error {
	if p.dec.PeekKind() != '{' {
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return err
		}
		key := keyOf(name) & failureKeys
		start := int(p.dec.InputOffset())
		if err := p.strings(r.from, 1); err != nil {
			return err
		}
		value := bytes.TrimLeft(p.body[start:p.dec.InputOffset()], ": \t\r\n")
		switch key {
		case keyError:
			r.isError = r.isError || string(value) != "null" && string(value) != "false" && string(value) != `""`
		case keyIsError, keyIsErrorCamel:
			r.isError = r.isError || string(value) == "true"
		}
	}
}

// strings notes the strings of the value that comes next, depth steps into a
// response whose leaves begin at from.
func (p *Parser) strings(from, depth int) error {
	kind := p.dec.PeekKind()
	switch {
	case kind == '"':
		value, err := p.dec.ReadValue()
		if err != nil || len(p.leaves)-from >= responseTexts {
			return err
		}
		return p.leaf(p.span(value), leafPart)
	case kind != '{' && kind != '[', depth == responseDepth, len(p.leaves)-from >= responseTexts:
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	for {
		switch {
		case kind == '{':
			if name, err := p.name(); err != nil || name == nil {
				return err
			}
		case p.dec.PeekKind() == ']':
			_, err := p.dec.ReadToken()
			return err
		}
		if err := p.strings(from, depth+1); err != nil {
			return err
		}
	}
}
