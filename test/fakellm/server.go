package fakellm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxStreams lifts net/http's default of 250 streams for one HTTP/2
	// connection: a proxy in front may put a whole load test on one.
	maxStreams = 10_000
	// headerTimeout ends connections that never send a request's headers.
	headerTimeout = time.Minute
)

// Server is a scriptable stand-in provider. Make one with [New]; its methods
// are safe for concurrent use.
type Server struct {
	script    script
	rec       recorder
	responder func(*Request) *Turn
	observer  func(*Request, Reply)
	bodyLimit int64
	log       *slog.Logger
	buffers   sync.Pool

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
	http   *http.Server
	addr   string
}

// New returns a server that answers every generation request with a short text
// until it is given a script.
func New(opts ...Option) *Server {
	s := &Server{bodyLimit: defaultBodyLimit, log: slog.New(slog.DiscardHandler)}
	s.rec.changed = make(chan struct{})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Start listens on a TCP address, such as 127.0.0.1:0, serves HTTP/1.1 and
// cleartext HTTP/2 with prior knowledge on it, and returns the base URL.
func (s *Server) Start(addr string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.http != nil {
		return "", errors.New("start: the server was started or closed before; make a new one")
	}
	ln, err := new(net.ListenConfig).Listen(s.ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.addr = ln.Addr().String()
	s.http = &http.Server{
		Handler:           s,
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	served := s.http
	s.active.Go(func() {
		if err := served.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve", "error", err)
		}
	})
	return "http://" + s.addr, nil
}

// Addr returns the host and port that [Server.Start] bound; empty before.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// URL returns the base URL of the started server; empty before.
func (s *Server) URL() string {
	if addr := s.Addr(); addr != "" {
		return "http://" + addr
	}
	return ""
}

// Close drops the listener and every connection, ends every wait of an answer
// under way, and returns when all of them are done. What was recorded stays
// readable. A server used as a handler only must no longer be reading bodies.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	served := s.http
	s.mu.Unlock()
	s.cancel()
	var err error
	if served != nil {
		err = served.Close()
	}
	s.active.Wait()
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// SetScript replaces the script. For each request the first turn that fits and
// is not used up answers. A [Turn.When] must not call SetScript, Left or Reset.
func (s *Server) SetScript(turns ...Turn) { s.script.set(turns) }

// Left returns how many answers the script still holds, not counting turns
// that answer for ever.
func (s *Server) Left() int { return s.script.left() }

// begin registers an exchange unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.active.Add(1)
	return true
}

// ServeHTTP records one request and answers it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		abort()
	}
	defer s.active.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // the server's own end, besides the request's

	rec := s.describe(r)
	if isWebSocket(r) {
		s.rec.add(rec)
		s.finish(rec, s.echoSocket(ctx, w, r))
		return
	}
	plain, release, problem := s.readBody(r, rec)
	s.rec.add(rec)
	if rec.BodyError != "" {
		release()
		s.finish(rec, Reply{Outcome: s.gone(), Turn: -1})
		abort()
	}
	turn, index := s.choose(rec, plain)
	p := s.prepare(rec, turn, plain, problem)
	release()
	reply, drop := s.deliver(ctx, w, r, turn, p)
	reply.Turn = index
	s.finish(rec, reply)
	if drop {
		abort()
	}
}

// abort makes net/http drop the connection or reset the stream: a panic with
// this value is its only interface for that which works with HTTP/2.
func abort() {
	panic(http.ErrAbortHandler)
}

// describe makes the record of a request, without its body.
func (s *Server) describe(r *http.Request) *Request {
	kind, model := classify(r)
	return &Request{
		ID: s.rec.nextID(), Kind: kind, Received: time.Now(),
		Method: r.Method, Host: r.Host, Target: r.RequestURI, Path: r.URL.Path,
		Proto: r.Proto, Remote: r.RemoteAddr,
		Header: r.Header.Clone(), TransferEncoding: r.TransferEncoding, ContentLength: r.ContentLength,
		Model: model, done: make(chan struct{}),
	}
}

