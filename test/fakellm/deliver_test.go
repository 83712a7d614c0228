package fakellm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/fakellm"
)

// writeLog is a ResponseWriter that remembers each write and when it came.
type writeLog struct {
	began   time.Time
	header  http.Header
	headers time.Duration // of WriteHeader
	flushed time.Duration // of a flush before the first write
	writes  []string
	at      []time.Duration
}

func (l *writeLog) Header() http.Header { return l.header }
func (l *writeLog) WriteHeader(int)     { l.headers = time.Since(l.began) }
func (l *writeLog) Flush() {
	if len(l.writes) == 0 {
		l.flushed = time.Since(l.began)
	}
}

func (l *writeLog) Write(p []byte) (int, error) {
	l.writes = append(l.writes, string(p))
	l.at = append(l.at, time.Since(l.began))
	return len(p), nil
}

// serve lets a server answer without a network.
func serve(s *fakellm.Server, path, body string) *writeLog {
	l := &writeLog{began: time.Now(), header: http.Header{}}
	s.ServeHTTP(l, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return l
}

// TestSplit cuts one stream in every way; the bytes stay the same.
func TestSplit(t *testing.T) {
	t.Parallel()
	whole := strings.Join(serve(fakellm.New(fakellm.WithScript(everyBlock())), messagesPath, messagesSSE).writes, "")
	if whole != wantMessagesStream {
		t.Fatalf("stream: %s", cmp.Diff(wantMessagesStream, whole))
	}
	writes := func(split fakellm.Split) []string {
		turn := everyBlock()
		turn.Split = split
		l := serve(fakellm.New(fakellm.WithScript(turn)), messagesPath, messagesSSE)
		if diff := cmp.Diff(whole, strings.Join(l.writes, "")); diff != "" {
			t.Errorf("%+v: bytes (-want +got):\n%s", split, diff)
		}
		return l.writes
	}
	sizes := func(list []string) (least, most int) {
		least = len(whole)
		for _, w := range list[:len(list)-1] {
			least, most = min(least, len(w)), max(most, len(w))
		}
		return least, most
	}
	events := writes(fakellm.Split{})
	if len(events) != 22 {
		t.Errorf("events: %d writes", len(events))
	}
	for _, e := range events {
		if !strings.HasPrefix(e, "event: ") || strings.Count(e, "\n\n") != 1 || !strings.HasSuffix(e, "\n\n") {
			t.Errorf("not one event: %q", e)
		}
	}
	if got := writes(fakellm.Split{Mode: fakellm.SplitNone}); len(got) != 1 {
		t.Errorf("none: %d writes", len(got))
	}
	if least, most := sizes(writes(fakellm.Split{Mode: fakellm.SplitBytes})); least != 1 || most != 1 {
		t.Errorf("bytes: %d to %d", least, most)
	}
	if least, most := sizes(writes(fakellm.Split{Mode: fakellm.SplitBytes, Size: 7})); least != 7 || most != 7 {
		t.Errorf("7 bytes: %d to %d", least, most)
	}
	random := fakellm.Split{Mode: fakellm.SplitRandom, Size: 9, Seed: 1}
	first := writes(random)
	if least, most := sizes(first); least != 1 || most != 9 {
		t.Errorf("random: %d to %d", least, most)
	}
	if !slices.Equal(first, writes(random)) {
		t.Error("random: two runs with one seed differ")
	}
	random.Seed = 2
	if slices.Equal(first, writes(random)) {
		t.Error("random: two seeds give one result")
	}
}

// TestDelays measures every delay on a clock that only moves with them.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := text("0123456789ab" + "cdef") // two deltas: 8 events in all
		turn.Delay = fakellm.Delay{Headers: time.Second, First: 10 * time.Second, Event: 100 * time.Second, End: 5000 * time.Second}
		began := time.Now()
		l := serve(fakellm.New(fakellm.WithScript(turn)), messagesPath, messagesSSE)
		if l.headers != time.Second || l.flushed != time.Second {
			t.Errorf("headers after %v, flushed after %v", l.headers, l.flushed)
		}
		for i, at := range l.at {
			if want := 11*time.Second + time.Duration(i)*100*time.Second; at != want {
				t.Errorf("event %d after %v: want %v", i, at, want)
			}
		}
		if took := time.Since(began); len(l.at) != 8 || took != 5711*time.Second {
			t.Errorf("%d events, %v in all", len(l.at), took)
		}
		turn = text("x")
		turn.Split = fakellm.Split{Mode: fakellm.SplitBytes, Size: 100}
		turn.Delay = fakellm.Delay{Write: time.Second}
		l = serve(fakellm.New(fakellm.WithScript(turn)), chatPath, chatJSON)
		if n := len(l.at); n < 4 || l.at[n-1] != time.Duration(n-1)*time.Second {
			t.Errorf("writes at %v", l.at)
		}
		if length := l.header.Get("Content-Length"); length == "" {
			t.Error("JSON without content-length")
		}
	})
}

