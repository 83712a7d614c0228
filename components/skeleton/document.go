package skeleton

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/contextguru/contextguru/components/internal/syntax"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// document is a text that holds source code.
type document struct {
	ctx   context.Context //nolint:containedctx // lives as long as one call
	text  string
	lang  syntax.Language // of the whole text, or ""
	slots chan struct{}
	least int // size of a body that is worth leaving out, in bytes

	numbered bool // a reader can ask for lines by number
	lineZero int  // lines of the output in front of the text
}

// number finds out what the lines of the text are in the client's output.
func (d *document) number(s pipeline.Segment, frames []pipeline.Frame) {
	d.numbered = !s.Renumbered
	for _, f := range frames {
		d.lineZero += strings.Count(f.Before, "\n")
		d.numbered = d.numbered && f.Quote == nil
	}
}

// code is lines of source in a document.
type code struct {
	lang        syntax.Language
	first, last int      // of its lines in the document, the last excluded
	source      []string // without numbers, with line ends
	prefix      int      // bytes of a number in front of the lines, for the indentation of notes
	files       int      // number the first line has, or 0
}

// skeleton returns the text without bodies, up to where the marker belongs, or
// why there is none.
func (d *document) skeleton() (string, pipeline.Reason, error) {
	lines := strings.SplitAfter(d.text, "\n")
	var parts []code
	if d.lang != "" {
		parts = []code{whole(lines, d.lang)}
	} else {
		parts = fenced(lines)
	}
	if len(parts) == 0 {
		return "", reasonNoCode, nil
	}
	var b strings.Builder
	at, bodies, why := 0, 0, reasonNoBodies
	for i := range parts {
		found, clean, err := d.bodies(&parts[i])
		if err != nil {
			return "", "", err
		}
		if !clean {
			why = reasonUnclean
			continue
		}
		for _, body := range found {
			first, end := parts[i].first+body.First, parts[i].first+body.End
			writeLines(&b, lines[at:first])
			b.WriteString(d.note(lines, &parts[i], body))
			at = end
			bodies++
		}
	}
	if bodies == 0 {
		return "", why, nil
	}
	writeLines(&b, lines[at:])
	if !strings.HasSuffix(d.text, "\n") {
		b.WriteString("\n")
	}
	return b.String(), "", nil
}

// bodies returns what is left out of a source, and whether it is well formed
// with and without.
func (d *document) bodies(c *code) ([]syntax.Body, bool, error) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-d.ctx.Done():
		return nil, false, d.ctx.Err() //nolint:wrapcheck // the context's own
	}
	source := strings.Join(c.source, "")
	if len(wrapper.Reminders(source)) > 0 {
		return nil, false, nil // no part of it, and never left out
	}
	all, ok, err := syntax.Bodies(d.ctx, c.lang, source)
	if err != nil || !ok {
		return nil, ok, err //nolint:wrapcheck // says what it is about
	}
	var found []syntax.Body
	for _, body := range all {
		size := 0
		for _, line := range c.source[body.First:body.End] {
			size += len(line)
		}
		if size > 0 && size >= d.least {
			found = append(found, body)
		}
	}
	if len(found) == 0 {
		return nil, true, nil
	}
	var without strings.Builder
	at := 0
	for _, body := range found {
		writeLines(&without, c.source[at:body.First])
		if body.Stub != "" {
			without.WriteString(body.Stub + "\n")
		}
		at = body.End
	}
	writeLines(&without, c.source[at:])
	ok, err = syntax.Clean(d.ctx, c.lang, without.String())
	return found, ok, err //nolint:wrapcheck // says what it is about
}

// note is the line that stands for a body.
func (d *document) note(lines []string, c *code, body syntax.Body) string {
	opening := c.source[body.First]
	indent := strings.Repeat(" ", c.prefix) + opening[:len(opening)-len(strings.TrimLeft(opening, " \t"))]
	if strings.TrimSpace(opening) == "" {
		indent = strings.Repeat(" ", c.prefix)
	}
	count := body.End - body.First
	note := fmt.Sprintf("… (%s omitted)", plural(count))
	if d.numbered {
		first := d.lineZero + c.first + body.First + 1
		of := ""
		if c.files > 0 && first != c.files+body.First {
			of = "output "
		}
		if count == 1 {
			note += fmt.Sprintf(" %sline %d", of, first)
		} else {
			note += fmt.Sprintf(" %slines %d-%d", of, first, first+count-1)
		}
	}
	ending := "\n"
	switch last := lines[c.first+body.End-1]; {
	case strings.HasSuffix(last, "\r\n"):
		ending = "\r\n"
	case !strings.HasSuffix(last, "\n"):
		ending = ""
	}
	return indent + note + ending
}

