// Package toon writes JSON that holds tables as TOON, the Token-Oriented
// Object Notation: the names of an array of uniform objects once, in a header,
// and then one line per object.
//
//	[{"id":1,"name":"Alice"},{"id":2,"name":"Bob"}]
//
//	[2]{id,name}:
//	  1,Alice
//	  2,Bob
//
// What is written follows the published specification, version 4.0
// (github.com/toon-format/spec): tables at the root or under the names of
// objects, objects inside records as groups of columns, arrays of plain values
// on one line, a string in quotes wherever a reader could take it for
// something else. A document needs a table somewhere, or it is left alone:
// without one there is little to gain. Two things differ on purpose, so that
// nothing is lost: a number keeps its literal (1.0, 1e5, -0), and records whose
// names come in another order, or twice, are no table.
//
// What the specification has beyond that is not written: lists with a line per
// item (arrays that are ragged, mixed or hold arrays; the document is left
// alone), objects of uniform objects as tables with a name per row (they are
// written as nested objects, which every reader of TOON understands), other
// delimiters than the comma.
//
// Agents often see JSON inside a string of JSON, such as the text of an MCP
// result. Such a string is written as TOON in its place, a few strings deep,
// whether the document around it is a table or stays JSON.
//
// # When it is adopted
//
// The text is read back by a decoder that shares no code with the encoder, and
// every literal is compared: "5" is not 5, "" is not null, null is not absent,
// 1.0 is not 1. And it has to beat the compact form of the document, which is
// what format would give, whether format is there or not: this component
// compares an estimate of both (see pieces), and the pipeline counts the tokens
// of the text before and after. Behind format, the text before is the compact
// form, and the comparison exact.
package toon

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/internal/exact"
	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonFileRead pipeline.Reason = "file_read"
	reasonNotJSON  pipeline.Reason = "not_json"
	reasonNoTable  pipeline.Reason = "no_table"
	reasonCompact  pipeline.Reason = "compact_is_smaller"
)

// Config is the settings of toon.
type Config struct {
	// MinTokens is the least size of a tool output that is looked at, in tokens.
	MinTokens int `json:"min_tokens"`
	// Nested also takes records that hold objects, if alike in all records, and writes those as groups of columns.
	Nested bool `json:"nested"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error { return pipeline.AtLeast("min_tokens", c.MinTokens, 0) }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "toon",
		Kind:    pipeline.KindReformat,
		Summary: "Writes JSON arrays of uniform objects as TOON tables, which name every field once.",
	}, Config{MinTokens: 50, Nested: true}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return inside.Body(writer{c}), nil
	})
}

type writer struct{ Config }

// Rewrite implements pipeline.Component.
func (w writer) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	switch {
	case s.Tokens < w.MinTokens:
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	case !rawjson.Opens(s.Text):
		return pipeline.Decline(reasonNotJSON), nil
	case exact.ReadsFile(string(s.Tool), s.Args, s.Text):
		// Who edits the file next must see how it is written.
		return pipeline.Decline(reasonFileRead), nil
	}
	if err := ctx.Err(); err != nil {
		return pipeline.Edit{}, err
	}
	doc := []byte(s.Text)
	if !utf8.Valid(doc) || !json.Valid(doc) {
		return pipeline.Decline(reasonNotJSON), nil
	}
	text, reason := w.write(doc, maxStrings)
	if reason != "" {
		return pipeline.Decline(reason), nil
	}
	return pipeline.Replace(string(text), pipeline.Equivalence{Name: "the same JSON literals in the same order", Check: sameLiterals}), nil
}

// write writes a document and the documents in its strings, this many strings
// deep, wherever that makes something shorter.
func (w writer) write(doc []byte, levels int) ([]byte, pipeline.Reason) {
	inside, reason := w.inStrings(doc, levels)
	if reason == "" {
		doc = inside
	}
	text, ok := encode(doc, w.Nested)
	switch {
	case ok && pieces(text) <= pieces(rawjson.AppendCompact(nil, doc)):
		return text, ""
	case reason == "":
		return inside, ""
	case ok:
		return nil, reasonCompact
	default:
		return nil, reason
	}
}
