package hidden

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// sum is a digest that need not resist more than chance and curiosity.
type sum [32]byte

// Root is the digest of the texts before the first assistant message: the name
// of a conversation, the same in all of its requests.
type Root sum

// RootOf returns the root of a request.
func RootOf(preamble iter.Seq[string]) (r Root) {
	if preamble == nil {
		return r
	}
	h := sha256.New()
	buffer := make([]byte, 4<<10) // texts are long, and copies of them longer
	for text := range preamble {
		h.Write(binary.LittleEndian.AppendUint64(buffer[:0], uint64(len(text))))
		for rest := text; rest != ""; {
			n := copy(buffer, rest)
			h.Write(buffer[:n])
			rest = rest[n:]
		}
	}
	h.Sum(r[:0])
	return r
}

// What a turn is named by.
const (
	byCall      = 'i'
	bySignature = 's'
	byText      = 't'
)

// name names an assistant turn.
type name struct {
	root  Root
	by    byte
	value sum
}

// id is the name's spelling in the store under each key, the current one first.
func (n *name) ids(keys *pipeline.Keyring) []string {
	input := make([]byte, 0, 2*len(n.root)+1)
	input = append(input, n.root[:]...)
	input = append(input, n.by)
	return keys.Derive("exchange", string(append(input, n.value[:]...)))
}

// essence is what names are made of: what all clients send back unchanged.
type essence struct {
	call, signature sum // of the first call, of the first signature; zero if none
	text            sum // of the text and the names of the calls
	empty           bool
	ours            bool // it calls the expand tool
}

// essenceOf returns the essence of the visible pieces of a turn.
func essenceOf(d wire.Dialect, pieces []piece) (e essence) {
	h := sha256.New()
	e.empty = true
	for i := range pieces {
		p := &pieces[i]
		if p.signature != [16]byte{} && e.signature == (sum{}) {
			copy(e.signature[:], p.signature[:])
		}
		switch p.kind {
		case kindText:
			h.Write([]byte(p.text))
			e.empty = e.empty && p.text == ""
		case kindCall:
			e.ours = e.ours || p.name == pipeline.ExpandTool
			e.empty = false
			// Some clients of Gemini make up ids of their own, every time.
			if p.id != "" && e.call == (sum{}) && d != wire.Gemini {
				e.call = sha256.Sum256([]byte(p.id))
			}
		default:
		}
	}
	for i := range pieces {
		if p := &pieces[i]; p.kind == kindCall {
			h.Write([]byte("\x00" + strconv.Itoa(len(p.name)) + p.name))
		}
	}
	h.Sum(e.text[:0])
	return e
}

// names returns the names of a turn. One that has calls has one name; without,
// it is named by its text as well, because some clients drop signatures.
// taken tells whether an earlier turn has the name already.
func (e *essence) names(root Root, context sum, taken func(name) bool) []name {
	call := name{root, byCall, e.call}
	if e.call != (sum{}) && !taken(call) {
		return []name{call}
	}
	var list []name
	if signature := (name{root, bySignature, e.signature}); e.signature != (sum{}) && !taken(signature) {
		list = append(list, signature)
	}
	if !e.empty {
		both := append(append(make([]byte, 0, 2*len(context)), context[:]...), e.text[:]...)
		list = append(list, name{root, byText, sha256.Sum256(both)})
	}
	return list
}

// contextOf goes on with the digest of what was said to the model by an element
// that is not the model's: its texts, in whatever form they stand.
func contextOf(before, texts sum) sum {
	both := append(append(make([]byte, 0, 2*len(before)), before[:]...), texts[:]...)
	return sha256.Sum256(both)
}

// textsOf is the digest of the texts of an element.
func (s *scanner) textsOf(at pipeline.Span) (texts sum) {
	h := sha256.New()
	s.begin(at)
	key := false
	for {
		token, err := s.dec.ReadToken()
		if err != nil {
			break
		}
		switch kind := token.Kind(); {
		case kind != '"':
			key = false
		case isName(&s.dec):
			key = textKey(token.String())
		default:
			if key {
				h.Write([]byte(token.String()))
				h.Write([]byte{0})
			}
			key = false
		}
	}
	h.Sum(texts[:0])
	return texts
}

// isName reports whether the string just read is the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return kind == '{' && length%2 == 1
}

// textKey reports whether a text of a user or a tool stands under a key.
func textKey(key string) bool {
	switch key {
	case "text", "content", "output", "error", "result":
		return true
	default:
		return false
	}
}
