package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log" //nolint:depguard // what a server of net/http wants
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func signer(tb testing.TB) *hop.Signer {
	tb.Helper()
	ring, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
	if err != nil {
		tb.Fatal(err)
	}
	return &hop.Signer{Keys: ring}
}

// how a gateway is spoken to.
type transport struct {
	name    string
	tls, h2 bool
	proto   int
}

func transports() []transport {
	return []transport{{"h1", false, false, 1}, {"h2c", false, true, 2}, {"https h1", true, false, 1}, {"https h2", true, true, 2}}
}

// gateway starts a server and returns a client for it.
func gateway(tb testing.TB, how transport, serve http.HandlerFunc, change func(*upstream.Config)) *upstream.Client {
	tb.Helper()
	s := httptest.NewUnstartedServer(serve)
	s.Config.Protocols, s.Config.ErrorLog = new(http.Protocols), log.New(io.Discard, "", 0)
	s.Config.Protocols.SetHTTP1(!how.h2)
	s.Config.Protocols.SetHTTP2(how.tls && how.h2)
	s.Config.Protocols.SetUnencryptedHTTP2(!how.tls && how.h2)
	c := upstream.Config{Hop: signer(tb), HTTP2: how.h2, Pause: 50 * time.Millisecond}
	if how.tls {
		s.EnableHTTP2 = how.h2
		s.TLS = &tls.Config{NextProtos: []string{map[bool]string{false: "http/1.1", true: "h2"}[how.h2]}, ClientAuth: tls.RequestClientCert}
		s.StartTLS()
		c.CA, c.ServerName = x509.NewCertPool(), "example.com"
		c.CA.AddCert(s.Certificate())
		c.Certificate = func() (*tls.Certificate, error) { return &s.TLS.Certificates[0], nil }
	} else {
		s.Start()
	}
	c.URL = s.URL
	if change != nil {
		change(&c)
	}
	client, err := upstream.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { client.Close(); s.CloseClientConnections(); s.Close() })
	return client
}

func request() upstream.Request {
	return upstream.Request{
		Method: "POST", Path: "/v1/mess%61ges?beta=true&x=%20", Authority: "api.Example.com:8443", Tenants: []string{"t"},
		Header: http.Header{"content-type": {"application/json"}}, Body: []byte(`{"messages":[]}`),
	}
}

// all reads an answer to its end.
func all(a *upstream.Answer) (string, error) {
	var b strings.Builder
	for {
		piece, err := a.Next()
		b.Write(piece)
		switch {
		case errors.Is(err, io.EOF):
			return b.String(), nil
		case err != nil:
			return b.String(), err
		}
	}
}

