package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// TestOtherTrafficIsUntouched sends what is none of the service's business. The
// provider must see the same as from a client without Envoy, but for the headers
// that Envoy itself adds.
func TestOtherTrafficIsUntouched(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	log := question(t, chat.OpenAI, testLog(300))
	for name, c := range map[string]stack.Call{
		"get":              {Path: "/v1/models?limit=3"},
		"head":             {Method: http.MethodHead, Path: "/v1/models"},
		"delete":           {Method: http.MethodDelete, Path: "/v1/files/f"},
		"options":          {Method: http.MethodOptions, Path: chatPath},
		"get of llm path":  {Path: chatPath},
		"empty post":       {Method: http.MethodPost, Path: chatPath, Header: map[string]string{"content-type": "application/json", "content-length": "0"}},
		"other path":       {Path: "/v1/embeddings", Body: log},
		"no JSON":          {Path: chatPath, Body: log, Header: map[string]string{"content-type": "text/plain"}},
		"put of llm path":  {Method: http.MethodPut, Path: chatPath, Body: log},
		"signed":           {Path: chatPath, Body: log, Header: map[string]string{"authorization": "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=y"}},
		"digest":           {Path: chatPath, Body: log, Header: map[string]string{"content-digest": "sha-256=:x:"}},
		"unknown encoding": {Path: chatPath, Body: log, Header: map[string]string{"content-encoding": "br"}},
	} {
		for _, p := range []stack.Protocol{stack.H1, stack.H2} {
			c.Protocol = p
			through := do(t, s, c)
			got := last(t, s)
			c.Direct = true
			direct := do(t, s, c)
			want := last(t, s)
			c.Direct = false
			what := fmt.Sprintf("%s, %v", name, p)
			equalBytes(t, what, got.Body, want.Body)
			if got.Method != want.Method || got.Target != want.Target || through.Status != direct.Status {
				t.Errorf("%s: %s %s, status %d; want %s %s, status %d", what, got.Method, got.Target, through.Status, want.Method, want.Target, direct.Status)
			}
			for h := range want.Header {
				if got.Header.Get(h) != want.Header.Get(h) {
					t.Errorf("%s: header %s: %q, want %q", what, h, got.Header.Get(h), want.Header.Get(h))
				}
			}
		}
	}
	if n := metric(t, s, "contextguru_exchanges_total"); n != 0 {
		t.Errorf("the bodies of %v exchanges were read, want none", n)
	}
	if n := metric(t, s, "contextguru_optouts_total", "reason", "body_signature"); n != 4 {
		t.Errorf("%v exchanges were left alone for their signature, want 4", n)
	}
}

// letters makes n bytes that compress badly enough to be honest.
type letters struct{ n, at int64 }

func (l *letters) Read(p []byte) (int, error) {
	if l.at == l.n {
		return 0, io.EOF
	}
	k := int(min(int64(len(p)), l.n-l.at))
	for i := range k {
		p[i] = byte('a' + (l.at+int64(i))*31%253%26)
	}
	l.at += int64(k)
	return k, nil
}

// TestLargeUploadIsUnharmed sends 100 MB that are for no model over the same listener.
func TestLargeUploadIsUnharmed(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithLLM(fakellm.WithDigestsOnly()))
	const size = 100_000_000
	sum := sha256.New()
	if _, err := io.Copy(sum, &letters{n: size}); err != nil {
		t.Fatal(err)
	}
	want := hex.EncodeToString(sum.Sum(nil))
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		for name, c := range map[string]stack.Call{
			"put":          {Method: http.MethodPut, Path: "/files/a", Length: size, Header: map[string]string{"content-type": "application/octet-stream"}},
			"json":         {Path: "/v1/files", Length: size},
			"chunked json": {Path: "/v1/files"},
			// For a model and far over the limit: the provider's to refuse.
			"chat": {Path: chatPath, Length: size},
		} {
			c.Protocol, c.Stream = p, &letters{n: size}
			if _, err := s.Do(within(t), c); err != nil {
				t.Errorf("%v %s: %v", p, name, err)
				continue
			}
			if got := last(t, s); got.Size != size || got.SHA256 != want {
				t.Errorf("%v %s: the provider received %d bytes with digest %s (%s)", p, name, got.Size, got.SHA256, got.BodyError)
			}
		}
	}
	if n := metric(t, s, "contextguru_optouts_total", "reason", "too_large"); n != 2 {
		t.Errorf("%v bodies were counted as too large, want 2", n)
	}
}

func TestWebSocketPassesThrough(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	// Also on a path that is a model's: an upgrade is no request with a body.
	for _, path := range []string{"/v1/realtime", chatPath} {
		config, err := websocket.NewConfig("ws://"+s.Envoy.Addr()+path, "http://localhost/")
		if err != nil {
			t.Fatal(err)
		}
		ws, err := config.DialContext(within(t))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, message := range []string{"hello", strings.Repeat("long ", 50_000)} {
			if err := websocket.Message.Send(ws, message); err != nil {
				t.Fatal(err)
			}
			var echo string
			if err := websocket.Message.Receive(ws, &echo); err != nil || echo != message {
				t.Errorf("%s: %d bytes came back, want %d (%v)", path, len(echo), len(message), err)
			}
		}
		ws.Close()
	}
}

// TestChunkedBodyPassesThrough: without a length nobody can tell whether Envoy
// could hold the body, so it goes out as it came, and is counted.
func TestChunkedBodyPassesThrough(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	body := question(t, chat.OpenAI, testLog(300))
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		_, got := exchange(t, s, stack.Call{Protocol: p, Path: chatPath, Stream: bytes.NewReader(body)})
		equalBytes(t, p.String(), got.Body, body)
	}
	if n := metric(t, s, "contextguru_optouts_total", "reason", "no_content_length"); n != 2 {
		t.Errorf("%v bodies were counted as without a length, want 2", n)
	}
	stats, err := s.Envoy.ExtProcStats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if stats["failure_mode_allowed"] != 0 || stats["streams_failed"] != 0 {
		t.Errorf("Envoy counts failures: %v", stats)
	}
}

