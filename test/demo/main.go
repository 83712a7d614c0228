// Command demo sends a real agent conversation through Envoy and shows what the
// provider received instead.
//
//	go run ./test/demo                  one replica, originals in memory
//	go run ./test/demo -store redis     two replicas and a real Redis, turns alternating between the replicas
//	go run ./test/demo -keep            keeps everything running afterwards, to look around
//
// The tools of the conversation are real commands, run in this repository while
// the demo runs: tests, the version history, package lists, a noisy build, a file
// read twice. Only the model is scripted, by a stand-in provider that records
// what it receives. The exit code is not 0 when any check fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

func main() {
	store := flag.String("store", "memory", "where originals are kept: memory or redis")
	keep := flag.Bool("keep", false, "keep everything running until Ctrl-C")
	flag.Parse()
	if flag.NArg() > 0 || (*store != "memory" && *store != "redis") {
		fmt.Fprintf(os.Stderr, "demo: -store %s %v: want -store memory or -store redis and nothing else\n", *store, flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *store == "redis", *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// config lets the service leave markers, since somebody reads originals back:
// this program, with GET.
const config = "expand: {resolver: external}\n" +
	"cache: {horizon_tokens: 10000000}\n" // none comes, so each turn can be held against the one before

// patient waits longer for Redis than a service should: the demo's own commands,
// builds and tests among them, keep the machine busy.
const patient = "store: {redis: {timeout: 2s}}\n"

func run(ctx context.Context, redis, keep bool) (err error) {
	begun := time.Now()
	settings := config
	if redis {
		settings += patient
	}
	opts := []stack.Option{stack.WithConfig(settings), stack.WithOTLP(), stack.WithLLM(fakellm.WithResponder(unscripted))}
	replicas := 1
	if redis {
		replicas = 2
		opts = append(opts, stack.WithRedis(stack.RedisOptions{}), stack.WithPinnedReplicas(replicas))
	}
	p := newPrinter(os.Stdout)
	p.printf("Building the service and starting Envoy, context-guru and a stand-in provider ...\n")
	s, err := stack.Start(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	where := "in memory"
	if redis {
		where = "in Redis"
	}
	p.printf("Envoy %s, %s, originals %s: up after %.1f s\n",
		s.Envoy.Version(), plural(replicas, "replica"), where, time.Since(begun).Seconds())
	d, err := newDemo(s, p, replicas)
	if err != nil {
		return err
	}
	if err := d.converse(ctx); err != nil {
		return err
	}
	if err := live(ctx, d, redis); err != nil {
		return err
	}
	failed := d.finish(ctx, redis)
	p.printf("\n%s, %.1f s in all\n", plural(len(d.checks)-failed, "check")+" passed, "+strconv.Itoa(failed)+" failed", time.Since(begun).Seconds())
	if keep {
		p.printf("\nStill running; Ctrl-C ends it.\n  Envoy     %s   (admin %s)\n  service   %s/metrics   /stats   /readyz\n",
			s.URL(), s.Envoy.AdminURL(), s.Service().URL())
		<-ctx.Done()
	}
	if failed > 0 {
		return fmt.Errorf("%s failed", plural(failed, "check"))
	}
	return nil
}

// converse plays both conversations.
func (d *demo) converse(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "context-guru-demo-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary folder
	file := "extproc/exchange.go"
	long := []step{
		{"I look at what changed lately.", "git log --stat -n 60"},
		{"Now the packages.", "go list -json ./..."},
		{"I read the state machine.", "cat " + file},
		{"The tests of the model.", "go test -count=1 -v ./pipeline"},
		{"How is the toolchain set up?", "go env -json"},
		{"A verbose build.", "go build -x -o " + scratch + " ./cmd/context-guru"},
		{"I read the file once more before I answer.", "cat " + file},
	}
	short := []step{
		{"The modules in use.", "go list -m -json all"},
		{"And the tests of the store.", "go test -count=1 -v ./store"},
	}
	if err := d.play(ctx, chat.OpenAI, "gpt-4o", long); err != nil {
		return err
	}
	return d.play(ctx, chat.Anthropic, "claude-sonnet-4-5", short)
}

// script makes the provider ask for each step's command in turn and end with a text.
func script(steps []step) []fakellm.Turn {
	turns := make([]fakellm.Turn, 0, len(steps)+1)
	for i, step := range steps {
		turns = append(turns, fakellm.Turn{Blocks: []fakellm.Block{
			fakellm.Text(step.say), fakellm.ToolID(callID(i), "run", step.args()),
		}})
	}
	return append(turns, fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("All of it looks fine.")}})
}

func callID(i int) string { return fmt.Sprintf("call_%024d", i+1) }
