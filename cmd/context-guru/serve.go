package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/live"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// serve runs the service until it is told to stop.
func serve(ctx context.Context, e env, args []string) int {
	fs := flags("serve")
	file := fs.String("config", "", "configuration `FILE`; the defaults without one")
	grpcAddr := fs.String("grpc", "", "`ADDR` of ext_proc and gRPC health, in listen.grpc's place")
	socket := fs.String("grpc-socket", "", "`PATH` of a unix socket for the same, in listen.grpc_socket's place")
	httpAddr := fs.String("http", "", "`ADDR` of health, metrics and expand, in listen.http's place")
	level := slog.LevelInfo
	fs.TextVar(&level, "log-level", level, "least `LEVEL` logged: debug, info, warn or error")
	if code, done := e.parse(fs, args); done {
		return code
	}
	loaded, err := e.loadConfig(*file)
	if err != nil {
		_, _ = fmt.Fprintln(e.stderr, err)
		return exitFault
	}
	flagged := *loaded
	c := &flagged
	fs.Visit(func(f *flag.Flag) { // what was given replaces, empty turns off
		switch f.Name {
		case "grpc":
			c.Listen.GRPC = *grpcAddr
		case "grpc-socket":
			c.Listen.GRPCSocket = *socket
		case "http":
			c.Listen.HTTP = *httpAddr
		}
	})
	if c.Listen.GRPC == "" && c.Listen.GRPCSocket == "" {
		e.complain("serve", "nothing to listen on: give -grpc or -grpc-socket, or listen.grpc in the configuration")
		return exitUsage
	}
	log := slog.New(slog.NewJSONHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if err := runService(ctx, start{c: c, loaded: loaded, file: *file, reload: hangups, env: e.getenv}, log); err != nil {
		log.Error("cannot_serve", "error", err.Error())
		return exitFault
	}
	return exitOK
}

// start is what a service starts with.
type start struct {
	c      *config.Config // with what the flags replace
	loaded *config.Config // without
	file   string         // it came from
	reload <-chan os.Signal
	env    func(string) string
}

// recvHeadroom is what a gRPC message may hold beside the body.
const recvHeadroom = 1 << 20

// service is a running instance.
type service struct {
	c       *config.Config
	log     *slog.Logger
	engine  *engine
	tele    *telemetry
	ready   atomic.Bool
	health  *healthService
	extproc *extproc.Server
	grpc    []*grpc.Server
	http    *http.Server
	running sync.WaitGroup
	failed  chan error
}

// runService serves until ctx ends, then stops in order: unready, finish what
// is in flight within the grace time, flush telemetry.
func runService(ctx context.Context, with start, log *slog.Logger) error {
	c := with.c
	e, err := newEngine(c, log)
	if err != nil {
		return err
	}
	defer func() { _ = e.store.Close() }()
	tele, err := newTelemetry(ctx, &c.Telemetry, with.env)
	if err != nil {
		return err
	}
	if err := watchMemo(tele.meter, e.memo); err != nil {
		return fmt.Errorf("build the memo's instruments: %w", err)
	}
	changes, err := follow(ctx, e, with, tele.meter, log)
	if err != nil {
		return err
	}
	// What is in flight when ctx ends is followed to its end.
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() { changes.Run(background, with.reload) })
	defer following.Wait()
	defer stopBackground()
	if err := changes.Start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	e.rewrite(c, changes.Choose)
	s := &service{c: c, log: log, engine: e, tele: tele, health: newHealthService(), failed: make(chan error, 4)}
	// A listener that cannot be opened stops the start.
	if err := s.start(); err != nil { //nolint:contextcheck // what runs is stopped in order, not with ctx
		s.stop() //nolint:contextcheck // has times of its own
		return err
	}
	s.ready.Store(true)
	s.health.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	if line, _ := c.Line(""); len(line.Inert) > 0 {
		for _, name := range line.Inert {
			log.Warn("component_not_built", "component", name, "effect", "it is in the pipeline and does nothing", "cure", "upgrade, or take it out of the pipeline")
		}
	}
	log.Info("started", "grpc", c.Listen.GRPC, "grpc_socket", c.Listen.GRPCSocket, "http", c.Listen.HTTP,
		"mode", string(c.Mode), "preset", c.Preset, "pipeline", c.Pipeline, "resolver", string(c.Expand.Resolver), "store", string(c.Store.Type))
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	s.stop() //nolint:contextcheck // ctx has ended; what is left has times of its own
	return err
}

