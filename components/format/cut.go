package format

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/contextguru/contextguru/pipeline"
)

const (
	// maxStrings is how many strings deep documents are looked for. Results of
	// commands hold one, results of agents that call agents two or three.
	maxStrings = 4
	// minString is the least length of a string that is looked into, quotes
	// not counted; shorter ones cannot save more than a token or two.
	minString = 64
	// maxDepth is how deep a document may nest. No tool's output comes near
	// it, and every reader of JSON can follow.
	maxDepth = 1000
)

// span is a range of bytes to cut out.
type span struct{ start, end int }

// insignificant returns the white space of a document that means nothing, in
// order, or the reason why the text has none. It takes time linear in the
// length of the text for every string it goes down.
func insignificant(ctx context.Context, doc []byte, levels int) ([]span, pipeline.Reason) {
	if ctx.Err() != nil || !json.Valid(doc) {
		return nil, reasonNotJSON
	}
	var cuts []span
	depth := 0
	for i := 0; i < len(doc); {
		switch doc[i] {
		case ' ', '\t', '\r', '\n':
			start := i
			for i < len(doc) && isBlank(doc[i]) {
				i++
			}
			cuts = append(cuts, span{start, i})
		case '"':
			end := stringEnd(doc, i)
			if levels > 0 && end-i-2 >= minString && !isName(doc[end:]) {
				cuts = inString(ctx, cuts, doc, span{i + 1, end - 1}, levels-1)
			}
			i = end
		case '{', '[':
			if depth++; depth > maxDepth {
				return nil, reasonTooDeep
			}
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
		}
	}
	return cuts, ""
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// stringEnd returns the end of the string that begins at start. The document
// is valid, so there is one.
func stringEnd(doc []byte, start int) int {
	for i := start + 1; ; {
		i += bytes.IndexByte(doc[i:], '"') + 1
		slashes := i - 2
		for doc[slashes] == '\\' {
			slashes--
		}
		if (i-2-slashes)%2 == 0 {
			return i
		}
	}
}

// isName reports whether the string in front of rest names a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// inString adds the cuts for a document inside the string whose content is
// doc[content]. The string is not written anew: its pieces, characters and
// escapes, are kept or cut out whole.
func inString(ctx context.Context, cuts []span, doc []byte, content span, levels int) []span {
	raw := doc[content.start:content.end]
	text, ok := unquote(raw)
	if !ok {
		return cuts
	}
	inner, reason := insignificant(ctx, text, levels)
	if reason != "" {
		return cuts
	}
	w := walker{raw: raw}
	for _, cut := range inner {
		cuts = append(cuts, span{content.start + w.to(cut.start), content.start + w.to(cut.end)})
	}
	return cuts
}

// walker finds where the bytes of a decoded text are written in the content of
// a string. It only goes forward.
type walker struct {
	raw        []byte
	at, text   int // the same place in raw and in the decoded text
	nextEscape int // first backslash at or behind at
}

// to returns the place in raw of an offset into the decoded text.
func (w *walker) to(offset int) int {
	for w.text < offset {
		if w.nextEscape < w.at || w.at == 0 {
			w.nextEscape = w.at + escapeIn(w.raw[w.at:])
		}
		if n := min(w.nextEscape-w.at, offset-w.text); n > 0 {
			w.at, w.text = w.at+n, w.text+n // bytes that stand for themselves
			continue
		}
		r, size := piece(w.raw[w.at:])
		w.at, w.text = w.at+size, w.text+utf8.RuneLen(r)
	}
	return w.at
}

// escapeIn returns the offset of the first escape, or the length.
func escapeIn(raw []byte) int {
	if i := bytes.IndexByte(raw, '\\'); i >= 0 {
		return i
	}
	return len(raw)
}

// unquote decodes the content of a string that opens an object or an array,
// and returns false for any other string and for one that has no exact text.
func unquote(raw []byte) ([]byte, bool) {
	opening := rune(0)
	for i, size := 0, 0; i < len(raw); i += size {
		if opening, size = piece(raw[i:]); opening >= utf8.RuneSelf || !isBlank(byte(opening)) {
			break
		}
	}
	if opening != '{' && opening != '[' {
		return nil, false
	}
	text := make([]byte, 0, len(raw))
	for rest := raw; len(rest) > 0; {
		plain := escapeIn(rest)
		if !utf8.Valid(rest[:plain]) {
			return nil, false
		}
		text, rest = append(text, rest[:plain]...), rest[plain:]
		if len(rest) > 0 {
			r, size := piece(rest)
			if r == noRune {
				return nil, false
			}
			text, rest = utf8.AppendRune(text, r), rest[size:]
		}
	}
	return text, true
}

// noRune stands for what is no character: half a pair of surrogates, or bytes
// that are not UTF-8.
const noRune rune = 0x7fffffff

// piece decodes the first character of a string's content and returns how many
// bytes it is written in.
func piece(raw []byte) (rune, int) {
	if c := raw[0]; c != '\\' {
		if c < utf8.RuneSelf {
			return rune(c), 1
		}
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			return noRune, 1
		}
		return r, size
	}
	switch raw[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		return unicodeEscape(raw)
	default: // a quote, a slash or a backslash stands for itself
		return rune(raw[1]), 2
	}
}

func unicodeEscape(raw []byte) (rune, int) {
	const size = len(`\u0000`)
	r := hex(raw)
	if !utf16.IsSurrogate(r) {
		return r, size
	}
	if len(raw) >= 2*size && raw[size] == '\\' && raw[size+1] == 'u' {
		if pair := utf16.DecodeRune(r, hex(raw[size:])); pair != utf8.RuneError {
			return pair, 2 * size
		}
	}
	return noRune, size
}

// hex reads the four digits of \u0000.
func hex(raw []byte) rune {
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return noRune // not in a valid document
	}
	return rune(n)
}
