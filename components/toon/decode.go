package toon

import (
	"errors"
	"fmt"
	"strings"
)

// decode reads a TOON text and returns the document as compact JSON, in which
// numbers keep their literals. It is as strict as the specification allows and
// reads what the encoder writes, and what the specification has around it:
// comments, blank lines, other delimiters, plain values at the root. Lists with
// a line per item and tables with a name per row are refused.
//
// It shares nothing with the encoder: it is what the encoder is checked with.
func decode(text string) ([]byte, error) {
	lines, err := splitLines(text)
	if err != nil {
		return nil, err
	}
	r := lineReader{lines: lines}
	switch {
	case len(lines) == 0:
		return []byte("{}"), nil
	case lines[0].depth > 0:
		return nil, lines[0].fault("is indented")
	case lines[0].text == "[]":
		r.at++
		r.out = append(r.out, "[]"...)
	case lines[0].text[0] == '[':
		r.at++
		err = r.array(lines[0], lines[0].text)
	case len(lines) == 1 && !isMember(lines[0].text):
		r.at++
		r.out, err = appendValue(r.out, lines[0].text)
	default:
		err = r.object(0)
	}
	if err != nil {
		return nil, err
	}
	if r.at < len(lines) {
		return nil, lines[r.at].fault("belongs to nothing")
	}
	return r.out, nil
}

// textLine is a line that says something, without its indentation.
type textLine struct {
	number, depth int
	text          string
	blankBefore   bool
}

func (l textLine) fault(format string, args ...any) error {
	return fmt.Errorf("line %d %s", l.number, fmt.Sprintf(format, args...))
}

// splitLines leaves out blank lines and comments and checks the indentation.
func splitLines(text string) ([]textLine, error) {
	var lines []textLine
	number, blank := 0, false
	for raw := range strings.SplitSeq(text, "\n") {
		number++
		raw = strings.TrimSuffix(raw, "\r")
		rest := strings.TrimLeft(raw, " ")
		indentation := len(raw) - len(rest)
		rest = strings.TrimRight(rest, " ")
		switch {
		case rest == "":
			blank = true
			continue
		case rest[0] == '#':
			continue
		}
		l := textLine{number: number, depth: indentation / 2, text: rest, blankBefore: blank}
		switch {
		case rest[0] == '\t':
			return nil, l.fault("is indented with a tab")
		case indentation%2 != 0:
			return nil, l.fault("is indented by %d blanks", indentation)
		}
		lines, blank = append(lines, l), false
	}
	return lines, nil
}

// isMember reports whether a line has a colon outside quotes.
func isMember(text string) bool {
	_, _, found := cut(text, ':')
	return found
}

// cut cuts a text at the first sep outside quotes.
func cut(text string, sep byte) (before, after string, found bool) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// lineReader turns lines into JSON, front to back.
type lineReader struct {
	lines []textLine
	at    int
	out   []byte
}

// object reads the members at one depth.
func (r *lineReader) object(depth int) error {
	r.out = append(r.out, '{')
	seen := map[string]bool{}
	for r.at < len(r.lines) && r.lines[r.at].depth == depth {
		l := r.lines[r.at]
		r.at++
		name, rest, err := splitKey(l)
		if err != nil {
			return err
		}
		if seen[name] {
			return l.fault("repeats the name %q", name)
		}
		if len(seen) > 0 {
			r.out = append(r.out, ',')
		}
		seen[name] = true
		if r.out, err = appendString(r.out, name); err != nil {
			return err
		}
		r.out = append(r.out, ':')
		if err := r.member(l, rest); err != nil {
			return err
		}
	}
	r.out = append(r.out, '}')
	return nil
}

// member reads what follows a name.
func (r *lineReader) member(l textLine, rest string) (err error) {
	if rest[0] == '[' {
		return r.array(l, rest)
	}
	switch value := strings.Trim(rest[1:], " "); value {
	case "":
		return r.object(l.depth + 1)
	case "[]":
		r.out = append(r.out, "[]"...)
	default:
		r.out, err = appendValue(r.out, value)
	}
	return err
}

// splitKey cuts a line into a name and what follows it, which begins with the
// colon or with the bracket of an array.
func splitKey(l textLine) (name, rest string, err error) {
	if l.text[0] == '"' {
		if name, rest, err = readQuoted(l.text); err != nil {
			return "", "", l.fault("%v", err)
		}
	} else {
		end := strings.IndexAny(l.text, `:["`)
		if end <= 0 {
			return "", "", l.fault("has no name with a colon")
		}
		name, rest = l.text[:end], l.text[end:]
	}
	if rest == "" || rest[0] != ':' && rest[0] != '[' {
		return "", "", l.fault("has no colon behind its name")
	}
	return name, rest, nil
}

// array reads an array whose line goes on with header: values on that line, or
// the rows of a table below it.
func (r *lineReader) array(l textLine, text string) error {
	h, err := parseHeader(text)
	if err != nil {
		return l.fault("%v", err)
	}
	if h.fields != nil {
		return r.table(l, h)
	}
	if h.rest == "" {
		if h.length > 0 {
			return l.fault("begins a list with a line per item, which is not read here")
		}
		r.out = append(r.out, "[]"...)
		return nil
	}
	items := splitCells(h.rest, h.delimiter)
	if len(items) != h.length {
		return l.fault("has %d items, not %d", len(items), h.length)
	}
	r.out = append(r.out, '[')
	for i, item := range items {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		if r.out, err = appendCell(r.out, item); err != nil {
			return l.fault("%v", err)
		}
	}
	r.out = append(r.out, ']')
	return nil
}

// table reads the rows below a header.
func (r *lineReader) table(head textLine, h header) error {
	if h.rest != "" {
		return head.fault("goes on behind the header of a table")
	}
	r.out = append(r.out, '[')
	rows := 0
	for ; r.at < len(r.lines) && r.lines[r.at].depth == head.depth+1; r.at++ {
		l := r.lines[r.at]
		if l.blankBefore && rows > 0 {
			return l.fault("follows a blank line inside a table")
		}
		if before, _, found := cut(l.text, ':'); found {
			if _, _, behind := cut(before, h.delimiter); !behind {
				return l.fault("is no row")
			}
		}
		if rows++; rows > h.length {
			return l.fault("is a row too many, there are to be %d", h.length)
		}
		if rows > 1 {
			r.out = append(r.out, ',')
		}
		cells, err := appendRecord(&r.out, h.fields, splitCells(l.text, h.delimiter))
		if err == nil && len(cells) > 0 {
			err = fmt.Errorf("has %d cells too many", len(cells))
		}
		if err != nil {
			return l.fault("%v", err)
		}
	}
	if rows != h.length {
		return head.fault("announces %d rows, there are %d", h.length, rows)
	}
	r.out = append(r.out, ']')
	return nil
}

// appendRecord writes one record and returns the cells that are left.
func appendRecord(out *[]byte, fields []field, cells []string) ([]string, error) {
	*out = append(*out, '{')
	for i, f := range fields {
		if i > 0 {
			*out = append(*out, ',')
		}
		var err error
		if *out, err = appendString(*out, f.name); err != nil {
			return nil, err
		}
		*out = append(*out, ':')
		switch {
		case f.group != nil:
			cells, err = appendRecord(out, f.group, cells)
		case len(cells) == 0:
			err = errors.New("has too few cells")
		default:
			*out, err = appendCell(*out, cells[0])
			cells = cells[1:]
		}
		if err != nil {
			return nil, err
		}
	}
	*out = append(*out, '}')
	return cells, nil
}