// follow makes what follows changes of the configuration.
func follow(ctx context.Context, e *engine, with start, meter metric.Meter, log *slog.Logger) (*live.Live, error) {
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		return nil, fmt.Errorf("list of components: %w", err)
	}
	if e.maker.Unknown, err = live.Unknown(ctx, meter); err != nil {
		return nil, fmt.Errorf("build the instruments of models: %w", err)
	}
	l, err := live.New(live.Options{Config: with.loaded, File: with.file, Catalog: catalog, Maker: e.maker, Store: written(with.c, e.store), Log: log})
	if err != nil {
		return nil, err
	}
	if err := l.Observe(meter); err != nil {
		return nil, fmt.Errorf("build the instruments of generations: %w", err)
	}
	return l, nil
}

func (s *service) start() error {
	stats := rewrite.NewStats()
	processor, err := s.processor(stats)
	if err != nil {
		return err
	}
	s.extproc = processor
	if err := s.listenGRPC(processor); err != nil {
		return err
	}
	return s.listenHTTP(stats)
}

// processor builds the ext_proc server.
func (s *service) processor(stats *rewrite.Stats) (*extproc.Server, error) {
	var observe *extproc.Observe
	if s.c.Mode == config.ModeObserve {
		observe = &extproc.Observe{MaxQueue: s.c.Observe.MaxQueue, Workers: s.c.Observe.Workers}
	}
	resolver := &expand.Resolver{Keys: s.engine.keys, Originals: expand.Stored{Store: s.engine.store}}
	tenants := expand.TenantOf{Header: s.c.Tenant.Header, Default: s.c.Tenant.Default, Keys: s.engine.keys}
	answering, err := s.loop(tenants)
	if err != nil {
		return nil, err
	}
	return extproc.New(extproc.Config{
		Loop:     answering,
		Rewriter: s.engine.rewriter,
		Stats:    stats,
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
		Preset: func(name string) bool {
			_, known := s.c.Line(name)
			return known
		},
		PresetHeader: s.c.Request.PresetHeader,
		Observe:      observe,
		ExpandPath:   s.c.Expand.Path,
		Secret:       s.c.Listen.Secret.Value(),
		MaxBody:      s.c.Limits.BodyBytes,
		BufferLimit:  s.c.Envoy.BufferLimitBytes,
		MaxInFlight:  s.c.Limits.InFlightBytes,
		Deadline:     s.c.Limits.Deadline.Std(),
		Envoy:        extproc.Gateway{Version: s.c.Envoy.Version, SoleExtProc: s.c.Envoy.SoleExtProc},
		Log:          s.log, Tracer: s.tele.tracer, Meter: s.tele.meter,
	})
}

func (s *service) listenGRPC(processor *extproc.Server) error {
	secure, err := s.c.ServerTLS()
	if err != nil {
		return err
	}
	if s.c.Listen.GRPC != "" {
		l, err := net.Listen("tcp", s.c.Listen.GRPC)
		if err != nil {
			return fmt.Errorf("listen.grpc: %w", err)
		}
		s.serveGRPC(l, processor, secure)
	}
	if path := s.c.Listen.GRPCSocket; path != "" {
		l, err := listenSocket(path)
		if err != nil {
			return fmt.Errorf("listen.grpc_socket: %w", err)
		}
		s.serveGRPC(l, processor, nil) // the socket's permissions are its protection
	}
	return nil
}

// listenSocket creates the socket under another name and renames it, so that
// nobody ever connects to one that is not listening yet.
func listenSocket(path string) (net.Listener, error) {
	fresh := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), os.Getpid()))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Rename(fresh, path); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(fresh))
	}
	return l, nil
}

