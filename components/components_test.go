package components_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestAllIsACatalogInOrder(t *testing.T) {
	t.Parallel()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	if names := catalog.Names(); !slices.IsSorted(names) {
		t.Errorf("%v is not in alphabetical order", names)
	}
}

// Every component has a folder of its name with tests, an example, and a
// place in the list.
func TestFoldersAndListAgree(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, spec := range components.All() {
		listed = append(listed, spec.Name)
		if _, err := os.Stat(filepath.Join(spec.Name, "testdata", "example.txtar")); err != nil {
			t.Errorf("%s has no example: %v", spec.Name, err)
		}
		tests, err := os.ReadFile(filepath.Join(spec.Name, spec.Name+"_test.go"))
		if err != nil {
			t.Errorf("%s has no tests: %v", spec.Name, err)
		}
		for _, call := range []string{"test.Conform(", "test.Golden("} { // of pipelinetest or requesttest
			if !strings.Contains(string(tests), call) {
				t.Errorf("the tests of %s do not call %s)", spec.Name, call)
			}
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() && name != "internal" && name != "dsl" && !slices.Contains(listed, name) {
			t.Errorf("folder %s is not in All", name)
		}
	}
}

// All of them together, in the order of the presets, on everything hostile at
// once: the laws hold for a conversation of such outputs.
func TestLawsOfAllOnHostileOutputs(t *testing.T) {
	t.Parallel()
	var turns [][]pipelinetest.Output
	for name, text := range pipelinetest.Hostile() {
		if len(text) < 20_000 {
			turns = append(turns, []pipelinetest.Output{{Text: text, Tool: name}, {Text: text}}, []pipelinetest.Output{{Text: text + "\n"}})
		}
	}
	transcript := pipelinetest.Transcript(turns...)
	outcomes := pipelinetest.Run(t, chain(t), transcript)
	pipelinetest.CheckNeverWorse(t, transcript, outcomes, pipelinetest.Words{})
	pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), sameText)
	pipelinetest.CheckPrefix(t, func() *pipeline.Pipeline { return chain(t) }, transcript)
	pipelinetest.CheckIdempotent(t, chain(t), transcript, true)
	pipelinetest.CheckIdempotent(t, chain(t), transcript, false)
}

// chain is a pipeline of all components in the order of the presets.
func chain(tb testing.TB) *pipeline.Pipeline {
	tb.Helper()
	return pipeline.New(pipelinetest.Settings(tb, inOrder(tb)...))
}

func inOrder(tb testing.TB) []pipeline.Spec {
	tb.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		tb.Fatal(err)
	}
	var specs []pipeline.Spec
	for _, name := range []string{"format", "textclean", "dedup", "extract", "collapse", "searchfold", "linecap"} {
		spec, found := catalog.Find(name)
		if !found {
			tb.Fatalf("no component %q", name)
		}
		specs = append(specs, spec)
	}
	return specs
}
