package fakellm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
)

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// TestRecord keeps what was received, exactly.
func TestRecord(t *testing.T) {
	t.Parallel()
	// White space, an escape, a repeated name and a lone surrogate must survive.
	const body = "{ \"model\" : \"m\",\n\"x\":\"\\u003c \\ud800\",\"x\":1.50e+1, \"stream\":null }\r\n"
	for _, h2 := range []bool{false, true} {
		s := start(t)
		c := client(t, h2)
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, s.URL()+"/a%2Fb"+chatPath+"?q=1&q=%20", io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "llm.example"
		req.Header["X-Twice"] = []string{"1", "2"}
		req.Trailer = http.Header{"X-End": nil}
		req.Body = &trailerBody{Reader: strings.NewReader(body), set: func() { req.Trailer.Set("X-End", "over") }}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		r := s.Last()
		if string(r.Body) != body || r.SHA256 != digest(body) || r.Size != int64(len(body)) || r.BodyError != "" {
			t.Errorf("body %q, size %d, error %q", r.Body, r.Size, r.BodyError)
		}
		if r.ID != 1 || r.Kind != fakellm.KindChat || r.Method != "POST" || r.Host != "llm.example" || r.Model != "m" || r.Stream ||
			r.Target != "/a%2Fb"+chatPath+"?q=1&q=%20" || r.Path != "/a/b"+chatPath || r.ContentLength != -1 {
			t.Errorf("record %+v", r)
		}
		if !slices.Equal(r.Header["X-Twice"], []string{"1", "2"}) || r.Trailer.Get("X-End") != "over" {
			t.Errorf("header %v, trailer %v", r.Header, r.Trailer)
		}
		if proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]; r.Proto != proto || !h2 && !slices.Equal(r.TransferEncoding, []string{"chunked"}) {
			t.Errorf("proto %s, transfer-encoding %v", r.Proto, r.TransferEncoding)
		}
		send(t, c, s.URL()+chatPath, body)
		if next := s.Last(); next.ContentLength != int64(len(body)) || next.TransferEncoding != nil || next.Remote != r.Remote {
			t.Errorf("content-length %d, transfer-encoding %v, from %s and %s", next.ContentLength, next.TransferEncoding, r.Remote, next.Remote)
		}
	}
}

// trailerBody sets trailers when it has been read.
type trailerBody struct {
	io.Reader
	set func()
}

func (b *trailerBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.set()
	}
	return n, err
}

func (b *trailerBody) Close() error { return nil }

// TestBadBodies answers as a provider does, and records all the same.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	pack := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, s); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	tests := []struct {
		body, encoding string
		status         int
		want           string
	}{
		{"", "", 400, "want a JSON object"},
		{"[]", "", 400, "want a JSON object"},
		{`{"a":}`, "", 400, "invalid character"},
		{`{"a":1`, "", 400, "unexpected EOF"},
		{`{"a":1}{}`, "", 400, "more than one JSON value"},
		{`{"model":5}`, "", 400, "model: "},
		{`{"model":"z"}`, "identity", 200, `"z"`},
		{pack(`{"model":"z"}`), "gzip", 200, `"z"`},
		{"junk", "gzip", 400, "gzip body"},
		{pack(`{"model":"z"}`)[:20], "gzip", 400, "gzip body"},
		{"junk", "br", 415, "send gzip or none"},
	}
	s := start(t)
	for _, tt := range tests {
		got := send(t, http.DefaultClient, s.URL()+chatPath, tt.body, "Content-Encoding", tt.encoding)
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.want) {
			t.Errorf("%q: status %d, want %q in %s", tt.body, got.StatusCode, tt.want, got.body)
		}
		if last := s.Last(); string(last.Body) != tt.body {
			t.Errorf("%q: recorded %q", tt.body, last.Body)
		}
	}
}

// TestCutRequest records what came before the client left.
func TestCutRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	conn, err := new(net.Dialer).DialContext(within(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"half\":", chatPath); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	list, err := s.Wait(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := list[0].Reply(within(t))
	if err != nil || reply.Outcome != fakellm.ClientGone || reply.Status != 0 || string(list[0].Body) != `{"half":` || list[0].BodyError == "" {
		t.Errorf("reply %+v, error %v, body %q, body error %q", reply, err, list[0].Body, list[0].BodyError)
	}
}

// TestWait is woken by requests and by its context.
func TestWait(t *testing.T) {
	t.Parallel()
	s := start(t)
	woken := make(chan int)
	for range 2 {
		go func() {
			list, err := s.Wait(within(t), 2)
			if err != nil {
				t.Error(err)
			}
			woken <- len(list)
		}()
	}
	for i := range 2 {
		send(t, http.DefaultClient, s.URL()+chatPath, fmt.Sprintf(`{"i":%d}`, i))
	}
	if a, b := <-woken, <-woken; a != 2 || b != 2 {
		t.Errorf("woken with %d and %d requests", a, b)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if _, err := s.Wait(ctx, 3); err == nil || err.Error() != "wait for 3 requests, 2 received: io: read/write on closed pipe" {
		t.Errorf("error %v", err)
	}
	if got := s.Requests(); got[0].ID != 1 || got[1].ID != 2 || string(got[1].Body) != `{"i":1}` {
		t.Errorf("requests %+v", got)
	}
}

// TestBounds keeps digests instead of bodies, and the newest requests only.
func TestBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		opts        []fakellm.Option
		small, long bool // is the body kept?
		kept        int
	}{
		{"everything", nil, true, true, 4},
		{"limit", []fakellm.Option{fakellm.WithBodyLimit(100)}, true, false, 4},
		{"digests", []fakellm.Option{fakellm.WithDigestsOnly(), fakellm.WithHistory(3)}, false, false, 3},
	}
	small, long := `{"s":1}`, `{"model":"`+strings.Repeat("l", 100)+`"}`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.opts...)
			for _, path := range []string{chatPath, "/upload"} {
				for _, body := range []string{small, long} {
					got := send(t, http.DefaultClient, s.URL()+path, body)
					r := s.Last()
					kept := tt.small
					if body == long {
						kept = tt.long
					}
					if (r.Body != nil) != kept || kept && string(r.Body) != body || r.SHA256 != digest(body) || r.Size != int64(len(body)) {
						t.Errorf("%s %.20s: body %q, size %d", path, body, r.Body, r.Size)
					}
					reply, err := r.Reply(within(t))
					if err != nil || reply.Size != int64(len(got.body)) || reply.SHA256 != digest(got.body) {
						t.Errorf("%s: reply %+v, error %v", path, reply, err)
					}
					if path == chatPath && body == long && !strings.Contains(got.body, strings.Repeat("l", 100)) {
						t.Errorf("model lost: %s", got.body)
					}
				}
			}
			if n := len(s.Requests()); n != tt.kept || s.Count() != 4 {
				t.Errorf("kept %d of %d", n, s.Count())
			}
		})
	}
}