func plural(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprint(lines, " lines")
}

func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString(line)
	}
}

// maxAround is how many lines without a number a listing may have in front of it
// and behind it: what a client says about the file.
const maxAround = 4

// whole returns a text that is all source: as it is, or a listing with numbers.
func whole(lines []string, lang syntax.Language) code {
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for first := range min(maxAround+1, len(lines)) {
		n, separator, ok := numberOf(lines[first])
		if !ok {
			continue
		}
		c := listing(lines[first:], lang, n, separator)
		if len(c.source) >= 2 && len(lines)-first-len(c.source) <= maxAround {
			c.first, c.last = first, first+len(c.source)
			return c
		}
	}
	return code{lang: lang, last: len(lines), source: lines}
}

// listing returns the lines that carry one number after the other.
func listing(lines []string, lang syntax.Language, n int, separator string) code {
	c := code{lang: lang, files: n}
	if separator == ":" { // with a blank behind it, if all have one
		separator = ": "
		for i, line := range lines {
			rest, ok := afterNumber(line, n+i)
			if !ok {
				break
			}
			if text := rest[min(1, len(rest)):]; strings.TrimSpace(text) != "" && text[0] != ' ' {
				separator = ":"
				break
			}
		}
	}
	for i, line := range lines {
		rest, ok := afterNumber(line, n+i)
		if !ok {
			break
		}
		source, ok := strings.CutPrefix(rest, separator)
		if !ok { // the blank behind it is gone
			if source, ok = strings.CutPrefix(rest, strings.TrimRight(separator, " ")); !ok || strings.TrimSpace(source) != "" {
				break
			}
		}
		c.prefix = max(c.prefix, len(line)-len(source))
		c.source = append(c.source, source)
	}
	return c
}

// afterNumber returns what stands behind a number, if a line begins with it.
func afterNumber(line string, n int) (string, bool) {
	rest := strings.TrimLeft(strings.TrimLeft(line, " "), "0")
	if n == 0 {
		rest = "0" + rest
	}
	return strings.CutPrefix(rest, strconv.Itoa(n))
}

// numberOf returns the number a line begins with, and what parts it from the
// text.
func numberOf(line string) (int, string, bool) {
	rest := strings.TrimLeft(line, " ")
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[:end])
	if err != nil || end > len("999999") {
		return 0, "", false
	}
	for _, separator := range []string{"\t", "→", "| ", "|", ":"} {
		if strings.HasPrefix(rest[end:], separator) {
			return n, separator, true
		}
	}
	return 0, "", false
}

// maxFences bounds the blocks that are looked at.
const maxFences = 64

// fenced returns the fenced blocks with the name of a language.
func fenced(lines []string) []code {
	var parts []code
	for i := 0; i < len(lines) && len(parts) < maxFences; i++ {
		mark, info := fence(lines[i])
		if mark == "" {
			continue
		}
		end := i + 1
		for end < len(lines) {
			if closing, after := fence(lines[end]); strings.HasPrefix(closing, mark) && after == "" {
				break
			}
			end++
		}
		if lang := syntax.OfFence(info); lang != "" && end < len(lines) {
			parts = append(parts, code{lang: lang, first: i + 1, last: end, source: lines[i+1 : end]})
		}
		i = end
	}
	return parts
}

// fence returns the mark of a line that opens or closes a block, and what stands
// behind it. Blocks that are indented belong to something else.
func fence(line string) (mark, info string) {
	for _, c := range []string{"`", "~"} {
		if strings.HasPrefix(line, c+c+c) {
			info = strings.TrimLeft(line, c)
			return line[:len(line)-len(info)], strings.TrimSpace(info)
		}
	}
	return "", ""
}
