package main

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// The pipelines that are compared: the default one, all components there are in
// the order in which they are of use, and those three times over, which is more
// than anybody has.
func pipelines(b testing.TB) map[string][]pipeline.Step {
	b.Helper()
	four := []string{"format", "dedup", "extract", "collapse"}
	all := []string{
		"textclean", "searchfold", "format", "toon", "dedup", "failed_run", "smartcrush", "mask", "extract", "collapse", "linecap", "cacheinject",
	}
	made := map[string][]pipeline.Step{"four": build(b, four...), "all": build(b, all...)}
	for n := range 3 {
		for _, step := range build(b, all...) {
			step.Name = fmt.Sprint(step.Name, n)
			made["many"] = append(made["many"], step)
		}
	}
	return made
}

// segments is how many tool outputs the conversation has.
const segments = 300

func conversation(b testing.TB) rewrite.Request {
	b.Helper()
	w := newWorkload(1)
	for range segments {
		w.turn(1500)
	}
	body, err := w.conv.Body(false)
	if err != nil {
		b.Fatal(err)
	}
	return rewrite.Request{Dialect: wire.OpenAIChat, Body: body, Tenant: "t"}
}

// BenchmarkComponents sends a long conversation again, which has been seen
// before, through pipelines of different lengths. What it costs may depend on how
// many markers there are, and not on how many components.
func BenchmarkComponents(b *testing.B) {
	req, made := conversation(b), pipelines(b)
	for _, name := range []string{"four", "all", "many"} {
		b.Run(strconv.Itoa(len(made[name])), func(b *testing.B) {
			r := newRewriter(b, pipeline.NewMemo(0), made[name]...)
			reply := r.Rewrite(b.Context(), req)
			markers := reply.Report.Markers
			reply.Release()
			b.SetBytes(int64(len(req.Body)))
			b.ReportAllocs()
			for b.Loop() {
				r.Rewrite(b.Context(), req).Release()
			}
			b.ReportMetric(float64(markers), "markers")
		})
	}
}

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestAllocationsDoNotGrowWithComponents(t *testing.T) {
	req, made := conversation(t), pipelines(t)
	allocs := map[string]float64{}
	for name, steps := range made {
		r := newRewriter(t, pipeline.NewMemo(0), steps...)
		run := func() {
			reply := r.Rewrite(t.Context(), req)
			if reply.Report.Verdict != rewrite.Rewritten {
				t.Fatalf("%+v", reply.Report)
			}
			reply.Release()
		}
		run()
		if reply := r.Rewrite(t.Context(), req); reply.Report.Fresh > 0 {
			t.Errorf("%s: %d outputs were decided about again", name, reply.Report.Fresh)
		}
		allocs[name] = testing.AllocsPerRun(20, run)
	}
	t.Logf("%v", allocs)
	// Twelve components have four times as many markers as four, and a map of
	// those grows by steps; what else is allocated is the same.
	if allocs["many"] > allocs["all"]+4 || allocs["many"] > allocs["four"]+15 {
		t.Errorf("allocations of %d, %d and %d components: %v", len(made["four"]), len(made["all"]), len(made["many"]), allocs)
	}
}
