package wire

// open enters the object or list that comes next.
func (p *Parser) open() error {
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	if p.dec.StackDepth() > p.limits.Depth {
		return p.refuse(TooDeep)
	}
	return nil
}

// name reads the next key of the open object and returns its text. It leaves
// the object and returns nil when there is no further key.
func (p *Parser) name() ([]byte, error) {
	if p.dec.PeekKind() != '"' {
		_, err := p.dec.ReadToken() // the end, or what is wrong
		return nil, err
	}
	value, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if name := word(value); name != nil {
		return name, nil
	}
	return value[:0], nil // a key without exact text is none of ours
}

// each reads the list that comes next, its objects by one function and its
// other elements by another. It skips a value of another type and returns false.
func (p *Parser) each(object, other func(*Parser) error) (bool, error) {
	if p.dec.PeekKind() != '[' {
		return false, p.skip()
	}
	if err := p.open(); err != nil {
		return false, err
	}
	for {
		var err error
		switch p.dec.PeekKind() {
		case ']':
			_, err = p.dec.ReadToken()
			return true, err
		case '{':
			err = object(p)
		default:
			err = other(p)
		}
		if err != nil {
			return false, err
		}
	}
}

// skip reads the value that comes next.
func (p *Parser) skip() error {
	_, err := p.value()
	return err
}

// value reads the value that comes next, whatever it is, and returns its bytes.
func (p *Parser) value() ([]byte, error) {
	if p.limits.Depth == DefaultDepth {
		return p.dec.ReadValue() // has the same limit
	}
	switch p.dec.PeekKind() {
	case '{', '[':
	default:
		return p.dec.ReadValue()
	}
	outer := p.dec.StackDepth()
	if err := p.open(); err != nil {
		return nil, err
	}
	start := p.dec.InputOffset() - 1
	for p.dec.StackDepth() > outer {
		if err := p.open(); err != nil { // any token will do
			return nil, err
		}
	}
	return p.body[start:p.dec.InputOffset()], nil
}
