// Package upstream sends continuations: requests of our own, through the
// gateway's own listener, with the credentials and the vendor's headers of the
// request they continue.
//
// Where they go is configured and never derived from a request. What they carry
// is the client's headers without those that belong to one connection, to one
// body or to one request, and with a hop header, so that the service lets them
// pass, and with a request id of their own.
//
// # Failing
//
// [Client.Send] returns when the first piece of a successful answer is here. What
// fails until then is tried again, within bounds: a refused or broken
// connection, 429 and 5xx, a pause asked for by the server included when it is
// short. Afterwards nothing is, because a piece may have been passed on.
//
// Every wait ends: with the caller's context, within milliseconds; when the
// server says nothing for too long; at the latest with the request's own deadline.
package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextguru/contextguru/pipeline/expand/hop"
)

// Defaults of [Config].
const (
	// DefaultAttempts is one more than the SDKs' own: an expand should not be
	// the reason why a turn fails.
	DefaultAttempts = 3
	// DefaultHeaderWait is long because without streaming a model's whole turn
	// comes before the headers.
	DefaultHeaderWait = 10 * time.Minute
	// DefaultIdle is Envoy's own default for a stream that says nothing.
	DefaultIdle = 5 * time.Minute
	// DefaultPause is the longest pause that is worth waiting for while a
	// client's stream is held open.
	DefaultPause = 20 * time.Second

	firstPause  = 250 * time.Millisecond
	dialWait    = 5 * time.Second
	pieceBytes  = 16 << 10
	errorBytes  = 8 << 10 // kept of an error's body
	idlePerHost = 64
)

// Config says where continuations go and how long they may take. Durations of 0
// are the defaults.
type Config struct {
	// URL is the gateway's listener: scheme, host and port, nothing else.
	URL string
	// CA verifies the gateway's certificate; nil is the system's.
	CA *x509.CertPool
	// ServerName is the name to verify in place of the URL's host, and sent as SNI.
	ServerName string
	// Certificate is ours, for a gateway that asks; nil is none. It is called
	// for every connection, so that a renewed certificate is used.
	Certificate func() (*tls.Certificate, error)
	// HTTP2 speaks HTTP/2 without asking where the URL is http. With https the
	// two sides agree on it, and HTTP2 has no meaning.
	HTTP2 bool
	// Hop signs.
	Hop *hop.Signer

	// Attempts is how often a request is sent at most; 0 is the default.
	Attempts int
	// HeaderWait bounds the wait for an answer's headers.
	HeaderWait time.Duration
	// Idle bounds the wait for each piece of an answer.
	Idle time.Duration
	// Pause is the longest pause between two attempts. A server that asks for a
	// longer one gets no second attempt.
	Pause time.Duration
}

// Client sends continuations. It is safe for concurrent use.
type Client struct {
	c      Config
	target url.URL
	wire   *http.Transport
}

// New returns a client, or an error that says what is wrong with the
// configuration. It does not connect.
func New(c Config) (*Client, error) {
	target, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Hop == nil || c.Hop.Keys == nil {
		return nil, errors.New("continuations need a service key to sign with")
	}
	if c.Attempts <= 0 {
		c.Attempts = DefaultAttempts
	}
	for _, d := range []struct {
		at       *time.Duration
		fallback time.Duration
	}{{&c.HeaderWait, DefaultHeaderWait}, {&c.Idle, DefaultIdle}, {&c.Pause, DefaultPause}} {
		if *d.at <= 0 {
			*d.at = d.fallback
		}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(target.Scheme == "https" || !c.HTTP2)
	protocols.SetHTTP2(target.Scheme == "https")
	protocols.SetUnencryptedHTTP2(target.Scheme == "http" && c.HTTP2)
	secure := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.CA, ServerName: c.ServerName}
	if c.Certificate != nil {
		secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Certificate() }
	}
	return &Client{c: c, target: target, wire: &http.Transport{
		// No proxy from the environment: the gateway is next to us.
		DialContext:         (&net.Dialer{Timeout: dialWait}).DialContext,
		TLSHandshakeTimeout: dialWait,
		TLSClientConfig:     secure,
		Protocols:           protocols,
		DisableCompression:  true,
		MaxIdleConnsPerHost: idlePerHost,
		IdleConnTimeout:     time.Minute,
	}}, nil
}

