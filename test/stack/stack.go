package stack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack/otlp"
)

// Stack is everything that was started. Fields of parts that were not asked for
// are nil.
type Stack struct {
	Envoy    *Envoy
	Services []*Service
	LLM      *fakellm.Server
	Redis    *Redis
	OTLP     *otlp.Receiver

	dir     string
	o       *options
	port    int // of Envoy's listener, when it has to be known before Envoy runs
	mu      sync.Mutex
	clients map[Protocol]*http.Client
}

// Start starts a stack. On an error nothing is left running; the error tells
// which part failed and what it printed. A program that is not installed is a
// [*MissingError]. The context bounds the start only.
func Start(ctx context.Context, opts ...Option) (*Stack, error) {
	s := &Stack{o: gather(opts), clients: map[Protocol]*http.Client{}}
	if err := s.start(ctx); err != nil {
		said := s.Logs(4000)
		return nil, errors.Join(fmt.Errorf("start the stack: %w\n%s", err, said), s.Close())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) (err error) {
	// What is missing is found before anything is built.
	if _, err := FindEnvoy(); err != nil {
		return err
	}
	if s.o.redis != nil {
		if _, err := FindRedis(); err != nil {
			return err
		}
	}
	if s.o.binary == "" && s.o.replicas > 0 {
		if s.o.binary, err = Build(s.o.race); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.startTimeout, errors.New("start timeout"))
	defer cancel()
	if s.dir, err = os.MkdirTemp("", "context-guru-stack-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	s.LLM = fakellm.New(s.o.llm...)
	if _, err := s.LLM.Start("127.0.0.1:0"); err != nil {
		return fmt.Errorf("start the provider: %w", err)
	}
	if s.o.otlp {
		if s.OTLP, err = otlp.Start("127.0.0.1:0"); err != nil {
			return err
		}
	}
	if s.o.redis != nil {
		if s.Redis, err = StartRedis(ctx, s.dir, *s.o.redis); err != nil {
			return err
		}
	}
	if err := s.startServices(ctx); err != nil {
		return err
	}
	return s.startEnvoy(ctx)
}

func (s *Stack) startServices(ctx context.Context) error {
	if err := writeSecrets(s.dir, s.o.secret); err != nil {
		return err
	}
	defaults := map[string]any{
		"keys":     []any{map[string]any{"id": "k1", "file": filepath.Join(s.dir, keyFile)}},
		"shutdown": map[string]any{"drain": "0s"},
	}
	if s.Redis != nil {
		defaults["store"] = map[string]any{"type": "redis", "redis": map[string]any{"addresses": []string{s.Redis.Addr()}}}
	}
	if s.OTLP != nil {
		defaults["telemetry"] = map[string]any{"otlp": map[string]any{"endpoint": s.OTLP.Addr(), "insecure": true}}
	}
	if s.o.loop {
		var err error
		if s.port, err = freePort(); err != nil {
			return err
		}
		defaults["expand"] = map[string]any{"gateway_url": "http://" + loopback(s.port)}
	}
	for i := range s.o.replicas {
		service, err := newService(s.dir, i, s.o.config, defaults, s.o)
		if err != nil {
			return err
		}
		s.Services = append(s.Services, service)
	}
	return each(s.Services, func(service *Service) error { return service.Start(ctx) })
}

// each calls f for all services at once.
func each(services []*Service, f func(*Service) error) error {
	errs := make([]error, len(services))
	var all sync.WaitGroup
	for i, service := range services {
		all.Go(func() { errs[i] = f(service) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *Stack) startEnvoy(ctx context.Context) error {
	root, err := Root()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "envoy", "envoy.yaml"))
	if err != nil {
		return fmt.Errorf("read Envoy's configuration: %w", err)
	}
	c, err := parseConfig(text)
	if err != nil {
		return err
	}
	addresses := s.o.extProc
	for _, service := range s.Services {
		addresses = append(addresses, service.GRPC())
	}
	if len(addresses) == 0 {
		return errors.New("nothing for Envoy to call: ask for a replica or name an external processor")
	}
	// Port 0: Envoy takes a free one and tells which.
	for _, address := range []Path{{"admin"}, ListenerPath()} {
		c.Set(address.Then("address", "socket_address", "port_value"), 0)
	}
	if s.port > 0 { // the services had to know
		c.Set(ListenerPath().Then("address", "socket_address", "port_value"), s.port)
	}
	setEndpoints(c, ClusterPath("llm"), []string{s.LLM.Addr()})
	setEndpoints(c, ClusterPath(filterName), addresses)
	for _, edit := range s.o.edits {
		edit(c)
	}
	if s.o.pinned {
		pinReplicas(addresses)(c)
	}
	s.Envoy, err = startEnvoy(ctx, s.dir, c, s.o)
	return err
}

// Service is the first replica.
func (s *Stack) Service() *Service { return s.Services[0] }

// URL is the base URL of Envoy's listener.
func (s *Stack) URL() string { return s.Envoy.URL() }

// Dir is the stack's own folder, removed by [Stack.Close].
func (s *Stack) Dir() string { return s.dir }

// Logs returns at most n bytes of what each part printed last.
func (s *Stack) Logs(n int) string {
	var out []byte
	section := func(name, text string) { out = fmt.Appendf(out, "---- %s ----\n%s\n", name, text) }
	for _, service := range s.Services {
		section(service.name, service.Log().Tail(n))
	}
	if s.Redis != nil {
		section("redis", s.Redis.Log().Tail(n))
	}
	if s.Envoy != nil {
		section("envoy", s.Envoy.Log().Tail(n))
	}
	return string(out)
}

// Close ends everything that was started, each process by its id, and removes
// the stack's folder. It returns an error if a service did not stop cleanly when
// asked to. It may be called twice.
func (s *Stack) Close() error {
	s.mu.Lock()
	for _, client := range s.clients {
		client.CloseIdleConnections()
	}
	s.mu.Unlock()
	var errs []error
	if s.Envoy != nil {
		// Envoy first: services then have nothing in flight that could hold them up.
		errs = append(errs, s.Envoy.Kill())
	}
	errs = append(errs, each(s.Services, (*Service).close))
	if s.Redis != nil {
		errs = append(errs, s.Redis.Close())
	}
	if s.LLM != nil {
		errs = append(errs, s.LLM.Close())
	}
	if s.OTLP != nil {
		s.OTLP.Close()
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
