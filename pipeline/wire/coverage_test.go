package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline/wire/wiretest"
)

// TestCoverage crosses every way to send results with every shape of them: each
// text is found with its call, can be replaced, alone and with the others, and
// put back.
func TestCoverage(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, c := range wiretest.Columns() {
		for _, r := range wiretest.Rows() {
			if r.Several() && !c.Lists || r.Fails() && !c.Fails {
				continue
			}
			cells++
			t.Run(c.Name+"/"+r.Name, func(t *testing.T) {
				t.Parallel()
				cover(t, &c, r.Outputs)
			})
		}
	}
	if cells < 400 {
		t.Errorf("%d cells", cells)
	}
}

// cover checks one cell.
func cover(t *testing.T, c *wiretest.Column, outputs []wiretest.Output) {
	t.Helper()
	dialect, ok := Route(c.Path)
	if !ok || string(dialect) != c.Dialect {
		t.Fatalf("Route(%q) = %q, %v", c.Path, dialect, ok)
	}
	body := []byte(c.Body(outputs))
	if !json.Valid(body) {
		t.Fatalf("no JSON: %s", body)
	}
	checkOracle(t, dialect, body)
	before := mustParse(t, dialect, body)
	at := 0
	var patches []Patch
	for i, o := range outputs {
		for j := range o.Texts {
			if at == len(before.Segments) {
				t.Fatalf("only %d segments in %s", at, body)
			}
			s := &before.Segments[at]
			tool := o.Tool
			if strings.Contains(c.Name, "responses") && strings.Contains(c.Name, "shell") || c.Name == "responses patch" {
				tool = string(s.Tool) // it is built in, and named by the kind of its call
			}
			args, ok := before.Decode(s.Args)
			if !ok {
				args = string(s.Args)
			}
			if s.Turn != 1 || string(s.Tool) != tool || len(tool) == 0 || args != o.Args() || s.IsError != o.Failed {
				t.Errorf("text %d of output %d: %+v (args %q) in %s", j, i, s, args, body)
			}
			checkText(t, before.Decode, before.Value(s), o.Texts[j])
			patches = append(patches, Patch{Span: s.Span, Text: "short"})
			at++
		}
	}
	if at != len(before.Segments) {
		t.Fatalf("%d segments, want %d, in %s", len(before.Segments), at, body)
	}
	for i := range patches {
		checkSplice(t, dialect, before, patches[i:i+1])
	}
	checkSplice(t, dialect, before, patches)
	out, err := Splice(nil, body, patches)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(outputs)
	for i := range want {
		want[i].Texts = slices.Repeat([]string{`"short"`}, len(want[i].Texts))
	}
	written := c.Body(want)
	if c.JSON { // only JSON can stay JSON
		written = strings.ReplaceAll(written, `"json":{"output":"short"}`, `"text":"short"`)
	}
	if diff := cmp.Diff(written, string(out)); diff != "" {
		t.Errorf("edited (-want +got):\n%s", diff)
	}
	after := mustParse(t, dialect, out)
	var restored bytes.Buffer
	from := 0
	for i := range after.Segments {
		restored.Write(out[from:after.Segments[i].Span.Start])
		restored.Write(before.Value(&before.Segments[i]))
		from = after.Segments[i].Span.End
	}
	restored.Write(out[from:])
	if !bytes.Equal(restored.Bytes(), body) {
		t.Errorf("restored:\n%s\nwant\n%s", restored.Bytes(), body)
	}
}

// checkText compares a segment's text with the JSON string it was written as.
func checkText(t *testing.T, decode func([]byte) (string, bool), value []byte, literal string) {
	t.Helper()
	got, ok := decode(value)
	want, same := blockText([]byte(literal))
	if bytes.Contains(value, []byte(`"json":{`)) {
		want = `{"output":` + literal + `}`
	}
	if !ok || !same || got != want {
		t.Errorf("text %q, %v, want %q", got, ok, want)
	}
}
