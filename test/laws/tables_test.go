package laws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// sameTables checks that the second text is the first, a JSON document, as JSON
// or as TOON: the same names, numbers as they are written, strings by their
// text, all in the same order. A string that holds an object or an array may
// hold it as TOON, too.
func sameTables(before, after string) error { return sameValues(before, after, stringsDeep) }

func sameValues(before, after string, levels int) error {
	a, err := flatten(before)
	if err != nil {
		return err
	}
	b, err := flatten(after)
	if err != nil {
		if b, err = readTOON(after); err != nil {
			return err
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d tokens became %d", len(a), len(b))
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, isString := strings.CutPrefix(a[i], "s")
		y, alsoString := strings.CutPrefix(b[i], "s")
		if !isString || !alsoString || levels == 0 {
			return fmt.Errorf("token %d: %.60q became %.60q", i, a[i], b[i])
		}
		if err := sameValues(x, y, levels-1); err != nil {
			return fmt.Errorf("in the string of token %d: %w", i, err)
		}
	}
	return nil
}

// flatten lists the tokens of a JSON object or array: brackets, names after an
// n, strings after an s, other values as they are written.
func flatten(text string) (tokens []string, err error) {
	if open := strings.TrimLeft(text, " \t\r\n"); open == "" || open[0] != '{' && open[0] != '[' || !json.Valid([]byte(text)) {
		return nil, errors.New("no JSON object or array")
	}
	s := scan([]byte(text))
	for {
		t, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			return tokens, nil
		case err != nil:
			return nil, err
		case !t.isString():
			tokens = append(tokens, string(t.raw))
			continue
		}
		value, ok := exactText(t.raw)
		switch {
		case !ok: // as it is written, which TOON cannot
			tokens = append(tokens, string(t.raw))
		case t.name:
			tokens = append(tokens, "n"+value)
		default:
			tokens = append(tokens, "s"+value)
		}
	}
}

// toonReader reads what the specification of TOON allows an encoder to write
// with commas: objects, arrays on one line, tables with groups of columns. It
// panics with an error on anything else.
type toonReader struct {
	lines  []string
	tokens []string
}

type toonError struct{ error }

func readTOON(text string) (tokens []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			failed, ok := p.(toonError)
			if !ok {
				panic(p)
			}
			err = failed.error
		}
	}()
	r := toonReader{lines: strings.Split(text, "\n")}
	if strings.HasPrefix(text, "[") {
		r.array(r.lines[0], 0)
	} else {
		r.object(0)
	}
	if len(r.lines) > 0 {
		fail("line %q belongs nowhere", r.lines[0])
	}
	return r.tokens, nil
}

func fail(format string, args ...any) {
	panic(toonError{fmt.Errorf("not TOON: "+format, args...)})
}

func (r *toonReader) put(tokens ...string) { r.tokens = append(r.tokens, tokens...) }

// object reads the lines at a depth.
func (r *toonReader) object(depth int) {
	indent := strings.Repeat("  ", depth)
	r.put("{")
	for len(r.lines) > 0 && strings.HasPrefix(r.lines[0], indent) {
		line := r.lines[0][len(indent):]
		if strings.HasPrefix(line, " ") || line == "" {
			fail("line %q stands at no depth", r.lines[0])
		}
		name, rest := key(line)
		r.put("n" + name)
		switch value, scalar := strings.CutPrefix(rest, ": "); {
		case strings.HasPrefix(rest, "["):
			r.array(rest, depth)
		case rest == ":":
			r.lines = r.lines[1:]
			r.object(depth + 1)
		case rest == ": []":
			r.lines = r.lines[1:]
			r.put("[", "]")
		case scalar:
			r.lines = r.lines[1:]
			r.put(scalarToken(value))
		default:
			fail("line %q has no value", line)
		}
	}
	r.put("}")
}

// array reads an array whose header ends the first line.
func (r *toonReader) array(header string, depth int) {
	r.lines = r.lines[1:]
	length, rest, ok := strings.Cut(header[1:], "]")
	n, err := strconv.Atoi(length)
	if !ok || err != nil {
		fail("header %q", header)
	}
	r.put("[")
	defer r.put("]")
	if items, ok := strings.CutPrefix(rest, ": "); ok {
		cells := split(items)
		if len(cells) != n {
			fail("%d items, not %d", len(cells), n)
		}
		for _, c := range cells {
			r.put(scalarToken(c))
		}
		return
	}
	if !strings.HasPrefix(rest, "{") || !strings.HasSuffix(rest, "}:") {
		fail("header %q", header)
	}
	columns := strings.TrimSuffix(rest, ":")
	indent := strings.Repeat("  ", depth+1)
	for range n {
		if len(r.lines) == 0 || !strings.HasPrefix(r.lines[0], indent) {
			fail("less than %d rows", n)
		}
		cells := split(r.lines[0][len(indent):])
		r.lines = r.lines[1:]
		if end := r.record(columns, &cells); end != "" || len(cells) > 0 {
			fail("%d cells too many, %q", len(cells), end)
		}
	}
}

// record reads the cells of one object and returns what follows its columns.
func (r *toonReader) record(columns string, cells *[]string) string {
	r.put("{")
	for columns[0] == '{' || columns[0] == ',' {
		name, rest := key(columns[1:])
		r.put("n" + name)
		if strings.HasPrefix(rest, "{") {
			rest = r.record(rest, cells)
		} else {
			if len(*cells) == 0 {
				fail("no cell for %q", name)
			}
			r.put(scalarToken((*cells)[0]))
			*cells = (*cells)[1:]
		}
		if columns = rest; columns == "" {
			fail("columns never end")
		}
	}
	if columns[0] != '}' {
		fail("columns %q", columns)
	}
	r.put("}")
	return columns[1:]
}

// key reads a name and returns what follows it.
func key(text string) (name, rest string) {
	if strings.HasPrefix(text, `"`) {
		end := closing(text)
		return unquote(text[:end]), text[end:]
	}
	end := strings.IndexAny(text, ":[{,}")
	if end <= 0 {
		fail("name of %q", text)
	}
	return text[:end], text[end:]
}

// closing returns where the string that a text begins with ends.
func closing(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	fail("string %q never ends", text)
	return 0
}

func unquote(quoted string) string {
	text, ok := exactText([]byte(quoted))
	if !ok {
		fail("string %q", quoted)
	}
	return text
}

// split splits a line at the commas outside of strings.
func split(line string) (cells []string) {
	for {
		end := 0
		if strings.HasPrefix(line, `"`) {
			end = closing(line)
		} else if end = strings.IndexByte(line, ','); end < 0 {
			end = len(line)
		}
		cells = append(cells, line[:end])
		if end == len(line) {
			return cells
		}
		if line[end] != ',' {
			fail("%q behind a string", line[end:])
		}
		line = line[end+1:]
	}
}

// scalarToken reads a value: a string in quotes, a literal of JSON, or a string
// without quotes, which must not look like anything else.
func scalarToken(text string) string {
	switch {
	case strings.HasPrefix(text, `"`) && closing(text) == len(text):
		return "s" + unquote(text)
	case slices.Contains([]string{"true", "false", "null"}, text), json.Valid([]byte(text)) && text != "" && text[0] != '"' && text[0] != '{' && text[0] != '[':
		return strings.TrimSpace(text)
	case text == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, `:"\[]{},`) || text[0] == '-' || text[0] == '#':
		fail("string %q without quotes", text)
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		fail("string %q without quotes looks like a number", text)
	}
	return "s" + text
}
