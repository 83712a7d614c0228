package components_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/components/internal/syntax"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

const reminder = "<system-reminder>\nNever push to main.\n\n\nNever push to main.\nNever push to main.\n</system-reminder>"

// decided runs a component that loses text on one output, four turns old if age
// is what it goes by, sent twice if copies are.
func decided(t *testing.T, spec pipeline.Spec, o pipelinetest.Output) *pipeline.Outcome {
	t.Helper()
	o.Args = callOf(spec.Name)
	turns := [][]pipelinetest.Output{{o}}
	at := 0
	if spec.Name == "dedup" {
		turns, at = append(turns, []pipelinetest.Output{o}), 1
	}
	if spec.When == pipeline.AtHorizon {
		for range 4 {
			turns = append(turns, []pipelinetest.Output{{Text: "5 passed in 0.1s", Args: o.Args}})
		}
	}
	transcript := pipelinetest.Transcript(turns...)
	return pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, spec)), transcript)[at]
}

// What a client tells its model inside of an output is never cut, wherever it
// stands: in front, behind, or where everything around it goes.
func TestNoComponentCutsReminders(t *testing.T) {
	t.Parallel()
	for _, spec := range components.All() {
		if spec.Kind != pipeline.KindOffload || spec.Name == "skeleton" && !syntax.Available() {
			continue
		}
		payload := payloads()[spec.Name]
		lines := strings.SplitAfter(payload, "\n")
		middle := len(lines) / 2
		texts := map[string]string{
			"in front": reminder + "\n" + payload,
			"behind":   payload + "\n" + reminder,
			"in the middle": strings.Join(lines[:middle], "") + reminder + "\n" +
				strings.Join(lines[middle:], ""),
			"twice": strings.Join(lines[:middle], "") + reminder + "\n" + reminder + "\n" + reminder + "\n" +
				strings.Join(lines[middle:], ""),
		}
		if spec.Name == "smartcrush" {
			delete(texts, "twice")
			texts["in the middle"] = strings.Replace(payload, `"user number 20"`, `"`+strings.ReplaceAll(reminder, "\n", `\n`)+`"`, 1)
		}
		for name, text := range texts {
			t.Run(spec.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := decided(t, spec, pipelinetest.Output{Text: text})
				if o.Lossy == nil {
					t.Fatalf("left alone: %+v", o.Acts)
				}
				view := strings.ReplaceAll(o.Lossy.Text, `\n`, "\n")
				if had, has := strings.Count(strings.ReplaceAll(text, `\n`, "\n"), reminder), strings.Count(view, reminder); has < had && (has == 0 || spec.When == pipeline.FirstSight && spec.Name != "dedup") {
					t.Errorf("%d reminders became %d: %.400q", had, has, view)
				}
			})
		}
	}
}

// A failed result loses text only if it is huge, and then no error; by its
// client's word or by the status that is written around it.
func TestFailedResultsKeepTheirText(t *testing.T) {
	t.Parallel()
	for _, spec := range components.All() {
		if spec.Kind != pipeline.KindOffload || spec.When == pipeline.AtHorizon {
			continue // what is old may be masked, and superseded runs have failed
		}
		payload := payloads()[spec.Name]
		if spec.Name == "collapse" {
			payload = payload[:len(payload)*1/4] // less than huge
			spec = with(t, spec, `{"max_tokens":100}`)
		}
		for name, o := range map[string]pipelinetest.Output{
			"told by the client": {Text: payload, IsError: true},
			"a status in front":  {Text: "Exit code 2\n" + payload},
			"a codex status":     {Text: "Chunk ID: 1\nProcess exited with code 2\nOutput:\n" + payload},
			"a status behind":    {Text: "<untrusted_context>\nOutput: " + payload + "\nExit Code: 2\n</untrusted_context>"},
		} {
			if got := decided(t, spec, o); got.Lossy != nil || got.Acts[0].Reason != pipeline.ReasonErrorResult {
				t.Errorf("%s, %s: %+v", spec.Name, name, got.Acts)
			}
		}
	}
}

// with gives a component other settings.
func with(t *testing.T, spec pipeline.Spec, settings string) pipeline.Spec {
	t.Helper()
	step, err := spec.Build(decode(settings), pipeline.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Define(spec.Meta, struct{}{}, func(struct{}, pipeline.Deps) (pipeline.Component, error) { return step.Component, nil })
}

func TestHugeFailuresShowEveryError(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&b, "compiling part %d of the program\n", i)
		if i%100 == 50 {
			fmt.Fprintf(&b, "\x1b[31merror\x1b[0m: part %d does not compile\n", i)
		}
	}
	text := b.String()
	for _, wrapped := range []pipelinetest.Output{{Text: text, IsError: true}, {Text: "Exit code 1\n" + text}, {Text: `{"stdout":"` + strings.NewReplacer("\n", `\n`, "\x1b", `\u001b`).Replace(text) + `","exit_code":1}`}} {
		spec, _ := find(t, "collapse")
		o := decided(t, spec, wrapped)
		if o.Lossy == nil {
			t.Fatalf("left alone: %+v", o.Acts)
		}
		for i := 50; i < 1500; i += 100 {
			if !strings.Contains(o.Lossy.Text, fmt.Sprintf(": part %d does not compile", i)) {
				t.Errorf("error %d is hidden", i)
			}
		}
	}
	// Where the errors themselves are too much for a view, there is none.
	all := strings.Repeat("error: ", 20)
	var errors strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&errors, "%s%d\n", all, i)
	}
	spec, _ := find(t, "collapse")
	if o := decided(t, spec, pipelinetest.Output{Text: errors.String(), IsError: true}); o.Lossy != nil || o.Acts[0].Reason != pipeline.ReasonErrorsHidden {
		t.Errorf("%+v", o.Acts)
	}
}

func find(t *testing.T, name string) (pipeline.Spec, bool) {
	t.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	return catalog.Find(name)
}

func decode(settings string) func(any) error {
	return func(into any) error { return json.Unmarshal([]byte(settings), into) }
}
