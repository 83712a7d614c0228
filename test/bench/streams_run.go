package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
)

// The streams of one at a time, per server and round, and the crowd.
const (
	aloneStreams = 20
	aloneEvents  = 100
	alonePace    = 2 * time.Millisecond
	crowdStreams = 200
	crowdEvents  = 2000
	// crowdPace is that of a quick model: 100 events a second.
	crowdPace = 10 * time.Millisecond
)

// course is one way of an answer to the client.
type course struct {
	*subject
	p *provider
}

// streams measures what reading answers costs when the model calls nothing: the
// requests carry the expand tool, the answers are read for calls of it, and
// there are none. It is held against the no-op server and against Envoy alone.
func streams(ctx context.Context, out io.Writer, rounds int, scale float64, binary string) error {
	count := func(n int) int { return max(1, int(float64(n)*scale)) }
	err := withCourses(ctx, binary, aloneEvents, alonePace, func(list []course, body []byte) error {
		return alone(ctx, out, list, body, rounds, count(aloneStreams))
	})
	if err != nil {
		return err
	}
	return withCourses(ctx, binary, crowdEvents, crowdPace, func(list []course, body []byte) error {
		return together(ctx, out, list, body, count(crowdStreams))
	})
}

// withCourses starts Envoy alone, with the no-op server and with context-guru,
// sends one request through each, and ends them after do.
func withCourses(ctx context.Context, binary string, events int, pace time.Duration, do func([]course, []byte) error) (err error) {
	address, pid, stop, err := startBaseline(ctx, "noop")
	if err != nil {
		return err
	}
	defer stop()
	// Envoy alone has the filter taken out; its cluster stays and is called by nobody.
	bare := stack.WithEnvoy(stack.Set(stack.ManagerPath().Then("http_filters"), stack.YAML(`
- name: envoy.filters.http.router
  typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
`)))
	loop := []stack.Option{stack.WithLoop(), stack.WithConfig("expand: {gate_tokens: 0}\n")}
	if binary != "" {
		loop = append(loop, stack.WithBinary(binary))
	}
	body, err := streamed()
	if err != nil {
		return err
	}
	var list []course
	for _, kind := range []struct {
		name    string
		options []stack.Option
	}{{"Envoy alone", []stack.Option{stack.WithExtProc(address), bare}}, {"no-op", []stack.Option{stack.WithExtProc(address)}}, {"context-guru", loop}} {
		p := newProvider(events, pace)
		st, err := stack.Start(ctx, append(kind.options, stack.WithLLM(fakellm.WithResponder(p.respond), fakellm.WithHistory(1)))...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		c := course{&subject{name: kind.name, stack: st}, p}
		if _, err := p.stream(ctx, st, body); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		list = append(list, c)
	}
	list[1].pid, list[2].pid = pid, list[2].stack.Service().Process().PID()
	if list[2].p.tooled.Load() == 0 {
		return errors.New("context-guru put no tool into the request, so it does not read the answer")
	}
	return do(list, body)
}

// streamed is a request for a stream, of 20 KB.
func streamed() ([]byte, error) {
	w := newWorkload(1)
	if _, err := w.grow(20 << 10); err != nil {
		return nil, err
	}
	return w.conv.Body(true)
}

// figures are what one round measured of one course.
type figures [6]time.Duration

// alone sends one stream at a time; the courses alternate within a round.
func alone(ctx context.Context, out io.Writer, list []course, body []byte, rounds, n int) error {
	series := make([][]figures, rounds)
	for round := range rounds {
		for _, c := range list {
			var first, answer, later []time.Duration
			for range n {
				f, err := c.p.stream(ctx, c.stack, body)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				first, answer, later = append(first, f.first), append(answer, f.answer), append(later, f.later...)
			}
			series[round] = append(series[round], figures{
				quantile(first, .5), quantile(first, .99), quantile(answer, .5), quantile(answer, .99), quantile(later, .5), quantile(later, .99),
			})
		}
	}
	_, _ = fmt.Fprintf(out, "\nA stream of %d events without a call, read for one; median of %d rounds of %d streams, a round's p99 of the first event being its slowest\n\n", len(list[0].p.parts), rounds, n)
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\tEnvoy alone\tno-op\tcontext-guru\tover Envoy\t× Envoy\tover no-op\t× no-op\t")
	for i, name := range []string{"request to first event p50", "p99", "first event, provider to client p50", "p99", "later events, provider to client p50", "p99"} {
		of := func(c int) float64 {
			return medianOf(series, func(r []figures) float64 { return float64(r[c][i]) })
		}
		over := func(c int) float64 {
			return medianOf(series, func(r []figures) float64 { return float64(r[2][i] - r[c][i]) })
		}
		times := func(c int) float64 {
			return medianOf(series, func(r []figures) float64 { return float64(r[2][i]) / float64(r[c][i]) })
		}
		ms := func(v float64) string { return fmt.Sprintf("%.3f ms", v/1e6) }
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.2f\t%s\t%.2f\t\n", name, ms(of(0)), ms(of(1)), ms(of(2)), ms(over(0)), times(0), ms(over(1)), times(1))
	}
	return t.Flush()
}

// together sends many streams at once. A byte that is lost or changed is an error.
func together(ctx context.Context, out io.Writer, list []course, body []byte, n int) error {
	events := n * len(list[0].p.parts)
	_, _ = fmt.Fprintf(out, "\n%d such streams of %d events at once, each byte compared\n\n", n, len(list[0].p.parts))
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\tevents\twhole streams\ttime\tserver CPU per event\tEnvoy CPU per event\t")
	for _, c := range list {
		before, err := c.cpus()
		if err != nil {
			return err
		}
		begun := time.Now()
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { _, errs[i] = c.p.stream(ctx, c.stack, body) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		took := time.Since(begun)
		after, err := c.cpus()
		if err != nil {
			return err
		}
		each := func(i int) string { return fmt.Sprintf("%.1f µs", float64(after[i]-before[i])/float64(events)/1e3) }
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d of %d\t%.1f s\t%s\t%s\t\n", c.name, events, n, n, took.Seconds(), each(0), each(1))
	}
	return t.Flush()
}

// cpus are the CPU times of the ext_proc server, 0 where there is none, and of Envoy.
func (c course) cpus() (list [2]time.Duration, err error) {
	if c.pid != 0 {
		if list[0], err = cpu(c.pid); err != nil {
			return list, err
		}
	}
	list[1], err = cpu(c.stack.Envoy.PID())
	return list, err
}
