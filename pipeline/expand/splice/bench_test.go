package splice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/expand/splice"
)

// words is a stream of so many events with a few words each.
func words(p speaker, events int) [][]byte {
	var list [][]byte
	for _, e := range p.stream(visible(p, []answer{reply(0, text(strings.Repeat("abc", events)))})) {
		list = append(list, []byte(e))
	}
	return list
}

func through(tb testing.TB, cfg splice.Config, events [][]byte) (size int) {
	tb.Helper()
	cfg.Tool = tool
	s, err := splice.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range events {
		size += len(s.Write(e))
	}
	out, turn := s.End()
	if turn != nil {
		tb.Fatal("a call")
	}
	return size + len(out)
}

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	for _, p := range streams() {
		short, long := words(p, 100), words(p, 1100)
		measure := func(events [][]byte) float64 {
			return testing.AllocsPerRun(10, func() { through(t, streamed(p), events) })
		}
		each := (measure(long) - measure(short)) / 1000
		most := 0.02 // buffers that grow
		if p.dialect() == "gemini" {
			most = 1.6 // the parts of the turn are kept one by one
		}
		if each > most {
			t.Errorf("%T: %.3f allocations for an event", p, each)
		}
	}
}

// BenchmarkEvent is the time for one event of a stream without a call of ours.
func BenchmarkEvent(b *testing.B) {
	for _, p := range streams() {
		b.Run(fmt.Sprintf("%T%v", p, p), func(b *testing.B) {
			events := words(p, 2000)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += len(events)
				through(b, streamed(p), events)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
}
