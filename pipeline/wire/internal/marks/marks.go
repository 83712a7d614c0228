// Package marks finds the cache marks of a request, and the places where marks
// can stand.
//
// Anthropic's Messages carry a mark as a member "cache_control" of a tool, of a
// block of the system prompt, of a block of a message, of a block inside a tool
// result, or of the request itself, which lets the provider choose the place.
// Bedrock's Converse carries it as a block of its own, {"cachePoint":…}, behind
// what it caches, in the same lists. Both spellings count in both: gateways
// translate the one into the other.
//
// Only members count. A text that talks about marks, a call's arguments and a
// tool's schema may hold the same words and are none.
package marks

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
)

// Most is the most marks a request may carry, at Anthropic and at Bedrock.
const Most = 4

// Style is how a dialect writes marks.
type Style uint8

const (
	// Member is a member of the block that is cached last.
	Member Style = iota
	// Block is a block behind it.
	Block
)

// Mark is what is inserted at a place: in front of the brace that closes a
// block, or behind the block.
func Mark(s Style, hour bool) string {
	switch {
	case s == Block && hour:
		return `,{"cachePoint":{"type":"default","ttl":"1h"}}`
	case s == Block:
		return `,{"cachePoint":{"type":"default"}}`
	case hour:
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	default:
		return `,"cache_control":{"type":"ephemeral"}`
	}
}

// Reader reads parts of a request that was found to be JSON before, and keeps
// its memory between them. What is not JSON holds nothing.
type Reader struct {
	src bytes.Buffer
	dec jsontext.Decoder
}

func (r *Reader) reset(value []byte) {
	r.src = *bytes.NewBuffer(value)
	r.dec.Reset(&r.src, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Release drops what the reader holds of the last value.
func (r *Reader) Release() { r.reset(nil) }

// Count counts the marks of a request. Most requests without one do not hold
// the words either, and then a search is enough.
func (r *Reader) Count(body []byte) int {
	if !suspect(body) {
		return 0
	}
	r.reset(body)
	n, _ := r.count(true)
	return n
}

// suspect reports whether a body may hold a mark: one of the names as a whole
// string, or a name with an escaped letter, which nobody sends.
func suspect(body []byte) bool {
	return around(body, '_', len(`"cache`), `"cache_control"`) || around(body, 'P', len(`"cache`), `"cachePoint"`) || escaped(body)
}

// escaped reports whether a body spells a letter or an underscore by its number.
func escaped(body []byte) bool {
	for from := 0; ; {
		next := bytes.IndexByte(body[from:], '\\')
		if next < 0 || len(body) < from+next+len(`\u005f`) {
			return false
		}
		from += next
		if c := body[from+4]; string(body[from+1:from+4]) == "u00" && c >= '4' && c <= '7' {
			return true
		}
		from++
	}
}

// around reports whether a word is in a body, looking at its rarest byte, which
// is the one at an offset into it.
func around(body []byte, rare byte, offset int, word string) bool {
	for from := 0; ; {
		next := bytes.IndexByte(body[from:], rare)
		if next < 0 {
			return false
		}
		at := from + next - offset
		if at >= 0 && at+len(word) <= len(body) && string(body[at:at+len(word)]) == word {
			return true
		}
		from += next + 1
	}
}

// count counts the marks in the value that comes next, and whether it could be
// read. What a request is wrapped in belongs to the request.
func (r *Reader) count(request bool) (n int, ok bool) {
	switch r.dec.PeekKind() {
	case '[':
		if _, err := r.dec.ReadToken(); err != nil {
			return n, false
		}
		for r.dec.PeekKind() != ']' {
			more, ok := r.count(false)
			if n += more; !ok {
				return n, false
			}
		}
		_, err := r.dec.ReadToken()
		return n, err == nil
	case '{':
	default:
		return 0, r.dec.SkipValue() == nil
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return n, false
	}
	for {
		name, ok := r.name()
		if !ok || name == nil {
			return n, ok
		}
		switch string(name) {
		case "cache_control", "cachePoint":
			n++
			ok = r.dec.SkipValue() == nil
		case "messages", "system", "tools", "content", "source", "toolConfig", "toolResult":
			var more int
			more, ok = r.count(false)
			n += more
		case "input", "converse":
			if !request {
				ok = r.dec.SkipValue() == nil
				break
			}
			var more int
			more, ok = r.count(true)
			n += more
		default:
			ok = r.dec.SkipValue() == nil
		}
		if !ok {
			return n, false
		}
	}
}

// name reads the next key of the open object. It leaves the object and returns
// nil when there is no further key.
func (r *Reader) name() ([]byte, bool) {
	if r.dec.PeekKind() != '"' {
		_, err := r.dec.ReadToken()
		return nil, err == nil
	}
	value, err := r.dec.ReadValue()
	if err != nil || len(value) < 2 {
		return nil, false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	text, _ := literal.String(value) // without an exact text it is none of ours
	return []byte(text), true
}
