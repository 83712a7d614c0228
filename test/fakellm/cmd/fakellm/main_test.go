package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// logBuffer is a writer that the command and the test can share.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestRun drives the command from its flags to its record.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.json")
	if err := os.WriteFile(script, []byte(`{"turns": [{"blocks": [{"tool": "f", "args": {"a": 1}}]}, {"status": 529}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(dir, "deep", "er")
	ctx, stop := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	var logged logBuffer
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-script", script, "-record", records}, stdout, &logged)
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("first line %q", first)
	}
	const body = `{ "model":"claude-x", "x":"\u003c" }`
	var replies []string
	for range 2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages?beta=true", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", "k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		replies = append(replies, string(b))
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	for i, name := range []string{"000001", "000002"} {
		base := filepath.Join(records, name)
		for suffix, want := range map[string]string{".request": body, ".reply": replies[i]} {
			if got, err := os.ReadFile(base + suffix); err != nil || string(got) != want {
				t.Errorf("%s%s: %q, error %v, want %q", name, suffix, got, err, want)
			}
		}
		js, err := os.ReadFile(base + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var d description
		if err := json.Unmarshal(js, &d, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		status := []int{200, 529}[i]
		if d.ID != i+1 || d.Kind != "messages" || d.Target != "/v1/messages?beta=true" || d.Model != "claude-x" || d.ContentLength != int64(len(body)) ||
			d.Reply.Status != status || d.Reply.Turn != i || d.Reply.Outcome != "complete" {
			t.Errorf("%s: %s", name, js)
		}
		if diff := cmp.Diff([]string{"k"}, d.Header["X-Api-Key"]); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	}
	if n := strings.Count(logged.String(), "msg=exchange"); n != 2 || !strings.Contains(logged.String(), "status=529") {
		t.Errorf("log:\n%s", logged.String())
	}
}

// TestRunErrors says what is wrong with flags and files.
func TestRunErrors(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{\n\"turn\": []}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"-script", bad}, `bad.json:2: at "/turn": unknown object member name; known here: turns`},
		{[]string{"-script", bad + "x"}, "bad.jsonx: no such file"},
		{[]string{"-addr", "nowhere"}, "missing port in address"},
		{[]string{"-record", bad}, "record: mkdir"},
		{[]string{"extra"}, `argument "extra": want flags only`},
		{[]string{"-what"}, "flag provided but not defined"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if err := run(t.Context(), tt.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v: want %q", err, tt.want)
			}
		})
	}
}
