package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextguru/contextguru/pipeline/expand/upstream"
)

var (
	versionForm = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)
	headerForm  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")       // RFC 9110 §5.6.2
	pathForm    = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$`) // RFC 3986 §3.3, no empty segment
	keyIDForm   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// secretHeader carries listen.secret.
const secretHeader = "x-context-guru-secret" //nolint:gosec // the name of the header, not the secret

// minSecretBytes is the least length of a shared secret, as for service keys.
const minSecretBytes = 16

// maxSocketPath is the longest path a unix socket can have on Linux: sun_path
// holds 108 bytes with the NUL.
const maxSocketPath = 107

// atLeast reports a number that is too small.
func (l *loader) atLeast(path string, value, least int64) {
	if value < least {
		l.fault(path, fmt.Sprintf("must be at least %d, got %d", least, value), "")
	}
}

func (l *loader) limits() {
	c := l.c
	l.atLeast("limits.body_bytes", c.Limits.BodyBytes, 1)
	l.atLeast("limits.segments", int64(c.Limits.Segments), 1)
	l.atLeast("expand.gate_tokens", int64(c.Expand.GateTokens), 0)
	l.atLeast("memo.bytes", c.Memo.Bytes, 1)
	l.atLeast("observe.max_queue", int64(c.Observe.MaxQueue), 1)
	l.atLeast("observe.workers", int64(c.Observe.Workers), 1)
	if c.Limits.InFlightBytes < c.Limits.BodyBytes && l.sound("limits.body_bytes") {
		l.fault("limits.in_flight_bytes",
			fmt.Sprintf("must be at least limits.body_bytes (%d), got %d", c.Limits.BodyBytes, c.Limits.InFlightBytes),
			"or the largest bodies always pass through; raise it or lower limits.body_bytes")
	}
	if c.Limits.Deadline == 0 {
		l.fault("limits.deadline", "must be longer than 0s, got 0s", "")
	}
	if c.Envoy.MessageTimeout == 0 {
		l.fault("envoy.message_timeout", "must be longer than 0s, got 0s", "write the message_timeout Envoy is configured with")
	}
	if c.Limits.Deadline >= c.Envoy.MessageTimeout && l.sound("limits.deadline", "envoy.message_timeout") {
		l.fault(l.written("limits.deadline", "envoy.message_timeout"),
			fmt.Sprintf("limits.deadline must be shorter than envoy.message_timeout, got %v and %v", c.Limits.Deadline, c.Envoy.MessageTimeout),
			"lower the deadline, or raise message_timeout here and in Envoy")
	}
	if c.Envoy.BufferLimitBytes < c.Limits.BodyBytes && l.sound("limits.body_bytes", "envoy.buffer_limit_bytes") {
		l.fault(l.written("envoy.buffer_limit_bytes", "limits.body_bytes"),
			fmt.Sprintf("envoy.buffer_limit_bytes must be at least limits.body_bytes, got %d and %d", c.Envoy.BufferLimitBytes, c.Limits.BodyBytes),
			"raise request_body_buffer_limit in Envoy's route and repeat it here, or lower limits.body_bytes")
	}
	if v := c.Envoy.Version; v != "" && !versionForm.MatchString(v) {
		l.fault("envoy.version", fmt.Sprintf("must be a version such as 1.39.3, got %.60q", v), `write "" to learn it from the requests`)
	}
}

// written returns the first of the paths that stands in the file, so that a
// rule about two values points at one the reader wrote.
func (l *loader) written(paths ...string) string {
	for _, p := range paths {
		if _, ok := l.root.Find(steps(p)...); ok {
			return p
		}
	}
	return paths[0]
}

// minRefresh keeps replicas from fetching a document of megabytes all the time.
const minRefresh = time.Minute

func (l *loader) models() {
	m := &l.c.Models
	if problem := webAddress(m.URL); m.URL != "" && problem != "" {
		l.fault("models.url", problem, "write an http:// or https:// URL")
	}
	if m.Refresh.Std() < minRefresh {
		l.fault("models.refresh", fmt.Sprintf("must be at least %v, got %v", Duration(minRefresh), m.Refresh), "")
	}
	var err error
	if l.c.windows, err = m.read(l.c.dir); err != nil {
		l.fault("models.file", fmt.Sprintf("cannot be used (%v), got %q", err, m.File), "name a copy of LiteLLM's model_prices_and_context_window.json, or remove the line")
	}
}

// webAddress says what is wrong with a URL to fetch from.
func webAddress(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "must be a URL, got something else" // which could hold a password
	case u.User != nil:
		return "must not hold credentials, got some"
	default:
		return ""
	}
}

func (l *loader) tenant() {
	header := l.c.Tenant.Header
	switch {
	case header == "":
	case !headerForm.MatchString(header):
		l.fault("tenant.header", fmt.Sprintf("must be the name of a header, got %.60q", header), "")
	case strings.EqualFold(header, secretHeader):
		l.fault("tenant.header", fmt.Sprintf("must not be the header of the shared secret, got %q", header), "")
	case !l.c.Listen.Secret.Set() && l.c.Listen.TLS.ClientCAFile == "" && l.sound("listen.secret", "listen.tls"):
		l.fault("tenant.header",
			fmt.Sprintf("needs a gRPC peer that proves who it is, got %q without one", header),
			"set listen.secret.file, or listen.tls.client_ca_file for mTLS; otherwise anybody could name any tenant")
	}
}

func (l *loader) expand() {
	path := l.c.Expand.Path
	if path != "" && !pathForm.MatchString(path) {
		l.fault("expand.path", fmt.Sprintf("must be an absolute path without query, empty or dot segments, got %.60q", path),
			`write a path such as /context-guru/expand, or "" to turn it off`)
	}
	if l.c.Expand.Resolver == ResolverExternal && path == "" && l.c.Listen.HTTP == "" {
		l.fault("expand.resolver", `external needs a way to ask for originals, got "" for both expand.path and listen.http`, "set one of them")
	}
	l.gateway()
}

func (l *loader) telemetry() {
	t := l.c.Telemetry
	if t.ServiceName == "" {
		l.fault("telemetry.service_name", `must not be empty, got ""`, "remove the line for context-guru")
	}
	if t.SampleRatio < 0 || t.SampleRatio > 1 {
		l.fault("telemetry.sample_ratio", fmt.Sprintf("must be between 0 and 1, got %v", t.SampleRatio), "")
	}
	if problem := endpoint(t.OTLP.Endpoint); problem != "" {
		l.fault("telemetry.otlp.endpoint", problem, "write host:port, or http:// or https:// with host and port")
	}
	headers, _ := l.root.Find("telemetry", "otlp", "headers")
	for _, name := range headers.Keys() {
		if !headerForm.MatchString(name) {
			headers.ReportKey(fmt.Sprintf("must be the name of a header, got %.60q", name), "", name)
		}
	}
}

// endpoint says what is wrong with the address of a receiver.
func endpoint(s string) string {
	if s == "" {
		return ""
	}
	if strings.Contains(s, "@") {
		return "must not hold credentials, got some" // and they are not repeated here
	}
	rest := s
	if scheme, after, found := strings.Cut(s, "://"); found {
		u, err := url.Parse(s)
		if err != nil || scheme != "http" && scheme != "https" || u.Host == "" {
			return fmt.Sprintf("must be host:port or a URL, got %.60q", s)
		}
		if u.Port() == "" {
			return ""
		}
		rest, _, _ = strings.Cut(after, "/")
	}
	return address(rest)
}

// address says what is wrong with host:port.
func address(s string) string {
	host, port, err := net.SplitHostPort(s)
	switch n, perr := strconv.ParseUint(port, 10, 16); {
	case strings.Contains(s, "://"):
		return "must be host:port, got a URL" // which could hold a password
	case err != nil:
		return fmt.Sprintf("must be host:port, got %.60q", s)
	case perr != nil:
		return fmt.Sprintf("must have a port between 0 and 65535, got %.60q", s)
	case n == 0 && host != "" && net.ParseIP(host) == nil && host != "localhost":
		return fmt.Sprintf("must have a port, got %.60q", s)
	}
	return ""
}

// minKeepAlive keeps waiting clients from being flooded.
const minKeepAlive = time.Second

// gateway judges what the loop needs, and settles who resolves markers when the
// file does not say.
func (l *loader) gateway() {
	x := &l.c.Expand
	if x.GatewayURL != "" {
		if _, err := upstream.ParseURL(x.GatewayURL); err != nil {
			l.fault("expand.gateway_url", fmt.Sprintf("cannot be used: %v", err), "write the gateway's own listener, such as http://127.0.0.1:10000")
		}
	}
	_, given := l.root.Find("expand", "resolver")
	switch {
	case !given && x.GatewayURL != "":
		x.Resolver = ResolverLoop
	case x.Resolver == ResolverLoop && x.GatewayURL == "" && !l.settings:
		l.fault("expand.resolver", `loop needs expand.gateway_url, got ""`, "name the gateway's own listener there: requests that continue an answer go through it")
	}
	for _, n := range []struct {
		path  string
		value int64
		least int64
	}{
		{"expand.gate_tokens", int64(x.GateTokens), 0},
		{"expand.rounds", int64(x.Rounds), 1},
		{"expand.calls", int64(x.Calls), 1},
		{"expand.window_bytes", x.WindowBytes, 1 << 10},
		{"expand.held_bytes", x.HeldBytes, 64 << 10},
		{"expand.in_flight_bytes", x.InFlightBytes, 2 * l.c.Limits.BodyBytes},
	} {
		if n.value < n.least {
			l.fault(n.path, fmt.Sprintf("must be at least %d, got %d", n.least, n.value), "")
		}
	}
	if x.KeepAlive.Std() < minKeepAlive {
		l.fault("expand.keep_alive", fmt.Sprintf("must be at least %v, got %v", Duration(minKeepAlive), x.KeepAlive), "")
	}
	if x.Timeout.Std() < minKeepAlive {
		l.fault("expand.timeout", fmt.Sprintf("must be at least %v, got %v", Duration(minKeepAlive), x.Timeout), "")
	}
	if t := &x.GatewayTLS; (t.CertFile == "") != (t.KeyFile == "") {
		l.fault("expand.gateway_tls.cert_file", fmt.Sprintf("and gateway_tls.key_file must be given together, got %.60q and %.60q", t.CertFile, t.KeyFile), "")
		return
	}
	_, _, err := l.c.GatewayTLS()
	l.fileFault("expand.gateway_tls.", err)
}
