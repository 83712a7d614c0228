package stack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/contextguru/contextguru/test/stack/proc"
)

// Service is one replica of the product as a built program. It can be killed,
// paused and started again on the same addresses.
type Service struct {
	name, binary string
	dir          string // its configuration and socket
	defaults     map[string]any
	env          []string
	log          *proc.Log
	grpc, http   string

	mu sync.Mutex
	p  *proc.Process
}

// newService chooses addresses and writes the configuration: the given YAML,
// completed where it says nothing by what the stack knows.
func newService(dir string, index int, config string, defaults map[string]any, o *options) (*Service, error) {
	s := &Service{
		name: "context-guru-" + strconv.Itoa(index), binary: o.binary, env: o.serviceEnv, log: proc.NewLog(),
		dir: filepath.Join(dir, strconv.Itoa(index)), defaults: maps.Clone(defaults),
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for %s: %w", s.name, err)
	}
	grpcPort, err := freePort()
	if err != nil {
		return nil, err
	}
	httpPort, err := freePort()
	if err != nil {
		return nil, err
	}
	s.grpc, s.http = loopback(grpcPort), loopback(httpPort)
	listen := map[string]any{"grpc": s.grpc, "http": s.http}
	if o.socket {
		s.grpc = filepath.Join(s.dir, "extproc.sock")
		listen["grpc"], listen["grpc_socket"] = "", s.grpc
	}
	if o.secret != "" {
		listen["secret"] = map[string]any{"file": filepath.Join(dir, secretFile)}
	}
	s.defaults["listen"] = listen
	return s, s.Configure(config)
}

const (
	secretFile = "secret"
	keyFile    = "service.key"
)

// writeSecrets writes the files that configurations refer to.
func writeSecrets(dir, secret string) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("make a service key: %w", err)
	}
	for name, text := range map[string]string{keyFile: hex.EncodeToString(key), secretFile: secret} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write a secret: %w", err)
		}
	}
	return nil
}

// Configure writes another configuration, to be read at the next start. What it
// does not say is completed as in the beginning, addresses included.
func (s *Service) Configure(config string) error {
	own := map[string]any{}
	if err := yaml.Unmarshal([]byte(config), &own); err != nil {
		return fmt.Errorf("configuration of %s: %w", s.name, err)
	}
	text, err := yaml.Marshal(complete(own, s.defaults))
	if err != nil {
		return fmt.Errorf("configuration of %s: %w", s.name, err)
	}
	if err := os.WriteFile(s.ConfigFile(), text, 0o600); err != nil {
		return fmt.Errorf("configuration of %s: %w", s.name, err)
	}
	return nil
}

// complete adds the defaults that are absent, mappings key by key.
func complete(own, defaults map[string]any) map[string]any {
	out := maps.Clone(own)
	for key, fallback := range defaults {
		value, given := out[key]
		inner, isMap := value.(map[string]any)
		deeper, isMapToo := fallback.(map[string]any)
		switch {
		case !given:
			out[key] = fallback
		case isMap && isMapToo:
			out[key] = complete(inner, deeper)
		}
	}
	return out
}

// Start starts the service and waits until it is ready.
func (s *Service) Start(ctx context.Context) error {
	// A socket of a killed run would be mistaken for one that listens.
	if s.OnSocket() {
		if err := os.RemoveAll(s.grpc); err != nil {
			return fmt.Errorf("start %s: %w", s.name, err)
		}
	}
	p, err := proc.Start(proc.Spec{
		Name: s.name, Path: s.binary, Args: []string{"serve", "-config", s.ConfigFile()}, Env: s.env, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.p = p
	s.mu.Unlock()
	if err := proc.Until(ctx, p, s.ready); err != nil {
		return fmt.Errorf("%s does not get ready: %w\n%s", s.name, err, s.log.Tail(2000))
	}
	return nil
}

// ready fails until the service says it is ready and its gRPC address takes connections.
func (s *Service) ready(ctx context.Context) error {
	if _, err := fetch(ctx, s.URL()+"/readyz"); err != nil {
		return err
	}
	network := "tcp"
	if s.OnSocket() {
		network = "unix"
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, s.grpc)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Process is the current run.
func (s *Service) Process() *proc.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p
}

// Log returns what all runs printed.
func (s *Service) Log() *proc.Log { return s.log }

// ConfigFile is the file the service reads at its start.
func (s *Service) ConfigFile() string { return filepath.Join(s.dir, "config.yaml") }

// GRPC is the address Envoy calls: host:port, or the path of a unix socket.
func (s *Service) GRPC() string { return s.grpc }

// OnSocket reports whether Envoy calls it on a unix socket.
func (s *Service) OnSocket() bool { return strings.HasPrefix(s.grpc, "/") }

// URL is the base URL of its HTTP port.
func (s *Service) URL() string { return "http://" + s.http }

// Get fetches a page of its HTTP port, such as /metrics.
func (s *Service) Get(ctx context.Context, path string) ([]byte, error) {
	return fetch(ctx, s.URL()+path)
}

// Stats returns what GET /stats answers.
func (s *Service) Stats(ctx context.Context) (Stats, error) {
	var snapshot Stats
	page, err := s.Get(ctx, "/stats")
	if err != nil {
		return snapshot, err
	}
	if err := json.Unmarshal(page, &snapshot); err != nil {
		return snapshot, fmt.Errorf("read /stats of %s: %w", s.name, err)
	}
	return snapshot, nil
}

// Kill ends the service at once.
func (s *Service) Kill() error { return s.Process().Kill() }

// Term asks the service to end and returns how it did: nil for exit status 0.
func (s *Service) Term(ctx context.Context) error { return s.Process().Term(ctx) }

// Restart kills the service and starts it again, with nothing remembered.
func (s *Service) Restart(ctx context.Context) error {
	if err := s.Kill(); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Pause makes the service hang: its connections stay open, nothing is answered.
func (s *Service) Pause(ctx context.Context) error { return s.Process().Pause(ctx) }

// Resume ends a hang.
func (s *Service) Resume() error { return s.Process().Resume() }

// stopGrace is how long a service whose Envoy is gone may take to end.
const stopGrace = 20 * time.Second

// close ends the service the polite way, so that every run of a stack also shows
// that it can be stopped. One that was paused is killed.
func (s *Service) close() error {
	p := s.Process()
	if p == nil || !p.Running() {
		return nil
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := p.Term(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}
