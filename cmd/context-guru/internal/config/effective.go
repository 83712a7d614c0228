package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/contextguru/contextguru/pipeline"
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

// fixed are the keys that a running service cannot change. All others can
// change an edit, and are what Settings is about. Of expand that is resolver,
// and a running service changes nothing of it.
func fixed() []string {
	return []string{"mode", "observe", "listen", "limits", "shutdown", "envoy", "tenant", "request", "keys", "store", "models", "memo", "telemetry"}
}

// inExpand lists the keys of expand that can change an edit. How originals are
// read back is each process's own business.
func inExpand() []string { return []string{"resolver", "inject", "gate_tokens"} }

// settings is what Settings returns, as JSON.
type settings struct {
	// Written is what the file says.
	Written map[string]json.RawMessage `json:"written"`
	// Effective is what it amounts to. Another version of this program may have
	// other defaults and must not take the one for the other.
	Effective map[string]json.RawMessage `json:"effective"`
}

// Settings returns the part of the configuration that can change an edit, in a
// canonical form without secrets.
func (c *Config) Settings() ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	s := settings{Written: maps.Clone(c.written)}
	if s.Written == nil {
		s.Written = map[string]json.RawMessage{}
	}
	if err := json.Unmarshal(data, &s.Effective); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	// A request may ask for another preset than the one in force.
	lines := map[string][]json.RawMessage{}
	for name, line := range c.presets {
		for _, step := range line.Steps {
			lines[name] = append(lines[name], json.RawMessage(strconv.Quote(step.Name)), step.Config)
		}
	}
	if s.Effective["presets"], err = json.Marshal(lines); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	for _, part := range []map[string]json.RawMessage{s.Written, s.Effective} {
		for _, key := range fixed() {
			delete(part, key)
		}
		maps.DeleteFunc(part, func(_ string, value json.RawMessage) bool { return len(value) == 0 })
	}
	var expand map[string]json.RawMessage
	if err := json.Unmarshal(s.Effective["expand"], &expand); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	maps.DeleteFunc(expand, func(key string, _ json.RawMessage) bool { return !slices.Contains(inExpand(), key) })
	if s.Effective["expand"], err = json.Marshal(expand); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	// Written out, as the environment and the rest of expand have a say in them.
	s.Written["expand"] = s.Effective["expand"]
	return json.Marshal(s)
}

// FromSettings returns a configuration of the given settings, everything else
// being the default. It is an error when this version reads them otherwise than
// the one that wrote them.
func FromSettings(data []byte, catalog pipeline.Catalog) (*Config, error) {
	var s settings
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	written, err := json.Marshal(s.Written)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	c, err := parse("settings", written, catalog, true)
	if err != nil {
		return nil, err
	}
	again, err := c.Settings()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, errors.New("read settings: this version has other defaults than the one that wrote them")
	}
	return c, nil
}

// NeedRestart lists the keys in which next differs and which a running service
// cannot change.
func (c *Config) NeedRestart(next *Config) []string {
	parts := make([]map[string]json.RawMessage, 2)
	for i, config := range []*Config{c, next} {
		data, err := json.Marshal(config)
		if err != nil || json.Unmarshal(data, &parts[i]) != nil {
			return nil // what has been loaded can be written
		}
	}
	var keys []string
	for _, key := range fixed() {
		if !bytes.Equal(parts[0][key], parts[1][key]) {
			keys = append(keys, key)
		}
	}
	if !bytes.Equal(parts[0]["expand"], parts[1]["expand"]) {
		keys = append(keys, "expand")
	}
	return keys
}

// KeepExpand takes over who reads originals back, which other parts of a
// running service were built on.
func (c *Config) KeepExpand(running *Config) {
	c.Expand = running.Expand
	delete(c.written, "expand")
	if expand, ok := running.written["expand"]; ok {
		if c.written == nil {
			c.written = map[string]json.RawMessage{}
		}
		c.written["expand"] = expand
	}
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
