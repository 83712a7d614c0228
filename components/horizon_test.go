package components_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// horizonChain is a pipeline with components that decide at horizons between
// others that decide at first sight.
func horizonChain(tb testing.TB, distance int) *pipeline.Pipeline {
	tb.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		tb.Fatal(err)
	}
	var specs []pipeline.Spec
	for _, name := range []string{"format", "dedup", "failed_run", "mask", "extract", "collapse"} {
		spec, found := catalog.Find(name)
		if !found {
			tb.Fatalf("no component %q", name)
		}
		specs = append(specs, spec)
	}
	settings := pipelinetest.Settings(tb, specs...)
	settings.HorizonTokens = distance
	return pipeline.New(settings)
}

// A conversation of everything hostile, some of it as runs that fail again and
// again: the laws hold, and at horizons outputs are masked and superseded.
func TestLawsOfHorizonsOnHostileOutputs(t *testing.T) {
	t.Parallel()
	hostile := pipelinetest.Hostile()
	var turns [][]pipelinetest.Output
	for i, name := range slices.Sorted(maps.Keys(hostile)) {
		text := hostile[name]
		if len(text) > 20_000 {
			continue
		}
		turns = append(turns,
			[]pipelinetest.Output{{Text: text, Tool: name}, {Text: text}},
			[]pipelinetest.Output{{Text: fmt.Sprintf("%s\n%d failed, 3 passed\n", text, i+1), Args: `{"command":"make test"}`, IsError: i%2 == 0}})
	}
	transcript := pipelinetest.Transcript(turns...)
	for _, distance := range []int{0, 8000} {
		fresh := func() *pipeline.Pipeline { return horizonChain(t, distance) }
		outcomes := pipelinetest.Run(t, fresh(), transcript)
		pipelinetest.CheckNeverWorse(t, transcript, outcomes, pipelinetest.Words{})
		pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), pipelinetest.SameJSON)
		pipelinetest.CheckIdempotent(t, fresh(), transcript, true)
		pipelinetest.CheckIdempotent(t, fresh(), transcript, false)
		acted := map[string]int{}
		for _, o := range outcomes {
			for _, act := range o.Acts {
				if act.Acted {
					acted[act.Component]++
				}
			}
		}
		if acted["mask"] == 0 || acted["failed_run"] == 0 || acted["dedup"] == 0 || acted["extract"] == 0 {
			t.Errorf("distance %d: acts %v", distance, acted)
		}
	}
	if planned := pipelinetest.CheckPrefix(t, func() *pipeline.Pipeline { return horizonChain(t, 8000) }, transcript); planned == 0 {
		t.Error("no horizon ever changed anything")
	}
}