func TestSends(t *testing.T) {
	t.Parallel()
	for _, how := range transports() {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			verify := signer(t)
			seen := make(chan *http.Request, 1)
			client := gateway(t, how, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Header.Set("Test-Body", string(body))
				seen <- r
				for _, part := range []string{"data: 1\n\n", "data: 2\n\n"} {
					_, _ = io.WriteString(w, part)
					w.(http.Flusher).Flush()
				}
			}, nil)
			r := request()
			r.Header = http.Header{
				"authorization": {"Bearer secret"}, "x-api-key": {"k"}, "anthropic-beta": {"a", "b"}, "user-agent": {"cli/1"},
				"content-type": {"application/json"}, "x-forwarded-for": {"10.0.0.1"}, "traceparent": {"old"},
				":method": {"POST"}, ":authority": {"x"}, "host": {"x"}, "content-length": {"3"}, "content-encoding": {"zstd"},
				"accept-encoding": {"zstd"}, "connection": {"keep-alive, X-Private", "close"}, "x-private": {"1"}, "te": {"trailers"},
				"transfer-encoding": {"chunked"}, "expect": {"100-continue"}, "idempotency-key": {"i"}, "x-request-id": {"old"},
				"x-envoy-expected-rq-timeout-ms": {"5"}, "X-Context-Guru-Hop": {"forged"}, "bad name": {"x"}, "x-bad": {"a\r\nb"},
			}
			r.Set = http.Header{"traceparent": {"new"}}
			a, err := client.Send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			text, err := all(a)
			if err != nil || text != "data: 1\n\ndata: 2\n\n" || a.Attempts != 1 {
				t.Errorf("%q, %v after %d attempts", text, err, a.Attempts)
			}
			got := <-seen
			if got.ProtoMajor != how.proto || got.RequestURI != r.Path || got.Host != r.Authority || got.ContentLength != int64(len(r.Body)) {
				t.Errorf("HTTP/%d %s on %s with %d bytes", got.ProtoMajor, got.RequestURI, got.Host, got.ContentLength)
			}
			if how.tls && (len(got.TLS.PeerCertificates) != 1 || got.TLS.ServerName != "example.com") {
				t.Errorf("%d certificates, for %s", len(got.TLS.PeerCertificates), got.TLS.ServerName)
			}
			depth, err := verify.Verify(hop.Request{Method: got.Method, Path: got.RequestURI, Authority: got.Host, Tenants: r.Tenants}, got.Header.Get(hop.Header))
			if err != nil || depth != 1 {
				t.Errorf("depth %d, %v", depth, err)
			}
			id := got.Header.Get("X-Request-Id")
			if id != a.RequestID || len(id) != 36 || id[14] != '4' {
				t.Errorf("request id %q, %q", id, a.RequestID)
			}
			got.Header.Del("X-Request-Id")
			got.Header.Del(hop.Header)
			want := http.Header{
				"Authorization": {"Bearer secret"}, "X-Api-Key": {"k"}, "Anthropic-Beta": {"a", "b"}, "User-Agent": {"cli/1"},
				"Content-Type": {"application/json"}, "X-Forwarded-For": {"10.0.0.1"}, "Traceparent": {"new"},
				"Content-Length": {"15"}, "Test-Body": {string(r.Body)},
			}
			if how.h2 {
				delete(want, "Content-Length")
				got.Header.Del("Content-Length")
			}
			if diff := cmp.Diff(want, got.Header); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// answers gives a status per attempt, the last one for good.
func answers(count *atomic.Int32, header http.Header, statuses ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		n := int(count.Add(1))
		maps.Copy(w.Header(), header)
		status := statuses[min(n, len(statuses))-1]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "said")
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header   http.Header
		statuses []int
		attempts int32
		status   int // 200, an error's, or 0 for a broken connection
	}{
		"429":             {nil, []int{429, 200}, 2, 200},
		"500, 529":        {nil, []int{500, 529, 200}, 3, 200},
		"reset":           {nil, []int{0, 0, 200}, 3, 200},
		"always reset":    {nil, []int{0}, 3, 0},
		"always 503":      {nil, []int{503}, 3, 503},
		"400":             {nil, []int{400}, 1, 400},
		"401":             {nil, []int{401}, 1, 401},
		"redirect":        {http.Header{"Location": {"/elsewhere"}}, []int{307}, 1, 307},
		"soon":            {http.Header{"Retry-After-Ms": {"1"}, "Retry-After": {"600"}}, []int{429, 200}, 2, 200},
		"soon, in s":      {http.Header{"Retry-After": {"0"}}, []int{429, 200}, 2, 200},
		"too late":        {http.Header{"Retry-After": {"1"}}, []int{429, 200}, 1, 429},
		"too late, dated": {http.Header{"Retry-After": {"Tue, 01 Dec 2026 00:01:00 GMT"}, "Date": {"Tue, 01 Dec 2026 00:00:00 GMT"}}, []int{503, 200}, 1, 503},
		"not to be tried": {http.Header{"X-Should-Retry": {"false"}}, []int{500, 200}, 1, 500},
		"to be tried":     {http.Header{"X-Should-Retry": {"true"}}, []int{400, 200}, 2, 200},
	} {
		for _, how := range transports()[:2] {
			t.Run(name+" "+how.name, func(t *testing.T) {
				t.Parallel()
				var count atomic.Int32
				client := gateway(t, how, answers(&count, c.header, c.statuses...), nil)
				a, err := client.Send(t.Context(), request())
				if a != nil {
					defer a.Close()
				}
				var refused *upstream.StatusError
				switch {
				case c.status == 200 && (err != nil || a.Attempts != int(c.attempts)):
					t.Errorf("%v", err)
				case c.status > 200 && (!errors.As(err, &refused) || refused.Status != c.status || string(refused.Body) != "said"):
					t.Errorf("%v: %+v", err, refused)
				case c.status == 0 && (err == nil || errors.As(err, &refused)):
					t.Errorf("%v", err)
				}
				if count.Load() != c.attempts {
					t.Errorf("%d attempts, want %d", count.Load(), c.attempts)
				}
			})
		}
	}
}

