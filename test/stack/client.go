package stack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Protocol is the HTTP version a client speaks.
type Protocol int

// The protocols, both without TLS.
const (
	// H1 is HTTP/1.1.
	H1 Protocol = iota
	// H2 is HTTP/2 with prior knowledge.
	H2
)

// String names the protocol.
func (p Protocol) String() string {
	if p == H2 {
		return "h2"
	}
	return "h1"
}

// Credential is the secret calls carry unless they bring their own.
const Credential = "sk-stack-test"

// Call is one request. The zero value of everything but Path makes sense.
type Call struct {
	// Protocol is the client's.
	Protocol Protocol
	// Direct sends the request to the provider, past Envoy.
	Direct bool
	// Replica chooses a service in a stack with pinned replicas, counted from 1;
	// 0 leaves the choice to Envoy.
	Replica int
	// Method defaults to POST with a body and GET without one.
	Method string
	// Path is path and query.
	Path string
	// Header is sent as it is. A body's content-type defaults to JSON, the
	// authorization to [Credential]; an empty value sends none.
	Header map[string]string
	// Body is sent with its length.
	Body []byte
	// Stream is sent instead of Body, without a length unless Length gives it.
	Stream io.Reader
	Length int64
}

// Reply is a response read to its end.
type Reply struct {
	Status  int
	Proto   string
	Header  http.Header
	Trailer http.Header
	Body    []byte
}

// Client returns the client the stack's calls are made with. It follows no
// redirects and decompresses nothing.
func (s *Stack) Client(p Protocol) *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[p] == nil {
		s.clients[p] = NewClient(p)
	}
	return s.clients[p]
}

// NewClient returns a client with connections of its own.
func NewClient(p Protocol) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(p == H1)
	protocols.SetUnencryptedHTTP2(p == H2)
	return &http.Client{
		Transport:     &http.Transport{Protocols: &protocols, DisableCompression: true, MaxIdleConnsPerHost: 256},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Request makes the HTTP request of a call.
func (s *Stack) Request(ctx context.Context, c Call) (*http.Request, error) {
	base := s.URL()
	if c.Direct {
		base = s.LLM.URL()
	}
	var body io.Reader
	switch {
	case c.Stream != nil:
		body = c.Stream
	case c.Body != nil:
		body = bytes.NewReader(c.Body)
	}
	method := c.Method
	if method == "" {
		method = http.MethodGet
		if body != nil {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, base+c.Path, body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.Path, err)
	}
	if c.Stream != nil {
		req.ContentLength = -1
		if c.Length > 0 {
			req.ContentLength = c.Length
		}
	}
	req.Header.Set("Authorization", "Bearer "+Credential)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Replica > 0 && !c.Direct {
		req.Header.Set(pinHeader, strconv.Itoa(c.Replica-1))
	}
	for name, value := range c.Header {
		switch {
		case value == "":
			req.Header.Del(name)
		case strings.EqualFold(name, "host"):
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// Open makes a call and returns the response with its body unread.
func (s *Stack) Open(ctx context.Context, c Call) (*http.Response, error) {
	req, err := s.Request(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.Client(c.Protocol).Do(req)
}

// Do makes a call and reads the response to its end.
func (s *Stack) Do(ctx context.Context, c Call) (*Reply, error) {
	resp, err := s.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		err = fmt.Errorf("read the answer to %s: %w", c.Path, err)
	}
	return &Reply{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Trailer: resp.Trailer, Body: body}, err
}

// Dial opens a connection to Envoy's listener, for what an HTTP client cannot
// be made to do.
func (s *Stack) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Envoy.Addr())
	if err != nil {
		return nil, fmt.Errorf("connect to Envoy: %w", err)
	}
	return conn, nil
}
