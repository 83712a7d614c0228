package proc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/stack/proc"
)

// shell starts a shell script and waits for its first line.
func shell(t *testing.T, script string) (p *proc.Process, first string) {
	t.Helper()
	p, err := proc.Start(proc.Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"}, Log: proc.NewLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	first, err = p.Log().Wait(within(t), 0, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return p, first
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestOutputAndExitAreKept(t *testing.T) {
	t.Parallel()
	p, first := shell(t, `echo "$GREETING"; echo two >&2; printf three; exit 3`)
	if first != "hello" {
		t.Errorf("first line %q, want hello", first)
	}
	var exit *exec.ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v, want exit status 3", err)
	}
	if got := p.Log().String(); got != "hello\ntwo\nthree" {
		t.Errorf("log %q", got)
	}
	if got := p.Log().Tail(7); got != "[...]\nthree" {
		t.Errorf("tail %q", got)
	}
	if p.Running() {
		t.Error("an ended program counts as running")
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing an ended program: %v", err)
	}
}

func TestTermWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	p, _ := shell(t, `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	if err := p.Term(within(t)); err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(p.Log().String(), "bye\n") {
		t.Errorf("log %q, want the farewell", p.Log())
	}
}

func TestTermKillsWhatStays(t *testing.T) {
	t.Parallel()
	p, _ := shell(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := p.Term(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, want the context's cause", err)
	}
	if p.Running() {
		t.Error("the program still runs")
	}
}

func TestPauseStopsEverything(t *testing.T) {
	t.Parallel()
	p, _ := shell(t, `echo up; while read x </dev/zero; do :; done; while :; do :; done`)
	if err := p.Pause(within(t)); err != nil {
		t.Fatal(err)
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/stat"); err == nil && !strings.Contains(string(stat), ") T ") {
		t.Errorf("state %s, want T", stat)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := p.Term(within(t)); err == nil {
		t.Error("ended by a signal, yet no error")
	}
}

func TestUntilTellsWhyItGaveUp(t *testing.T) {
	t.Parallel()
	p, _ := shell(t, `echo up; exit 7`)
	missing := errors.New("port closed")
	err := proc.Until(within(t), p, func(context.Context) error { return missing })
	if !errors.Is(err, missing) || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("got %v, want the exit status and the last error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := proc.Until(ctx, nil, func(context.Context) error { return missing }); !errors.Is(err, missing) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error and the last error", err)
	}
}

func TestStartReportsAMissingProgram(t *testing.T) {
	t.Parallel()
	if _, err := proc.Start(proc.Spec{Name: "ghost", Path: "/nonexistent/ghost", Log: proc.NewLog()}); err == nil || !strings.Contains(err.Error(), "ghost") {
		t.Errorf("got %v, want an error that names the program", err)
	}
}

// TestChildDiesWithItsStarter runs this test binary as a starter that is killed.
func TestChildDiesWithItsStarter(t *testing.T) {
	t.Parallel()
	if os.Getenv("PROC_TEST_STARTER") == "1" {
		p, err := proc.Start(proc.Spec{Name: "child", Path: "/bin/sh", Args: []string{"-c", "while :; do sleep 0.05; done"}, Log: proc.NewLog()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("child " + strconv.Itoa(p.PID()) + "\n"); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		return
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux ends orphans")
	}
	starter, err := proc.Start(proc.Spec{
		Name: "starter", Path: os.Args[0], Args: []string{"-test.run=^TestChildDiesWithItsStarter$"},
		Env: []string{"PROC_TEST_STARTER=1"}, Log: proc.NewLog(),
	})
	if err != nil {
		t.Fatal(err)
	}
	line, err := starter.Log().Wait(within(t), 0, func(line string) bool { return strings.HasPrefix(line, "child ") })
	if err != nil {
		t.Fatal(err, starter.Kill(), starter.Log())
	}
	child, err := strconv.Atoi(strings.TrimPrefix(line, "child "))
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Kill(); err != nil {
		t.Fatal(err)
	}
	err = proc.Until(within(t), nil, func(context.Context) error {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return nil // gone, or dead and waiting for its new parent to notice
		}
		return errors.New("the child still runs")
	})
	if err != nil {
		t.Error(err, syscall.Kill(child, syscall.SIGKILL))
	}
}

func TestLogForgetsTheOldest(t *testing.T) {
	t.Parallel()
	l := proc.NewLog()
	line := strings.Repeat("x", 1<<20) + "\n"
	for range 9 {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	mark := l.Mark()
	if _, err := l.Write([]byte("newest\n")); err != nil {
		t.Fatal(err)
	}
	if got := len(l.String()); got > 8<<20 || got < 6<<20 {
		t.Errorf("%d bytes kept, want a little under 8 MiB", got)
	}
	if lines, _ := l.Since(mark); len(lines) != 1 || lines[0] != "newest" {
		t.Errorf("since the mark: %d lines", len(lines))
	}
}
