package extproc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/store"
)

// shorten is a component of the tests: it offloads everything behind the first
// line of an output of three lines or more.
type shorten struct{ before func(pipeline.Segment) }

func (c shorten) Rewrite(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if c.before != nil {
		c.before(s)
	}
	head, rest, _ := strings.Cut(s.Text, "\n")
	if strings.Count(rest, "\n") < 1 {
		return pipeline.Decline("short"), nil
	}
	return pipeline.Offload(pipeline.Loss{Before: head + "\n[rest omitted] ", Hint: pipeline.HintFullOutput}), nil
}

// words counts words as tokens.
type words struct{}

func (words) Count(text string) pipeline.Count { return pipeline.Count{N: len(strings.Fields(text))} }
func (words) Encoding() string                 { return "words" }

// harness is a server on an in-memory connection.
type harness struct {
	server *extproc.Server
	client extprocv3.ExternalProcessorClient
	store  store.Store
	keys   *pipeline.Keyring
	stats  *rewrite.Stats
	logs   *strings.Builder
}

type setup struct {
	component shorten
	server    func(*extproc.Config)
	rewriter  func(*rewrite.Config)
	grpc      []grpc.ServerOption
	dial      []grpc.DialOption
}

func start(t testing.TB, s setup) *harness {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k1", Secret: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{keys: keys, store: memory, stats: rewrite.NewStats(), logs: &strings.Builder{}}
	p := pipeline.New(pipeline.Settings{
		Steps:   []pipeline.Step{{Meta: pipeline.Meta{Name: "shorten", Kind: pipeline.KindOffload}, Component: s.component}},
		Markers: keys, Lossy: true, Hints: true, Counter: words{}, Memo: pipeline.NewMemo(0),
	})
	rc := rewrite.Config{Pipeline: func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }, Store: h.store, MaxBody: 1 << 20}
	if s.rewriter != nil {
		s.rewriter(&rc)
	}
	c := extproc.Config{
		Rewriter: rewrite.New(rc), Stats: h.stats,
		Tenant:  func(get func(string) string) string { return get("authorization") },
		MaxBody: 1 << 20, BufferLimit: 2 << 20, MaxInFlight: 8 << 20, Deadline: 5 * time.Second,
		ExpandPath: "/cg/expand",
		Expand: func(_ context.Context, method, query string, _ func(string) string) extproc.Answer {
			return extproc.Answer{Status: 200, Header: http.Header{"content-type": {"text/plain"}}, Body: []byte(method + " " + query)}
		},
		Log:    slog.New(slog.NewTextHandler(h.logs, nil)),
		Tracer: tracenoop.NewTracerProvider().Tracer(""), Meter: metricnoop.NewMeterProvider().Meter(""),
	}
	if s.server != nil {
		s.server(&c)
	}
	srv, err := extproc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h.server = srv
	g := grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(2 << 20)}, s.grpc...)...)
	extprocv3.RegisterExternalProcessorServer(g, srv)
	l := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///mem", append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	}, s.dial...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		g.GracefulStop()
		srv.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = h.store.Close()
	})
	h.client = extprocv3.NewExternalProcessorClient(conn)
	return h
}

// side is one scripted side stream.
type side struct {
	t testing.TB
	extprocv3.ExternalProcessor_ProcessClient
	first *extprocv3.ProtocolConfiguration
}

func (h *harness) open(t testing.TB, ctx context.Context, modes ...filterv3.ProcessingMode_BodySendMode) *side { //nolint:revive // t is first in every helper
	t.Helper()
	st, err := h.client.Process(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s := &side{t: t, ExternalProcessor_ProcessClient: st, first: &extprocv3.ProtocolConfiguration{}}
	if len(modes) > 0 {
		s.first.RequestBodyMode = modes[0]
	}
	if len(modes) > 1 {
		s.first.ResponseBodyMode = modes[1]
	}
	return s
}

func (s *side) send(m *extprocv3.ProcessingRequest) {
	s.t.Helper()
	m.ProtocolConfig, s.first = s.first, nil
	if err := s.Send(m); err != nil {
		s.t.Fatal(err)
	}
}

func (s *side) recv() *extprocv3.ProcessingResponse {
	s.t.Helper()
	m, err := s.Recv()
	if err != nil {
		s.t.Fatalf("no reply: %v", err)
	}
	return m
}

// ends checks that the server ends the stream in good order.
func (s *side) ends() {
	s.t.Helper()
	if err := s.CloseSend(); err != nil {
		s.t.Fatal(err)
	}
	if m, err := s.Recv(); !errors.Is(err, io.EOF) {
		s.t.Fatalf("got %v, %v, want the end of the stream", m, err)
	}
}

func headers(pairs ...string) *corev3.HeaderMap {
	var out []*corev3.HeaderValue
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, &corev3.HeaderValue{Key: pairs[i], RawValue: []byte(pairs[i+1])})
	}
	return &corev3.HeaderMap{Headers: out}
}

func chatHeaders(length int, more ...string) *corev3.HeaderMap {
	return headers(append([]string{
		":method", "POST", ":path", "/v1/chat/completions?x=1", "content-type", "application/json",
		"content-length", strconv.Itoa(length), "authorization", "Bearer a",
	}, more...)...)
}

func reqHeaders(h *corev3.HeaderMap, end bool) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestHeaders{RequestHeaders: &extprocv3.HttpHeaders{Headers: h, EndOfStream: end}}}
}

func reqBody(b string, end bool) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: &extprocv3.HttpBody{Body: []byte(b), EndOfStream: end}}}
}

func resHeaders(end bool, pairs ...string) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: &extprocv3.HttpHeaders{Headers: headers(pairs...), EndOfStream: end}}}
}

func resBody(b string, end bool) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: &extprocv3.HttpBody{Body: []byte(b), EndOfStream: end}}}
}

// chat is a request whose tool output the test component shortens.
const chat = `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{}"}}]},` +
	`{"role":"tool","tool_call_id":"c1","content":"first line\nsecond line with many words in it so that the marker is worth it\nthird line with as many words as the second one has got and some more\nfourth"}]}`
