package fakellm_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/websocket"

	"github.com/contextguru/contextguru/test/fakellm"
)

// TestUpload verifies large bodies without keeping them.
func TestUpload(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		for _, h2 := range []bool{false, true} {
			s := start(t, fakellm.WithBodyLimit(1<<20))
			req, err := http.NewRequestWithContext(within(t), method, s.URL()+"/files/1", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Expect", "100-continue")
			resp, err := client(t, h2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			want := fmt.Sprintf(`{"id":1,"method":%q,"target":"/files/1","length":%d,"sha256":%q}`, method, len(body), digest(body))
			if err != nil || string(got) != want {
				t.Errorf("got %s %v\nwant %s", got, err, want)
			}
		}
	}
}

// TestOtherMethods answers GET and HEAD.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	s := start(t, fakellm.WithScript(text("unused")))
	for method, want := range map[string]string{
		http.MethodGet:  `"method":"GET","target":"/v1/messages","length":0`,
		http.MethodHead: "",
	} {
		req, err := http.NewRequestWithContext(within(t), method, s.URL()+messagesPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client(t, false).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) || want == "" && len(body) > 0 {
			t.Errorf("%s: %d %s %v", method, resp.StatusCode, body, err)
		}
		if reply, err := s.Last().Reply(within(t)); err != nil || reply.Size != int64(len(body)) {
			t.Errorf("%s: reply of %d bytes, error %v", method, reply.Size, err)
		}
	}
	if s.Left() != 1 {
		t.Error("a turn was used up")
	}
}

// TestWebSocket echoes text and binary messages and leaves with the server.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	s := start(t)
	ws, err := websocket.Dial("ws"+strings.TrimPrefix(s.URL(), "http")+"/v1/realtime?model=x", "", "http://elsewhere.example")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, msg := range []string{"hello", strings.Repeat("long ", 20_000)} {
		var got string
		if err := websocket.Message.Send(ws, msg); err != nil {
			t.Fatal(err)
		}
		if err := websocket.Message.Receive(ws, &got); err != nil || got != msg {
			t.Errorf("text: %d bytes back, error %v", len(got), err)
		}
	}
	sent, got := []byte{0, 255, 1}, []byte(nil)
	if err := websocket.Message.Send(ws, sent); err != nil {
		t.Fatal(err)
	}
	if err := websocket.Message.Receive(ws, &got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("binary: %v, error %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	reply, err := s.Last().Reply(within(t))
	if err != nil || reply.Status != http.StatusSwitchingProtocols || reply.Outcome != fakellm.Closed || reply.Size != 100_008 {
		t.Errorf("reply %+v, error %v", reply, err)
	}
	if err := websocket.Message.Receive(ws, &got); err == nil {
		t.Error("the socket outlives the server")
	}
}

// TestPipelined serves two requests that arrive in one packet.
func TestPipelined(t *testing.T) {
	t.Parallel()
	s := start(t)
	conn, err := new(net.Dialer).DialContext(within(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	one := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", chatPath, len(chatJSON), chatJSON)
	if _, err := io.WriteString(conn, one+one); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for i := range 2 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), fmt.Sprintf("chatcmpl-%029d", i+1)) {
			t.Errorf("answer %d: %s %v", i, body, err)
		}
	}
}

// TestConcurrent answers many streams at once, each whole, and leaves no
// goroutine behind when it is closed in the middle of others.
func TestConcurrent(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const streams = 300 // more than net/http's own limit for one HTTP/2 connection
	var held sync.WaitGroup
	held.Add(streams)
	release := make(chan struct{})
	turn := text(strings.Repeat("word ", 50))
	turn.Times = -1
	turn.Before = func(ctx context.Context, event int) {
		if event == 3 {
			held.Done()
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	}
	var observed sync.WaitGroup
	observed.Add(streams)
	s := fakellm.New(fakellm.WithScript(turn), fakellm.WithObserver(func(r *fakellm.Request, reply fakellm.Reply) {
		if r.Kind == fakellm.KindMessages && reply.Outcome == fakellm.Complete {
			observed.Done()
		}
	}))
	if _, err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c := client(t, true)
	send(t, c, s.URL()+"/warm", "") // one connection, before all need it
	run := func(check func(answerOf)) *sync.WaitGroup {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() { check(send(t, c, s.URL()+messagesPath, messagesSSE)) })
		}
		held.Wait()
		return &wg
	}
	whole := run(func(got answerOf) {
		if n := len(readSSE(t, got.body)); got.err != nil || n != 6+21 { // 250 runes in pieces of 12
			t.Errorf("%d events, error %v", n, got.err)
		}
	})
	close(release)
	whole.Wait()
	observed.Wait()
	for _, r := range s.Requests() {
		if first := s.Requests()[0].Remote; r.Remote != first {
			t.Errorf("request %d came from %s: want all from %s", r.ID, r.Remote, first)
		}
	}

	held.Add(streams)
	release = make(chan struct{})
	cut := run(func(got answerOf) {
		if got.err == nil {
			t.Error("an answer ended cleanly although the server was closed")
		}
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	cut.Wait()
	for _, r := range s.Requests()[1+streams:] {
		if reply, err := r.Reply(within(t)); err != nil || reply.Outcome != fakellm.Closed {
			t.Errorf("request %d: %s %v", r.ID, reply.Outcome, err)
		}
	}
	c.CloseIdleConnections()
}

// TestStart refuses what cannot work.
func TestStart(t *testing.T) {
	t.Parallel()
	s := start(t)
	if _, err := s.Start("127.0.0.1:0"); err == nil {
		t.Error("started twice")
	}
	other := fakellm.New()
	if other.URL() != "" {
		t.Errorf("URL %q before the start", other.URL())
	}
	if _, err := other.Start(s.Addr()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("same address: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Start("127.0.0.1:0"); err == nil {
		t.Error("started after Close")
	}
}
