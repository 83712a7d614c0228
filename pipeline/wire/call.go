package wire

import (
	"bytes"
	"hash/maphash"
)

// callsKept is how many calls an output is compared with. No client has more
// open at a time, and without a bound a body of nothing but ids would be
// quadratic.
const callsKept = 512

// by says what a call is found by.
type by uint8

const (
	byID    by = iota
	byName     // calls from the time before they had ids
	byOrder    // by id, or else the first of its name without an answer
)

// call is a call of a tool. Comparing hashes first keeps long ids that differ
// late from costing their length each time.
type call struct {
	key      []byte // decoded id or name, empty only for a call by order
	hash     uint64 // of key
	by       by
	name     []byte // decoded
	nameHash uint64 // only of a call by order
	args     []byte // raw
	answered bool   // only of a call by order
}

// toolCalls reads the tool_calls of a message.
func (p *Parser) toolCalls() error {
	_, err := p.each((*Parser).toolCall, (*Parser).skip)
	return err
}

// toolCall reads one call: a function's or a custom tool's.
func (p *Parser) toolCall() error {
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: callKeys}
	var id []byte
	var f function
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyID:
			id, err = p.value()
		case keyFunction, keyCustom:
			err = p.function(&f)
		default:
			_, err = p.value()
		}
		if err != nil {
			return err
		}
	}
	const both = keyFunction | keyCustom
	if !keys.ambiguous() && keys.had&both != both && !f.ambiguous {
		p.called(id, f.name, f.args)
	}
	return nil
}

// functionCall reads the function_call of a message.
func (p *Parser) functionCall() error {
	var f function
	if err := p.function(&f); err != nil {
		return err
	}
	if key := word(f.name); len(key) > 0 && !f.ambiguous {
		p.wait(call{key: key, by: byName, name: key, args: f.args})
	}
	return nil
}

// function is what is called, as literals.
type function struct {
	name, args []byte
	ambiguous  bool
}

// function reads {"name":…,"arguments":…}; a custom tool says input instead.
func (p *Parser) function(f *function) error {
	if p.dec.PeekKind() != '{' {
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	keys := seen{mine: functionKeys}
	for {
		name, err := p.name()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch keys.note(name) {
		case keyName:
			f.name, err = p.value()
		case keyArguments, keyInput:
			f.args, err = p.value()
		default:
			_, err = p.value()
		}
		if err != nil {
			return err
		}
	}
	const both = keyArguments | keyInput
	f.ambiguous = keys.ambiguous() || keys.had&both == both
	return nil
}

// called notes a call by its id; the arguments are literals.
func (p *Parser) called(id, name, args []byte) {
	if key := word(id); len(key) > 0 {
		p.wait(call{key: key, by: byID, name: word(name), args: args})
	}
}

// wait keeps a call until the message turns out to be the assistant's.
func (p *Parser) wait(c call) {
	c.hash = maphash.Bytes(p.seed, c.key)
	if c.by == byOrder {
		c.nameHash = maphash.Bytes(p.seed, c.name)
	}
	p.pending = keep(append(p.pending, c))
}

// adopt adds the calls of the message to those outputs may answer.
func (p *Parser) adopt() {
	all := append(p.calls, p.pending...)
	p.calls = keep(all)
	p.run = max(0, p.run-(len(all)-len(p.calls)))
}

// keep drops the oldest calls now and then.
func keep(calls []call) []call {
	if len(calls) < 2*callsKept {
		return calls
	}
	return append(calls[:0], calls[len(calls)-callsKept:]...)
}

// find returns the nearest call with a key, or nil.
func (p *Parser) find(key []byte, how by) *call {
	hash := maphash.Bytes(p.seed, key)
	last := max(0, len(p.calls)-callsKept)
	for i := len(p.calls) - 1; i >= last; i-- {
		c := &p.calls[i]
		if c.hash == hash && c.by == how && bytes.Equal(c.key, key) {
			return c
		}
	}
	return nil
}

// next returns the call that an output without an id answers: the first of its
// name in the last run that has no answer yet. It returns nil when there is none.
func (p *Parser) next(name []byte) *call {
	hash := maphash.Bytes(p.seed, name)
	for i := max(p.run, len(p.calls)-callsKept); i < len(p.calls); i++ {
		c := &p.calls[i]
		if c.by == byOrder && !c.answered && c.nameHash == hash && bytes.Equal(c.name, name) {
			return c
		}
	}
	return nil
}
