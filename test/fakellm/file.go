package fakellm

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// scriptFile is the content of a script file.
type scriptFile struct {
	Turns []Turn `json:"turns"`
}

// ParseScript reads a script file: a JSON object {"turns": [TURN, ...]} whose
// members are those of [Turn], in the spelling of its JSON tags. Durations are
// strings such as "150ms". Unknown and repeated members, wrong types and turns
// that cannot be followed are refused; the error names the line and the place.
// The name is used in errors only.
func ParseScript(name string, data []byte) ([]Turn, error) {
	var f scriptFile
	err := json.Unmarshal(data, &f,
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.UnmarshalFunc(unmarshalDuration)))
	if err != nil {
		return nil, locate(name, data, err)
	}
	for i := range f.Turns {
		if err := f.Turns[i].check(); err != nil {
			return nil, fmt.Errorf("%s: turns[%d]: %w", name, i, err)
		}
	}
	return f.Turns, nil
}

// UnmarshalJSON takes a JSON value as the text of the arguments, or a string's content.
func (a *Args) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '"' {
		*a = Args(data)
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, data)
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	*a = Args(text)
	return nil
}

func unmarshalDuration(data []byte, d *time.Duration) error {
	text, err := jsontext.AppendUnquote(nil, data)
	if err != nil {
		return fmt.Errorf("duration %s: want a string such as %q", data, "150ms")
	}
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("duration %q: want a time of 0 or more such as %q", text, "150ms")
	}
	*d = v
	return nil
}

// locate turns a decoding error into one that names file, line, place and cure.
func locate(name string, data []byte, err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("%s:%d: at %q: %w", name, line(data, syntax.ByteOffset), syntax.JSONPointer, syntax.Err)
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return fmt.Errorf("%s: %w", name, err)
	}
	cause, cure := semantic.Err, ""
	if errors.Is(cause, json.ErrUnknownName) {
		cure = memberNames(semantic.GoType)
	}
	if cause == nil || errors.Is(cause, strconv.ErrSyntax) || errors.Is(cause, strconv.ErrRange) {
		cause = fmt.Errorf("%s does not fit here: want %s", kindName(semantic.JSONKind), typeName(semantic.GoType))
	}
	return fmt.Errorf("%s:%d: at %q: %w%s", name, line(data, semantic.ByteOffset), semantic.JSONPointer, cause, cure)
}

func line(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// memberNames lists the members a struct knows.
func memberNames(t reflect.Type) string {
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	var names []string
	for f := range t.Fields() {
		if tag := f.Tag.Get("json"); tag != "" && tag != "-" {
			names = append(names, tag)
		}
	}
	return "; known here: " + strings.Join(names, ", ")
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "this value"
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default:
		return "a number of type " + t.String()
	}
}
