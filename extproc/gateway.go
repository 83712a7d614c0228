package extproc

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// Gateway is what we know of the Envoy in front of us.
type Gateway struct {
	// Version is Envoy's, as "1.40.0"; empty means that it is learnt from the
	// request attributes.
	Version string
	// SoleExtProc says that no other ext_proc stands in Envoy's filter chain.
	SoleExtProc bool
}

// version is a minor release of Envoy 1; 0 is unknown.
type version int

// The releases that decide what may be done, found by running the same
// exchanges through each of them.
const (
	// Below this release responses may lose bytes when a second ext_proc
	// stands behind us, so nothing that needs the response is done.
	floor version = 39
	// The same when ours is the only ext_proc.
	floorSole version = 37
	// Below this release a response without a body can hang in full duplex.
	floorStream version = 40
	// Below this release request_body_buffer_limit has no effect.
	floorRouteLimit version = 37
)

// parseVersion reads "1.40.0", "v1.40" and the like; 0 when it is no version 1.
func parseVersion(s string) version {
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(s), "v"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil || minor < 0 {
		return 0
	}
	return version(minor)
}

// canStream reports whether the response may be switched to full duplex. An
// unknown version counts as a current one.
func (v version) canStream() bool { return v == 0 || v >= floorStream }

// belowFloor reports whether only lossless edits may be made.
func (v version) belowFloor(sole bool) bool {
	least := floor
	if sole {
		least = floorSole
	}
	return v != 0 && v < least
}

func (v version) String() string {
	if v == 0 {
		return "unknown"
	}
	return fmt.Sprintf("1.%d", int(v))
}

// minorAttribute is the request attribute that holds Envoy's minor version: a
// CEL expression, listed under request_attributes in Envoy's configuration.
const minorAttribute = "xds.node.user_agent_build_version.version.minor_number"

// versionOf is Envoy's version as configured, or as this message tells it.
func (s *Server) versionOf(m *extprocv3.ProcessingRequest) version {
	if s.c.Envoy.Version != "" {
		return parseVersion(s.c.Envoy.Version)
	}
	for _, attrs := range m.GetAttributes() {
		if v, ok := attrs.GetFields()[minorAttribute]; ok {
			return version(v.GetNumberValue())
		}
	}
	return 0
}

// warnings says each thing once: settings do not change while we run, and a
// line per request would hide everything else.
type warnings struct {
	log  *slog.Logger
	said sync.Map
}

func (w *warnings) once(key, message string, args ...any) {
	if _, again := w.said.LoadOrStore(key, true); !again {
		w.log.Warn(message, args...) //nolint:sloglint // a constant of each caller
	}
}

// checkGateway warns about settings of Envoy that hurt, as far as the first
// message shows them.
func (s *Server) checkGateway(m *extprocv3.ProcessingRequest, v version) {
	if v.belowFloor(s.c.Envoy.SoleExtProc) {
		s.warnings.once("floor", "envoy_too_old", "envoy", v.String(), "effect", "lossless edits only, responses not read",
			"cure", "upgrade to Envoy 1.39 or later, or set envoy.sole_ext_proc when no other ext_proc is configured (1.37 or later)")
	}
	if v != 0 && v < floorRouteLimit {
		s.warnings.once("route_limit", "envoy_ignores_route_limit", "envoy", v.String(),
			"effect", "bodies over the listener's buffer limit, 1 MiB unless set, get a 413 or hang",
			"cure", "set per_connection_buffer_limit_bytes and the HTTP/2 stream window to at least limits.body_bytes, or upgrade to Envoy 1.37 or later")
	}
	p := m.GetProtocolConfig()
	if p == nil {
		return
	}
	request, response := bodyModes(p)
	if request != filterv3.ProcessingMode_NONE {
		s.warnings.once("request_mode", "envoy_request_body_mode", "mode", request.String(),
			"effect", "every body on this listener is held, also large uploads that do not concern us", "cure", "set request_body_mode: NONE and allow_mode_override: true")
	}
	if response != filterv3.ProcessingMode_NONE {
		s.warnings.once("response_mode", "envoy_response_body_mode", "mode", response.String(),
			"effect", "every response on this listener passes through us", "cure", "set response_body_mode: NONE and allow_mode_override: true")
	}
	if p.GetSendBodyWithoutWaitingForHeaderResponse() {
		s.warnings.once("no_wait", "envoy_sends_body_early", "effect", "bodies may arrive before our mode override", "cure", "remove send_body_without_waiting_for_header_response")
	}
}

// warnOverloaded warns about bodies that had to wait too long for others.
func (s *Server) warnOverloaded() {
	s.warnings.once("overloaded", "bodies_over_in_flight_limit", "limit", s.c.MaxInFlight,
		"effect", "requests that waited too long pass through unchanged", "cure", "add replicas or raise limits.in_flight_bytes")
}

// warnOptOut warns about LLM requests that a setting keeps from being read.
func (s *Server) warnOptOut(e *exchange, why optOut) {
	switch why {
	case optTooLarge:
		s.warnings.once("too_large", "body_over_limit", "bytes", e.headers.get("content-length"), "limit", s.c.MaxBody,
			"effect", "such requests pass through unchanged", "cure", "raise limits.body_bytes, and request_body_buffer_limit on Envoy's route with it")
	case optNoLength:
		s.warnings.once("no_length", "body_without_length", "effect", "chunked requests pass through unchanged", "cure", "let clients send content-length")
	}
}

// warnNoBody warns when a body that we asked for never came.
func (s *Server) warnNoBody(e *exchange, statusCode string) {
	const cure = "set request_body_buffer_limit on the route to at least limits.body_bytes"
	switch statusCode {
	case "413":
		s.warnings.once("413", "envoy_refused_body", "bytes", e.request.length, "told_limit", s.c.BufferLimit,
			"effect", "Envoy answered 413: its buffer limit is below the body", "cure", cure)
	case "408", "504":
		// Envoy's own timeouts: a body over its limit may also wait for ever in its buffer.
		s.warnings.once("stalled", "envoy_gave_up_on_body", "bytes", e.request.length, "status", statusCode, "told_limit", s.c.BufferLimit,
			"effect", "the body was not complete in time: its client was slow, or Envoy's buffer limit is below the body", "cure", cure)
	default:
		s.warnings.once("no_body", "envoy_sent_no_body", "effect", "nothing is rewritten", "cure", "set allow_mode_override: true on the ext_proc filter")
	}
}
