// Command bench measures what context-guru costs per request through the real
// Envoy, as ratios within one run to two ext_proc servers of the same form that
// do nothing: one declares every body unchanged, one returns a body of the same
// size. Ratios hold when the machine's speed drifts; single times do not.
//
// Two states are measured. Steady: a conversation goes on, every request
// repeats the last one and adds a small turn. First sight: nothing in the
// request was seen before.
//
// Then streamed answers: what it adds to the first event and to later ones that
// they are read for calls of the expand tool, when there is none.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
)

// maxBody is the largest body of the benchmark plus room to be rewritten.
const maxBody = 32 << 20

func main() {
	var (
		baselineKind = flag.String("baseline", "", "serve as a baseline: noop or same (used by the benchmark itself)")
		rounds       = flag.Int("rounds", 5, "rounds per measurement; servers alternate within a round")
		scale        = flag.Float64("scale", 1, "factor on the number of requests per round")
		binary       = flag.String("binary", "", "service to measure; empty builds the one of this tree")
		only         = flag.String("sizes", "20KB,200KB,2MB,20MB", "body sizes; none measures streams alone")
		withStreams  = flag.Bool("streams", true, "measure streamed answers, too")
	)
	flag.Parse()
	var err error
	if *baselineKind != "" {
		err = serveBaseline(*baselineKind, "127.0.0.1:0", maxBody)
	} else {
		if *only != "none" {
			err = run(context.Background(), os.Stdout, *rounds, *scale, strings.Split(*only, ","), *binary)
		}
		if err == nil && *withStreams {
			err = streams(context.Background(), os.Stdout, *rounds, *scale, *binary)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// size is one body size with the number of requests per round: enough that the
// kernel's 10 ms clock of CPU time does not matter.
type size struct {
	name     string
	bytes    int
	requests int
}

func sizes() []size {
	return []size{{"20KB", 20 << 10, 150}, {"200KB", 200 << 10, 80}, {"2MB", 2 << 20, 20}, {"20MB", 20 << 20, 3}}
}

func run(ctx context.Context, out io.Writer, rounds int, scale float64, only []string, binary string) error {
	subjects, stop, err := startAll(ctx, binary)
	if err != nil {
		return err
	}
	defer stop()
	_, _ = fmt.Fprintf(out, "Envoy %s; CPU is ext_proc server + Envoy, per request; × is the median of the ratios of %d rounds\n\n", subjects[0].stack.Envoy.Version(), rounds)
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "body\tstate\tno-op CPU\tsame-size CPU\tcontext-guru CPU\t× no-op\t× same size\tno-op p50\tsame-size p50\tcontext-guru p50\t× same size\t")
	for _, s := range sizes() {
		if !slices.Contains(only, s.name) {
			continue
		}
		s.requests = max(1, int(float64(s.requests)*scale))
		for _, state := range []string{"steady", "first sight"} {
			if err := measure(ctx, t, subjects, s, state, rounds); err != nil {
				return err
			}
			if err := t.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure prints one row.
func measure(ctx context.Context, out io.Writer, subjects []*subject, s size, state string, rounds int) error {
	series := make([][]sample, rounds)
	steady := make([]*workload, len(subjects))
	for round := range rounds {
		for i, sub := range subjects {
			bodies, err := prepare(ctx, sub, &steady[i], s, state, uint64(round*100+i))
			if err != nil {
				return err
			}
			got, err := sub.run(ctx, bodies)
			if err != nil {
				return err
			}
			series[round] = append(series[round], got)
		}
	}
	figure := func(i int, f func(sample) time.Duration) float64 {
		return medianOf(series, func(r []sample) float64 { return float64(f(r[i])) })
	}
	ratio := func(i, j int, f func(sample) time.Duration) float64 {
		return medianOf(series, func(r []sample) float64 { return float64(f(r[i])) / float64(f(r[j])) })
	}
	ms := func(v float64) string { return fmt.Sprintf("%.2f ms", v/1e6) }
	latency := func(s sample) time.Duration { return s.latency }
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t%s\t%.2f\t\n", s.name, state,
		ms(figure(0, sample.total)), ms(figure(1, sample.total)), ms(figure(2, sample.total)),
		ratio(2, 0, sample.total), ratio(2, 1, sample.total),
		ms(figure(0, latency)), ms(figure(1, latency)), ms(figure(2, latency)), ratio(2, 1, latency))
	return err
}

// prepare makes the bodies of one series. In the steady state the conversation
// is sent once, unmeasured, before it goes on.
func prepare(ctx context.Context, sub *subject, w **workload, s size, state string, seed uint64) ([][]byte, error) {
	bodies := make([][]byte, s.requests)
	if state != "steady" {
		for i := range bodies {
			body, err := newWorkload(seed*1_000_003 + uint64(i) + 1<<40).grow(s.bytes)
			if err != nil {
				return nil, err
			}
			bodies[i] = body
		}
		return bodies, nil
	}
	*w = newWorkload(seed)
	first, err := (*w).grow(s.bytes)
	if err != nil {
		return nil, err
	}
	if _, err := sub.run(ctx, [][]byte{first}); err != nil {
		return nil, err
	}
	for i := range bodies {
		if bodies[i], err = (*w).extend(); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// startAll starts the three servers, each behind its own Envoy.
func startAll(ctx context.Context, binary string) (subjects []*subject, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	llm := stack.WithLLM(fakellm.WithDigestsOnly())
	for _, kind := range []string{"noop", "same"} {
		addr, pid, end, err := startBaseline(ctx, kind)
		if err != nil {
			return nil, stop, err
		}
		stops = append(stops, end)
		st, err := stack.Start(ctx, llm, stack.WithExtProc(addr))
		if err != nil {
			return nil, stop, err
		}
		stops = append(stops, func() { _ = st.Close() })
		subjects = append(subjects, &subject{name: kind, stack: st, pid: pid})
	}
	options := []stack.Option{llm, stack.WithConfig("expand: {resolver: external}\n")}
	if binary != "" {
		options = append(options, stack.WithBinary(binary))
	}
	st, err := stack.Start(ctx, options...)
	if err != nil {
		return nil, stop, err
	}
	stops = append(stops, func() { _ = st.Close() })
	return append(subjects, &subject{name: "context-guru", stack: st, pid: st.Service().Process().PID()}), stop, nil
}

// startBaseline runs this program as a baseline.
func startBaseline(ctx context.Context, kind string) (addr string, pid int, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "-baseline", kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, nil, fmt.Errorf("start the %s baseline: %w", kind, err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", 0, nil, fmt.Errorf("start the %s baseline: %w", kind, err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid, stop, nil
}
