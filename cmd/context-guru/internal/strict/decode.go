package strict

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Wanter is implemented by settings read from text to name what they want, as
// in "a duration such as 30s".
type Wanter interface{ Wants() string }

// Hidden is implemented by settings that hold secrets. A value written in
// their place is not repeated in a fault; Hidden returns the cure instead.
type Hidden interface{ Hidden() (cure string) }

// Decode assigns the block to the struct that into points to. Values at fault
// are collected as faults of the document and leave their field as it was.
func (b Block) Decode(into any) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		b.Report(fmt.Sprintf("cannot be read into %T", into), "")
		return
	}
	d := decoder{doc: b.doc, root: v.Elem().Type()}
	if b.node != nil {
		d.value(b, v.Elem())
	}
}

type decoder struct {
	doc    *Document
	root   reflect.Type
	hidden string // inside a secret: its cure
}

// value assigns one node, or collects why not.
func (d decoder) value(b Block, v reflect.Value) {
	n := b.node
	if n.Kind == yaml.AliasNode || n.Kind == 0 || foreign(n) {
		return // reported with the structure
	}
	if h, ok := reflect.TypeAssert[Hidden](v.Addr()); ok {
		d.hidden = h.Hidden()
	}
	_, isText := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
	if null(n) {
		switch v.Kind() {
		case reflect.Struct, reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface:
			if !isText {
				return // nothing written keeps the default
			}
		}
		d.wrong(b, v, "write a value, or remove the line to keep the default")
		return
	}
	if isText {
		d.text(b, v)
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		raw, err := json.Marshal(free(n))
		if err != nil {
			d.wrong(b, v, err.Error())
			return
		}
		v.SetBytes(raw)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(b, v)
	case reflect.Map:
		d.mapping(b, v)
	case reflect.Slice:
		d.list(b, v)
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		d.value(b, fresh.Elem())
		v.Set(fresh)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(free(n)))
			return
		}
		d.wrong(b, v, "this setting cannot be written in a file")
	default:
		d.scalar(b, v)
	}
}

func (d decoder) structure(b Block, v reflect.Value) {
	if b.node.Kind != yaml.MappingNode {
		d.wrong(b, v, "write its settings as key: value on indented lines below it")
		return
	}
	fields := fieldsOf(v.Type())
	known := names(fields)
	for key, child := range b.pairs() {
		if i := slices.Index(known, key); i >= 0 {
			d.value(child, v.FieldByIndex(fields[i].index))
			continue
		}
		cure := Cure(key, known)
		if path := elsewhere(d.root, key); path != "" {
			cure = "it belongs at " + path // the very name says more than a close one
		}
		d.doc.add(child.key, child.path, "unknown key", cure)
	}
}

func (d decoder) mapping(b Block, v reflect.Value) {
	if b.node.Kind != yaml.MappingNode || v.Type().Key().Kind() != reflect.String {
		d.wrong(b, v, "write it as key: value on indented lines below it")
		return
	}
	fresh := reflect.MakeMap(v.Type())
	for key, child := range b.pairs() {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(child, element)
		fresh.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
	}
	v.Set(fresh)
}

func (d decoder) list(b Block, v reflect.Value) {
	if b.node.Kind != yaml.SequenceNode {
		d.wrong(b, v, "write a list: [one, two], or one line each that starts with -")
		return
	}
	// A list of its own: the defaults' must not be written through.
	fresh := reflect.MakeSlice(v.Type(), len(b.node.Content), len(b.node.Content))
	for i := range b.node.Content {
		child, _ := b.child(i)
		if null(child.node) {
			d.wrong(child, fresh.Index(i), "write a value, or remove the element")
			continue
		}
		d.value(child, fresh.Index(i))
	}
	v.Set(fresh)
}

// wrong collects that a node is not of the form its field has.
func (d decoder) wrong(b Block, v reflect.Value, cure string) {
	got := show(b.node)
	wants := wants(v)
	if d.hidden != "" || b.node.Kind == yaml.ScalarNode && !isScalar(v) {
		got = kind(b.node) // the text could hold a secret, and what matters is its form
	}
	if d.hidden != "" {
		cure = d.hidden
	}
	b.Report(fmt.Sprintf("must be %s, got %s", wants, got), cure)
}
