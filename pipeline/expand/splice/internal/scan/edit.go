package scan

import (
	"slices"
	"strconv"
)

// Edit replaces a part of a document.
type Edit struct {
	Start, End int
	New        []byte
}

// Number returns the edit that puts a number in the place of a value.
func Number(start, end int, n int64) Edit {
	return Edit{start, end, strconv.AppendInt(nil, n, 10)}
}

// Drop returns the edit that takes out the member that begins at first and ends
// at end, with one of the commas beside it.
func Drop(doc []byte, first, end int) Edit {
	if next := blanks(doc, end); next < len(doc) && doc[next] == ',' {
		return Edit{Start: first, End: blanks(doc, next+1)}
	}
	for at := first - 1; at >= 0; at-- {
		switch doc[at] {
		case ' ', '\n', '\r', '\t':
			continue
		case ',':
			return Edit{Start: at, End: end}
		default:
			return Edit{Start: first, End: end}
		}
	}
	return Edit{Start: first, End: end}
}

// Apply appends a document with edits made, in whatever order they come. They
// must not overlap.
func Apply(out, doc []byte, edits ...Edit) []byte {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
	at := 0
	for _, e := range edits {
		out = append(append(out, doc[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(out, doc[at:]...)
}

// Set returns an object with a member of another value, put at its end if it has
// none of that name. Of several it changes the last one. What is no object comes
// back as it is.
func Set(doc []byte, name string, value []byte) []byte {
	old, at := Get(doc, name)
	if old != nil {
		return Apply(nil, doc, Edit{at, at + len(old), value})
	}
	it := Open(doc, 0)
	if !it.Object() {
		return doc
	}
	some := false
	for it.Next() {
		some = true
	}
	if it.bad {
		return doc
	}
	var member []byte
	if some {
		member = append(member, ',')
	}
	member = append(Quote(member, name), ':')
	member = append(member, value...)
	return Apply(nil, doc, Edit{it.at - 1, it.at - 1, member})
}

// SetPath does the same along a path of objects that are there.
func SetPath(doc []byte, value []byte, names ...string) []byte {
	if len(names) > 1 {
		inner, _ := Get(doc, names[0])
		if inner == nil {
			return doc
		}
		value = SetPath(inner, value, names[1:]...)
	}
	return Set(doc, names[0], value)
}

// Without returns an object without its members of a name. If it has none, or
// is no object, it comes back as it is.
func Without(doc []byte, name string) []byte {
	it := Open(doc, 0)
	if !it.Object() {
		return doc
	}
	var (
		kept  []byte
		found bool
		first = it.at
	)
	for it.Next() {
		if string(it.Name) == name {
			found = true
			continue
		}
		if kept != nil {
			kept = append(kept, ',')
		}
		kept = append(kept, doc[it.First:it.End]...)
	}
	if !found || it.bad {
		return doc
	}
	return Apply(nil, doc, Edit{first, it.at - 1, kept})
}

// Join appends an array of values.
func Join(out []byte, values [][]byte) []byte {
	out = append(out, '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
