package storetest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take until it accepts connections, on a
// machine that is busy with other tests.
const startTimeout = 20 * time.Second

// ServerOption changes how [StartRedis] starts a server.
type ServerOption func(*serverSetup)

type serverSetup struct {
	tcp, sentinel bool
	args          []string
}

// WithTCP makes the server listen on a free port of the loopback interface as well.
func WithTCP() ServerOption { return func(s *serverSetup) { s.tcp = true } }

// WithArgs appends configuration directives, each with its value, as on the
// server's command line ("--maxmemory", "1mb").
func WithArgs(args ...string) ServerOption {
	return func(s *serverSetup) { s.args = append(s.args, args...) }
}

// AsSentinel starts the server in sentinel mode on TCP, watching the master
// under the name.
func AsSentinel(name string, master *Server) ServerOption {
	return func(s *serverSetup) {
		s.tcp, s.sentinel = true, true
		host, port, err := net.SplitHostPort(master.Addr)
		if err == nil {
			s.args = append(s.args, "--sentinel", "monitor", name, host, port, "1")
		}
	}
}

// Server is a running redis-server, killed when its test ends.
type Server struct {
	Socket string // path of its unix socket; empty for a sentinel
	Addr   string // host:port; empty without [WithTCP]

	setup serverSetup
	bin   string
	dir   string
	cmd   *exec.Cmd
	done  chan struct{}
	log   *tail
}

// RedisBinary returns the path of the redis-server to test with. Without one it
// skips the test, or fails it when REQUIRE_E2E=1.
func RedisBinary(tb testing.TB) string {
	tb.Helper()
	bin, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
		return bin
	case os.Getenv("REQUIRE_E2E") == "1":
		tb.Fatal("REQUIRE_E2E=1, but there is no redis-server on PATH")
	default:
		tb.Skip("no redis-server on PATH")
	}
	return ""
}

// StartRedis starts a server without persistence in a directory of its own and
// returns when it accepts connections.
func StartRedis(tb testing.TB, options ...ServerOption) *Server {
	tb.Helper()
	s := &Server{bin: RedisBinary(tb), log: &tail{}}
	for _, o := range options {
		o(&s.setup)
	}
	// Not tb.TempDir: a socket's path has at most 107 bytes, and test names are long.
	dir, err := os.MkdirTemp("", "redis-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		tb.Fatalf("make directory for redis-server: %v", err)
	}
	s.dir = dir
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("redis-server log:\n%s", s.log)
		}
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove directory of redis-server: %v", err)
		}
	})
	if !s.setup.sentinel {
		s.Socket = filepath.Join(dir, "s")
	}
	if s.setup.tcp {
		s.Addr = FreeAddr(tb)
	}
	s.Start(tb)
	return s
}

// FreeAddr returns a loopback address on a port nobody listens on.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Start starts a killed server again, on the same addresses and without its data.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	ready := make(chan struct{})
	s.done = make(chan struct{})
	s.cmd = exec.Command(s.bin, s.arguments(tb)...) //nolint:gosec // the binary the test asked for
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		tb.Fatalf("redis-server output: %v", err)
	}
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	go s.watch(out, ready)
	select {
	case <-ready:
	case <-s.done:
		tb.Fatalf("redis-server ended at start:\n%s", s.log)
	case <-time.After(startTimeout):
		tb.Fatalf("redis-server accepts no connections after %v:\n%s", startTimeout, s.log)
	}
}

func (s *Server) arguments(tb testing.TB) []string {
	tb.Helper()
	port := "0"
	if s.Addr != "" {
		_, p, err := net.SplitHostPort(s.Addr)
		if err != nil {
			tb.Fatalf("address of redis-server: %v", err)
		}
		port = p
	}
	args := []string{"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--daemonize", "no"}
	if s.setup.sentinel {
		// A sentinel insists on a file it can rewrite.
		conf := filepath.Join(s.dir, "sentinel.conf")
		if err := os.WriteFile(conf, nil, 0o600); err != nil {
			tb.Fatalf("write sentinel configuration: %v", err)
		}
		return append(append([]string{conf, "--sentinel"}, args...), s.setup.args...)
	}
	args = append(args, "--unixsocket", s.Socket, "--save", "", "--appendonly", "no", "--databases", "128")
	return append(args, s.setup.args...)
}

// watch passes the log on, reports readiness and closes done when the process ended.
func (s *Server) watch(out io.Reader, ready chan<- struct{}) {
	told := false
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, _ = fmt.Fprintln(s.log, lines.Text())
		if !told && (strings.Contains(lines.Text(), "eady to accept connections") || strings.Contains(lines.Text(), "Sentinel ID is")) {
			told = true
			close(ready)
		}
	}
	_ = s.cmd.Wait() // killed on purpose: the status says nothing
	close(s.done)
}

// Kill ends the server at once, as a crash would, and waits until it is gone.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.done
	_ = os.Remove(s.Socket)
}

// Pause stops the server's process without closing anything: it is connected
// and silent, as a host that swaps or a network that drops packets makes it.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatalf("pause redis-server: %v", err)
	}
}

// Resume ends a Pause.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		tb.Fatalf("resume redis-server: %v", err)
	}
}

// Eventually waits until a real server reached a state that it announces to
// nobody, and fails the test when it does not within the timeout.
func Eventually(tb testing.TB, timeout time.Duration, what string, reached func() bool) {
	tb.Helper()
	deadline := time.After(timeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("not within %v: %s", timeout, what)
		}
	}
}

// tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 16 << 10

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if cut := len(t.text) - tailBytes; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
