package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	// pollEvery is how often a condition without an event of its own is looked at.
	pollEvery = 10 * time.Millisecond
	// pipeGrace bounds the wait for the output of a program whose own children
	// still hold its pipes.
	pipeGrace = 2 * time.Second
)

// Spec says what to run.
type Spec struct {
	// Name is what errors call the program.
	Name string
	// Path is the program, Args are its arguments.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Log receives both output streams.
	Log *Log
}

// Process is one run of a program.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  *Log
	done chan struct{}
	err  error
}

// Start runs a program. It does not wait until the program is ready.
func Start(spec Spec) (*Process, error) {
	p := &Process{name: spec.Name, log: spec.Log, done: make(chan struct{})}
	p.cmd = exec.Command(spec.Path, spec.Args...)
	p.cmd.Env = append(os.Environ(), spec.Env...)
	p.cmd.Dir = spec.Dir
	p.cmd.Stdout, p.cmd.Stderr = spec.Log, spec.Log
	p.cmd.WaitDelay = pipeGrace
	p.cmd.SysProcAttr = attributes()
	started := make(chan error, 1)
	go func() {
		// Linux signals the death of the thread that started a child, not that of
		// the process: this thread has to live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns what the program prints.
func (p *Process) Log() *Log { return p.log }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the program has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err returns how the program ended: nil for exit status 0. It waits for the end.
func (p *Process) Err() error {
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%s: %w", p.name, p.err)
	}
	return nil
}

// Signal sends a signal. A program that has ended already is an error.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

// Kill ends the program at once (SIGKILL) and returns when it is gone. One that
// has ended already is no error.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if err == nil {
		<-p.done
	}
	return err
}

// Term asks the program to end (SIGTERM) and returns how it did. When the
// context ends first the program is killed and the context's error returned.
func (p *Process) Term(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return p.Err()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s ignores SIGTERM: %w", p.name, context.Cause(ctx)), p.Kill())
	}
}

// Pause stops the program without ending it (SIGSTOP): its connections stay
// open and nothing is answered. It returns when no thread runs any more.
func (p *Process) Pause(ctx context.Context) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return Until(ctx, p, func(context.Context) error { return paused(p.PID()) })
}

// Resume lets a paused program go on (SIGCONT).
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Until calls f until it returns nil. It gives up, with f's last error, when the
// context ends or the program, if one is given, does.
func Until(ctx context.Context, p *Process, f func(context.Context) error) error {
	var ended <-chan struct{}
	if p != nil {
		ended = p.done
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ended:
			return fmt.Errorf("%s ended (%s) before: %w", p.name, p.cmd.ProcessState, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