// ParseURL reads the URL of a gateway and says what is wrong with it.
func ParseURL(text string) (url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return url.URL{}, fmt.Errorf("gateway URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return url.URL{}, fmt.Errorf("gateway URL %q must start with http:// or https://", u.Redacted())
	case u.Host == "" || u.Hostname() == "":
		return url.URL{}, fmt.Errorf("gateway URL %q needs a host", u.Redacted())
	case u.User != nil, strings.Trim(u.Path, "/") != "", u.RawQuery != "", u.Fragment != "":
		return url.URL{}, fmt.Errorf("gateway URL %q must be scheme, host and port only: path and credentials are the request's", u.Redacted())
	}
	return url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// Close ends connections that are not in use.
func (c *Client) Close() { c.wire.CloseIdleConnections() }

// Request is one continuation.
type Request struct {
	// Method, Path and Authority are those of the request that is continued, the
	// path with its query.
	Method, Path, Authority string
	// Tenants are the names of the owner, as the hop header needs them.
	Tenants []string
	// Depth is how many hops came before; 0 for a client's own request.
	Depth int
	// Header is the header of the request that is continued; it is not changed.
	Header http.Header
	// Set are headers that replace those, such as a trace's.
	Set http.Header
	// Body must not change until the answer is closed.
	Body []byte
}

// StatusError is an answer that is no success.
type StatusError struct {
	// Status is the HTTP status.
	Status int
	// Body is the start of the answer's body.
	Body []byte
	// RequestID is the id of the last attempt.
	RequestID string
}

func (e *StatusError) Error() string { return fmt.Sprintf("the gateway answered %d", e.Status) }

// Errors of waits that ended.
var (
	// ErrHeaderWait says that the headers did not come in time.
	ErrHeaderWait = errors.New("no answer from the gateway in time")
	// ErrIdle says that the answer stopped in the middle.
	ErrIdle = errors.New("the gateway's answer stopped")
)

// Send sends a continuation. The error is a [*StatusError] or says why there
// is no answer; when ctx ended it wraps the context's cause.
func (c *Client) Send(ctx context.Context, r Request) (*Answer, error) {
	var pause pauser
	for attempt := 1; ; attempt++ {
		a, err := c.try(ctx, &r)
		if err == nil {
			a.Attempts = attempt
			return a, nil
		}
		if attempt == c.c.Attempts || ctx.Err() != nil || !again(err) {
			return nil, sent(ctx, attempt, err)
		}
		if !pause.wait(ctx, err, c.c.Pause) {
			return nil, sent(ctx, attempt, err)
		}
	}
}

func sent(ctx context.Context, attempts int, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("continuation, attempt %d: %w", attempts, err)
}

// try sends the request once and waits for the first piece of the answer.
func (c *Client) try(ctx context.Context, r *Request) (*Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, id, err := c.request(ctx, r)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	timer := time.AfterFunc(c.c.HeaderWait, func() { cancel(ErrHeaderWait) })
	res, err := c.wire.RoundTrip(req) //nolint:bodyclose // the answer closes it
	timer.Stop()
	if err != nil {
		err = caused(ctx, err)
		cancel(nil)
		return nil, err
	}
	a := &Answer{
		Header: res.Header, RequestID: id,
		ctx: ctx, cancel: cancel, body: res.Body, idle: c.c.Idle, buffer: make([]byte, pieceBytes),
	}
	if res.StatusCode < http.StatusOK || res.StatusCode > 299 {
		defer a.Close()
		return nil, c.refused(a, res)
	}
	if a.first, a.err = a.read(); a.err != nil && len(a.first) == 0 && !errors.Is(a.err, io.EOF) {
		defer a.Close()
		return nil, a.err
	}
	return a, nil
}

// refused reads what a server that refuses has to say.
func (c *Client) refused(a *Answer, res *http.Response) error {
	e := &refusal{after: res.Header, StatusError: StatusError{Status: res.StatusCode, RequestID: a.RequestID}}
	for len(e.Body) < errorBytes {
		piece, err := a.read()
		e.Body = append(e.Body, piece...)
		if err != nil {
			break
		}
	}
	e.Body = e.Body[:min(len(e.Body), errorBytes)]
	return e
}

// request makes the HTTP request.
func (c *Client) request(ctx context.Context, r *Request) (*http.Request, string, error) {
	target := c.target
	path, query, asked := strings.Cut(r.Path, "?")
	// As it is on the wire: the hop header vouches for these bytes.
	target.Opaque, target.RawQuery, target.ForceQuery = path, query, asked && query == ""
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return nil, "", &permanentError{fmt.Errorf("a continuation's path must start with one slash, got %d bytes", len(path))}
	}
	value, err := c.c.Hop.Sign(hop.Request{Method: r.Method, Path: r.Path, Authority: r.Authority, Tenants: r.Tenants}, r.Depth+1)
	if err != nil {
		return nil, "", &permanentError{err}
	}
	req := (&http.Request{
		Method: r.Method, URL: &target, Host: r.Authority,
		Header: forward(r.Header, r.Set),
		Body:   io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil },
	}).WithContext(ctx)
	id := newRequestID()
	req.Header.Set(requestID, id)
	req.Header.Set(hop.Header, value)
	return req, id, nil
}

// caused prefers the reason why we ended a request to what that looked like.
func caused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
