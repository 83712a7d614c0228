package toon

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/contextguru/contextguru/components/internal/rawjson"
)

// maxDepth is how deep objects may nest, in the document and in a record.
// Results of tools nest a handful deep; every level costs two blanks a line.
const maxDepth = 32

// encoder writes a valid document as it reads it, in one pass: whatever does
// not fit ends it.
type encoder struct {
	doc    []byte
	at     int
	out    []byte
	nested bool
	tables int
}

// encode returns the TOON text of a valid document, and false when the
// document holds no table or something that cannot be written.
func encode(doc []byte, nested bool) ([]byte, bool) {
	e := encoder{doc: doc, at: rawjson.SkipBlanks(doc, 0), out: make([]byte, 0, len(doc)/2), nested: nested}
	ok := false
	switch doc[e.at] {
	case '[':
		ok = e.array(0)
	case '{':
		ok = e.object(0)
	}
	return e.out, ok && e.tables > 0
}

// skip steps over a byte of syntax and the white space around it.
func (e *encoder) skip() { e.at = rawjson.SkipBlanks(e.doc, e.at+1) }

// next steps to the next item of a container, and returns false behind its
// closing bracket.
func (e *encoder) next() bool {
	e.at = rawjson.SkipBlanks(e.doc, e.at)
	if e.doc[e.at] == ',' {
		e.skip()
		return true
	}
	e.at++
	return false
}

// enter steps into a container, and returns false behind an empty one.
func (e *encoder) enter() bool {
	e.skip()
	if c := e.doc[e.at]; c == ']' || c == '}' {
		e.at++
		return false
	}
	return true
}

// literal reads a name or a plain value.
func (e *encoder) literal() []byte {
	start := e.at
	e.at = rawjson.ValueEnd(e.doc, start)
	return e.doc[start:e.at]
}

// name reads a name and the colon behind it.
func (e *encoder) name() []byte {
	name := e.literal()
	e.at = rawjson.SkipBlanks(e.doc, e.at)
	e.skip()
	return name
}

func (e *encoder) opens() byte {
	if c := e.doc[e.at]; c == '{' || c == '[' {
		return c
	}
	return 0
}

// object writes the members of an object, a line each.
func (e *encoder) object(depth int) bool {
	if depth > maxDepth {
		return false
	}
	var seen names
	for more := e.enter(); more; more = e.next() {
		if len(e.out) > 0 {
			e.out = append(e.out, '\n')
		}
		e.indent(depth)
		name, ok := unquoted(e.name())
		if !ok || !seen.add(name) {
			return false
		}
		e.out = appendKey(e.out, name)
		switch e.opens() {
		case '{':
			e.out = append(e.out, ':')
			ok = e.object(depth + 1)
		case '[':
			ok = e.array(depth)
		default:
			e.out = append(e.out, ": "...)
			ok = e.scalar()
		}
		if !ok {
			return false
		}
	}
	return true
}

func (e *encoder) indent(depth int) {
	for range depth {
		e.out = append(e.out, "  "...)
	}
}

func (e *encoder) scalar() bool {
	var ok bool
	e.out, ok = appendScalar(e.out, e.literal())
	return ok
}

// array writes an array behind its key: a table, or plain values on one line.
func (e *encoder) array(depth int) bool {
	if !e.enter() {
		e.out = append(e.out, ": []"...)
		return true
	}
	switch e.opens() {
	case '{':
		return e.table(depth)
	case 0:
		return e.inline()
	default:
		return false
	}
}

// inline writes an array of plain values.
func (e *encoder) inline() bool {
	e.out = append(e.out, '[')
	count, items := len(e.out), 0
	e.out = append(e.out, "]:"...)
	for more := true; more; more = e.next() {
		separator := byte(',')
		if items == 0 {
			separator = ' '
		}
		e.out = append(e.out, separator)
		if e.opens() != 0 || !e.scalar() {
			return false
		}
		items++
	}
	e.count(count, items)
	return true
}

// count puts a number where it belongs once it is known.
func (e *encoder) count(at, n int) {
	e.out = slices.Insert(e.out, at, strconv.AppendInt(nil, int64(n), 10)...)
}

// table writes an array of uniform objects.
func (e *encoder) table(depth int) bool {
	first := e.at
	columns, ok := e.columns(0)
	if !ok {
		return false
	}
	e.at = first
	e.out = append(e.out, '[')
	count, rows := len(e.out), 0
	e.out = append(e.out, ']')
	e.out = appendColumns(e.out, columns)
	e.out = append(e.out, ':')
	for more := true; more; more = e.next() {
		e.out = append(e.out, '\n')
		e.indent(depth + 1)
		if e.opens() != '{' || !e.row(columns, true) {
			return false
		}
		rows++
	}
	e.count(count, rows)
	e.tables++
	return true
}

// column is a column of a table, or a group of them.
type column struct {
	raw   []byte // the name as the document has it, quotes included
	name  []byte
	group []column
}

// columns reads the columns from the first record.
func (e *encoder) columns(depth int) ([]column, bool) {
	if depth > maxDepth || !e.enter() {
		return nil, false // an empty record has no cells
	}
	var columns []column
	var seen names
	for more := true; more; more = e.next() {
		c := column{raw: e.name()}
		var ok bool
		if c.name, ok = unquoted(c.raw); !ok || !seen.add(c.name) {
			return nil, false
		}
		switch e.opens() {
		case '{':
			if !e.nested {
				return nil, false
			}
			if c.group, ok = e.columns(depth + 1); !ok {
				return nil, false
			}
		case '[':
			return nil, false
		default:
			e.literal()
		}
		columns = append(columns, c)
	}
	return columns, true
}

func appendColumns(out []byte, columns []column) []byte {
	out = append(out, '{')
	for i, c := range columns {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendKey(out, c.name)
		if c.group != nil {
			out = appendColumns(out, c.group)
		}
	}
	return append(out, '}')
}

// row writes the cells of a record, which must have these columns, all of them
// and in this order. first says that nothing of the row is written yet.
func (e *encoder) row(columns []column, first bool) bool {
	if !e.enter() {
		return false
	}
	for i, c := range columns {
		if i > 0 && !e.next() || !bytes.Equal(e.name(), c.raw) {
			return false
		}
		if c.group != nil {
			if e.opens() != '{' || !e.row(c.group, first) {
				return false
			}
			first = false
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		if e.opens() != 0 || !e.scalar() {
			return false
		}
	}
	return !e.next()
}

// unquoted decodes a name.
func unquoted(raw []byte) ([]byte, bool) {
	content := raw[1 : len(raw)-1]
	if bytes.IndexByte(content, '\\') < 0 {
		return content, true // of a document that is valid UTF-8
	}
	return rawjson.Text(content)
}

// names notices a name that is repeated in one object.
type names struct {
	few  [][]byte
	many map[string]bool
}

// fewNames is up to how many names a list is quicker than a map.
const fewNames = 12

// add returns false when the name is there already.
func (n *names) add(name []byte) bool {
	if n.many == nil {
		for _, other := range n.few {
			if bytes.Equal(other, name) {
				return false
			}
		}
		if n.few = append(n.few, name); len(n.few) <= fewNames {
			return true
		}
		n.many = make(map[string]bool, 2*fewNames)
		for _, other := range n.few {
			n.many[string(other)] = true
		}
		return true
	}
	if n.many[string(name)] {
		return false
	}
	n.many[string(name)] = true
	return true
}
