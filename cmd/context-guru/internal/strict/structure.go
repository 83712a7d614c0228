package strict

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds nesting. The deepest setting has depth 5.
const maxDepth = 32

const (
	noAlias   = "anchors, aliases and merge keys are not supported"
	aliasCure = "write the value out"
)

// structure collects the faults that need no type to be seen: anchors, aliases,
// merge keys, tags, keys that are no text, keys written twice, depth.
func (d *Document) structure(n *yaml.Node, path string, depth int) {
	switch {
	case depth > maxDepth:
		d.add(n, path, fmt.Sprintf("is nested more than %d levels deep", maxDepth), "write it flatter")
		n.Kind = 0 // nobody looks further
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.add(n, path, noAlias, aliasCure)
	}
	if foreign(n) {
		d.add(n, path, fmt.Sprintf("tag %s is not supported", cut(n.Tag, maxPathPart)), "remove the tag")
	}
	switch n.Kind {
	case yaml.MappingNode:
		first := make(map[string]int, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if !d.key(key, path) {
				continue
			}
			at := joinKey(path, key.Value)
			if line, twice := first[key.Value]; twice {
				d.add(key, at, fmt.Sprintf("is written twice, first on line %d", line), "remove one of them")
				continue
			}
			first[key.Value] = key.Line
			d.structure(value, at, depth+1)
		}
	case yaml.SequenceNode:
		for i, element := range n.Content {
			d.structure(element, joinIndex(path, i), depth+1)
		}
	}
}

// key judges a mapping's key and reports whether its value can be looked at.
func (d *Document) key(key *yaml.Node, path string) bool {
	switch {
	case key.Kind == yaml.AliasNode || key.Anchor != "" || key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
		d.add(key, path, noAlias, aliasCure)
	case key.Kind != yaml.ScalarNode:
		d.add(key, path, "a key is "+show(key), "keys are plain text")
	case !plainKey(key):
		d.add(key, path, "a key must be text, got "+show(key), "check the spelling, or put the key in quotes")
	default:
		return true
	}
	return false
}

func (d *Document) add(n *yaml.Node, path, problem, cure string) {
	d.faults = append(d.faults, Fault{Line: n.Line, Column: n.Column, Path: path, Problem: problem, Cure: cure})
}

// plainKey reports whether a key is text.
func plainKey(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!str"
}

// foreign reports whether a node wears a tag that settings have no use for.
func foreign(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return false
	}
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
		return false
	}
	return true
}
