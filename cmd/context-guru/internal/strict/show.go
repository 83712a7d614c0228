package strict

import (
	"encoding"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxShow bounds how much of a value a fault repeats.
const maxShow = 60

// show renders the value at fault, shortened.
func show(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode || null(n):
		return kind(n)
	case isText(n):
		return strconv.Quote(cut(n.Value, maxShow))
	default:
		return cut(n.Value, maxShow)
	}
}

// kind renders what a value is without repeating it.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	default:
		return "text"
	}
}

// wants names the form of a field.
func wants(v reflect.Value) string {
	if w, ok := reflect.TypeAssert[Wanter](v.Addr()); ok {
		return w.Wants()
	}
	if _, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return "text"
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return wants(reflect.New(v.Type().Elem()).Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	default:
		return "a whole number"
	}
}

// isScalar reports whether a field takes one value.
func isScalar(v reflect.Value) bool {
	if _, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return true
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface:
		return false
	default:
		return true
	}
}
