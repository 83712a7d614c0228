package toon

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixture is one case of the specification's conformance tests.
type fixture struct {
	Name        string          `json:"name"`
	Input       json.RawMessage `json:"input"`
	Expected    json.RawMessage `json:"expected"`
	ShouldError bool            `json:"shouldError"`
	Options     struct {
		Delimiter  string `json:"delimiter"`
		IndentSize int    `json:"indentSize"`
		Strict     *bool  `json:"strict"`
	} `json:"options"`
}

// fixtures returns the cases of a kind, by file and name.
func fixtures(t *testing.T, kind string) map[string]fixture {
	t.Helper()
	root := os.Getenv("CONTEXT_GURU_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "data")
	}
	files, err := filepath.Glob(filepath.Join(root, "toon", kind, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("no fixtures of the TOON specification in", root)
	}
	all := map[string]fixture{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases struct {
			Tests []fixture `json:"tests"`
		}
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range cases.Tests {
			all[strings.TrimSuffix(filepath.Base(file), ".json")+": "+c.Name] = c
		}
	}
	return all
}

func text(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	tableHeader = regexp.MustCompile(`(?m)^ *[^- ].*\[\d+\]\{.*\}:$|^\[\d+\]\{.*\}:$`)
	listItem    = regexp.MustCompile(`(?m)^ *-( |$)`)
	keyedHeader = regexp.MustCompile(`\[\d+:.?\]`)
)

// Every encoding fixture with a table, commas and nothing beyond the subset
// has to come out byte for byte; of the others, none may come out as anything
// that reads differently.
func TestEncodeFixtures(t *testing.T) {
	t.Parallel()
	all := fixtures(t, "encode")
	matched, outside := 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		want := text(t, c.Expected)
		got, ok := encode(c.Input, true)
		if ok {
			if err := sameLiterals(string(c.Input), string(got)); err != nil {
				t.Errorf("%s: not the same: %v\n%s", name, err, got)
			}
		}
		delimiter := c.Options.Delimiter
		switch {
		case strings.HasSuffix(name, "uses field order from first object for tabular headers"):
			if ok {
				t.Errorf("%s: the order of the names is lost:\n%s", name, got)
			}
			outside++
		case !tableHeader.MatchString(want), listItem.MatchString(want), keyedHeader.MatchString(want), delimiter != "" && delimiter != ",":
			if ok && !tableHeader.Match(got) {
				t.Errorf("%s: encoded without a table:\n%s", name, got)
			}
			outside++
		default:
			if diff := cmp.Diff(want, string(got)); !ok || diff != "" {
				t.Errorf("%s: %v (-want +got)\n%s", name, ok, diff)
			}
			matched++
		}
	}
	t.Logf("%d fixtures with tables match, %d of %d are outside the subset", matched, outside, len(all))
	if matched < 10 {
		t.Errorf("only %d fixtures are about tables", matched)
	}
}

// Every decoding fixture has to be read as expected or refused; one may be
// refused without being wrong only for what is not read here.
func TestDecodeFixtures(t *testing.T) {
	t.Parallel()
	all := fixtures(t, "decode")
	read, refused, outside := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		input := text(t, c.Input)
		got, err := decode(input)
		lenient := c.Options.Strict != nil && !*c.Options.Strict
		switch {
		case c.Options.IndentSize > 2 || lenient:
			outside++
		case c.ShouldError && err == nil:
			t.Errorf("%s: read as %s", name, got)
		case c.ShouldError:
			refused++
		case err != nil && (listItem.MatchString(input) || keyedHeader.MatchString(input)):
			outside++
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if !sameValue(t, c.Expected, got) {
				t.Errorf("%s: read as %s, want %s", name, got, c.Expected)
			}
			read++
		}
	}
	t.Logf("%d fixtures are read, %d faulty ones refused, %d of %d are outside the subset", read, refused, outside, len(all))
	if read < 50 {
		t.Errorf("only %d fixtures are read", read)
	}
}

// sameValue compares as the specification does: numbers by value.
func sameValue(t *testing.T, want, got []byte) bool {
	t.Helper()
	var x, y any
	for into, doc := range map[*any][]byte{&x: want, &y: got} {
		if err := json.NewDecoder(bytes.NewReader(doc)).Decode(into); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
	}
	return cmp.Equal(x, y)
}
