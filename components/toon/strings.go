package toon

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/pipeline"
)

const (
	// maxStrings is how many strings deep documents are looked for, the same
	// as format does.
	maxStrings = 4
	// minString is the least length of a string that is looked into, quotes
	// not counted: a table of two short records has more.
	minString = 64
)

// inStrings writes the documents that strings of a document hold, in their
// places, and leaves every other byte. It takes time linear in the length of
// the text for every string it goes down.
func (w writer) inStrings(doc []byte, levels int) ([]byte, pipeline.Reason) {
	var out []byte
	at := 0
	reason := reasonNoTable
	for i := 0; levels > 0 && i < len(doc); {
		if doc[i] != '"' {
			i++
			continue
		}
		end := rawjson.StringEnd(doc, i)
		if content := doc[i+1 : end-1]; len(content) >= minString && !rawjson.IsName(doc[end:]) && rawjson.OpensInside(content) {
			switch text, why := w.inString(content, levels-1); why {
			case "":
				out = append(out, doc[at:i]...)
				out = append(out, text...)
				at = end
			case reasonCompact:
				reason = why
			}
		}
		i = end
	}
	if at == 0 {
		return nil, reason
	}
	return append(out, doc[at:]...), ""
}

// inString returns the string, quotes included, that stands for the one with
// this content.
func (w writer) inString(content []byte, levels int) ([]byte, pipeline.Reason) {
	doc, ok := rawjson.Text(content)
	if !ok || !json.Valid(doc) {
		return nil, reasonNotJSON
	}
	text, reason := w.write(doc, levels)
	if reason != "" {
		return nil, reason
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, reasonNotJSON // only for what is not UTF-8
	}
	return quoted, ""
}
