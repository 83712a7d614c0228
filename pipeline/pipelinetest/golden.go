package pipelinetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/contextguru/contextguru/pipeline"
)

//nolint:gochecknoglobals // flags have to exist before the testing package parses them
var update = flag.Bool("update", false, "write what the tests of golden files produce into those files")

// Update reports whether golden files are to be rewritten instead of compared.
func Update() bool { return *update }

// Golden runs a component on every testdata/*.txtar of its package. A file
// holds, after a description of what it shows, these sections:
//
//	-- config --   the settings as YAML; may be left out
//	-- call --     the call as YAML: tool, args, error; may be left out
//	-- input --    the tool output
//	-- output --   what is sent in its place; left out when it stays as it is
//	-- report --   what the component did, or why it did nothing
//
// A conversation of several outputs has sections input/1, input/2 and so on,
// where the number is the turn and may be followed by a letter. A line of the
// description that begins with "options:" may name
//
//	escaped    \e, \r, \0 and \\ stand for what they say in every text, and a
//	           backslash at the end of a line joins it to the next
//	lossless   nobody can resolve markers
//	bare       markers carry no hint
//
// With -update the sections output and report are written anew.
func Golden(t *testing.T, spec pipeline.Spec) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files in testdata (%v)", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			g, err := parseGolden(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := g.format(runGolden(t, spec, g))
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil { //nolint:gosec // a source file
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), string(got)); diff != "" {
				t.Errorf("%s (-want +got; -update accepts it):\n%s", name, diff)
			}
		})
	}
}

// runGolden returns the outcomes of a golden file's outputs.
func runGolden(t *testing.T, spec pipeline.Spec, g *golden) []*pipeline.Outcome {
	t.Helper()
	step, err := spec.Build(func(into any) error { return yaml.UnmarshalStrict([]byte(g.config), into) }, pipeline.Deps{AllowIrreversible: true})
	if err != nil {
		t.Fatalf("config: %v", err)
	}
	settings := Settings(t)
	settings.Steps = []pipeline.Step{step}
	settings.Lossy, settings.Hints = !g.options["lossless"], !g.options["bare"]
	var turns [][]Output
	for i := range g.inputs {
		in := &g.inputs[i]
		for len(turns) < in.turn {
			turns = append(turns, nil)
		}
		turns[in.turn-1] = append(turns[in.turn-1], Output{Tool: in.Tool, Args: in.Args, Text: in.text, IsError: in.Error})
	}
	transcript := Transcript(turns...)
	outcomes := Run(t, pipeline.New(settings), transcript)
	CheckNeverWorse(t, transcript, outcomes, settings.Counter)
	return outcomes
}

// report says in a line per component what happened to one output.
func report(prefix string, o *pipeline.Outcome) string {
	var b strings.Builder
	if o.Reason != "" {
		fmt.Fprintf(&b, "%sleft alone: %s\n", prefix, o.Reason)
	}
	for _, act := range o.Acts {
		loss := "lossless"
		if act.Lossy {
			loss = "lossy"
		}
		if o.Irreversible {
			loss = "irreversible"
		}
		if act.Acted {
			fmt.Fprintf(&b, "%s%s: %d -> %d tokens, %s\n", prefix, act.Component, act.Before, act.After, loss)
		} else {
			fmt.Fprintf(&b, "%s%s: declined, %s\n", prefix, act.Component, act.Reason)
		}
	}
	return b.String()
}