func (s *service) serveGRPC(l net.Listener, processor *extproc.Server, secure *tls.Config) {
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(int(s.c.Limits.BodyBytes) + recvHeadroom)}
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	g := grpc.NewServer(options...)
	processor.Register(g)
	healthv1.RegisterHealthServer(g, s.health)
	s.grpc = append(s.grpc, g)
	s.running.Go(func() {
		if err := g.Serve(l); err != nil {
			s.failed <- fmt.Errorf("serve gRPC on %s: %w", l.Addr(), err)
		}
	})
}

func (s *service) listenHTTP(stats *rewrite.Stats) error {
	if s.c.Listen.HTTP == "" {
		return nil
	}
	tenants := expand.TenantOf{Header: s.c.Tenant.Header, Default: s.c.Tenant.Default, Keys: s.engine.keys}
	resolver := &expand.Resolver{Keys: s.engine.keys, Originals: expand.Stored{Store: s.engine.store}}
	p := &port{
		ready: &s.ready, mode: string(s.c.Mode), metrics: s.tele.prometheus, stats: stats, store: s.engine.store.Ping,
		expand: expand.Handler(resolver, func(h http.Header) []string { return tenants.FromPort(h.Get) }),
	}
	l, err := net.Listen("tcp", s.c.Listen.HTTP)
	if err != nil {
		return fmt.Errorf("listen.http: %w", err)
	}
	s.http = &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second}
	s.running.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
		}
	})
	return nil
}

// stop ends the service within the drain and the grace time. Envoy sees
// NOT_SERVING first and sends new exchanges elsewhere; those that come until it
// has noticed are served, and those in flight finish.
func (s *service) stop() {
	serving := s.ready.Swap(false)
	s.health.Shutdown()
	if drain := s.c.Shutdown.Drain.Std(); serving && drain > 0 {
		s.log.Info("draining", "for", drain.String())
		<-time.After(drain)
	}
	s.health.endWatches()
	ctx, cancel := context.WithTimeout(context.Background(), s.c.Shutdown.Grace.Std())
	defer cancel()
	var graceful sync.WaitGroup
	for _, g := range s.grpc {
		graceful.Go(g.GracefulStop)
	}
	finished := make(chan struct{})
	go func() { graceful.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-ctx.Done():
		s.log.Warn("stopped_with_exchanges_in_flight", "grace", s.c.Shutdown.Grace.Std().String())
		for _, g := range s.grpc {
			g.Stop()
		}
		<-finished
	}
	if s.http != nil {
		_ = s.http.Close()
	}
	s.running.Wait()
	if s.extproc != nil {
		s.extproc.Close()
	}
	flush, cancelFlush := context.WithTimeout(context.Background(), telemetryFlush)
	defer cancelFlush()
	if err := s.tele.stop(flush); err != nil {
		s.log.Warn("telemetry_not_flushed", "error", err)
	}
	s.log.Info("stopped")
}

// telemetryFlush bounds the last export: a collector that is gone must not
// hold up the end.
const telemetryFlush = 5 * time.Second

// healthService is gRPC health whose watches can be ended: a graceful stop
// would wait for every watcher as for an exchange in flight.
type healthService struct {
	*health.Server

	ended chan struct{}
}

func newHealthService() *healthService {
	return &healthService{Server: health.NewServer(), ended: make(chan struct{})}
}

func (h *healthService) endWatches() { close(h.ended) }

// Watch tells every change of the status until the watcher leaves or watches
// are ended.
func (h *healthService) Watch(in *healthv1.HealthCheckRequest, st healthv1.Health_WatchServer) error {
	ctx, cancel := context.WithCancel(st.Context())
	defer cancel()
	go func() {
		select {
		case <-h.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return h.Server.Watch(in, &watchStream{Health_WatchServer: st, context: func() context.Context { return ctx }})
}

// watchStream is a watch with a context of its own.
type watchStream struct {
	healthv1.Health_WatchServer

	context func() context.Context
}

// Context ends with the watch.
func (w *watchStream) Context() context.Context { return w.context() }