// Headers without a body are nothing yet; a piece of the body is.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, how := range transports() {
		for said, attempts := range map[string]int32{"": 3, "data: x\n\n": 1} {
			t.Run(how.name+" "+said, func(t *testing.T) {
				t.Parallel()
				var count atomic.Int32
				client := gateway(t, how, func(w http.ResponseWriter, _ *http.Request) {
					count.Add(1)
					w.WriteHeader(http.StatusOK)
					_, _ = io.WriteString(w, said)
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}, nil)
				a, err := client.Send(t.Context(), request())
				if attempts > 1 != (err != nil) {
					t.Fatalf("%v", err)
				}
				if a != nil {
					defer a.Close()
					if text, err := all(a); text != said || err == nil {
						t.Errorf("%q, %v", text, err)
					}
				}
				if count.Load() != attempts {
					t.Errorf("%d attempts", count.Load())
				}
			})
		}
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	client, err := upstream.New(upstream.Config{URL: "http://" + address, Hop: signer(t), Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), request()); err == nil || !strings.Contains(err.Error(), "attempt 3") {
		t.Error(err)
	}
}

// Whoever waits is told at once when the client goes away, wherever that is, and
// the gateway sees it too.
func TestCancelled(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client is gone")
	for _, how := range transports() {
		for _, before := range []bool{true, false} {
			t.Run(how.name+map[bool]string{true: " before headers", false: " in the body"}[before], func(t *testing.T) {
				t.Parallel()
				arrived, ended := make(chan struct{}, 1), make(chan struct{})
				client := gateway(t, how, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					if !before {
						_, _ = io.WriteString(w, "x")
						w.(http.Flusher).Flush()
					}
					arrived <- struct{}{}
					<-r.Context().Done()
					close(ended)
				}, nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				var at time.Time
				hangUp := func() {
					<-arrived
					at = time.Now()
					cancel(gone)
				}
				if before {
					go hangUp()
				}
				a, err := client.Send(ctx, request())
				if !before {
					if err != nil {
						t.Fatal(err)
					}
					defer a.Close()
					go hangUp()
					_, err = all(a)
				}
				if took := time.Since(at); !errors.Is(err, gone) || took > time.Second {
					t.Errorf("%v, after %v", err, took)
				}
				<-ended
			})
		}
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for _, how := range transports()[:2] {
		for _, c := range []struct {
			said string
			want error
		}{{"", upstream.ErrHeaderWait}, {"x", upstream.ErrIdle}} {
			t.Run(how.name+" after "+c.said, func(t *testing.T) {
				t.Parallel()
				var count atomic.Int32
				client := gateway(t, how, func(w http.ResponseWriter, r *http.Request) {
					count.Add(1)
					_, _ = io.ReadAll(r.Body)
					if c.said != "" {
						_, _ = io.WriteString(w, c.said)
						w.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				}, func(cfg *upstream.Config) { cfg.HeaderWait, cfg.Idle = 100*time.Millisecond, 100*time.Millisecond })
				a, err := client.Send(t.Context(), request())
				if a != nil {
					defer a.Close()
					_, err = all(a)
				}
				if !errors.Is(err, c.want) || count.Load() != 1 {
					t.Errorf("%v after %d attempts", err, count.Load())
				}
			})
		}
	}
}

func TestClosedEarly(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	client := gateway(t, transports()[0], func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}, nil)
	a, err := client.Send(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	<-ended
	if text, err := all(a); err == nil {
		t.Errorf("%q and no error", text)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"": "http://", "gateway:10000": "http://", "ftp://gw": "http://", "http://": "host", "http://:80": "host", "https://gw/v1": "only",
		"https://u:secret@gw": "only", "https://gw?x": "only", "http://gw:port": "port",
	} {
		_, err := upstream.New(upstream.Config{URL: url, Hop: signer(t)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := upstream.New(upstream.Config{URL: "http://gw"}); err == nil {
		t.Error("no key to sign with, and no error")
	}
	client := gateway(t, transports()[0], func(http.ResponseWriter, *http.Request) { t.Error("was sent") }, nil)
	for _, change := range []func(*upstream.Request){
		func(r *upstream.Request) { r.Path = "//other/v1" },
		func(r *upstream.Request) { r.Path = "http://other/v1" },
		func(r *upstream.Request) { r.Depth = hop.MaxDepth },
	} {
		r := request()
		change(&r)
		if _, err := client.Send(t.Context(), r); err == nil {
			t.Errorf("%+v was sent", r)
		}
	}
	wrong := gateway(t, transports()[2], func(http.ResponseWriter, *http.Request) { t.Error("was sent") }, func(c *upstream.Config) { c.ServerName = "other.test" })
	if _, err := wrong.Send(t.Context(), request()); err == nil {
		t.Error("another server's certificate is accepted")
	}
}
