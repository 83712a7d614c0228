package extproc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"strconv"
	"strings"
	"testing"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
)

const (
	none     = filterv3.ProcessingMode_NONE
	buffered = filterv3.ProcessingMode_BUFFERED
	partial  = filterv3.ProcessingMode_BUFFERED_PARTIAL
	streamed = filterv3.ProcessingMode_STREAMED
	duplex   = filterv3.ProcessingMode_FULL_DUPLEX_STREAMED
)

// rewritten returns the new body of a reply and checks its length header.
func rewritten(t *testing.T, m *extprocv3.ProcessingResponse) string {
	t.Helper()
	r := m.GetRequestBody().GetResponse()
	body := r.GetBodyMutation().GetBody()
	if body == nil {
		t.Fatalf("reply does not replace the body: %v", m)
	}
	var length string
	for _, h := range r.GetHeaderMutation().GetSetHeaders() {
		if h.GetHeader().GetKey() == "content-length" {
			length = string(h.GetHeader().GetRawValue())
		}
	}
	if length != strconv.Itoa(len(body)) {
		t.Fatalf("content-length %q for a body of %d bytes", length, len(body))
	}
	if !strings.Contains(string(body), "<<cg:") || len(body) >= len(chat) {
		t.Fatalf("body was not rewritten: %s", body)
	}
	return string(body)
}

func isLeave(t *testing.T, m *extprocv3.ProcessingResponse) {
	t.Helper()
	want := &filterv3.ProcessingMode{RequestBodyMode: none, ResponseBodyMode: none, ResponseHeaderMode: filterv3.ProcessingMode_SKIP}
	if diff := cmp.Diff(want, m.GetModeOverride(), protocmp.Transform()); diff != "" {
		t.Fatalf("mode override (-want +got):\n%s", diff)
	}
}

func TestWholeExchange(t *testing.T) {
	t.Parallel()
	h := start(t, setup{})
	s := h.open(t, t.Context())
	s.send(reqHeaders(chatHeaders(len(chat)), false))
	want := &filterv3.ProcessingMode{RequestBodyMode: buffered, ResponseBodyMode: none}
	if diff := cmp.Diff(want, s.recv().GetModeOverride(), protocmp.Transform()); diff != "" {
		t.Fatalf("mode override (-want +got):\n%s", diff)
	}
	s.send(reqBody(chat, true))
	body := rewritten(t, s.recv())
	for id := range h.keys.Markers(body) {
		if !h.keys.Owns(id) {
			t.Errorf("marker %s is not ours", id)
		}
	}
	s.send(resHeaders(false, ":status", "200", "content-length", "10"))
	r := s.recv()
	want = &filterv3.ProcessingMode{RequestBodyMode: buffered, ResponseBodyMode: duplex, ResponseTrailerMode: filterv3.ProcessingMode_SEND}
	if diff := cmp.Diff(want, r.GetModeOverride(), protocmp.Transform()); diff != "" {
		t.Fatalf("mode override (-want +got):\n%s", diff)
	}
	if got := r.GetResponseHeaders().GetResponse().GetHeaderMutation().GetRemoveHeaders(); !cmp.Equal(got, []string{"content-length"}) {
		t.Fatalf("removed headers %v", got)
	}
	s.send(resBody("hello", false))
	s.send(resBody("", true))
	first := s.recv().GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse()
	if string(first.GetBody()) != "hello" || first.GetEndOfStream() {
		t.Fatalf("first chunk %v", first)
	}
	if last := s.recv().GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse(); len(last.GetBody()) != 0 || !last.GetEndOfStream() {
		t.Fatalf("last chunk %v", last)
	}
	s.ends()
	got := h.stats.Snapshot()
	if got.Totals.Verdicts["rewritten"] != 1 || got.Totals.Markers != 1 || len(got.Components) != 1 || got.Components[0].Acts != 1 {
		t.Errorf("stats %+v", got)
	}
}

