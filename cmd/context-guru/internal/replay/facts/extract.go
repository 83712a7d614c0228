package facts

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Lengths of facts, in bytes. Shorter ones turn up by chance; longer strings
// are prose, which is taken apart.
const (
	minString = 2
	maxString = 80
	minNumber = 2
	minDigits = 3
	minName   = 4
	maxWord   = 200
)

// maxNesting bounds how deep JSON documents inside JSON strings are followed.
const maxNesting = 3

// Find returns the facts of a text, each once, in the order they come. Of more
// than most it returns most, spread over the text.
func Find(text string, most int) []string {
	c := collector{seen: map[string]bool{}}
	c.text(text, 0)
	return spread(c.found, most)
}

// spread picks most of a list's elements, evenly.
func spread(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	picked := make([]string, 0, most)
	for i := range most {
		picked = append(picked, list[i*len(list)/most])
	}
	return picked
}

// collector gathers facts.
type collector struct {
	seen  map[string]bool
	found []string
}

func (c *collector) add(fact string) {
	if !c.seen[fact] {
		c.seen[fact] = true
		c.found = append(c.found, fact)
	}
}

// text reads a whole text: a document, or words.
func (c *collector) text(text string, depth int) {
	if depth < maxNesting && isDocument(text) && c.document(text, depth) {
		return
	}
	for line := range strings.Lines(text) {
		for word := range words(Rendered(line)) {
			if isFact(word) {
				c.add(word)
			}
		}
	}
}

// isDocument reports whether a text looks like one JSON object or list.
func isDocument(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) > 1 && (text[0] == '{' && text[len(text)-1] == '}' || text[0] == '[' && text[len(text)-1] == ']')
}

// document reads a JSON document and reports whether it is one.
func (c *collector) document(text string, depth int) bool {
	if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return true
		}
		switch token.Kind() {
		case '"':
			if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
				continue // a name
			}
			c.scalar(token.String(), depth)
		case '0':
			if literal := token.String(); len(literal) >= minNumber {
				c.add(literal)
			}
		default: // the rest says nothing in particular
		}
	}
}

// scalar reads a string of a document.
func (c *collector) scalar(text string, depth int) {
	switch {
	case len(text) < minString:
	case len(text) > maxString, isDocument(text), strings.ContainsAny(text, "\r\n\x1b"):
		c.text(text, depth+1)
	case strings.ContainsFunc(text, isWord):
		c.add(strings.TrimSpace(text))
	}
}

// isFact reports whether a word stands for one particular thing.
func isFact(word string) bool {
	if len(word) > maxWord || !utf8.ValidString(word) {
		return false
	}
	var digits, letters, underscores, slashes, dots, humps int
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '_':
			underscores++
		case c == '/':
			slashes++
		case c == '.' || c == '@':
			dots++
		case c >= 'A' && c <= 'Z' && i > 0 && word[i-1] >= 'a' && word[i-1] <= 'z':
			humps++
			letters++
		case isWordByte(c):
			letters++
		}
	}
	switch {
	case letters == 0:
		return slashes == 0 && digits >= minDigits
	case slashes > 0:
		return len(word) >= minName
	default:
		return len(word) >= minName && (underscores > 0 || humps > 0 || digits > 0 || dots > 0)
	}
}
