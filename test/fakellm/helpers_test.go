package fakellm_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
)

const (
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
	chatJSON     = `{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}`
	chatSSE      = `{"model":"gpt-x","messages":[{"role":"user","content":"hi"}],"stream":true}`
	messagesJSON = `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	messagesSSE  = `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true}`
)

// start runs a server for the test.
func start(t *testing.T, opts ...fakellm.Option) *fakellm.Server {
	t.Helper()
	s := fakellm.New(opts...)
	if _, err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// within bounds a test's waits, so that a lost event fails instead of hanging.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// client returns a client with connections of its own, for HTTP/1.1 or HTTP/2.
func client(t *testing.T, h2 bool) *http.Client {
	t.Helper()
	var p http.Protocols
	p.SetHTTP1(!h2)
	p.SetUnencryptedHTTP2(h2)
	tr := &http.Transport{Protocols: &p, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// answerOf is a response read to its end.
type answerOf struct {
	*http.Response
	body string
	err  error
}

// send posts a body and reads the whole answer.
func send(t *testing.T, c *http.Client, url, body string, headers ...string) answerOf {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return answerOf{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answerOf{resp, string(b), err}
}

// sseEvent is an event as a client reads it.
type sseEvent struct{ name, data string }

// readSSE parses a stream the way the specification says, for LF line ends.
func readSSE(t *testing.T, body string) []sseEvent {
	t.Helper()
	var (
		list []sseEvent
		e    sseEvent
	)
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "data":
			e.data += value
		case "":
			if e.data != "" {
				list = append(list, e)
			}
			e = sseEvent{}
		}
	}
	if e != (sseEvent{}) {
		t.Errorf("stream ends inside an event: %+v", e)
	}
	return list
}
