package smartcrush

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/components/internal/rawjson"
)

const (
	// maxKeys is how many names and positions deep an array is looked for, in
	// the document and again in each string: lists come as the value of data or
	// items, or of items in data, and results of MCP stand in content[0].text.
	maxKeys = 3
	// maxStrings is how many strings deep an array is looked for.
	maxStrings = 2
	// minString is the least length of a string that is looked into.
	minString = 64
	// maxWrapper is how far into a text a document may begin: a line or two of
	// what a client or a script prints in front of a result.
	maxWrapper = 512
	// maxStarts is how many places are tried there.
	maxStarts = 8
)

// place is where the array is.
type place struct {
	doc   []byte // the document it stands in
	start int    // where it begins there
	size  int    // its length in bytes
	items int
	path  []string // names that lead to it
	outer []level  // from the text itself inwards

	docStart, docEnd int // the outermost document in the text
}

// level is a string that holds the document of the next level.
type level struct {
	doc     []byte
	content rawjson.Span // in doc, quotes left out
}

// find returns the longest array of at least least items.
func find(text string, least int) (place, bool) {
	doc := []byte(text)
	if rawjson.Opens(text) && json.Valid(doc) {
		f := finder{least: least}
		f.document(doc, 0, nil, nil, maxStrings)
		f.best.docEnd = len(strings.TrimRight(text, " \t\r\n"))
		return f.best, f.best.items > 0
	}
	tried := 0
	for at := 0; at < min(len(doc), maxWrapper) && tried < maxStarts; at++ {
		if c := doc[at]; c != '[' && c != '{' || at > 0 && !rawjson.Blank(doc[at-1]) {
			continue
		}
		tried++
		d := jsontext.NewDecoder(bytes.NewBuffer(doc[at:]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		value, err := d.ReadValue()
		if err != nil {
			continue
		}
		f := finder{least: least}
		f.document(doc[:at+len(value)], at, nil, nil, maxStrings)
		if f.best.items > 0 {
			f.best.docStart, f.best.docEnd = at, at+len(value)
			return f.best, true
		}
	}
	return place{}, false
}

// finder looks for the longest array.
type finder struct {
	least int
	best  place
}

func (f *finder) document(doc []byte, at int, path []string, outer []level, strings int) {
	f.value(doc, rawjson.SkipBlanks(doc, at), maxKeys, path, outer, strings)
}

// value looks at the value that begins at at.
func (f *finder) value(doc []byte, at, keys int, path []string, outer []level, strings int) {
	switch doc[at] {
	case '[':
		items, end := 0, at
		for item := range rawjson.Items(doc, at) {
			items, end = items+1, item.End
		}
		if items >= f.least {
			if size := end - at; size > f.best.size {
				f.best = place{doc: doc, start: at, size: size, items: items, path: append([]string(nil), path...), outer: append([]level(nil), outer...)}
			}
			return
		}
		if keys == 0 {
			return
		}
		for item := range rawjson.Items(doc, at) {
			f.value(doc, item.Start, keys-1, path, outer, strings)
		}
	case '{':
		if keys == 0 {
			return
		}
		for name, value := range rawjson.Members(doc, at) {
			if c := doc[value.Start]; c == '[' || c == '{' || c == '"' {
				f.value(doc, value.Start, keys-1, append(path, string(doc[name.Start+1:name.End-1])), outer, strings)
			}
		}
	case '"':
		f.inside(doc, rawjson.Span{Start: at + 1, End: rawjson.StringEnd(doc, at) - 1}, path, outer, strings)
	}
}

// inside looks into a string with this content.
func (f *finder) inside(doc []byte, content rawjson.Span, path []string, outer []level, strings int) {
	raw := doc[content.Start:content.End]
	if strings == 0 || len(raw) < minString || !rawjson.OpensInside(raw) {
		return
	}
	if inner, ok := rawjson.Text(raw); ok && json.Valid(inner) {
		f.document(inner, 0, path, append(outer, level{doc, content}), strings-1)
	}
}
