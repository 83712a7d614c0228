package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Effective returns the configuration in force as YAML: every default written
// out, in the order of the reference. Secrets show as the file they come from.
// The result can be loaded again, from the same directory, and then is the
// configuration it was made from.
func (c *Config) Effective() ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	root, err := node(dec)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	c.eachSecret(func(s *Secret, path ...any) {
		if at := find(root, path); at != nil {
			*at = *reference(*s)
		}
	})
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return out.Bytes(), nil
}

// reference is what may be shown of a secret.
func reference(s Secret) *yaml.Node {
	file := text(s.File)
	if s.Set() {
		file.LineComment = "# " + redacted
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{text("file"), file}}
}

// node reads one JSON value. JSON is read token by token because that keeps
// the order of the keys.
func node(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if t == '[' {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		}
		for dec.More() {
			child, err := node(dec)
			if err != nil {
				return nil, err
			}
			if child.Kind == yaml.MappingNode {
				n.Style = 0 // a list of mappings is read line by line
			}
			n.Content = append(n.Content, child)
		}
		if _, err := dec.Token(); err != nil {
			return nil, err
		}
		return n, nil
	case string:
		return text(t), nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(t.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: t.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(t)}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
}

// text is a string, in quotes wherever some reader of YAML could take it for
// something else.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		n.Style = yaml.DoubleQuotedStyle
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '/'
		inner := '0' <= c && c <= '9' || strings.IndexByte("-_.", c) >= 0
		if !letter && (i == 0 || !inner) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}

// find follows keys through mappings.
func find(n *yaml.Node, path []any) *yaml.Node {
	for _, step := range path {
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				next = n.Content[i+1]
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}
