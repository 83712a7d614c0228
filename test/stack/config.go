package stack

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config is an Envoy configuration as a tree of YAML nodes. The first edit that
// does not fit is remembered, makes all later ones do nothing, and is reported
// when Envoy is to be started.
//
// A path leads from the root to a node: a string is the key of a mapping, or the
// name of a list's element; an int is the index of a list's element.
type Config struct {
	root *yaml.Node
	err  error
}

// Path leads to a node of a [Config].
type Path []any

// Then returns the path continued.
func (p Path) Then(more ...any) Path { return append(slices.Clip(p), more...) }

// ListenerPath leads to the listener.
func ListenerPath() Path { return Path{"static_resources", "listeners", "llm"} }

// ManagerPath leads to the settings of the HTTP connection manager.
func ManagerPath() Path {
	return ListenerPath().Then("filter_chains", 0, "filters", "envoy.filters.network.http_connection_manager", "typed_config")
}

// FilterPath leads to the settings of the ext_proc filter.
func FilterPath() Path { return ManagerPath().Then("http_filters", filterName, "typed_config") }

// RoutePath leads to the one route.
func RoutePath() Path {
	return ManagerPath().Then("route_config", "virtual_hosts", "llm", "routes", 0)
}

// ClusterPath leads to a cluster.
func ClusterPath(name string) Path { return Path{"static_resources", "clusters", name} }

// filterName is the name of the ext_proc filter, of its cluster and of its statistics.
const filterName = "context_guru"

func parseConfig(text []byte) (*Config, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("parse Envoy's configuration: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("parse Envoy's configuration: it is empty")
	}
	return &Config{root: doc.Content[0]}, nil
}

// Fail makes the configuration unusable. The first failure counts.
func (c *Config) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Get returns the node at a path, or nil after noting that there is none.
func (c *Config) Get(path Path) *yaml.Node {
	if c.err != nil {
		return nil
	}
	node := c.root
	for i, step := range path {
		if node = child(node, step); node == nil {
			c.Fail(fmt.Errorf("envoy configuration: nothing at %s", path[:i+1]))
			return nil
		}
	}
	return node
}

// Set puts a value at a path. The last step may be a new key of a mapping.
func (c *Config) Set(path Path, value any) {
	parent, node := c.Get(path[:len(path)-1]), c.encode(value)
	if parent == nil || node == nil {
		return
	}
	last := path[len(path)-1]
	if old := child(parent, last); old != nil {
		*old = *node
		return
	}
	key, ok := last.(string)
	if !ok || parent.Kind != yaml.MappingNode {
		c.Fail(fmt.Errorf("envoy configuration: cannot put a value at %s", path))
		return
	}
	parent.Content = append(parent.Content, c.encode(key), node)
}

// Remove takes a key out of the mapping at a path.
func (c *Config) Remove(path Path, key string) {
	node := c.Get(path)
	if node == nil {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			node.Content = slices.Delete(node.Content, i, i+2)
			return
		}
	}
	c.Fail(fmt.Errorf("envoy configuration: no %s at %s", key, path))
}

// Insert puts a value into the list at a path, before the element of an index; a
// negative index counts from the end, and -1 appends.
func (c *Config) Insert(path Path, index int, value any) {
	list, node := c.Get(path), c.encode(value)
	if list == nil || node == nil {
		return
	}
	if index < 0 {
		index += len(list.Content) + 1
	}
	if list.Kind != yaml.SequenceNode || index < 0 || index > len(list.Content) {
		c.Fail(fmt.Errorf("envoy configuration: %s is no list of at least %d elements", path, index))
		return
	}
	list.Content = slices.Insert(list.Content, index, node)
}

// Clone returns a copy of the node at a path, as a configuration of its own.
func (c *Config) Clone(path Path) *Config {
	node := c.Get(path)
	if node == nil {
		return &Config{err: c.err}
	}
	return &Config{root: cloneNode(node)}
}

// Bytes renders the configuration, or returns the first edit that did not fit.
func (c *Config) Bytes() ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(c.root); err != nil {
		return nil, fmt.Errorf("render Envoy's configuration: %w", err)
	}
	return out.Bytes(), nil
}

// String names the steps of a path, separated by dots.
func (p Path) String() string {
	steps := make([]string, len(p))
	for i, step := range p {
		steps[i] = fmt.Sprint(step)
	}
	return strings.Join(steps, ".")
}

// encode makes a node of a value: YAML text if it is a YAML, a configuration's
// tree if it is one, else whatever YAML makes of it.
func (c *Config) encode(value any) *yaml.Node {
	var node yaml.Node
	switch v := value.(type) {
	case *Config:
		if v.err != nil {
			c.Fail(v.err)
			return nil
		}
		return v.root
	case YAML:
		parsed, err := parseConfig([]byte(v))
		if err != nil {
			c.Fail(err)
			return nil
		}
		return parsed.root
	default:
		if err := node.Encode(value); err != nil {
			c.Fail(fmt.Errorf("envoy configuration: %w", err))
			return nil
		}
	}
	return &node
}

// YAML is a value of a [Config] written as YAML text.
type YAML string

// child returns a mapping's value or a list's element, nil when there is none.
func child(node *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step >= 0 && step < len(node.Content) {
			return node.Content[step]
		}
	case string:
		if node.Kind == yaml.SequenceNode {
			for _, element := range node.Content {
				if name := child(element, "name"); name != nil && name.Value == step {
					return element
				}
			}
		}
		if node.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == step {
					return node.Content[i+1]
				}
			}
		}
	}
	return nil
}

func cloneNode(node *yaml.Node) *yaml.Node {
	copied := *node
	copied.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		copied.Content[i] = cloneNode(child)
	}
	return &copied
}
