package replay

import (
	"context"
	"runtime"
	"sync"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/facts"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Options says how to replay.
type Options struct {
	// Counters count the tokens.
	Counters *tokens.Counters
	// Prices returns the ways to price a request, at least one.
	Prices func(d wire.Dialect, model string) []bill.Price
	// PerOutput bounds the facts and the error lines looked for in one output;
	// 0 is DefaultPerOutput.
	PerOutput int
	// Diff asks for the edits, before and after.
	Diff bool
	// Workers is how many conversations are replayed at once; 0 is one per
	// processor.
	Workers int
	// Replayed is called after each conversation, if set, by any goroutine.
	Replayed func()

	judge *facts.Judge
}

// DefaultPerOutput keeps the time for one output bounded and is more than all
// but the largest outputs have.
const DefaultPerOutput = 200

// Run replays the conversations. The report depends on nothing but them and the
// setup.
func Run(ctx context.Context, opts Options, setup Setup, conversations []*capture.Conversation) (*report.Report, error) {
	if opts.PerOutput == 0 {
		opts.PerOutput = DefaultPerOutput
	}
	opts.judge = facts.NewJudge(opts.PerOutput)
	sum := &sum{out: report.New(setup.Name, setup.Components), waiting: map[int]*report.Conversation{}}
	if err := all(ctx, &opts, &setup, conversations, sum); err != nil {
		return nil, err
	}
	sum.out.Finish()
	return sum.out, nil
}

// sum adds conversations in their order, so that the report does not depend on
// which is ready first, and keeps those that came too early only.
type sum struct {
	mu      sync.Mutex
	out     *report.Report
	next    int
	waiting map[int]*report.Conversation
}

func (s *sum) add(i int, c *report.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[i] = c
	for s.waiting[s.next] != nil {
		s.out.Add(s.waiting[s.next])
		delete(s.waiting, s.next)
		s.next++
	}
}

// all replays every conversation.
func all(ctx context.Context, opts *Options, setup *Setup, conversations []*capture.Conversation, sum *sum) error {
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(workers, len(conversations)) {
		group.Go(func() {
			for i := range next {
				result, err := run(ctx, opts, setup, conversations[i])
				if err != nil {
					cancel(err)
					return
				}
				sum.add(i, result)
				if opts.Replayed != nil {
					opts.Replayed()
				}
			}
		})
	}
feed:
	for i := range conversations {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}
