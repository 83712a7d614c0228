package wire

import "github.com/contextguru/contextguru/pipeline"

// converseBlock reads one block of a Converse message: a call, a result, or
// something that is left alone.
func (p *Parser) converseBlock() error {
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: keyToolUse | keyToolResult}
	var use toolUse
	r := result{from: len(p.leaves)}
	usable := false
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyToolUse:
			err = p.toolUse(&use)
		case keyToolResult:
			usable, err = p.toolResult(&r)
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
	const both = keyToolUse | keyToolResult
	if r.to = len(p.leaves); keys.ambiguous() || keys.had&both == both {
		p.leaves = p.leaves[:r.from]
		return nil
	}
	if usable && r.from < r.to {
		p.results = append(p.results, r)
	}
	if !use.ambiguous {
		p.called(use.id, use.name, use.input)
	}
	return nil
}

// toolUse is a call, as literals.
type toolUse struct {
	id, name, input []byte
	ambiguous       bool
}

// toolUse reads {"toolUseId":…,"name":…,"input":…}.
func (p *Parser) toolUse(use *toolUse) error {
	if p.dec.PeekKind() != '{' {
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: toolUseKeys}
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
		switch key {
		case keyToolUseIDCamel:
			use.id = value
		case keyName:
			use.name = value
		case keyInput:
			use.input = value
		}
	}
	use.ambiguous = keys.ambiguous()
	return nil
}

// toolResult reads {"toolUseId":…,"status":…,"content":[…]} and reports whether
// it is unambiguous.
func (p *Parser) toolResult(r *result) (bool, error) {
	if p.dec.PeekKind() != '{' {
		return false, p.skip()
	}
	if err := p.open(); err != nil {
		return false, err
	}
	keys := seen{mine: toolResultKeys}
	for {
		name, err := p.name()
		if err != nil {
			return false, err
		}
		if name == nil {
			break
		}
		key := keys.note(name)
		if key == keyContent {
			if _, err := p.each((*Parser).resultBlock, (*Parser).skip); err != nil {
				return false, err
			}
			continue
		}
		value, err := p.value()
		if err != nil {
			return false, err
		}
		switch key {
		case keyToolUseIDCamel:
			r.id = value
		case keyStatus:
			r.isError = string(word(value)) == "error"
		}
	}
	if keys.ambiguous() {
		p.leaves = p.leaves[:r.from]
	}
	return !keys.ambiguous(), nil
}

// resultBlock reads one block of a result's content. The leaf is the whole
// block, because a text that is not JSON cannot stay under "json".
func (p *Parser) resultBlock() error {
	if err := p.open(); err != nil {
		return err
	}
	start := int(p.dec.InputOffset()) - 1
	keys := seen{mine: keyText | keyJSON}
	holds := false
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
		switch key {
		case keyText:
			holds = isString(value)
		case keyJSON:
			holds = value[0] == '{' || value[0] == '['
		}
	}
	const both = keyText | keyJSON
	if !holds || keys.ambiguous() || keys.had&both == both {
		return nil
	}
	return p.leaf(pipeline.Span{Start: start, End: int(p.dec.InputOffset())}, leafPart)
}
