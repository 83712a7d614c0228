package marks

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
)

// A place is refused, and the one in front of it taken, wherever the provider
// would refuse a mark or two readers might not agree what stands there: blank
// texts, empty results, thinking, tools that are loaded later, a key that is
// there twice, blocks of a kind that is not known.

// Message returns the last place in a message of a user, as an offset into it.
func (r *Reader) Message(s Style, message []byte) (int, bool) {
	r.reset(message)
	at, user, contents, roles := -1, false, 0, 0
	if !r.open('{') {
		return 0, false
	}
	for {
		name, ok := r.name()
		if !ok {
			return 0, false
		}
		if name == nil {
			return at, user && at > 0 && contents == 1 && roles == 1
		}
		switch string(name) {
		case "content":
			contents++
			at, ok = r.last(s, inMessage)
		case "role":
			roles++
			value, err := r.dec.ReadValue()
			user, ok = string(value) == `"user"`, err == nil
		default:
			ok = r.dec.SkipValue() == nil
		}
		if !ok {
			return 0, false
		}
	}
}

// System returns the last place in a system prompt.
func (r *Reader) System(s Style, system []byte) (int, bool) {
	r.reset(system)
	at, ok := r.last(s, inSystem)
	return at, ok && at > 0
}

// Tools returns the last place in the tools: a list, or for Converse what holds
// the list.
func (r *Reader) Tools(s Style, tools []byte) (int, bool) {
	r.reset(tools)
	if s == Member {
		at, ok := r.last(s, inTools)
		return at, ok && at > 0
	}
	if !r.open('{') {
		return 0, false
	}
	at, lists := -1, 0
	for {
		name, ok := r.name()
		if !ok {
			return 0, false
		}
		if name == nil {
			return at, at > 0 && lists == 1
		}
		if string(name) == "tools" {
			lists++
			at, ok = r.last(s, inTools)
		} else {
			ok = r.dec.SkipValue() == nil
		}
		if !ok {
			return 0, false
		}
	}
}

// where is what a list is part of.
type where uint8

const (
	inMessage where = iota
	inSystem
	inTools
)

// last reads the value that comes next and returns the last place in it, or -1
// when there is none, and whether it could be read.
func (r *Reader) last(s Style, in where) (int, bool) {
	if r.dec.PeekKind() != '[' {
		return -1, r.dec.SkipValue() == nil
	}
	if !r.open('[') {
		return -1, false
	}
	at := -1
	for r.dec.PeekKind() != ']' {
		if r.dec.PeekKind() != '{' {
			if r.dec.SkipValue() != nil {
				return -1, false
			}
			continue
		}
		holds, ok := r.block(s, in)
		if !ok {
			return -1, false
		}
		if holds {
			if at = int(r.dec.InputOffset()); s == Member {
				at-- // in front of the brace
			}
		}
	}
	_, err := r.dec.ReadToken()
	return at, err == nil
}

// block reads an object and reports whether a mark can stand there.
func (r *Reader) block(s Style, in where) (holds, ok bool) {
	if !r.open('{') {
		return false, false
	}
	var b facts
	for {
		name, ok := r.name()
		if !ok {
			return false, false
		}
		if name == nil {
			return b.holds(s, in), true
		}
		value, err := r.dec.ReadValue()
		if err != nil {
			return false, false
		}
		b.note(string(name), value)
	}
}

// facts is what a block says of itself.
type facts struct {
	members int
	kind    kind
	had     counts
	full    bool // what it holds is not blank
	later   bool // the tool is not loaded from the start
}

// counts says how often the keys that matter are there.
type counts struct{ kind, text, content, name, converse int }

// kind is what type a block says it is of, as far as that matters.
type kind uint8

const (
	kindOther kind = iota
	kindText
	kindResult
	kindMedia
)

func kindOf(value []byte) kind {
	switch string(value) {
	case `"text"`:
		return kindText
	case `"tool_result"`:
		return kindResult
	case `"image"`, `"document"`:
		return kindMedia
	default:
		return kindOther
	}
}

func (b *facts) note(name string, value []byte) {
	b.members++
	switch name {
	case "type":
		b.had.kind++
		b.kind = kindOf(value)
	case "text":
		b.had.text++
		b.full = b.full || !blank(value)
	case "content":
		b.had.content++
		b.full = b.full || !blank(value)
	case "name":
		b.had.name++
	case "defer_loading":
		b.later = string(value) != "false" && string(value) != "null"
	case "image", "document", "toolResult", "toolSpec":
		b.had.converse++
	}
}

func (b *facts) holds(s Style, in where) bool {
	h := b.had
	if h.kind > 1 || h.text > 1 || h.content > 1 {
		return false
	}
	if s == Block {
		if in == inMessage && h.converse == 1 || in == inTools && h.converse == 1 {
			return b.members == 1
		}
		return in != inTools && b.members == 1 && h.text == 1 && b.full
	}
	switch {
	case in == inTools:
		return h.name == 1 && !b.later
	case b.kind == kindText:
		return h.text == 1 && b.full
	case in == inSystem:
		return false
	case b.kind == kindResult:
		return h.content == 1 && b.full
	default:
		return b.kind == kindMedia
	}
}

// blank reports whether a text or a list holds nothing.
func blank(value []byte) bool {
	if len(value) < 2 {
		return true
	}
	inner := value[1 : len(value)-1]
	switch value[0] {
	case '[':
		return len(bytes.TrimSpace(inner)) == 0
	case '"':
	default:
		return true
	}
	for len(inner) > 0 {
		c, size := utf8.DecodeRune(inner)
		switch {
		case c == '\\': // often a line end; what follows has to be decoded
			text, exact := literal.String(value)
			return !exact || strings.TrimSpace(text) == ""
		case !unicode.IsSpace(c):
			return false
		}
		inner = inner[size:]
	}
	return true
}

// open enters the object or list that comes next.
func (r *Reader) open(kind byte) bool {
	if byte(r.dec.PeekKind()) != kind {
		return false
	}
	_, err := r.dec.ReadToken()
	return err == nil
}