// TestBefore calls the hook at each event, wherever the writes are cut.
func TestBefore(t *testing.T) {
	t.Parallel()
	for _, split := range []fakellm.Split{{}, {Mode: fakellm.SplitBytes, Size: 3}, {Mode: fakellm.SplitNone}} {
		var calls []int
		turn := text("x")
		turn.Split = split
		turn.Before = func(_ context.Context, event int) { calls = append(calls, event) }
		serve(fakellm.New(fakellm.WithScript(turn)), messagesPath, messagesSSE)
		if diff := cmp.Diff([]int{-1, 0, 1, 2, 3, 4, 5, 6}, calls); diff != "" {
			t.Errorf("%+v: (-want +got):\n%s", split, diff)
		}
	}
}

// TestFrame covers unusual framing.
func TestFrame(t *testing.T) {
	t.Parallel()
	turn := text("x")
	turn.Frame = fakellm.Frame{Before: "\n\n", Between: ": ka\n\n", EOL: "\r\n", NoSpace: true}
	l := serve(fakellm.New(fakellm.WithScript(turn)), messagesPath, messagesSSE)
	if got := l.writes[0]; !strings.HasPrefix(got, "\n\nevent:message_start\r\ndata:{\"type\"") || !strings.HasSuffix(got, "}\r\n\r\n") {
		t.Errorf("first event %q", got)
	}
	if got := l.writes[2]; got != ": ka\n\nevent:ping\r\ndata:{\"type\": \"ping\"}\r\n\r\n" {
		t.Errorf("third event %q", got)
	}
}

