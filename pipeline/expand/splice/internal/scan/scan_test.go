package scan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// members reads an object with the library.
func members(doc []byte) (names []string, values map[string]string) {
	dec := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	values = map[string]string{}
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, nil
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, nil
		}
		key := string(name[1 : len(name)-1])
		value, err := dec.ReadValue()
		if err != nil {
			return nil, nil
		}
		names, values[key] = append(names, key), string(value)
	}
	return names, values
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":"x\"y\\","c":[1,{"d":null}],"a":{"e":"]}"}}`, `{}`, ` [ 1 , "a" ] `, `{"a" : 1 , "b":2}`, `{"a":"\\"}`, `[{"a":1},[]]`, `"x"`, `{"a":1`, `{"a"}`, `[1,,2]`, `{"a":tru e}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		it := Open(doc, 0)
		object := it.Object()
		var names []string
		for it.Next() {
			names = append(names, string(it.Name))
		}
		if !Valid(doc) {
			return
		}
		kind := byte(jsontext.Value(doc).Kind())
		if it.Bad() == (kind == '{' || kind == '[') || Whole(doc) == it.Bad() {
			t.Fatalf("%q: bad %t, whole %t", doc, it.Bad(), Whole(doc))
		}
		if !object {
			return
		}
		want, values := members(doc)
		if strings.Join(names, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q: %q, want %q", doc, names, want)
		}
		for name, value := range values {
			if got, at := Get(doc, name); string(got) != value || string(doc[at:at+len(got)]) != value {
				t.Fatalf("%q: %s is %q, want %q", doc, name, got, value)
			}
			gone := Without(doc, name)
			if _, left := members(gone); !Valid(gone) || len(left) != len(values)-1 {
				t.Fatalf("%q without %s: %q", doc, name, gone)
			}
		}
		for _, name := range append(names, "new") {
			if !json.Valid([]byte(`"`+name+`"`)) || strings.Contains(name, `\`) {
				continue
			}
			set := Set(doc, name, []byte(`[7]`))
			if got, _ := Get(set, name); !Valid(set) || string(got) != "[7]" {
				t.Fatalf("%q with %s: %q", doc, name, set)
			}
		}
	})
}

func TestDrop(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"a":1,"x":2,"b":3}`:       `{"a":1,"b":3}`,
		`{"x":2, "b":3}`:            `{"b":3}`,
		`{"a":1 , "x":2 }`:          `{"a":1  }`,
		`{"x":2}`:                   `{}`,
		`{"a":1,"x" : "," , "b":3}`: `{"a":1,"b":3}`,
	} {
		it := Open([]byte(doc), 0)
		for it.Next() {
			if string(it.Name) == "x" {
				if got := Apply(nil, []byte(doc), Drop([]byte(doc), it.First, it.End)); string(got) != want {
					t.Errorf("%s: %s, want %s", doc, got, want)
				}
			}
		}
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int64{"0": 0, "17": 17, "-1": -1, "1.0": -1, "": -1, "9999999999999999": -1, "1e3": -1} {
		if n, ok := Int([]byte(value)); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d %t", value, n, ok)
		}
	}
}

// Escapes must not make the end of a string a search for each of them.
func BenchmarkEscapes(b *testing.B) {
	doc := []byte(`{"a":"` + strings.Repeat(`\n`, 1<<19) + `"}`)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if !Whole(doc) {
			b.Fatal("not whole")
		}
	}
}
