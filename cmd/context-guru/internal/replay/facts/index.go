package facts

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Index answers whether facts and lines can be read in some texts.
type Index struct {
	words map[string]bool
	lines map[string]bool
	whole string
}

// NewIndex reads the texts.
func NewIndex(texts ...string) *Index {
	x := &Index{words: map[string]bool{}, lines: map[string]bool{}}
	var whole strings.Builder
	for _, text := range texts {
		x.add(&whole, text)
		for range maxNesting {
			plain := unescape(text)
			if plain == text {
				break
			}
			x.add(&whole, plain)
			text = plain
		}
	}
	x.whole = whole.String()
	return x
}

func (x *Index) add(whole *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		line = Rendered(line)
		whole.WriteString(line)
		whole.WriteByte('\n')
		if line = strings.TrimSpace(line); line != "" {
			x.lines[line] = true
		}
		for word := range words(line) {
			x.words[word] = true
		}
	}
}

// Has reports whether a fact can be read as it is.
func (x *Index) Has(fact string) bool {
	if x.words[fact] {
		return true
	}
	for from := 0; ; {
		at := strings.Index(x.whole[from:], fact)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(fact)
		if alone(x.whole, start, end) {
			return true
		}
		from = start + 1
	}
}

// alone reports whether no word goes on beyond what stands from start to end.
func alone(text string, start, end int) bool {
	before := start == 0 || !isWordByte(text[start-1]) || !isWordByte(text[start])
	after := end == len(text) || !isWordByte(text[end]) || !isWordByte(text[end-1])
	return before && after
}

// HasPath reports whether a path can be read, as it is or, as in listings that
// name a folder once, its last element and its folder apart.
func (x *Index) HasPath(path string) bool {
	for {
		if x.Has(path) {
			return true
		}
		at := strings.LastIndexByte(path, '/')
		if at <= 0 || !x.Has(path[at+1:]) {
			return false
		}
		path = path[:at]
	}
}

// HasLine reports whether a line that ErrorLines returned can be read.
func (x *Index) HasLine(line string) bool {
	return x.lines[line] || strings.Contains(x.whole, line)
}

// unescape resolves the escapes of a JSON string wherever they stand, so that
// what a string holds can be read like any other text.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		size := 2
		switch c := text[at+1]; c {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'u':
			var r rune
			if r, size = character(text[at:]); size == 0 {
				r, size = 'u', 2
			}
			b.WriteRune(r)
		default:
			b.WriteString(text[at : at+2])
		}
		text = text[at+size:]
	}
}

// character reads the character that a text spells as \u and four digits, or as
// two of these, and returns its length there, 0 when there is none.
func character(text string) (r rune, size int) {
	unit := func(text string) rune {
		if len(text) < 6 || text[:2] != `\u` {
			return -1
		}
		n, err := strconv.ParseUint(text[2:6], 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	r = unit(text)
	switch {
	case r < 0:
		return 0, 0
	case utf16.IsSurrogate(r):
		if pair := utf16.DecodeRune(r, unit(text[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}
