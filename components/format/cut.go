package format

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/contextguru/contextguru/components/internal/rawjson"
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

// insignificant returns the white space of a document that means nothing, in
// order, or the reason why the text has none. It takes time linear in the
// length of the text for every string it goes down.
func insignificant(ctx context.Context, doc []byte, levels int) ([]rawjson.Span, pipeline.Reason) {
	if ctx.Err() != nil || !json.Valid(doc) {
		return nil, reasonNotJSON
	}
	// Pretty JSON has a run of blanks behind every line end and every colon;
	// more than this much room is made as it is needed.
	const atOnce = 1 << 12
	cuts := make([]rawjson.Span, 0, min(2*bytes.Count(doc, []byte{'\n'}), atOnce))
	depth := 0
	for i := 0; i < len(doc); {
		switch doc[i] {
		case ' ', '\t', '\r', '\n':
			end := rawjson.SkipBlanks(doc, i)
			cuts = append(cuts, rawjson.Span{Start: i, End: end})
			i = end
		case '"':
			end := rawjson.StringEnd(doc, i)
			if levels > 0 && end-i-2 >= minString && !rawjson.IsName(doc[end:]) {
				cuts = inString(ctx, cuts, doc, rawjson.Span{Start: i + 1, End: end - 1}, levels-1)
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

// inString adds the cuts for a document inside the string whose content is
// doc[content]. The string is not written anew: its pieces, characters and
// escapes, are kept or cut out whole.
func inString(ctx context.Context, cuts []rawjson.Span, doc []byte, content rawjson.Span, levels int) []rawjson.Span {
	raw := doc[content.Start:content.End]
	if !rawjson.OpensInside(raw) {
		return cuts
	}
	text, ok := rawjson.Text(raw)
	if !ok {
		return cuts
	}
	inner, reason := insignificant(ctx, text, levels)
	if reason != "" {
		return cuts
	}
	w := rawjson.NewWalker(raw)
	for _, cut := range inner {
		cuts = append(cuts, rawjson.Span{Start: content.Start + w.To(cut.Start), End: content.Start + w.To(cut.End)})
	}
	return cuts
}
