package strict

import (
	"reflect"
	"strings"
)

// field is one setting of a struct.
type field struct {
	name  string
	index []int
}

// fieldsOf lists the settings of a struct in their order, by the rules of
// encoding/json: json tags name them, embedded structs are flattened.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct:
			for _, inner := range fieldsOf(f.Type) {
				fields = append(fields, field{name: inner.name, index: append([]int{i}, inner.index...)})
			}
		case !f.IsExported():
		case tag == "":
			fields = append(fields, field{name: f.Name, index: []int{i}})
		default:
			fields = append(fields, field{name: tag, index: []int{i}})
		}
	}
	return fields
}

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// elsewhere returns the one path below t at which a setting of a name lives,
// or "" when there is none or more than one.
func elsewhere(t reflect.Type, name string) string {
	var found []string
	var walk func(t reflect.Type, path string, depth int)
	walk = func(t reflect.Type, path string, depth int) {
		if t.Kind() != reflect.Struct || depth > maxDepth || len(found) > 1 {
			return
		}
		for _, f := range fieldsOf(t) {
			at := joinKey(path, f.name)
			if f.name == name {
				found = append(found, at)
			}
			walk(t.FieldByIndex(f.index).Type, at, depth+1)
		}
	}
	walk(t, "", 0)
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
