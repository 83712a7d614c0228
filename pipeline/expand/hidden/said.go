package hidden

import (
	"crypto/sha256"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// kind is what a piece of an assistant turn is.
type kind byte

const (
	kindText   kind = iota
	kindSigned      // reasoning that carries a signature
	kindLoose       // reasoning that carries none
	kindCall        // a call that somebody has to answer
	kindOther       // anything else, such as what a provider's own tool did
)

// piece is one block, part or item of an assistant turn, or one of its calls.
type piece struct {
	kind kind
	// at is the element that holds the piece; of a Chat content that is a string,
	// the string.
	at pipeline.Span
	// leaf is the string of a text that stands in one piece; empty otherwise.
	leaf pipeline.Span
	text string
	// id is a call's id, name its name; args is where its arguments stand.
	id, name string
	args     pipeline.Span
	// signature is the digest of the piece's signature, or zero.
	signature [16]byte
}

// said is one assistant turn: a message, or a run of items.
type said struct {
	at     pipeline.Span // of all its elements
	pieces []piece
	// list reports that the pieces which are no calls are elements of a list.
	list bool
	// content is the value of a message's content, if it has one.
	content pipeline.Span
}

// noSignature is a signature that clients put where they have none; it names nothing.
const noSignature = "skip_thought_signature_validator"

func digest(text string) (d [16]byte) {
	if text != "" && text != noSignature {
		sum := sha256.Sum256([]byte(text))
		copy(d[:], sum[:])
	}
	return d
}

// reader reads assistant turns out of a body.
type reader struct {
	scanner

	dialect wire.Dialect
}

// text returns the decoded text of a string, and false for everything else.
func (r *reader) text(at pipeline.Span) (string, bool) {
	if value := r.value(at); isText(value) {
		return wire.Decode(value)
	}
	return "", false
}

// word is text, or nothing.
func (r *reader) word(at pipeline.Span) string {
	text, _ := r.text(at)
	return text
}

// turn reads one turn from its elements. It is false when the turn has a form
// that nobody here knows, or a text that cannot be compared exactly.
func (r *reader) turn(elements []wire.Element) (t said, ok bool) {
	t.at = pipeline.Span{Start: elements[0].Span.Start, End: elements[len(elements)-1].Span.End}
	if r.dialect == wire.OpenAIResponses {
		if len(elements) > mostItems {
			return said{}, false
		}
		for _, e := range elements {
			p, ok := r.item(e.Span)
			if !ok {
				return said{}, false
			}
			t.pieces = append(t.pieces, p)
		}
		t.list = true
		return t, true
	}
	members, ok := r.members(elements[0].Span)
	if !ok || len(elements) != 1 {
		return said{}, false
	}
	for _, m := range members {
		switch {
		case m.name == "content" && r.dialect != wire.Gemini, m.name == "parts" && r.dialect == wire.Gemini:
			t.content = m.at
			ok = r.blocks(&t, m.at)
		}
		if !ok {
			return said{}, false
		}
	}
	for _, m := range members { // behind the content, whatever the order
		if m.name == "tool_calls" && r.dialect == wire.OpenAIChat && string(r.value(m.at)) != "null" {
			if ok = r.toolCalls(&t, m.at); !ok {
				return said{}, false
			}
		}
	}
	return t, true
}

// blocks reads the content of a message.
func (r *reader) blocks(t *said, at pipeline.Span) bool {
	value := r.value(at)
	if string(value) == "null" {
		return true
	}
	if isText(value) {
		text, ok := r.text(at)
		t.pieces = append(t.pieces, piece{kind: kindText, at: at, leaf: at, text: text})
		return ok
	}
	items, ok := r.items(at)
	if !ok {
		return false
	}
	t.list = true
	for _, item := range items {
		p, ok := r.block(item)
		if !ok {
			return false
		}
		t.pieces = append(t.pieces, p)
	}
	return true
}

func (r *reader) block(at pipeline.Span) (piece, bool) {
	members, ok := r.members(at)
	if !ok {
		return piece{kind: kindOther, at: at}, r.value(at)[0] != '{'
	}
	switch r.dialect {
	case wire.Gemini:
		return r.part(at, members)
	case wire.BedrockConverse:
		return r.converseBlock(at, members)
	}
	p := piece{kind: kindOther, at: at}
	switch r.word(find(members, "type")) {
	case "text":
		p.kind, p.leaf = kindText, find(members, "text")
		p.text, ok = r.text(p.leaf)
		return p, ok
	case "thinking":
		return p.signed(r.word(find(members, "signature"))), true
	case "redacted_thinking":
		return p.signed(r.word(find(members, "data"))), true
	case "tool_use":
		p.kind, p.id, p.name = kindCall, r.word(find(members, "id")), r.word(find(members, "name"))
		p.args = find(members, "input")
	}
	return p, true
}

// signed makes the piece reasoning.
func (p piece) signed(signature string) piece {
	p.kind, p.signature = kindLoose, digest(signature)
	if p.signature != [16]byte{} {
		p.kind = kindSigned
	}
	return p
}

// part reads a part of a Gemini content. A signature may stand beside anything.
func (r *reader) part(at pipeline.Span, members []member) (piece, bool) {
	p := piece{kind: kindOther, at: at, signature: digest(r.word(find(members, "thoughtSignature")))}
	if call := find(members, "functionCall", "function_call"); call.Len() > 0 {
		inner, ok := r.members(call)
		p.kind, p.id, p.name = kindCall, r.word(find(inner, "id")), r.word(find(inner, "name"))
		p.args = find(inner, "args")
		return p, ok
	}
	if text := find(members, "text"); text.Len() > 0 {
		if string(r.value(find(members, "thought"))) == "true" {
			return p.signed(r.word(find(members, "thoughtSignature"))), true
		}
		var ok bool
		p.kind, p.leaf = kindText, text
		p.text, ok = r.text(text)
		return p, ok
	}
	return p, true
}

func (r *reader) converseBlock(at pipeline.Span, members []member) (piece, bool) {
	p := piece{kind: kindOther, at: at}
	if len(members) != 1 {
		return p, true
	}
	inner := members[0].at
	switch members[0].name {
	case "text":
		var ok bool
		p.kind, p.leaf = kindText, inner
		p.text, ok = r.text(inner)
		return p, ok
	case "toolUse":
		use, ok := r.members(inner)
		p.kind, p.id, p.name = kindCall, r.word(find(use, "toolUseId")), r.word(find(use, "name"))
		p.args = find(use, "input")
		return p, ok
	case "reasoningContent":
		content, _ := r.members(inner)
		if redacted := find(content, "redactedContent"); redacted.Len() > 0 {
			return p.signed(r.word(redacted)), true
		}
		reasoning, _ := r.members(find(content, "reasoningText"))
		return p.signed(r.word(find(reasoning, "signature"))), true
	}
	return p, true
}

// toolCalls reads the calls of a Chat message.
func (r *reader) toolCalls(t *said, at pipeline.Span) bool {
	items, ok := r.items(at)
	if !ok {
		return false
	}
	for _, item := range items {
		members, ok := r.members(item)
		if !ok {
			return false
		}
		function, _ := r.members(find(members, "function", "custom"))
		t.pieces = append(t.pieces, piece{
			kind: kindCall, at: item,
			id: r.word(find(members, "id")), name: r.word(find(function, "name")), args: find(function, "arguments"),
		})
	}
	return true
}

// item reads an item of Responses that the model made.
func (r *reader) item(at pipeline.Span) (piece, bool) {
	p := piece{kind: kindOther, at: at}
	members, ok := r.members(at)
	if !ok {
		return p, false
	}
	switch r.word(find(members, "type")) {
	case "", "message":
		return r.message(p, find(members, "content"))
	case "reasoning":
		return p.signed(r.word(find(members, "encrypted_content"))), true
	case "function_call", "custom_tool_call":
		p.kind, p.id, p.name = kindCall, r.word(find(members, "call_id")), r.word(find(members, "name"))
		p.args = find(members, "arguments")
	}
	return p, true
}

// message reads the content of an item that is a message.
func (r *reader) message(p piece, content pipeline.Span) (piece, bool) {
	if content.Len() == 0 {
		return p, true
	}
	p.kind = kindText
	if isText(r.value(content)) {
		var ok bool
		p.leaf = content
		p.text, ok = r.text(content)
		return p, ok
	}
	parts, ok := r.items(content)
	for _, part := range parts {
		members, known := r.members(part)
		leaf := find(members, "text")
		text, exact := r.text(leaf)
		if !known || leaf.Len() > 0 && !exact {
			return p, false
		}
		p.text += text
		p.leaf = leaf
	}
	if len(parts) != 1 {
		p.leaf = pipeline.Span{}
	}
	return p, ok
}

// find returns where the value of the first of the names stands, or an empty span.
func find(members []member, names ...string) pipeline.Span {
	for _, name := range names {
		for i := range members {
			if members[i].name == name {
				return members[i].at
			}
		}
	}
	return pipeline.Span{}
}
