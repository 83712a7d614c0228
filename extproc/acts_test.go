package extproc

import (
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"
	tracing "go.opentelemetry.io/otel/trace/noop"

	"github.com/contextguru/contextguru/pipeline"
)

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestCountingActsAllocatesNothing(t *testing.T) {
	tel, err := newTelemetry(tracing.Tracer{}, noop.Meter{}, "contextguru.")
	if err != nil {
		t.Fatal(err)
	}
	acts := []pipeline.Act{
		{Component: "a", Acted: true, Before: 3, After: 1},
		{Component: "a", Reason: "short"},
		{Component: "b", Reason: pipeline.ReasonPanic},
		{Component: "b", Reason: "short"},
	}
	allocs := testing.AllocsPerRun(100, func() {
		for i := range acts {
			tel.act(t.Context(), &acts[i])
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations for %d acts", allocs, len(acts))
	}
	if n := len(tel.labels.made); n != 5 {
		t.Errorf("%d series, want one for each component and each reason", n)
	}
	for i := range 2 * maxLabels {
		tel.act(t.Context(), &pipeline.Act{Component: "c", Reason: pipeline.Reason(strconv.Itoa(i))})
	}
	if n := len(tel.labels.made); n != maxLabels {
		t.Errorf("%d series are kept, at most %d should be", n, maxLabels)
	}
}