// TestRawAnswers covers bodies given byte by byte, compression and trailers.
func TestRawAnswers(t *testing.T) {
	t.Parallel()
	c := client(t, false)
	s := start(t, fakellm.WithScript(
		fakellm.Turn{Raw: &fakellm.Raw{Parts: []string{"data: 1\n\n", "data: 2\n\n"}}, Status: 201, Header: map[string]string{"X-A": "b"}},
		fakellm.Turn{Raw: &fakellm.Raw{}, Chunked: true},
		fakellm.Turn{Raw: &fakellm.Raw{Parts: []string{"{}"}}, Chunked: true},
		fakellm.Turn{Raw: &fakellm.Raw{}},
		fakellm.Turn{Raw: &fakellm.Raw{ContentType: "text/plain", Parts: []string{"{"}}, Trailer: map[string]string{"X-T": "v"}},
		fakellm.Turn{Status: 204},
		fakellm.Turn{Gzip: true, Blocks: everyBlock().Blocks, Usage: everyBlock().Usage, DeltaRunes: 8, ID: "msg_010000000000000000000001"},
	))
	ask := func(body string) answerOf {
		got := send(t, c, s.URL()+messagesPath, body)
		if got.err != nil {
			t.Fatal(got.err)
		}
		return got
	}
	if got := ask(messagesJSON); got.StatusCode != 201 || got.body != "data: 1\n\ndata: 2\n\n" ||
		got.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || got.Header.Get("X-A") != "b" {
		t.Errorf("raw events: %d %q %v", got.StatusCode, got.body, got.Header)
	}
	if got := ask(messagesJSON); got.ContentLength != -1 || got.body != "" || !slices.Equal(got.TransferEncoding, []string{"chunked"}) {
		t.Errorf("empty chunked: %d %v", got.ContentLength, got.TransferEncoding)
	}
	if got := ask(messagesJSON); got.ContentLength != -1 || got.body != "{}" {
		t.Errorf("chunked: %d %q", got.ContentLength, got.body)
	}
	if got := ask("not JSON, but the script insists"); got.StatusCode != 200 || got.ContentLength != 0 {
		t.Errorf("empty: %d, length %d", got.StatusCode, got.ContentLength)
	}
	if got := ask(messagesJSON); got.body != "{" || got.Trailer.Get("X-T") != "v" {
		t.Errorf("trailer: %q %v", got.body, got.Trailer)
	}
	if got := ask(messagesJSON); got.StatusCode != 204 || got.body != "" {
		t.Errorf("204: %d %q", got.StatusCode, got.body)
	}
	got := ask(messagesSSE)
	z, err := gzip.NewReader(strings.NewReader(got.body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || got.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("gzip: %v %v", err, got.Header)
	}
	if diff := cmp.Diff(wantMessagesStream, string(plain)); diff != "" {
		t.Errorf("gzip (-want +got):\n%s", diff)
	}
}

// TestFaults strikes at every point, over both protocols.
func TestFaults(t *testing.T) {
	t.Parallel()
	long := text(strings.Repeat("y", 200))
	stream := strings.Join(serve(fakellm.New(fakellm.WithScript(long)), messagesPath, messagesSSE).writes, "")
	asJSON := strings.Join(serve(fakellm.New(fakellm.WithScript(long)), messagesPath, messagesJSON).writes, "")
	events := strings.SplitAfter(stream, "\n\n")
	const failed = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"scripted error 500\"}}\n\n"
	tests := []struct {
		name, body string
		fault      fakellm.Fault
		want       string
		noHeaders  bool
		clean      bool
	}{
		{"abort at headers", messagesSSE, fakellm.Fault{Do: fakellm.FaultAbort}, "", true, false},
		{"reset at headers", messagesSSE, fakellm.Fault{Do: fakellm.FaultReset, At: fakellm.AtHeaders}, "", true, false},
		{"abort behind headers", messagesSSE, fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtEvents}, "", false, false},
		{"abort after events", messagesSSE, fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtEvents, N: 5}, strings.Join(events[:5], ""), false, false},
		{"abort after bytes", messagesSSE, fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtBytes, N: 777}, stream[:777], false, false},
		{"abort after everything", messagesSSE, fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtBytes, N: 1e6}, stream, false, false},
		{"abort JSON", messagesJSON, fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtBytes, N: 50}, asJSON[:50], false, false},
		{"error in JSON", messagesJSON, fakellm.Fault{Do: fakellm.FaultError, At: fakellm.AtEvents}, "", false, false},
		{"end after events", messagesSSE, fakellm.Fault{Do: fakellm.FaultEnd, At: fakellm.AtEvents, N: 4}, strings.Join(events[:4], ""), false, true},
		{"end in JSON", messagesJSON, fakellm.Fault{Do: fakellm.FaultEnd, At: fakellm.AtBytes, N: 10}, asJSON[:10], false, true},
		{"error first", messagesSSE, fakellm.Fault{Do: fakellm.FaultError, At: fakellm.AtEvents}, failed, false, true},
		{"error later", messagesSSE, fakellm.Fault{Do: fakellm.FaultError, At: fakellm.AtEvents, N: 6}, strings.Join(events[:6], "") + failed, false, true},
	}
	for _, tt := range tests {
		for _, h2 := range []bool{false, true} {
			name := tt.name
			if h2 {
				name += " h2"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				turn := long
				turn.Fault, turn.Times = &tt.fault, -1
				if tt.fault.Do == fakellm.FaultError {
					turn.Error = &fakellm.ErrorBody{Type: "overloaded_error"}
				}
				s := start(t, fakellm.WithScript(turn))
				got := send(t, client(t, h2), s.URL()+messagesPath, tt.body)
				if tt.noHeaders != (got.Response == nil) || tt.clean != (got.err == nil) || got.body != tt.want {
					t.Errorf("headers %v, error %v, body %q\nwant %q", got.Response != nil, got.err, got.body, tt.want)
				}
				reply, err := s.Requests()[0].Reply(within(t))
				if err != nil || reply.Outcome != fakellm.Cut || string(reply.Body) != tt.want {
					t.Errorf("reply %s %q, error %v", reply.Outcome, reply.Body, err)
				}
			})
		}
	}
}

