package strict

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decimal leaves out what readers of YAML disagree about: 017 is 15 to some
// and 17 to others. Underscores between digits are fine with all of them.
var decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9_]*)$`)

// validator is implemented by settings with a rule beyond their type.
type validator interface{ Validate() error }

// text assigns a field that reads itself from text.
func (d decoder) text(b Block, v reflect.Value) {
	if b.node.Kind != yaml.ScalarNode || !isText(b.node) {
		d.wrong(b, v, "")
		return
	}
	fresh := reflect.New(v.Type())
	if into, ok := reflect.TypeAssert[encoding.TextUnmarshaler](fresh); ok {
		if err := into.UnmarshalText([]byte(b.node.Value)); err != nil {
			b.Report(d.problem(b, err), "")
			return
		}
	}
	v.Set(fresh.Elem())
}

// scalar assigns text, a boolean or a number.
func (d decoder) scalar(b Block, v reflect.Value) {
	n := b.node
	fresh := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		if n.Kind != yaml.ScalarNode || !isText(n) {
			d.wrong(b, v, quoteCure(n))
			return
		}
		fresh.SetString(n.Value)
	case reflect.Bool:
		value, ok := boolean(n)
		if !ok {
			d.wrong(b, v, boolCure(n))
			return
		}
		fresh.SetBool(value)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		// A number too large for the parser's integers comes as a float.
		if tag := n.ShortTag(); n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || !decimal.MatchString(n.Value) {
			d.wrong(b, v, "write decimal digits without quotes, unit or point")
			return
		}
		if !setInt(fresh, strings.ReplaceAll(n.Value, "_", "")) {
			b.Report(fmt.Sprintf("must be %s that fits %s, got %s", wants(v), v.Kind(), show(n)), "")
			return
		}
	case reflect.Float32, reflect.Float64:
		f, ok := number(n)
		if !ok || fresh.OverflowFloat(f) {
			d.wrong(b, v, "write a number without quotes, such as 0.5")
			return
		}
		fresh.SetFloat(f)
	default:
		b.Report(fmt.Sprintf("settings of type %s cannot be written in a file", v.Type()), "remove it")
		return
	}
	if rule, ok := reflect.TypeAssert[validator](fresh); ok {
		if err := rule.Validate(); err != nil {
			b.Report(d.problem(b, err), "")
			return
		}
	}
	v.Set(fresh)
}

// problem is a rule's own words, unless they could repeat a secret.
func (d decoder) problem(b Block, err error) string {
	if d.hidden != "" {
		return "is not accepted, got " + kind(b.node)
	}
	return err.Error()
}

func setInt(v reflect.Value, digits string) bool {
	if v.CanInt() {
		i, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
		return true
	}
	u, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), 10, 64)
	if err != nil || v.OverflowUint(u) {
		return false
	}
	v.SetUint(u)
	return true
}

func boolean(n *yaml.Node) (value, ok bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		return false, false
	}
	value = strings.EqualFold(n.Value, "true")
	return value, value || strings.EqualFold(n.Value, "false")
}

func number(n *yaml.Node) (float64, bool) {
	if tag := n.ShortTag(); n.Kind != yaml.ScalarNode || tag != "!!float" && (tag != "!!int" || !decimal.MatchString(n.Value)) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// isText reports whether a scalar is text. A date is: YAML alone makes it more.
func isText(n *yaml.Node) bool {
	return n.ShortTag() == "!!str" || n.ShortTag() == "!!timestamp"
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func quoteCure(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return "put it in quotes: " + strconv.Quote(cut(n.Value, maxShow))
	}
	return "write one value"
}

// boolCure names the boolean that other readers of YAML would see.
func boolCure(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		switch strings.ToLower(n.Value) {
		case "yes", "on", "y", "true", "1":
			return "write true"
		case "no", "off", "n", "false", "0":
			return "write false"
		}
	}
	return "write true or false"
}

// free is a node as the plain Go value that any field of type any takes.
func free(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; plainKey(k) {
				if _, twice := m[k.Value]; !twice {
					m[k.Value] = free(n.Content[i+1])
				}
			}
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, element := range n.Content {
			list[i] = free(element)
		}
		return list
	case yaml.ScalarNode:
		return freeScalar(n)
	default:
		return nil
	}
}

func freeScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		if value, ok := boolean(n); ok {
			return value
		}
	case "!!int", "!!float":
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64); err == nil && decimal.MatchString(n.Value) {
			return i
		}
		if f, ok := number(n); ok {
			return f
		}
	}
	return n.Value
}
