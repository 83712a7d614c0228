package smartcrush

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/pipeline"
)

// selection is which items stay.
type selection struct {
	keep   []bool
	kept   int
	errors []int // items that report an error and do not stay, in order
}

// cuts returns the spans to cut out: the items that do not stay, each run with
// the commas that belong to it.
func (s *selection) cuts(items []rawjson.Span) []rawjson.Span {
	var cuts []rawjson.Span
	for first := 0; first < len(items); first++ {
		if s.keep[first] {
			continue
		}
		behind := first
		for behind < len(items) && !s.keep[behind] {
			behind++
		}
		cut := rawjson.Span{Start: items[first].Start, End: items[behind-1].End}
		switch {
		case first > 0:
			cut.Start = items[first-1].End
		case behind < len(items):
			cut.End = items[behind].Start
		}
		cuts = append(cuts, cut)
		first = behind
	}
	return cuts
}

// outward maps spans of the innermost document to the text, through the
// strings around it.
func (p *place) outward(cuts []rawjson.Span) []rawjson.Span {
	for _, l := range slices.Backward(p.outer) {
		w := rawjson.NewWalker(l.doc[l.content.Start:l.content.End])
		for i, cut := range cuts {
			start := l.content.Start + w.To(cut.Start)
			cuts[i] = rawjson.Span{Start: start, End: l.content.Start + w.To(cut.End)}
		}
	}
	return cuts
}

// view is the text without the cuts; note and marker stand behind the document.
func (p *place) view(text string, cuts []rawjson.Span, note string) pipeline.Loss {
	var b strings.Builder
	at := 0
	for _, cut := range cuts {
		b.WriteString(text[at:cut.Start])
		at = cut.End
	}
	b.WriteString(text[at:p.docEnd])
	b.WriteByte(' ')
	b.WriteString(note)
	b.WriteByte(' ')
	return pipeline.Loss{Before: b.String(), After: text[p.docEnd:], Hint: pipeline.HintFullArray}
}

// note says how many items are shown, which are not, and which of those report
// errors.
func (s *selection) note(path []string) string {
	var omitted []int
	for i, keep := range s.keep {
		if !keep {
			omitted = append(omitted, i)
		}
	}
	note := fmt.Sprintf("[%s%d of %d items shown; %s omitted", where(path), s.kept, len(s.keep), name(omitted))
	if len(s.errors) > 0 {
		note += "; errors in " + name(s.errors)
	}
	return note + "]"
}

// maxPath is the length of the longest path a note shows.
const maxPath = 60

// where names the array in a document with others, if its path is made of
// plain names.
func where(path []string) string {
	joined := strings.Join(path, ".")
	plain := strings.Trim(joined, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
	if joined == "" || len(joined) > maxPath || !plain {
		return ""
	}
	return joined + ": "
}

// name lists items by their numbers, runs of them by the first and the last.
func name(items []int) string {
	var b strings.Builder
	b.WriteString("item")
	if len(items) > 1 {
		b.WriteByte('s')
	}
	for i := 0; i < len(items); {
		last := i
		for last+1 < len(items) && items[last+1] == items[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(items[i]))
		if last > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(items[last]))
		}
		i = last + 1
	}
	return b.String()
}
