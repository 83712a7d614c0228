package wiretest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Output is the result of one call.
type Output struct {
	ID, Tool string
	Texts    []string // JSON strings
	Failed   bool
	Image    bool // beside the texts
	Extra    bool // members nobody knows, numbers that no float holds, a repeated one
	List     bool // the only text stands in a list
}

// Args are the arguments of the call, as JSON.
func (o *Output) Args() string { return `{"of": "` + o.ID + `", "n": 1.0}` }

// more returns the members that nobody knows.
func (o *Output) more() string {
	if o.Extra {
		return `"x":{"n":12345678901234567890123, "text":[[["no"]]]},"x":1.0,`
	}
	return ""
}

// parts writes the texts as a list, or the only one as it is.
func (o *Output) parts(part, image string) string {
	if len(o.Texts) == 1 && !o.List && !o.Image {
		return o.Texts[0]
	}
	return o.blocks(part, image)
}

func (o *Output) blocks(part, image string) string {
	var list []string
	for i, text := range o.Texts {
		list = append(list, strings.Replace(fmt.Sprintf(part, text), "{", "{"+o.more(), 1))
		if o.Image && i == 0 {
			list = append(list, image)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (o *Output) status(failed, fine string) string {
	if o.Failed {
		return failed
	}
	return fine
}

// Row is a shape of results: the outputs of one turn as they stand. Calls stand
// in the order of their ids.
type Row struct {
	Name    string
	Outputs []Output
}

// Shaped makes the outputs of a turn. Text n of them, counted from 0, is
// text(n); every output and so every id is of the given turn.
type Shaped func(turn int, text func(n int) string) []Output

// Shape is a shape of results without its texts.
type Shape struct {
	Name    string
	Several bool // an output has several texts, or something beside them
	Fails   bool // an output is a failure
	Make    Shaped
}

// Shapes lists the shapes.
func Shapes() []Shape {
	outputs := func(change func(list []Output), texts ...int) Shaped {
		return func(turn int, text func(n int) string) (list []Output) {
			n := 0
			for i, count := range texts {
				o := Output{ID: fmt.Sprintf("c%d_%d", turn, i+1), Tool: []string{"run", "read", "find"}[i%3]}
				for range count {
					o.Texts = append(o.Texts, Quote(text(n)))
					n++
				}
				list = append(list, o)
			}
			if change != nil {
				change(list)
			}
			return list
		}
	}
	return []Shape{
		{Name: "string", Make: outputs(nil, 1)},
		{Name: "one part", Several: true, Make: outputs(func(l []Output) { l[0].List = true }, 1)},
		{Name: "parts", Several: true, Make: outputs(nil, 3)},
		{Name: "image beside text", Several: true, Make: outputs(func(l []Output) { l[0].Image = true }, 2)},
		{Name: "error", Fails: true, Make: outputs(func(l []Output) { l[0].Failed = true }, 1)},
		{Name: "unknown fields", Several: true, Make: outputs(func(l []Output) { l[0].Extra = true }, 2)},
		{Name: "several in one turn", Make: outputs(nil, 1, 1, 1)},
		{Name: "in another order", Make: outputs(func(l []Output) { l[0], l[1], l[2] = l[2], l[0], l[1] }, 1, 1, 1)},
		{Name: "one failed of several", Fails: true, Make: outputs(func(l []Output) { l[1].Failed = true }, 1, 1, 1)},
	}
}

// Wrapper is what a client puts around the output of a tool.
type Wrapper struct {
	Name string
	Wrap func(text string) string
}

// Wrappers lists the wrappers of real clients.
func Wrappers() []Wrapper {
	return []Wrapper{
		{"codex", func(text string) string {
			return "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\n" + text
		}},
		{"gemini-cli", func(text string) string {
			return "<untrusted_context>\nOutput: " + text + "\nProcess Group PGID: 7\n</untrusted_context>"
		}},
		{"claude-code", func(text string) string {
			return numbered(text, "%d\t%s\n") + "\n<system-reminder>\nStay on task.\n</system-reminder>\n"
		}},
		{"opencode", func(text string) string {
			return "<path>/a.go</path>\n<type>file</type>\n<content>" + strings.TrimSuffix(numbered(text, "%d: %s\n"), "\n") + "\n</content>"
		}},
	}
}

func numbered(text, form string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, form, i+1, line)
	}
	return b.String()
}

// Quote writes a text as a JSON string.
func Quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // a string always can be written
		return `""`
	}
	return string(quoted)
}

// Rows lists shapes with small texts in them, spelled in every way.
func Rows() []Row {
	var rows []Row
	words := []string{"line\nline\n", "page two", ""}
	for _, s := range Shapes() {
		rows = append(rows, Row{s.Name, s.Make(1, func(n int) string { return words[n] })})
	}
	one := func(name, text string) {
		rows = append(rows, Row{name, []Output{{ID: "c1", Tool: "run", Texts: []string{text}}}})
	}
	for _, spelled := range [][2]string{
		{"ASCII only", `"caf\u00e9 \ud83d\ude00 \u2192"`},
		{"upper case", `"caf\u00E9"`},
		{"raw", `"café 😀"`},
		{"HTML", `"\u003cb\u003e \u0026"`},
		{"slashes", `"a\/b"`},
		{"control characters", `"\u001b[31m\r\n\u0000"`},
		{"JSON", `"{\"a\":[1,\"\\u00e9\"]}"`},
	} {
		one("spelled "+spelled[0], spelled[1])
	}
	for _, w := range Wrappers() {
		one("wrapped by "+w.Name, Quote(w.Wrap("a.go\n")))
	}
	return rows
}

// Several reports whether an output has several texts, or something beside
// them; Fails whether one is a failure.
func (r *Row) Several() bool {
	return slices.ContainsFunc(r.Outputs, func(o Output) bool { return len(o.Texts) > 1 || o.List || o.Image })
}

// Fails reports whether an output is a failure.
func (r *Row) Fails() bool {
	return slices.ContainsFunc(r.Outputs, func(o Output) bool { return o.Failed })
}
