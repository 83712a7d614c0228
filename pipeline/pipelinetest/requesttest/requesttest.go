// Package requesttest holds the golden and conformance tests of components
// that decide about a request as a whole. Unlike those that decide about one
// output they are tested on request bodies, since where something can stand is
// what they are about.
package requesttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Build makes a component ready to run; config is its settings as YAML.
func Build(tb testing.TB, spec pipeline.Spec, config string) pipeline.Step {
	tb.Helper()
	step, err := spec.Build(func(into any) error { return yaml.UnmarshalStrict([]byte(config), into) }, pipeline.Deps{})
	if err != nil {
		tb.Fatalf("config: %v", err)
	}
	return step
}

// Rewrite applies components to a body and returns what is sent and what they did.
func Rewrite(tb testing.TB, d wire.Dialect, body []byte, steps ...pipeline.Step) ([]byte, []pipeline.Act) {
	tb.Helper()
	transcript, err := wire.NewParser(wire.Limits{}).Parse(d, body)
	if err != nil {
		tb.Fatalf("%v: %s", err, body)
	}
	settings := pipelinetest.Settings(tb)
	settings.Steps = steps
	p := pipeline.New(settings)
	result, err := p.Run(tb.Context(), transcript)
	if err != nil {
		tb.Fatal(err)
	}
	defer p.Release(result)
	patches := make([]wire.Patch, 0, len(result.Annotations))
	for _, a := range result.Annotations {
		patches = append(patches, wire.Patch{Span: pipeline.Span{Start: a.Offset, End: a.Offset}, Raw: a.Value})
	}
	slices.SortFunc(patches, func(a, b wire.Patch) int { return a.Span.Start - b.Span.Start })
	out, err := wire.Splice(nil, body, patches)
	if err != nil {
		tb.Fatal(err)
	}
	return out, slices.Clone(result.Acts)
}

// Golden runs a component on every testdata/*.txtar of its package: sections
// config (YAML, may be left out), dialect, input (the body), and output (left out
// when the body stays as it is) and report, which -update writes anew.
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
			got := golden(t, spec, txtar.Parse(text))
			if pipelinetest.Update() {
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

func golden(t *testing.T, spec pipeline.Spec, in *txtar.Archive) []byte {
	t.Helper()
	out := txtar.Archive{Comment: in.Comment}
	sections := map[string]string{}
	for _, f := range in.Files {
		switch f.Name {
		case "config", "dialect", "input":
			out.Files = append(out.Files, f)
			sections[f.Name] = string(f.Data)
		case "output", "report":
		default:
			t.Fatalf("unknown section %q", f.Name)
		}
	}
	body := []byte(sections["input"])
	sent, acts := Rewrite(t, wire.Dialect(strings.TrimSpace(sections["dialect"])), body, Build(t, spec, sections["config"]))
	if !bytes.Equal(sent, body) {
		out.Files = append(out.Files, txtar.File{Name: "output", Data: sent})
	}
	var report strings.Builder
	for _, act := range acts {
		if act.Acted {
			fmt.Fprintf(&report, "%s: acted\n", act.Component)
		} else {
			fmt.Fprintf(&report, "%s: declined, %s\n", act.Component, act.Reason)
		}
	}
	out.Files = append(out.Files, txtar.File{Name: "report", Data: []byte(report.String())})
	return txtar.Format(&out)
}

// Conform puts a component that annotates requests through what is asked of every
// one, on generated bodies of every dialect.
func Conform(t *testing.T, spec pipeline.Spec, configs ...string) {
	t.Helper()
	pipelinetest.ConformSpec(t, spec)
	for _, config := range append(configs, "{}") {
		step := Build(t, spec, config)
		for seed := range uint64(400) {
			rnd := rand.New(rand.NewPCG(seed, 21)) //nolint:gosec // tests are repeatable
			d, body := Body(rnd)
			conform(t, step, d, body)
			if t.Failed() {
				t.Fatalf("seed %d, settings %s, %s: %s", seed, config, d, body)
			}
		}
	}
	t.Run("together", func(t *testing.T) {
		step := Build(t, spec, "{}")
		var group sync.WaitGroup
		for seed := range uint64(8) {
			group.Go(func() {
				d, body := Body(rand.New(rand.NewPCG(seed%2, 22))) //nolint:gosec // tests are repeatable
				want, _ := Rewrite(t, d, body, step)
				for range 20 {
					if got, _ := Rewrite(t, d, body, step); !bytes.Equal(got, want) {
						t.Errorf("decided differently next to others")
					}
				}
			})
		}
		group.Wait()
	})
}

func conform(t *testing.T, step pipeline.Step, d wire.Dialect, body []byte) {
	t.Helper()
	before := bytes.Clone(body)
	sent, acts := Rewrite(t, d, body, step)
	if len(acts) != 1 || acts[0].Fault() || acts[0].Acted != (acts[0].Reason == "") || acts[0].Acted == bytes.Equal(sent, body) {
		t.Errorf("acts %+v", acts)
	}
	if !bytes.Equal(body, before) {
		t.Error("the client's own bytes were written to")
	}
	if !json.Valid(sent) {
		t.Errorf("not JSON: %s", sent)
	}
	if again, _ := Rewrite(t, d, sent, step); !bytes.Equal(again, sent) {
		t.Errorf("a rewritten request is rewritten again: %s", again)
	}
	if twice, _ := Rewrite(t, d, body, step, step); !bytes.Equal(twice, sent) {
		t.Errorf("listed twice it does something else: %s", twice)
	}
	marks, had := Count(sent), Count(body)
	if marks > 4 && had <= 4 {
		t.Errorf("%d marks, and %d of them the client's: %s", marks, had, sent)
	}
	if had > 0 && marks != had {
		t.Errorf("%d marks were added to those of the client: %s", marks-had, sent)
	}
	if had == 0 && !bytes.Equal(Unmark(sent), body) {
		t.Errorf("without the marks it is not the client's request: %s", sent)
	}
}

// marks are all marks that are ever added, with the comma in front.
func marks() []string {
	return []string{
		`,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`,
		`,{"cachePoint":{"type":"default"}}`, `,{"cachePoint":{"type":"default","ttl":"1h"}}`,
	}
}

// Unmark takes marks of the form in which they are added out of a body. Inside of
// a JSON string the quotes would be escaped, so nothing else looks like them.
func Unmark(body []byte) []byte {
	for _, mark := range marks() {
		body = bytes.ReplaceAll(body, []byte(mark), nil)
	}
	return body
}

// Count counts the marks of a request, in any spelling: members and blocks that
// carry one, those of arguments and schemas aside.
func Count(body []byte) int {
	var request any
	if err := json.Unmarshal(body, &request); err != nil {
		return 0
	}
	return count(request)
}

func count(value any) (n int) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			n += count(element)
		}
	case map[string]any:
		for name, member := range v {
			switch name {
			case "cache_control", "cachePoint":
				n++
			case "input", "input_schema", "inputSchema", "json":
			default:
				n += count(member)
			}
		}
	}
	return n
}
