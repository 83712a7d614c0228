// Package inside lets components see what they work on through what clients and
// servers put around it.
//
// [Lines] is for components that work on lines: the output of a command that is
// a string in JSON ({"stdout":"…\n…","exit_code":0}, the text of an MCP result)
// is handed to them as the lines it has, and what they decide is written back
// into the string. [Body] is for components that work on a whole document: it is
// handed to them without the header and the trailer of a client.
package inside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

const (
	// minLines is the least number of line ends in a string that makes it one of
	// lines.
	minLines = 3
	// share is the reciprocal of the part of the document the string has to be:
	// it is what the call was made for.
	share = 2
	// maxStrings is how many strings deep the lines are looked for.
	maxStrings = 2
)

// Lines returns a component that sees the lines in a string of JSON.
func Lines(c pipeline.Component) pipeline.Component { return liner{c} }

type liner struct{ pipeline.Component }

// Rewrite implements pipeline.Component.
func (l liner) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	text, frames := open(s.Text, maxStrings)
	if len(frames) == 0 {
		return l.Component.Rewrite(ctx, v, s)
	}
	// Whoever reads the original sees one line: no number leads anywhere.
	s.Text, s.Renumbered = text, true
	edit, err := l.Component.Rewrite(ctx, v, s)
	if err != nil {
		return pipeline.Edit{}, err
	}
	for _, f := range frames {
		edit = edit.Within(f)
	}
	return edit, nil
}

// Split returns what of an output the command wrote, and what stands around it,
// innermost first; without anything around it, the text. What is left has no
// reminders in it.
func Split(text string) (string, []pipeline.Frame) {
	if inner, frames := open(text, maxStrings); len(frames) > 0 {
		return inner, frames
	}
	before, body, after, ok := wrapper.Parts(text)
	if !ok || len(wrapper.Reminders(body)) > 0 {
		return text, nil
	}
	return body, []pipeline.Frame{{Before: before, After: after}}
}

// open returns the lines in a document and what stands around them, innermost
// first.
func open(text string, levels int) (string, []pipeline.Frame) {
	if levels == 0 || !rawjson.Opens(text) {
		return text, nil
	}
	doc := []byte(text)
	if !json.Valid(doc) {
		return text, nil
	}
	content := longest(doc)
	if content.Len()*share < len(doc) {
		return text, nil
	}
	raw := doc[content.Start:content.End]
	if n := bytes.Count(raw, []byte(`\n`)); n < minLines && !rawjson.OpensInside(raw) {
		return text, nil
	}
	decoded, ok := rawjson.Text(raw)
	if !ok {
		return text, nil
	}
	frame := pipeline.Frame{Before: text[:content.Start], After: text[content.End:], Quote: quote, Unquote: unquote}
	if rawjson.OpensInside(raw) && json.Valid(decoded) {
		inner, frames := open(string(decoded), levels-1)
		if len(frames) == 0 {
			return text, nil // a document, and others look after those
		}
		return inner, append(frames, frame)
	}
	return string(decoded), []pipeline.Frame{frame}
}

// longest returns the content of the longest string that is no name.
func longest(doc []byte) (best rawjson.Span) {
	for i := 0; i < len(doc); {
		if doc[i] != '"' {
			i++
			continue
		}
		end := rawjson.StringEnd(doc, i)
		if content := (rawjson.Span{Start: i + 1, End: end - 1}); content.Len() > best.Len() && !rawjson.IsName(doc[end:]) {
			best = content
		}
		i = end
	}
	return best
}

func quote(part string) string {
	quoted, err := jsontext.AppendQuote(nil, part)
	if err != nil {
		return "" // only for what is not UTF-8, which no text is
	}
	return string(quoted[1 : len(quoted)-1])
}

func unquote(quoted string) (string, error) {
	text, err := jsontext.AppendUnquote(nil, `"`+quoted+`"`)
	if err != nil {
		return "", errors.New("what stands in the string is none")
	}
	return string(text), nil
}

// Body returns a component that sees the document in a text without what a
// client put around it.
func Body(c pipeline.Component) pipeline.Component { return opener{c} }

type opener struct{ pipeline.Component }

// Rewrite implements pipeline.Component.
func (o opener) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	before, body, after, ok := wrapper.Parts(s.Text)
	if !ok || !rawjson.Opens(body) {
		return o.Component.Rewrite(ctx, v, s)
	}
	s.Text = body
	edit, err := o.Component.Rewrite(ctx, v, s)
	if err != nil {
		return pipeline.Edit{}, err
	}
	return edit.Within(pipeline.Frame{Before: before, After: after}), nil
}
