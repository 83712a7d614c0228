package main

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/test/stack/chat"
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

func conversation(b testing.TB, w *workload) rewrite.Request {
	b.Helper()
	for range segments {
		w.turn(1500)
	}
	body, err := w.conv.Body(false)
	if err != nil {
		b.Fatal(err)
	}
	d, _ := wire.Route(w.conv.Path())
	return rewrite.Request{Dialect: d, Body: body, Tenant: "t"}
}

// BenchmarkComponents sends a long conversation again, which has been seen
// before, through pipelines of different lengths. What it costs may depend on how
// many markers there are, and not on how many components.
func BenchmarkComponents(b *testing.B) {
	req, made := conversation(b, newWorkload(1)), pipelines(b)
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

// BenchmarkMarks sends a long conversation again, with cache marks to be set and
// without.
func BenchmarkMarks(b *testing.B) {
	req := conversation(b, newWorkloadIn(chat.Anthropic, "claude-sonnet-4-5", 1))
	four := []string{"format", "dedup", "extract", "collapse"}
	for name, steps := range map[string][]pipeline.Step{"without": build(b, four...), "with": build(b, append(four, "cacheinject")...)} {
		b.Run(name, func(b *testing.B) {
			r := newRewriter(b, pipeline.NewMemo(0), steps...)
			marks := 0
			b.SetBytes(int64(len(req.Body)))
			b.ReportAllocs()
			for b.Loop() {
				reply := r.Rewrite(b.Context(), req)
				marks = reply.Report.Marks
				reply.Release()
			}
			b.ReportMetric(float64(marks), "marks")
		})
	}
}

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestAllocationsDoNotGrowWithComponents(t *testing.T) {
	req, made := conversation(t, newWorkload(1)), pipelines(t)
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
