package extproc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"time"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// SecretMetadata is the gRPC metadata key in which the gateway proves itself.
const SecretMetadata = "x-context-guru-secret" //nolint:gosec // the name of the header, not the secret

// Answer is an HTTP answer given in the provider's place.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Config is what a Server is made of.
type Config struct {
	// Rewriter makes the bodies smaller.
	Rewriter *rewrite.Rewriter
	// Stats, if set, sums what was done.
	Stats *rewrite.Stats
	// Tenant names the owner of a request's originals from its headers, or is
	// empty when there is none.
	Tenant func(header func(name string) string) string
	// Preset reports whether a name is a preset; nil knows none.
	Preset func(name string) bool
	// PresetHeader says that the hop in front of us is trusted to set, or to
	// remove, PresetHeader.
	PresetHeader bool
	// Expand answers requests for ExpandPath with the path's query.
	Expand func(ctx context.Context, method, query string, header func(name string) string) Answer
	// Loop answers the model's calls; nil when the rewriter injects no tool.
	Loop *Loop
	// ExpandPath is reserved: such requests never reach the provider. Empty: none.
	ExpandPath string
	// Secret is demanded in SecretMetadata when set.
	Secret string
	// MaxBody caps bodies before and after rewriting, in bytes.
	MaxBody int64
	// BufferLimit is Envoy's request_body_buffer_limit, as far as we were told.
	BufferLimit int64
	// MaxInFlight bounds the bytes of all bodies held at once.
	MaxInFlight int64
	// Deadline is the wall-clock safety net of one body: when it fires the
	// client's bytes go out. It must be below Envoy's message_timeout.
	Deadline time.Duration
	// Envoy describes the gateway.
	Envoy Gateway
	// Observe, if set, leaves the traffic alone.
	Observe *Observe

	Log    *slog.Logger
	Tracer trace.Tracer
	Meter  metric.Meter
}

// Server implements Envoy's external processor.
type Server struct {
	extprocv3.UnimplementedExternalProcessorServer
	c         Config
	budget    *semaphore.Weighted
	kept      *semaphore.Weighted // see Loop.MaxKept
	telemetry *telemetry
	warnings  *warnings
	observer  *observer // nil unless the traffic is only observed
}

// New returns a server, to be closed. The error is from building instruments.
func New(c Config) (*Server, error) {
	t, err := newTelemetry(c.Tracer, c.Meter, "contextguru.")
	if err != nil {
		return nil, err
	}
	kept := int64(math.MaxInt64)
	if c.Loop != nil && c.Loop.MaxKept > 0 {
		kept = c.Loop.MaxKept
	}
	s := &Server{
		c: c, budget: semaphore.NewWeighted(c.MaxInFlight), kept: semaphore.NewWeighted(kept),
		telemetry: t, warnings: &warnings{log: c.Log},
	}
	if c.Observe != nil {
		s.observer, err = newObserver(s)
	}
	return s, err
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { extprocv3.RegisterExternalProcessorServer(r, s) }

// stream is the side of Process we use.
type stream = grpc.BidiStreamingServer[extprocv3.ProcessingRequest, extprocv3.ProcessingResponse]

// Process serves one HTTP exchange. It returns nil only after Envoy ended the
// stream or everything owed to it was sent; any other end is an error, because
// Envoy takes nil for a clean end of a half-sent body.
func (s *Server) Process(st stream) (err error) {
	ctx, cancel := context.WithCancel(st.Context())
	defer cancel()
	if !s.trusted(ctx) {
		return status.Error(codes.Unauthenticated, "the peer did not prove itself; send the shared secret in "+SecretMetadata)
	}
	e := &exchange{s: s, ctx: ctx}
	defer func() {
		if p := recover(); p != nil {
			// The value may quote what it choked on; where it happened may not.
			s.c.Log.Error("exchange_panicked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			e.outcome = outcomePanic
			err = status.Error(codes.Internal, "internal error")
		}
		e.close()
	}()
	for {
		m, err := st.Recv()
		if err != nil {
			return e.ended(err)
		}
		replies, err := e.handle(m)
		if err != nil {
			return err
		}
		for _, r := range replies {
			if err := st.Send(r); err != nil {
				return e.ended(err)
			}
		}
		e.sent()
		if e.reading {
			return e.intercept(st)
		}
	}
}

// trusted compares the shared secret in constant time.
func (s *Server) trusted(ctx context.Context) bool {
	if s.c.Secret == "" {
		return true
	}
	md, _ := metadata.FromIncomingContext(ctx)
	ok := 0
	for _, given := range md.Get(SecretMetadata) {
		ok |= subtle.ConstantTimeCompare([]byte(given), []byte(s.c.Secret))
	}
	return ok == 1
}

// ended turns the end of the stream into Process's result. An end before the
// exchange was complete means that the upstream broke off or the client went
// away: Envoy tells neither apart, and for both there is nothing left to send.
func (e *exchange) ended(err error) error {
	if errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled) {
		return nil
	}
	e.outcome = outcomeBroken
	return err
}

func bodyModes(p *extprocv3.ProtocolConfiguration) (request, response bodyMode) {
	if p == nil {
		return filterv3.ProcessingMode_NONE, filterv3.ProcessingMode_NONE
	}
	return p.GetRequestBodyMode(), p.GetResponseBodyMode()
}