// TestExpectContinue speaks to Envoy as curl does with large bodies.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	ctx := within(t)
	body := question(t, chat.OpenAI, records(0, 300))
	conn, err := s.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: llm\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		chatPath, stack.Credential, len(body))
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("got %q, %v; want 100 Continue before the body", line, err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !json.Valid(answer) {
		t.Fatalf("status %d, %v, %.200s", resp.StatusCode, err, answer)
	}
	if edits := restored(t, s, body, last(t, s).Body); len(edits) != 1 {
		t.Errorf("%d edits, want 1", len(edits))
	}
}

// TestCompressedBodyIsRead expects of a gzip body what becomes of the same body plain.
func TestCompressedBodyIsRead(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		body := question(t, d, records(0, 300))
		_, plain := exchange(t, s, stack.Call{Path: d.Path(), Body: body})
		if len(plain.Body) >= len(body) {
			t.Fatalf("%v: the plain body was not rewritten", d)
		}
		_, got := exchange(t, s, stack.Call{Path: d.Path(), Body: compress(t, body), Header: map[string]string{"content-encoding": "gzip"}})
		equalBytes(t, d.String(), got.Body, plain.Body)
		if got.Header.Get("Content-Encoding") != "" || got.ContentLength != int64(len(plain.Body)) {
			t.Errorf("%v: content-encoding %q, content-length %d for %d bytes", d, got.Header.Get("Content-Encoding"), got.ContentLength, len(got.Body))
		}
	}
	// A body that only says it is compressed, and one that unfolds without end.
	small := question(t, chat.OpenAI, "ok")
	for name, body := range map[string][]byte{"not compressed": small, "bomb": compress(t, bytes.Repeat([]byte(" "), 200<<20)), "small": compress(t, small)} {
		do(t, s, stack.Call{Path: chatPath, Body: body, Header: map[string]string{"content-encoding": "gzip"}})
		equalBytes(t, name, last(t, s).Body, body)
		if got := last(t, s).Header.Get("Content-Encoding"); got != "gzip" {
			t.Errorf("%s: content-encoding %q", name, got)
		}
	}
}

func compress(t *testing.T, plain []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestBodiesAtTheLimit sends bodies around a configured limit: at it they are
// rewritten, above it they go out as they came.
func TestBodiesAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	s := stack.New(t, stack.WithConfig(external+fmt.Sprintf("limits: {body_bytes: %d}\nenvoy: {buffer_limit_bytes: %d}\n", limit, limit)),
		stack.WithEnvoy(stack.RouteBufferLimit(limit)))
	overhead := len(question(t, chat.OpenAI, records(0, 300)+" "))
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		for size, rewritten := range map[int]bool{limit: true, limit + 1: false, 3 * limit: false} {
			body := question(t, chat.OpenAI, records(0, 300)+strings.Repeat(" ", size-overhead+1))
			if len(body) != size {
				t.Fatalf("built %d bytes, want %d", len(body), size)
			}
			_, got := exchange(t, s, stack.Call{Protocol: p, Path: chatPath, Body: body})
			if !rewritten {
				equalBytes(t, fmt.Sprintf("%v %d bytes", p, size), got.Body, body)
				continue
			}
			if edits := restored(t, s, body, got.Body); len(edits) != 1 {
				t.Errorf("%v, %d bytes: %d edits, want 1", p, size, len(edits))
			}
		}
	}
}

// TestThirtyMegabytes is the largest conversation the shipped settings are for.
func TestThirtyMegabytes(t *testing.T) {
	t.Parallel()
	// Beside other tests a body of this size may take longer than the safety net.
	s := stack.New(t, stack.WithConfig(external+"limits: {deadline: 60s}\nenvoy: {message_timeout: 90s}\n"), stack.WithEnvoy(stack.MessageTimeout(90*time.Second)))
	c := chat.New(chat.OpenAI, model(chat.OpenAI), "").User("Read it all.")
	for i := range 24 {
		id := fmt.Sprintf("call_%d", i)
		c.Calls("", chat.Call{ID: id, Name: "run", Args: "{}"}).Results(chat.Result{ID: id, Text: records(7000*i, 7000)})
	}
	body, err := c.Body(false)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) < 28_000_000 || len(body) > 32<<20 {
		t.Fatalf("built %d bytes", len(body))
	}
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		_, got := exchange(t, s, stack.Call{Protocol: p, Path: chatPath, Body: body})
		edits := restored(t, s, body, got.Body)
		t.Logf("%v: %d → %d bytes, %d edits", p, len(body), len(got.Body), len(edits))
		if len(edits) != 24 {
			t.Errorf("%v: %d edits, want 24", p, len(edits))
		}
	}
}

// TestSecretIsDemanded: an Envoy that does not know the secret is not served,
// and its clients do not notice.
func TestSecretIsDemanded(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithSecret("open-sesame-open-sesame"),
		stack.WithEnvoy(stack.InitialMetadata("x-context-guru-secret", "open-sesame-open-sesamE")))
	body := question(t, chat.OpenAI, testLog(300))
	_, got := exchange(t, s, stack.Call{Path: chatPath, Body: body})
	equalBytes(t, "with a wrong secret", got.Body, body)
	stats, err := s.Envoy.ExtProcStats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if stats["streams_failed"] != 1 || stats["failure_mode_allowed"] != 1 {
		t.Errorf("Envoy counts %v, want one refused stream", stats)
	}
}