// TestCutGzip announces no length for a compressed body that is cut.
func TestCutGzip(t *testing.T) {
	t.Parallel()
	s := start(t, fakellm.WithScript(fakellm.Turn{Gzip: true, Fault: &fakellm.Fault{Do: fakellm.FaultAbort, At: fakellm.AtBytes, N: 20}}))
	if got := send(t, client(t, false), s.URL()+chatPath, chatJSON); got.err == nil || got.ContentLength != -1 {
		t.Errorf("length %d, error %v: want a cut", got.ContentLength, got.err)
	}
}

// TestReset makes TCP say that the connection was reset.
func TestReset(t *testing.T) {
	t.Parallel()
	s := start(t, fakellm.WithScript(fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultReset}, Times: -1}))
	if got := send(t, client(t, false), s.URL()+chatPath, chatJSON); !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("error %v: want a reset", got.err)
	}
}

// TestHang stays silent until the client goes, or the server closes.
func TestHang(t *testing.T) {
	t.Parallel()
	for _, at := range []fakellm.Fault{
		{Do: fakellm.FaultHang},
		{Do: fakellm.FaultHang, At: fakellm.AtEvents},
		{Do: fakellm.FaultHang, At: fakellm.AtEvents, N: 3},
	} {
		for _, h2 := range []bool{false, true} {
			reached := make(chan struct{})
			turn := text("x")
			turn.Fault = &at
			turn.Before = func(_ context.Context, event int) {
				if last := at.N - 1; event == last {
					close(reached)
				}
			}
			s := start(t, fakellm.WithScript(turn))
			ctx, leave := context.WithCancel(within(t))
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+messagesPath, strings.NewReader(messagesSSE))
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan error, 1)
			go func() {
				resp, err := client(t, h2).Do(req)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				got <- err
			}()
			<-reached
			leave()
			if err := <-got; !errors.Is(err, context.Canceled) {
				t.Errorf("%+v: client error %v", at, err)
			}
			reply, err := s.Last().Reply(within(t))
			if err != nil || reply.Outcome != fakellm.ClientGone {
				t.Errorf("%+v h2=%v: outcome %q, error %v", at, h2, reply.Outcome, err)
			}
		}
	}
}

// TestRepeatable gives the same bytes for the same script.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	var runs [2]bytes.Buffer
	for i := range runs {
		s := fakellm.New(fakellm.WithScript(everyBlock()))
		for _, step := range [][2]string{{messagesPath, messagesSSE}, {chatPath, chatSSE}, {chatPath, chatJSON}} {
			runs[i].WriteString(strings.Join(serve(s, step[0], step[1]).writes, ""))
		}
	}
	if runs[0].String() != runs[1].String() {
		t.Error("two runs differ")
	}
}
