package rawjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// OpensInside reports whether the content of a string, its quotes left out,
// begins like an object or an array once decoded.
func OpensInside(content []byte) bool {
	opening := rune(0)
	for i, size := 0, 0; i < len(content); i += size {
		if opening, size = piece(content[i:]); opening >= utf8.RuneSelf || !Blank(byte(opening)) {
			break
		}
	}
	return opening == '{' || opening == '['
}

// Text decodes the content of a string, its quotes left out. It returns false
// when the string has no exact text: half a pair of surrogates, or bytes that
// are not UTF-8.
func Text(content []byte) ([]byte, bool) {
	text := make([]byte, 0, len(content))
	for rest := content; len(rest) > 0; {
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

// Walker finds where the bytes of a string's text are written in its content.
type Walker struct {
	content    []byte
	at, text   int // the same place in content and in the decoded text
	nextEscape int // first backslash at or behind at
}

// NewWalker returns a Walker at the beginning of a content that Text can decode.
func NewWalker(content []byte) *Walker { return &Walker{content: content} }

// To returns the place in the content of an offset into the decoded text. It
// only goes forward: offsets must not decrease from call to call.
func (w *Walker) To(offset int) int {
	for w.text < offset {
		if w.nextEscape < w.at || w.at == 0 {
			w.nextEscape = w.at + escapeIn(w.content[w.at:])
		}
		if n := min(w.nextEscape-w.at, offset-w.text); n > 0 {
			w.at, w.text = w.at+n, w.text+n // bytes that stand for themselves
			continue
		}
		r, size := piece(w.content[w.at:])
		w.at, w.text = w.at+size, w.text+utf8.RuneLen(r)
	}
	return w.at
}

// escapeIn returns the offset of the first escape, or the length.
func escapeIn(content []byte) int {
	if i := bytes.IndexByte(content, '\\'); i >= 0 {
		return i
	}
	return len(content)
}

// noRune stands for what is no character: half a pair of surrogates, or bytes
// that are not UTF-8.
const noRune rune = 0x7fffffff

// piece decodes the first character of a string's content and returns how many
// bytes it is written in.
func piece(content []byte) (rune, int) {
	if c := content[0]; c != '\\' {
		if c < utf8.RuneSelf {
			return rune(c), 1
		}
		r, size := utf8.DecodeRune(content)
		if r == utf8.RuneError && size == 1 {
			return noRune, 1
		}
		return r, size
	}
	switch content[1] {
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
		return unicodeEscape(content)
	default: // a quote, a slash or a backslash stands for itself
		return rune(content[1]), 2
	}
}

func unicodeEscape(content []byte) (rune, int) {
	const size = len(`\u0000`)
	r := hex(content)
	if !utf16.IsSurrogate(r) {
		return r, size
	}
	if len(content) >= 2*size && content[size] == '\\' && content[size+1] == 'u' {
		if pair := utf16.DecodeRune(r, hex(content[size:])); pair != utf8.RuneError {
			return pair, 2 * size
		}
	}
	return noRune, size
}

// hex reads the four digits of \u0000.
func hex(content []byte) rune {
	n, err := strconv.ParseUint(string(content[2:6]), 16, 16)
	if err != nil {
		return noRune // not in a valid document
	}
	return rune(n)
}
