package wire

import "bytes"

// item is what one item says. The slices are literals.
type item struct {
	kind, role, callID, id, name []byte
	// The arguments of the different kinds of calls.
	arguments, input, action, operation []byte
	status, fault                       []byte
}

// item reads one item of a Responses input. Keys come in any order, so what the
// output means is decided at the end.
func (p *Parser) item() error {
	if err := p.open(); err != nil {
		return err
	}
	p.leaves, p.pending = p.leaves[:0], p.pending[:0]
	var it item
	keys := seen{mine: itemKeys}
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		key := keys.note(name)
		if key == keyOutput {
			if err := p.output(); err != nil {
				return err
			}
			continue
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		it.note(key, value)
	}
	return p.closeItem(&it, &keys)
}

func (it *item) note(key keys, value []byte) {
	switch key {
	case keyType:
		it.kind = value
	case keyRole:
		it.role = value
	case keyCallID:
		it.callID = value
	case keyID:
		it.id = value
	case keyName:
		it.name = value
	case keyArguments:
		it.arguments = value
	case keyInput:
		it.input = value
	case keyAction:
		it.action = value
	case keyOperation:
		it.operation = value
	case keyStatus:
		it.status = value
	case keyError:
		it.fault = value
	}
}

// assistant reports whether the model made an item, or the provider for it. Kinds
// of items that nobody here knows count as made by it, those that end like an
// answer apart: a turn too many only makes an output older than it is, a turn too
// few would let a later output change what was decided about an earlier one.
func (it *item) assistant() bool {
	switch kind := word(it.kind); {
	case it.reference():
		return true
	case it.untyped(), string(kind) == "message":
		return string(word(it.role)) == "assistant"
	default:
		return !bytes.HasSuffix(kind, []byte("_output")) && !bytes.HasSuffix(kind, []byte("_response"))
	}
}

// reference reports whether an item stands for one that the provider keeps. They
// need not say so: an id alone will do.
func (it *item) reference() bool {
	return string(word(it.kind)) == "item_reference" || it.untyped() && it.role == nil && len(word(it.id)) > 0
}

// untyped reports whether an item says nothing about its kind.
func (it *item) untyped() bool { return !isString(it.kind) || len(it.kind) == len(`""`) }

// closeItem adds what an item holds to the transcript.
func (p *Parser) closeItem(it *item, keys *seen) error {
	certain := keys.again&(keyType|keyRole) == 0
	p.spoke(certain && it.assistant())
	p.t.ServerHeld = p.t.ServerHeld || certain && it.reference()
	if keys.ambiguous() {
		return nil
	}
	kind := word(it.kind)
	switch string(kind) {
	case "function_call":
		p.called(it.callID, it.name, it.arguments)
	case "custom_tool_call":
		p.called(it.callID, it.name, it.input)
	case "local_shell_call":
		// Its output names it by either id.
		p.built(it.id, kind, it.action)
		p.built(it.callID, kind, it.action)
	case "shell_call":
		p.built(it.callID, kind, it.action)
	case "apply_patch_call":
		p.built(it.callID, kind, it.operation)
	case "function_call_output", "custom_tool_call_output":
		return p.answer(leafWhole|leafPart, it.callID, false)
	case "local_shell_call_output":
		id := it.callID
		if len(word(id)) == 0 {
			id = it.id
		}
		return p.answer(leafWhole, id, false)
	case "shell_call_output":
		return p.answer(leafWhole|leafStream, it.callID, false)
	case "apply_patch_call_output":
		return p.answer(leafWhole, it.callID, string(word(it.status)) == "failed")
	case "mcp_call": // call and output in one
		p.only(leafWhole)
		fault := len(it.fault) > 0 && string(it.fault) != "null" && string(it.fault) != `""`
		return p.emit(p.leaves, &call{name: word(it.name), args: it.arguments}, nil, fault || string(word(it.status)) == "failed")
	}
	p.adopt()
	return nil
}

// built notes a call of a tool that is built in: its kind is its name.
func (p *Parser) built(id, kind, args []byte) {
	if key := word(id); len(key) > 0 {
		p.wait(call{key: key, by: byID, name: bytes.TrimSuffix(kind, []byte("_call")), args: args})
	}
}

// answer makes segments of the leaves of some kinds.
func (p *Parser) answer(kinds leafKind, id []byte, isError bool) error {
	p.only(kinds)
	return p.emit(p.leaves, p.find(word(id), byID), nil, isError)
}

// only drops the leaves of other kinds.
func (p *Parser) only(kinds leafKind) {
	kept := p.leaves[:0]
	for i := range p.leaves {
		if p.leaves[i].kind&kinds != 0 {
			kept = append(kept, p.leaves[i])
		}
	}
	p.leaves = kept
}

// output reads an output: a string, a list of parts, or a list of what commands
// printed.
func (p *Parser) output() error {
	if p.dec.PeekKind() == '"' {
		value, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		return p.leaf(p.span(value), leafWhole)
	}
	_, err := p.each((*Parser).outputPart, (*Parser).skip)
	return err
}

// outputPart reads one element of such a list.
func (p *Parser) outputPart() error {
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: partKeys}
	from := len(p.leaves)
	isText, failed := false, false
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		key := keys.note(name)
		if key == keyOutcome {
			if failed, err = p.outcome(); err != nil {
				return err
			}
			continue
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		switch {
		case key == keyType:
			isText = isTextPart(word(value))
		case key == keyText && isString(value):
			err = p.leaf(p.span(value), leafPart)
		case key&(keyStdout|keyStderr) != 0 && isString(value):
			err = p.leaf(p.span(value), leafStream)
		}
		if err != nil {
			return err
		}
	}
	if keys.ambiguous() {
		p.leaves = p.leaves[:from]
	}
	for i := from; i < len(p.leaves); i++ {
		switch l := &p.leaves[i]; l.kind {
		case leafStream:
			l.failed = failed
		case leafPart:
			if !isText {
				l.kind = 0
			}
		}
	}
	return nil
}

func isTextPart(kind []byte) bool {
	switch string(kind) {
	case "input_text", "output_text", "text":
		return true
	default:
		return false
	}
}

// outcome reads how a command ended and reports whether it failed.
func (p *Parser) outcome() (bool, error) {
	if p.dec.PeekKind() != '{' {
		return false, p.skip()
	}
	if err := p.open(); err != nil {
		return false, err
	}
	failed := false
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return failed, err
		}
		key := keyOf(name) & outcomeKeys
		value, err := p.value()
		if err != nil {
			return false, err
		}
		switch key {
		case keyType:
			failed = failed || string(word(value)) == "timeout"
		case keyExitCode:
			failed = failed || string(value) != "0" && string(value) != "null"
		}
	}
}
