package e2e

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/test/stack/proc"
)

// local is the product's own external processor inside the test process, with
// the default components, so that a fault can strike at an exact message.
type local struct {
	addr     string
	log      *proc.Log
	listener *conns

	mu      sync.Mutex
	strikes func(*extprocv3.ProcessingRequest) bool
	strike  func(context.Context) error
	struck  chan struct{} // gets one element per strike
}

// startLocal serves on a free port until the test ends. The given steps run before
// those of the default pipeline.
func startLocal(t *testing.T, first ...pipeline.Step) *local {
	t.Helper()
	l := &local{log: proc.NewLog(), struck: make(chan struct{}, 1000)}
	server, err := extproc.New(processorConfig(t, l.log, first))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.addr, l.listener = inner.Addr().String(), &conns{Listener: inner}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.StreamInterceptor(l.intercept))
	server.Register(g)
	healthv1.RegisterHealthServer(g, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- g.Serve(l.listener) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("---- processor ----\n%s", l.log.Tail(8000))
		}
	})
	return l
}

// localDeadline is the safety net of one body in the test process.
const localDeadline = 4 * time.Second

// processorConfig is what the service makes of a configuration with the memory
// store and resolver external.
func processorConfig(t *testing.T, log *proc.Log, first []pipeline.Step) extproc.Config {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k1", Secret: []byte("a secret of the tests, long enough")})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	resolver := &expand.Resolver{Keys: keys, Originals: expand.Stored{Store: memory}}
	tenants := expand.TenantOf{Keys: keys}
	p := pipeline.New(pipeline.Settings{
		Steps: append(first, steps(t)...), Markers: keys, Lossy: true, Hints: true, Counter: counter(t), Memo: pipeline.NewMemo(0),
	})
	return extproc.Config{
		Rewriter: rewrite.New(rewrite.Config{Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: memory, MaxBody: 32 << 20}),
		Tenant: func(get func(string) string) string {
			if names := tenants.FromGateway(get); len(names) > 0 {
				return names[0]
			}
			return ""
		},
		Expand: func(ctx context.Context, method, query string, get func(string) string) extproc.Answer {
			a := expand.Answer(ctx, resolver, tenants.FromGateway(get), method, query)
			return extproc.Answer{Status: a.Status, Header: a.Header, Body: a.Body}
		},
		ExpandPath: "/context-guru/expand",
		MaxBody:    32 << 20, BufferLimit: 64 << 20, MaxInFlight: 512 << 20, Deadline: localDeadline,
		Log: slog.New(slog.NewJSONHandler(log, nil)), Tracer: tracenoop.NewTracerProvider().Tracer(""), Meter: metricnoop.NewMeterProvider().Meter(""),
	}
}

// steps are the components of the default pipeline.
func steps(t *testing.T) (list []pipeline.Step) {
	t.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"format", "dedup", "extract", "collapse"} {
		spec, ok := catalog.Find(name)
		if !ok {
			t.Fatalf("no component %s", name)
		}
		step, err := spec.Build(nil, pipeline.Deps{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, step)
	}
	return list
}

// counting adapts a token counter to the pipeline.
type counting struct{ *tokens.Counter }

func (c counting) Count(text string) pipeline.Count {
	n := c.Counter.Count(text)
	return pipeline.Count{N: n.Tokens, Estimated: n.Estimated}
}

func (c counting) Encoding() string { return c.Counter.Encoding().Name }

func counter(t *testing.T) pipeline.Counter {
	t.Helper()
	c, err := tokens.New().For(tokens.Encoding{Name: tokens.O200kBase})
	if err != nil {
		t.Fatal(err)
	}
	return counting{c}
}

// fail makes the processor do something at the messages of a phase, in the
// goroutine that serves the exchange and in the place of the message's arrival.
func (l *local) fail(phase func(*extprocv3.ProcessingRequest) bool, do func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strikes, l.strike = phase, do
}

// heal ends the fault and returns how often it struck.
func (l *local) heal() (times int) {
	l.fail(nil, nil)
	for {
		select {
		case <-l.struck:
			times++
		default:
			return times
		}
	}
}

func (l *local) intercept(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, &faulty{ServerStream: st, l: l})
}

type faulty struct {
	grpc.ServerStream
	l *local
}

func (f *faulty) RecvMsg(m any) error {
	if err := f.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	request, ok := m.(*extprocv3.ProcessingRequest)
	f.l.mu.Lock()
	strikes, strike := f.l.strikes, f.l.strike
	f.l.mu.Unlock()
	if !ok || strikes == nil || !strikes(request) {
		return nil
	}
	f.l.struck <- struct{}{}
	return strike(f.Context())
}

// The phases.
func atRequestHeaders(m *extprocv3.ProcessingRequest) bool  { return m.GetRequestHeaders() != nil }
func atRequestBody(m *extprocv3.ProcessingRequest) bool     { return m.GetRequestBody() != nil }
func atResponseHeaders(m *extprocv3.ProcessingRequest) bool { return m.GetResponseHeaders() != nil }
func atResponseBody(m *extprocv3.ProcessingRequest) bool    { return m.GetResponseBody() != nil }

// The faults. panics leaves the recovering to the processor.
func (l *local) panics(context.Context) error { panic("a fault of the test") }

// hangs holds the exchange until Envoy gives it up.
func (l *local) hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// dies ends every connection as a killed process does.
func (l *local) dies(ctx context.Context) error {
	l.listener.drop()
	<-ctx.Done()
	return ctx.Err()
}

// conns remembers the connections of a listener.
type conns struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (c *conns) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conn)
	return conn, nil
}

// drop ends all connections; new ones are welcome.
func (c *conns) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, conn := range c.open {
		if tcp, ok := conn.(*net.TCPConn); ok {
			errs = append(errs, tcp.SetLinger(0))
		}
		errs = append(errs, conn.Close())
	}
	c.open = nil
	if err := errors.Join(errs...); err != nil && !errors.Is(err, net.ErrClosed) {
		panic(err)
	}
}