func TestOptOut(t *testing.T) {
	t.Parallel()
	h := start(t, setup{})
	with := func(key, val string) []string {
		base := []string{":method", "POST", ":path", "/v1/messages", "content-type", "application/json", "content-length", "100"}
		for i := 0; i < len(base); i += 2 {
			if base[i] == key {
				base[i+1] = val
				return base
			}
		}
		return append(base, key, val)
	}
	for name, pairs := range map[string][]string{
		"get":              with(":method", "GET"),
		"other path":       with(":path", "/v1/models"),
		"form":             with("content-type", "application/x-www-form-urlencoded"),
		"no content type":  with("content-type", ""),
		"upgrade":          with("upgrade", "websocket"),
		"empty":            with("content-length", "0"),
		"too large":        with("content-length", "1048577"),
		"bad length":       with("content-length", "1e3"),
		"sigv4":            with("authorization", "AWS4-HMAC-SHA256 Credential=x"),
		"sigv4a":           with("authorization", "AWS4-ECDSA-P256-SHA256 Credential=x"),
		"amz hash":         with("x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
		"content digest":   with("content-digest", "sha-256=:x:"),
		"http signature":   with("signature-input", "sig1=()"),
		"brotli":           with("content-encoding", "br"),
		"stacked encoding": with("content-encoding", "gzip, gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := h.open(t, t.Context())
			s.send(reqHeaders(headers(pairs...), false))
			isLeave(t, s.recv())
			s.ends()
		})
	}
	t.Run("end at headers", func(t *testing.T) {
		t.Parallel()
		s := h.open(t, t.Context())
		s.send(reqHeaders(chatHeaders(5), true))
		isLeave(t, s.recv())
		s.ends()
	})
	t.Run("chunked", func(t *testing.T) {
		t.Parallel()
		s := h.open(t, t.Context())
		s.send(reqHeaders(headers(":method", "POST", ":path", "/x/messages", "content-type", "application/json"), false))
		isLeave(t, s.recv())
		s.ends()
	})
}

func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(chat))
	_ = z.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var bomb bytes.Buffer
	z = gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 3<<20))
	_ = z.Close()
	for _, c := range []struct {
		name, coding, body string
		changed            bool
	}{
		{"gzip", "gzip", zipped.String(), true},
		{"zstd", "zstd", string(enc.EncodeAll([]byte(chat), nil)), true},
		{"bomb", "gzip", bomb.String(), false},
		{"truncated", "gzip", zipped.String()[:zipped.Len()-9], false},
		{"not gzip", "gzip", chat, false},
		{"not zstd", "zstd", chat, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, setup{})
			s := h.open(t, t.Context())
			s.send(reqHeaders(chatHeaders(len(c.body), "content-encoding", c.coding), false))
			s.recv()
			s.send(reqBody(c.body, true))
			m := s.recv()
			if !c.changed {
				if m.GetRequestBody().GetResponse() != nil {
					t.Fatalf("reply %v, want unchanged", m)
				}
				s.ends()
				return
			}
			rewritten(t, m)
			if got := m.GetRequestBody().GetResponse().GetHeaderMutation().GetRemoveHeaders(); !cmp.Equal(got, []string{"content-encoding"}) {
				t.Fatalf("removed headers %v", got)
			}
			s.ends()
		})
	}
}

// TestBodyModes checks the form of the request reply in every mode Envoy may
// be configured with, however our override fares.
func TestBodyModes(t *testing.T) {
	t.Parallel()
	half := len(chat) / 2
	for _, c := range []struct {
		name   string
		mode   filterv3.ProcessingMode_BodySendMode
		pieces []string
		end    bool // the last piece carries the end of the stream
		want   string
	}{
		{"override honoured", none, []string{chat}, true, "replaced"},
		{"trailers follow", none, []string{chat}, false, "replaced"},
		{"static buffered", buffered, []string{chat}, true, "replaced"},
		{"whole in partial mode", partial, []string{chat}, true, "replaced"},
		{"part in partial mode", partial, []string{chat[:half]}, false, "unchanged"},
		{"streamed", streamed, []string{chat[:half], chat[half:]}, true, "unchanged"},
		{"duplex", duplex, []string{chat[:half], chat[half:]}, true, "streamed"},
		{"duplex empty end", duplex, []string{chat, ""}, true, "streamed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, setup{})
			s := h.open(t, t.Context(), c.mode)
			s.send(reqHeaders(chatHeaders(len(chat)), false))
			s.recv()
			for i, p := range c.pieces {
				s.send(reqBody(p, c.end && i == len(c.pieces)-1))
				if c.want == "streamed" {
					continue
				}
				m := s.recv()
				if c.want == "replaced" {
					rewritten(t, m)
				} else if m.GetRequestBody() == nil || m.GetRequestBody().GetResponse() != nil {
					t.Fatalf("reply %v, want unchanged", m)
				}
			}
			if c.want == "streamed" {
				r := s.recv().GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse()
				if !r.GetEndOfStream() || !strings.Contains(string(r.GetBody()), "<<cg:") {
					t.Fatalf("chunk %v", r)
				}
			}
			s.ends()
		})
	}
}

