package tool_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/wire"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// place puts the tool into a body.
func place(t testing.TB, d wire.Dialect, body []byte, create bool) ([]byte, tool.State) {
	t.Helper()
	parser := wire.NewParser(wire.Limits{})
	if _, err := parser.Parse(d, body); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	patch, state := tool.Place(d, body, parser.Tools(), create)
	if state != tool.Injected {
		return body, state
	}
	out, err := wire.Splice(nil, body, []wire.Patch{patch})
	if err != nil {
		t.Fatal(err)
	}
	return out, state
}

// TestGolden runs through testdata: sections "DIALECT NAME" hold a body, those
// behind them ("auto" and "always") what becomes of it, or only the state where
// nothing does.
func TestGolden(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(text)
			got := txtar.Archive{Comment: archive.Comment}
			for _, file := range archive.Files {
				dialect, _, ok := strings.Cut(file.Name, " ")
				if !ok {
					continue
				}
				got.Files = append(got.Files, file)
				body := bytes.TrimSuffix(file.Data, []byte("\n"))
				for _, create := range []bool{false, true} {
					out, state := place(t, wire.Dialect(dialect), body, create)
					section := txtar.File{Name: "auto", Data: []byte(string(state) + "\n")}
					if create {
						section.Name = "always"
					}
					if state == tool.Injected {
						section.Data = append(section.Data, out...)
						section.Data = append(section.Data, '\n')
					}
					got.Files = append(got.Files, section)
				}
			}
			want := txtar.Format(&got)
			if *update {
				if err := os.WriteFile(name, want, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(text, want) {
				t.Errorf("got\n%s\nwant\n%s", want, text)
			}
		})
	}
}

// checkPlaced checks what holds for every body: the tool's bytes are inserted and
// nothing else happens, the JSON stays valid, the client's tools and everything
// beside them stay the same, and there is no second tool of the name.
func checkPlaced(t *testing.T, d wire.Dialect, body []byte) {
	t.Helper()
	parser := wire.NewParser(wire.Limits{})
	if _, err := parser.Parse(d, body); err != nil {
		return
	}
	tools := parser.Tools()
	for _, create := range []bool{false, true} {
		patch, state := tool.Place(d, body, tools, create)
		if state != tool.Injected {
			continue
		}
		out, err := wire.Splice(nil, body, []wire.Patch{patch})
		if err != nil {
			t.Fatal(err)
		}
		at, size := patch.Span.Start, len(patch.Raw)
		if patch.Span.Len() != 0 || string(out[:at])+string(out[at+size:]) != string(body) {
			t.Fatalf("more than an insertion:\n%s\n%s", body, out)
		}
		if strings.Count(string(patch.Raw), tool.Definition(d)) != 1 {
			t.Fatalf("inserted %s", patch.Raw)
		}
		if json.Valid(body) && !json.Valid(out) {
			t.Fatalf("no JSON any more:\n%s\n%s", body, out)
		}
		if !create && string(patch.Raw) != ","+tool.Definition(d) {
			t.Fatalf("a list was made: %s", patch.Raw)
		}
		if _, err := parser.Parse(d, out); err != nil {
			t.Fatalf("cannot be read any more: %v\n%s\n%s", err, body, out)
		}
		if _, again := tool.Place(d, out, parser.Tools(), create); again != tool.Present {
			t.Fatalf("put in again, %s:\n%s\n%s", again, body, out)
		}
		checkLast(t, d, body, out)
	}
}

// checkLast reads both bodies independently of the parser and checks that the
// tool was appended to the client's.
func checkLast(t *testing.T, d wire.Dialect, body, out []byte) {
	t.Helper()
	before, okBefore := declared(d, body)
	after, okAfter := declared(d, out)
	if !okBefore || !okAfter {
		return // a request about a request, or keys that encoding/json reads otherwise
	}
	last := len(after) - 1
	if last != len(before) || after[last] != canonical([]byte(tool.Definition(d))) {
		t.Fatalf("not the last tool:\n%s\n%s", body, out)
	}
	for i, client := range before {
		if after[i] != client {
			t.Fatalf("tool %d changed:\n%s\n%s", i, client, after[i])
		}
	}
}

// declared lists the functions a request declares, false when it is not plain.
func declared(d wire.Dialect, body []byte) ([]string, bool) {
	key, inner := `"tools"`, ""
	var request struct {
		Tools      []json.RawMessage `json:"tools"`
		ToolConfig struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"toolConfig"`
	}
	if json.Unmarshal(body, &request) != nil {
		return nil, false
	}
	list := request.Tools
	switch d {
	case wire.BedrockConverse:
		list = request.ToolConfig.Tools
	case wire.Gemini:
		inner = "functionDeclarations"
	}
	lower := bytes.ToLower(body)
	for _, other := range []string{`\u`, "converse", "request"} {
		if bytes.Contains(lower, []byte(other)) {
			return nil, false
		}
	}
	if bytes.Count(lower, []byte(key)) > 1 || bytes.Count(lower, []byte("functiond")) != bytes.Count(body, []byte("functionD")) {
		return nil, false
	}
	var out []string
	for _, element := range list {
		if inner == "" {
			out = append(out, canonical(element))
			continue
		}
		var part struct {
			Functions []json.RawMessage `json:"functionDeclarations"`
		}
		if json.Unmarshal(element, &part) != nil || bytes.Contains(element, []byte("_")) {
			return nil, false
		}
		for _, f := range part.Functions {
			out = append(out, canonical(f))
		}
	}
	return out, true
}

func canonical(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

func FuzzPlace(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if _, _, ok := strings.Cut(file.Name, " "); ok {
				f.Add(bytes.TrimSuffix(file.Data, []byte("\n")))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for d := range fixed {
			checkPlaced(t, d, body)
		}
	})
}
