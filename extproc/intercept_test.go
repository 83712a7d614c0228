package extproc_test

import (
	"slices"
	"strings"
	"testing"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// withTool is the tests' request with a tool, so that ours is put behind it.
const withTool = `{"tools":[{"type":"function","function":{"name":"sh"}}],` + `"model":"m","messages":[{"role":"user","content":"hi"}]}`

// looping makes the server answer calls, with nobody to send continuations to.
func looping(t *testing.T, kept int64) (setup, *hop.Signer) {
	t.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k1", Secret: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	signer := &hop.Signer{Keys: keys}
	return setup{
		rewriter: func(c *rewrite.Config) { c.Expand = rewrite.Expand{Resolver: rewrite.ResolverLoop} },
		server: func(c *extproc.Config) {
			c.Loop = &extproc.Loop{
				Driver: loop.New(loop.Config{Keys: keys}), Hop: signer, MaxKept: kept,
				Tenants: func(get func(string) string) []string { return []string{get("authorization")} },
			}
		},
	}, signer
}

func (s *side) request(body string) {
	s.t.Helper()
	s.send(reqHeaders(chatHeaders(len(body), "accept-encoding", "gzip", "te", "trailers"), false))
	s.recv()
	s.send(reqBody(body, true))
	common := s.recv().GetRequestBody().GetResponse()
	if !strings.Contains(string(common.GetBodyMutation().GetBody()), "context_guru_expand") {
		s.t.Fatalf("no tool in %v", common)
	}
	if removed := common.GetHeaderMutation().GetRemoveHeaders(); !slices.Contains(removed, "accept-encoding") {
		s.t.Errorf("headers removed: %q", removed)
	}
}

// taken reads streamed pieces until the end of the stream or trailers.
func (s *side) taken() (body string, trailers bool) {
	s.t.Helper()
	for {
		m := s.recv()
		if m.GetResponseTrailers() != nil {
			return body, true
		}
		piece := m.GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse()
		if piece == nil {
			s.t.Fatalf("no piece: %v", m)
		}
		body += string(piece.GetBody())
		if piece.GetEndOfStream() {
			return body, false
		}
	}
}

// TestReadResponses checks the form in which responses are read: whoever calls
// nothing of ours gets the provider's bytes, with one end.
func TestReadResponses(t *testing.T) {
	t.Parallel()
	const event = "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"
	for name, c := range map[string]struct {
		kept     int64
		status   string
		trailers bool
	}{
		"read": {0, "200", false}, "with trailers": {0, "200", true}, "no room": {1, "200", false}, "an error": {0, "429", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _ := looping(t, c.kept)
			body := withTool
			if c.kept > 0 { // what begins gets no tool then, so this goes on
				body = strings.Replace(chat, `{"model"`, `{"tools":[{"type":"function","function":{"name":"sh"}}],"model"`, 1)
			}
			s := start(t, set).open(t, t.Context())
			s.request(body)
			s.send(resHeaders(false, ":status", c.status, "content-type", "text/event-stream", "content-length", "99"))
			m := s.recv()
			if m.GetModeOverride().GetResponseBodyMode() != filterv3.ProcessingMode_FULL_DUPLEX_STREAMED ||
				!slices.Contains(m.GetResponseHeaders().GetResponse().GetHeaderMutation().GetRemoveHeaders(), "content-length") {
				t.Fatalf("answer to the headers: %v", m)
			}
			s.send(resBody(event[:20], false))
			s.send(resBody(event[20:]+event, false))
			want := event + event
			if c.trailers {
				s.send(&extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseTrailers{ResponseTrailers: &extprocv3.HttpTrailers{}}})
			} else {
				s.send(resBody("data: [DONE]\n\n", true))
				want += "data: [DONE]\n\n"
			}
			if got, trailers := s.taken(); got != want || trailers != c.trailers {
				t.Errorf("got %q, trailers %v", got, trailers)
			}
			s.ends()
		})
	}
}

// TestContinuationsPass checks that our own requests pass untouched, and that
// nobody else can make theirs pass.
func TestContinuationsPass(t *testing.T) {
	t.Parallel()
	for name, forged := range map[string]bool{"ours": false, "forged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, signer := looping(t, 0)
			path := "/v1/chat/completions?x=1"
			if forged {
				path = "/v1/other"
			}
			value, err := signer.Sign(hop.Request{Method: "POST", Path: path, Tenants: []string{"Bearer a"}}, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, set).open(t, t.Context())
			s.send(reqHeaders(chatHeaders(len(chat), hop.Header, value), false))
			m := s.recv()
			if !slices.Contains(m.GetRequestHeaders().GetResponse().GetHeaderMutation().GetRemoveHeaders(), hop.Header) {
				t.Errorf("the header stays: %v", m)
			}
			left := m.GetModeOverride().GetResponseHeaderMode() == filterv3.ProcessingMode_SKIP && m.GetModeOverride().GetRequestBodyMode() == filterv3.ProcessingMode_NONE
			if left == forged {
				t.Errorf("left alone: %v", left)
			}
			if !forged {
				s.ends()
			}
		})
	}
}