// classify tells what a request asks for, and the model if the path names it.
func classify(r *http.Request) (Kind, string) {
	path := r.URL.Path
	if r.Method != http.MethodPost {
		return KindOther, ""
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return KindChat, ""
	case strings.HasSuffix(path, "/messages"):
		return KindMessages, ""
	case strings.HasSuffix(path, "/responses"):
		return KindResponses, ""
	case strings.HasSuffix(path, "/messages/count_tokens"), strings.HasSuffix(path, "/count-tokens:rawPredict"):
		return KindCount, ""
	}
	for _, google := range []struct {
		suffix string
		kind   Kind
	}{
		{":rawPredict", KindMessages},
		{":streamRawPredict", KindMessages},
		{":generateContent", KindGemini},
		{":streamGenerateContent", KindGemini},
	} {
		if rest, ok := strings.CutSuffix(path, google.suffix); ok {
			return google.kind, rest[strings.LastIndexByte(rest, '/')+1:]
		}
	}
	for suffix, kind := range map[string]Kind{"/invoke": KindMessages, "/converse": KindConverse} {
		if bedrock, ok := strings.CutSuffix(path, suffix); ok {
			if _, model, ok := strings.Cut(bedrock, "/model/"); ok {
				return kind, model
			}
		}
	}
	return KindOther, ""
}

// choose finds the turn for a request: the responder's, the script's, or none.
func (s *Server) choose(rec *Request, plain []byte) (Turn, int) {
	if s.responder != nil {
		if turn := s.responder(rec); turn != nil {
			return *turn, -1
		}
	}
	return s.script.pick(rec, plain)
}

// gone tells why an exchange ended before its time.
func (s *Server) gone() Outcome {
	if s.ctx.Err() != nil {
		return Closed
	}
	return ClientGone
}

func (s *Server) finish(rec *Request, reply Reply) {
	reply.Finished = time.Now()
	rec.reply = reply
	close(rec.done)
	if s.observer != nil {
		s.observer(rec, reply)
	}
}

// script is a list of turns and how often each was used.
type script struct {
	mu    sync.Mutex
	turns []Turn
	used  []int
}

func (c *script) set(turns []Turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns, c.used = append([]Turn(nil), turns...), make([]int, len(turns))
}

func (c *script) rewind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.used)
}

func (c *script) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for i, t := range c.turns {
		if t.Times >= 0 {
			n += max(1, t.Times) - c.used[i]
		}
	}
	return n
}

// pick returns the first turn that fits and is not used up, and its index.
func (c *script) pick(r *Request, plain []byte) (Turn, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.turns {
		if c.turns[i].Times >= 0 && c.used[i] >= max(1, c.turns[i].Times) {
			continue
		}
		if t, ok := c.turns[i].fits(r, plain); ok {
			c.used[i]++
			return t, i
		}
	}
	return Turn{}, -1
}

// defaultBodyLimit is the largest body kept unless an option says otherwise:
// above the 30 MB that gateways are usually asked to carry, below what a test
// that uploads without end could fill memory with.
const defaultBodyLimit = 64 << 20

// Option configures a [Server].
type Option func(*Server)

// WithScript gives the server its turns; see [Server.SetScript].
func WithScript(turns ...Turn) Option {
	return func(s *Server) { s.script.set(turns) }
}

// WithResponder lets a function answer. It is asked for every request that is
// not a WebSocket upgrade, before the script; a nil Turn leaves the request to
// the script. It is called concurrently.
func WithResponder(f func(*Request) *Turn) Option {
	return func(s *Server) { s.responder = f }
}

// WithObserver calls a function once per request when its answer has ended. It
// is called concurrently; [Server.Close] waits for it.
func WithObserver(f func(*Request, Reply)) Option {
	return func(s *Server) { s.observer = f }
}

// WithBodyLimit keeps bodies, received and sent, of at most n bytes; of longer
// ones only size and digest are kept. The default is 64 MiB.
func WithBodyLimit(n int64) Option {
	return func(s *Server) { s.bodyLimit = n }
}

// WithDigestsOnly keeps no body, only size and digest. Together with
// [WithHistory] it bounds memory for benchmarks.
func WithDigestsOnly() Option {
	return func(s *Server) { s.bodyLimit = -1 }
}

// WithHistory keeps only the newest n requests; 0 keeps all.
func WithHistory(n int) Option {
	return func(s *Server) { s.rec.history = n }
}

// WithLogger gives the server a logger for its HTTP errors. The default discards them.
func WithLogger(l *slog.Logger) Option {
	return func(s *Server) { s.log = l }
}
