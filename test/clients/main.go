// Command clients lets the official Python SDKs talk to a provider, directly and
// through Envoy with the loop in between, and compares what they make of it.
//
//	go run ./test/clients -python .cache/clients/bin/python
//
// The exit code is not 0 when any answer differs, or mentions our tool.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
)

// cellHeader names a scene, the way it is taken, and one exchange.
const cellHeader = "X-Cell"

func main() {
	python := flag.String("python", "python3", "a Python that has the SDKs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *python)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, python string) (err error) {
	root, err := stack.Root()
	if err != nil {
		return err
	}
	p := &provider{seen: map[string]int{}}
	s, err := stack.Start(ctx, stack.WithLoop(), stack.WithConfig("preset: auto\n"), stack.WithLLM(fakellm.WithResponder(p.respond)))
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	cmd := exec.CommandContext(ctx, python, filepath.Join(root, "test", "clients", "loop.py"), s.LLM.URL(), s.Envoy.URL())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// provider answers by the header of a cell: SCENE/direct/N or SCENE/loop/N.
type provider struct {
	mu   sync.Mutex
	seen map[string]int
}

var markerForm = regexp.MustCompile(`cg:([a-z2-7]{20})`)

func (p *provider) respond(r *fakellm.Request) *fakellm.Turn {
	cell := r.Header.Get(cellHeader)
	name, rest, _ := strings.Cut(cell, "/")
	rounds, ok := scenes()[name]
	if !ok {
		return &fakellm.Turn{Status: 400, Error: &fakellm.ErrorBody{Message: "no such scene"}}
	}
	p.mu.Lock()
	n := p.seen[cell]
	p.seen[cell]++
	p.mu.Unlock()
	if strings.HasPrefix(rest, "direct") {
		return direct(rounds)
	}
	id := markerForm.FindSubmatch(r.Body)
	if id == nil || n >= len(rounds) {
		return &fakellm.Turn{Status: 400, Error: &fakellm.ErrorBody{Message: "no marker, or no such round"}}
	}
	turn := rounds[n]
	turn.Blocks = append([]fakellm.Block{}, turn.Blocks...) // an empty message stays one
	for i, b := range turn.Blocks {
		turn.Blocks[i].Args = fakellm.Args(strings.ReplaceAll(string(b.Args), "MARKER", string(id[1])))
	}
	return &turn
}

const ourTool = "context_guru_expand"

func scenes() map[string][]fakellm.Turn {
	type blocks = []fakellm.Block
	text, think := fakellm.Text, func(s string) fakellm.Block { return fakellm.Thinking(s, "c2lnbmVk"+s) }
	ours := func(id string) fakellm.Block { return fakellm.ToolID(id, ourTool, `{"id":"MARKER"}`) }
	theirs := func(id string) fakellm.Block { return fakellm.ToolID(id, "ls", `{"path":"/a"}`) }
	all := map[string][]fakellm.Turn{}
	for name, rounds := range map[string][]blocks{
		"no call":              {{text("hello wörld 😀")}},
		"ours first":           {{ours("o1")}, {text("done")}},
		"text, ours":           {{text("let me see "), ours("o1")}, {text("done")}},
		"thinking, text, ours": {{think("one1"), text("look"), ours("o1")}, {think("two2"), text("done"), theirs("t1")}},
		"ours twice":           {{ours("o1"), ours("o2")}, {text("done")}},
		"ours, theirs":         {{text("a"), ours("o1"), theirs("t1")}},
		"theirs, ours":         {{text("a"), theirs("t1"), ours("o1")}},
		"parallel":             {{theirs("t1"), ours("o1"), theirs("t2")}},
		"two rounds":           {{text("a"), ours("o1")}, {text("b"), ours("o2")}, {text("c"), theirs("t1")}},
		"empty second":         {{text("a"), ours("o1")}, {}},
	} {
		for i, b := range rounds {
			all[name] = append(all[name], fakellm.Turn{ID: fmt.Sprintf("id-%d", i), Blocks: b, Usage: &fakellm.Usage{Input: 100 * (i + 1), Output: 7 + i}})
		}
	}
	return all
}

// direct is the answer of a provider that has no need to ask.
func direct(rounds []fakellm.Turn) *fakellm.Turn {
	turn, usage := rounds[0], *rounds[len(rounds)-1].Usage
	turn.Blocks, usage.Output = []fakellm.Block{}, 0
	for _, r := range rounds {
		usage.Output += r.Usage.Output
		for _, b := range r.Blocks {
			if b.Tool != ourTool {
				turn.Blocks = append(turn.Blocks, b)
			}
		}
	}
	turn.Usage = &usage
	return &turn
}
