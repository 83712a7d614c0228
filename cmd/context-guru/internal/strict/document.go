package strict

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a parsed file and the faults found in it so far.
type Document struct {
	file   string
	root   *yaml.Node // nil when the file is empty
	faults []Fault
}

// Block is a part of a document: the whole of it or what stands under one key.
type Block struct {
	doc  *Document
	node *yaml.Node // nil when the part is empty
	key  *yaml.Node // nil for the root and for list elements
	path string
}

// Parse reads a document. The error is an [*Error] that says why the text is
// no YAML at all; every other fault is collected and given by [Document.Err].
func Parse(file string, data []byte) (*Document, error) {
	root, fault := parse(data)
	if fault != nil {
		return nil, newError(file, []Fault{*fault})
	}
	d := &Document{file: file, root: root}
	if root != nil {
		d.structure(root, "", 0)
	}
	return d, nil
}

// Root is the whole document.
func (d *Document) Root() Block { return Block{doc: d, node: d.root} }

// Err returns the faults collected so far as an [*Error], or nil.
func (d *Document) Err() error {
	if len(d.faults) == 0 {
		return nil
	}
	return newError(d.file, d.faults)
}

// Find returns the part a path of keys (string) and indexes (int) leads to. A
// part that does not exist is an empty block.
func (b Block) Find(steps ...any) (Block, bool) {
	found := true
	for _, step := range steps {
		var ok bool
		b, ok = b.child(step)
		found = found && ok
	}
	return b, found
}

// Keys lists the keys of a mapping in their order, each once.
func (b Block) Keys() []string {
	var keys []string
	for key := range b.pairs() {
		keys = append(keys, key)
	}
	return keys
}

// pairs yields the entries of a mapping. Of a key written twice it yields the first.
func (b Block) pairs() iter.Seq2[string, Block] {
	return func(yield func(string, Block) bool) {
		if b.node == nil || b.node.Kind != yaml.MappingNode {
			return
		}
		seen := make(map[string]bool, len(b.node.Content)/2)
		for i := 0; i+1 < len(b.node.Content); i += 2 {
			k := b.node.Content[i]
			if !plainKey(k) || seen[k.Value] {
				continue
			}
			seen[k.Value] = true
			child := Block{doc: b.doc, key: k, node: b.node.Content[i+1], path: joinKey(b.path, k.Value)}
			if !yield(k.Value, child) {
				return
			}
		}
	}
}

// Report collects a fault of the value at a path below b. A value the document
// does not hold is reported where it would stand.
func (b Block) Report(problem, cure string, steps ...any) {
	b.ReportNear(b, problem, cure, steps...)
}

// ReportNear is Report for a value whose absence is wrong because of what
// another block says: it is reported there.
func (b Block) ReportNear(other Block, problem, cure string, steps ...any) {
	place, missing := b, b.node == nil && b.key == nil && b.path != ""
	for _, step := range steps {
		next, ok := place.child(step)
		if missing = missing || !ok; missing {
			next.node, next.key = place.node, place.key // the deepest part that exists
		}
		place = next
	}
	line, column := place.position()
	if missing && other.doc != nil && other.path != b.path {
		line, column = other.position()
	}
	b.doc.faults = append(b.doc.faults, Fault{Line: line, Column: column, Path: place.path, Problem: problem, Cure: cure})
}

// ReportKey collects a fault of a key below b, where the name is wrong and not the value.
func (b Block) ReportKey(problem, cure, key string) {
	child, ok := b.child(key)
	if !ok {
		b.Report(problem, cure, key)
		return
	}
	b.doc.add(child.key, child.path, problem, cure)
}

// Faulted reports whether a fault was found at a path below b or deeper, so
// that the value in force there is not the one that was written.
func (b Block) Faulted(steps ...any) bool {
	place := b
	for _, step := range steps {
		place, _ = place.child(step)
	}
	for _, f := range b.doc.faults {
		rest, under := strings.CutPrefix(f.Path, place.path)
		if under && (rest == "" || place.path == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// child goes one step down. Where there is nothing, the block has a path and no node.
func (b Block) child(step any) (Block, bool) {
	switch step := step.(type) {
	case string:
		next := Block{doc: b.doc, path: joinKey(b.path, step)}
		if b.node == nil || b.node.Kind != yaml.MappingNode {
			return next, false
		}
		for i := 0; i+1 < len(b.node.Content); i += 2 {
			if k := b.node.Content[i]; plainKey(k) && k.Value == step {
				next.key, next.node = k, b.node.Content[i+1]
				return next, true
			}
		}
		return next, false
	case int:
		next := Block{doc: b.doc, path: joinIndex(b.path, step)}
		if b.node == nil || b.node.Kind != yaml.SequenceNode || step < 0 || step >= len(b.node.Content) {
			return next, false
		}
		next.node = b.node.Content[step]
		return next, true
	default:
		return Block{doc: b.doc, path: joinKey(b.path, fmt.Sprint(step))}, false
	}
}

// position is the value of a scalar and the key of everything larger, which is
// where a reader looks.
func (b Block) position() (line, column int) {
	n := b.node
	if n == nil || b.key != nil && n.Kind != yaml.ScalarNode {
		n = b.key
	}
	if n == nil {
		return 1, 1
	}
	return n.Line, n.Column
}

// maxPathPart bounds what one key adds to a path.
const maxPathPart = 64

func joinKey(path, key string) string {
	if key == "" || len(key) > maxPathPart || strings.ContainsFunc(key, special) {
		return path + "[" + strconv.Quote(cut(key, maxPathPart)) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func joinIndex(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func special(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if i > n {
			break
		}
		if i > n-4 {
			return s[:i] + "…"
		}
	}
	return s[:n]
}
