package expand

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DefaultWindow is how many bytes a model reads at once if nothing else is said:
// about 16,000 tokens, and more than the outputs that clients send whole.
const DefaultWindow = 64 << 10

// part is a run of lines of a text.
type part struct {
	text        string
	first, last int
}

// ends keeps the first head and the last tail lines of a window, or all of them
// when there is no limit or nothing lies between.
func ends(window string, first, last, head, tail int) []part {
	switch {
	case head+tail == 0, head+tail > last-first:
		return []part{{window, first, last}}
	case tail == 0:
		return []part{{headLines(window, head), first, first + head - 1}}
	case head == 0:
		return []part{{tailLines(window, tail), last - tail + 1, last}}
	default:
		return []part{
			{headLines(window, head), first, first + head - 1},
			{tailLines(window, tail), last - tail + 1, last},
		}
	}
}

// place is where reading goes on.
type place struct {
	id          string
	line        int // the line, from 1
	byte        int // the byte of it, from 0
	last, total int // the last line that was asked for, and of the whole text
}

// String is the place as an id with selectors.
func (p *place) String() string {
	s := fmt.Sprintf("%s:%d-%d", p.id, p.line, p.last)
	if p.byte > 0 {
		s += fmt.Sprintf("@%d", p.byte)
	}
	return s
}

// fit writes the parts down, as far as they fit into so many bytes. Reading
// starts at a place.
func (s *Selection) fit(parts []part, at place, most int) {
	var b strings.Builder
	var shown []string
	rest := false
	for i, p := range parts {
		if i > 0 {
			fmt.Fprintf(&b, "[lines %d-%d left out]\n", parts[i-1].last+1, p.first-1)
		}
		if p.first != at.line {
			at.line, at.byte = p.first, 0
		}
		start := at
		text := p.text
		if left := most - b.Len(); len(text) > left {
			text = text[:cut(text, max(left, 1))]
			at.pass(text)
			rest, s.Short = true, true
			p.last = at.line
			if at.byte == 0 {
				p.last--
			}
		}
		b.WriteString(text)
		note := fmt.Sprintf("%d-%d", p.first, p.last)
		if start.byte > 0 {
			note += fmt.Sprintf(" from byte %d of line %d", start.byte, start.line)
		}
		shown = append(shown, note)
		if rest {
			break
		}
	}
	s.Text = b.String()
	s.Note = fmt.Sprintf("lines %s of %d", strings.Join(shown, " and "), at.total)
	if rest {
		s.Note += "; the rest is " + at.String()
	}
}

// pass moves the place behind a text that was shown.
func (p *place) pass(text string) {
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		p.line += strings.Count(text, "\n")
		p.byte = len(text) - at - 1
		return
	}
	p.byte += len(text)
}

// cut returns how much of a text to show: whole lines if that is at least half
// of what could be shown, else whole characters.
func cut(text string, most int) int {
	if at := strings.LastIndexByte(text[:most], '\n') + 1; at > most/2 {
		return at
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end > 0 {
		return end
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}