func TestDuplexRequestChunksAndTrailers(t *testing.T) {
	t.Parallel()
	h := start(t, setup{})
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("é", 100_000) + `"}]}`
	s := h.open(t, t.Context(), duplex)
	s.send(reqHeaders(chatHeaders(len(long)), false))
	s.recv()
	s.send(reqBody(long, false))
	s.send(&extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestTrailers{RequestTrailers: &extprocv3.HttpTrailers{}}})
	var got strings.Builder
	for got.Len() < len(long) {
		r := s.recv().GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse()
		if len(r.GetBody()) == 0 || len(r.GetBody()) > 62_000 || r.GetEndOfStream() {
			t.Fatalf("chunk of %d bytes, end %v", len(r.GetBody()), r.GetEndOfStream())
		}
		got.Write(r.GetBody())
	}
	if got.String() != long {
		t.Fatal("chunks do not add up to the body")
	}
	if s.recv().GetRequestTrailers() == nil {
		t.Fatal("no trailers reply")
	}
	s.ends()
}

func TestResponsePhase(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, change func(*extproc.Config)) *side {
		h := start(t, setup{server: change})
		s := h.open(t, t.Context())
		s.send(reqHeaders(chatHeaders(len(chat)), false))
		s.recv()
		return s
	}
	plain := func(t *testing.T, m *extprocv3.ProcessingResponse) {
		t.Helper()
		if m.GetResponseHeaders() == nil || m.GetModeOverride() != nil || m.GetResponseHeaders().GetResponse() != nil {
			t.Fatalf("reply %v, want a plain one", m)
		}
	}
	t.Run("no body", func(t *testing.T) {
		t.Parallel()
		s := open(t, nil)
		s.send(reqBody(chat, true))
		s.recv()
		s.send(resHeaders(true, ":status", "204"))
		plain(t, s.recv())
		s.ends()
	})
	t.Run("local reply before the body", func(t *testing.T) {
		t.Parallel()
		s := open(t, nil)
		s.send(resHeaders(false, ":status", "413"))
		plain(t, s.recv())
		s.ends()
	})
	t.Run("sole ext_proc", func(t *testing.T) {
		t.Parallel()
		s := open(t, func(c *extproc.Config) { c.Envoy.SoleExtProc = true })
		s.send(reqBody(chat, true))
		s.recv()
		s.send(resHeaders(false, ":status", "200"))
		plain(t, s.recv())
		s.ends()
	})
	t.Run("response without a request", func(t *testing.T) {
		t.Parallel()
		s := start(t, setup{}).open(t, t.Context())
		s.send(resHeaders(false, ":status", "400"))
		plain(t, s.recv())
		s.ends()
	})
	t.Run("upstream trailers", func(t *testing.T) {
		t.Parallel()
		s := open(t, nil)
		s.send(reqBody(chat, true))
		s.recv()
		s.send(resHeaders(false, ":status", "200"))
		s.recv()
		s.send(resBody("x", false))
		s.recv()
		s.send(&extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseTrailers{ResponseTrailers: &extprocv3.HttpTrailers{}}})
		if s.recv().GetResponseTrailers() == nil {
			t.Fatal("no trailers reply")
		}
		s.ends()
	})
	t.Run("end of stream twice", func(t *testing.T) {
		t.Parallel()
		s := open(t, nil)
		s.send(reqBody(chat, true))
		s.recv()
		s.send(resHeaders(false, ":status", "200"))
		s.recv()
		s.send(resBody("x", true))
		s.recv()
		s.send(resBody("", true))
		s.ends()
	})
}

func TestReservedPathIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, setup{}).open(t, t.Context())
	s.send(reqHeaders(headers(":method", "GET", ":path", "/cg/expand?id=a&lines=1-2"), true))
	r := s.recv().GetImmediateResponse()
	if r.GetStatus().GetCode() != 200 || string(r.GetBody()) != "GET id=a&lines=1-2" {
		t.Fatalf("answer %v", r)
	}
	s.ends()
}

func TestSharedSecret(t *testing.T) {
	t.Parallel()
	h := start(t, setup{server: func(c *extproc.Config) { c.Secret = "s3cret" }})
	for _, c := range []struct {
		given []string
		want  codes.Code
	}{{nil, codes.Unauthenticated}, {[]string{"wrong"}, codes.Unauthenticated}, {[]string{"s3cret"}, codes.OK}} {
		ctx := t.Context()
		for _, v := range c.given {
			ctx = metadata.AppendToOutgoingContext(ctx, extproc.SecretMetadata, v)
		}
		s := h.open(t, ctx)
		_ = s.Send(reqHeaders(chatHeaders(len(chat)), false))
		if _, err := s.Recv(); status.Code(err) != c.want {
			t.Errorf("secret %v: %v, want %v", c.given, err, c.want)
		}
	}
}

// TestPanicIsAnError checks that a panic outside the components ends the
// stream with an error at whichever message it strikes.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	h := start(t, setup{server: func(c *extproc.Config) {
		c.ExpandPath = "/v1/messages"
		c.Expand = func(context.Context, string, string, func(string) string) extproc.Answer { panic("boom") }
	}})
	s := h.open(t, t.Context())
	s.send(reqHeaders(headers(":method", "POST", ":path", "/v1/messages"), false))
	if _, err := s.Recv(); status.Code(err) != codes.Internal {
		t.Fatalf("got %v, want Internal", err)
	}
}

func TestComponentPanicLeavesTheBody(t *testing.T) {
	t.Parallel()
	h := start(t, setup{component: shorten{before: func(pipeline.Segment) { panic("boom") }}})
	s := h.open(t, t.Context())
	s.send(reqHeaders(chatHeaders(len(chat)), false))
	s.recv()
	s.send(reqBody(chat, true))
	if m := s.recv(); m.GetRequestBody() == nil || m.GetRequestBody().GetResponse() != nil {
		t.Fatalf("reply %v, want unchanged", m)
	}
	s.ends()
	if got := h.stats.Snapshot().Components; len(got) != 1 || got[0].Faults != 1 {
		t.Errorf("components %+v, want one fault", got)
	}
}

func TestUnknownMessageIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, setup{}).open(t, t.Context())
	s.send(&extprocv3.ProcessingRequest{})
	if _, err := s.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Fatalf("got %v, want InvalidArgument", err)
	}
}

// TestTenantIsJudgedByAllValues checks that a client cannot put its own tenant
// in front of the one the gateway adds.
func TestTenantIsJudgedByAllValues(t *testing.T) {
	t.Parallel()
	tenants := make(chan string, 2)
	h := start(t, setup{server: func(c *extproc.Config) {
		c.Tenant = func(get func(string) string) string {
			name := get("x-tenant")
			tenants <- name
			return name
		}
	}})
	for _, given := range [][]string{{"x-tenant", "mine"}, {"x-tenant", "victim", "x-tenant", "mine"}} {
		s := h.open(t, t.Context())
		s.send(reqHeaders(chatHeaders(len(chat), given...), false))
		s.recv()
		s.send(reqBody(chat, true))
		rewritten(t, s.recv())
		s.ends()
	}
	if one, both := <-tenants, <-tenants; one != "mine" || both == "victim" || both == "mine" {
		t.Errorf("tenants %q and %q", one, both)
	}
}
