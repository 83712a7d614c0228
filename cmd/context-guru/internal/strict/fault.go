package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxShown bounds how many faults an Error prints: the rest follows from the
// same few mistakes and would bury them.
const maxShown = 100

// Fault is one thing wrong with a document.
type Fault struct {
	// Line and Column count from 1. They are 0 where the parser does not tell.
	Line, Column int
	// Path leads to the value, as in store.redis.addresses[1]. It is empty for
	// the document as a whole.
	Path string
	// Problem says what is wrong, with the value at fault.
	Problem string
	// Cure says what to do about it.
	Cure string
}

// String renders the fault without its file.
func (f Fault) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:", f.Line)
	}
	if f.Column > 0 {
		fmt.Fprintf(&b, "%d:", f.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Problem)
	if f.Cure != "" {
		b.WriteString("; " + f.Cure)
	}
	return b.String()
}

// Error is every fault of one document, in the order of their places.
type Error struct {
	// File is the document's name.
	File string
	// Faults has at least one element.
	Faults []Fault
}

// Error prints one fault a line, each with file, line and column.
func (e *Error) Error() string {
	lines := make([]string, 0, min(len(e.Faults), maxShown)+1)
	for i, f := range e.Faults {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("%s: and %d more faults", e.File, len(e.Faults)-maxShown))
			break
		}
		text := f.String()
		if f.Line == 0 {
			text = " " + text
		}
		lines = append(lines, e.File+":"+text)
	}
	return strings.Join(lines, "\n")
}

// newError sorts the faults by place; a place keeps the order of discovery.
func newError(file string, faults []Fault) *Error {
	sorted := slices.Clone(faults)
	slices.SortStableFunc(sorted, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{File: file, Faults: sorted}
}
