package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
)

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// nobody is an address that refuses connections.
const nobody = "127.0.0.1:1"

const hello = `{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}`

func TestEnvoyPassesThroughWithoutAService(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithExtProc(nobody), stack.WithLLM(fakellm.WithScript(fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("hello there")}, Times: -1})))
	ctx := within(t)
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		reply, err := s.Do(ctx, stack.Call{Protocol: p, Path: "/v1/chat/completions", Body: []byte(hello)})
		if err != nil {
			t.Fatal(p, err)
		}
		if reply.Status != 200 || !strings.Contains(string(reply.Body), "hello there") {
			t.Errorf("%v: status %d, body %s", p, reply.Status, reply.Body)
		}
		if got := s.LLM.Last(); string(got.Body) != hello || got.Header.Get("Authorization") != "Bearer "+stack.Credential {
			t.Errorf("%v: the provider received %q with %v", p, got.Body, got.Header)
		}
	}
	stats, err := s.Envoy.ExtProcStats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if stats["streams_failed"] == 0 || stats["failure_mode_allowed"] == 0 {
		t.Errorf("counters %v, want failures that were let through", stats)
	}
	dump, err := s.Envoy.ConfigDump(ctx)
	if err != nil || !json.Valid(dump) {
		t.Errorf("config dump: %v, %.100s", err, dump)
	}
	if s.Envoy.Minor() < 36 {
		t.Errorf("version %q", s.Envoy.Version())
	}
	if _, err := s.Envoy.Log().Wait(ctx, 0, func(line string) bool { return strings.Contains(line, `"path":"/v1/chat/completions"`) }); err != nil {
		t.Errorf("access log: %v", err)
	}
}

// TestEveryEditIsAccepted starts Envoy with all edits at once: it validates what it reads.
func TestEveryEditIsAccepted(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithExtProc(nobody, "/nonexistent/extproc.sock"), stack.WithSecret("hush"), stack.WithEnvoy(
		stack.FailClosed(), stack.MessageTimeout(700*time.Millisecond), stack.ListenerBufferLimit(32<<10), stack.RouteBufferLimit(1<<20),
		stack.RouteTimeout(3*time.Second), stack.StreamIdleTimeout(4*time.Second), stack.BodyModes("FULL_DUPLEX_STREAMED", "FULL_DUPLEX_STREAMED"),
		stack.NoModeOverride(), stack.SecondExtProc(stack.Behind, nobody, "BUFFERED", "STREAMED"),
		stack.HTTPFilter(stack.Before, `{name: first, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}}`),
	))
	ctx := within(t)
	dump, err := s.Envoy.ConfigDump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"message_timeout": "0.700s"`, `"per_connection_buffer_limit_bytes": 32768`, `"request_body_buffer_limit": "1048576"`, `"timeout": "3s"`,
		`"stream_idle_timeout": "4s"`, `"request_body_mode": "FULL_DUPLEX_STREAMED"`, `"request_trailer_mode": "SEND"`, "second_ext_proc",
		"/nonexistent/extproc.sock", "%ENVIRONMENT(CONTEXT_GURU_SECRET)%", "x-context-guru-secret", "http.cors.v3.Cors",
	} {
		if !strings.Contains(string(dump), want) {
			t.Errorf("the configuration lacks %s", want)
		}
	}
	if strings.Contains(string(dump), "hush") {
		t.Error("the configuration holds the secret itself")
	}
	// The second processor keeps its own override.
	if own, all := strings.Count(string(dump), `"stat_prefix": "second_ext_proc"`), strings.Count(string(dump), `"allow_mode_override": true`); own == 0 || own != all {
		t.Errorf("%d overrides allowed, %d of them the second processor's", all, own)
	}
	if reply, err := s.Do(ctx, stack.Call{Path: "/x"}); err != nil || reply.Status != 500 {
		t.Errorf("fail-closed without a service: %+v, %v", reply, err)
	}
}

func TestWrongEditIsReportedAndNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if _, err := stack.FindEnvoy(); err != nil {
		t.Skip(err)
	}
	for want, edit := range map[string]stack.Edit{
		"nothing at static_resources.listeners.other": stack.Set(stack.Path{"static_resources", "listeners", "other", "x"}, 1),
		"no_such_field": stack.Set(stack.ListenerPath().Then("no_such_field"), 1),
	} {
		_, err := stack.Start(within(t), stack.WithExtProc(nobody), stack.WithEnvoy(edit))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("ENVOY_BIN", filepath.Join(t.TempDir(), "envoy"))
	_, err := stack.Start(within(t))
	var missing *stack.MissingError
	if !errors.As(err, &missing) || !strings.Contains(missing.Program, "ENVOY_BIN") {
		t.Errorf("got %v, want a missing Envoy", err)
	}
}

func TestRedisCanBeBroken(t *testing.T) {
	t.Parallel()
	if _, err := stack.FindRedis(); err != nil {
		t.Skip(err)
	}
	for name, o := range map[string]stack.RedisOptions{
		"tcp":      {AppendOnly: true},
		"socket":   {Socket: true, AppendOnly: true},
		"password": {AppendOnly: true, Args: []string{"--requirepass", "pw"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := within(t)
			dir, err := os.MkdirTemp("", "redis-test-") //nolint:usetesting // t.TempDir is too long for a socket
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			r, err := stack.StartRedis(ctx, dir, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := r.Client().Set(ctx, "a", "b", 0).Err(); err != nil {
				t.Fatal(err)
			}
			pid := r.Process().PID()
			if err := r.Restart(ctx); err != nil {
				t.Fatal(err)
			}
			if got := r.Client().Get(ctx, "a").Val(); got != "b" {
				t.Errorf("after the restart a is %q, want b", got)
			}
			if err := syscall.Kill(pid, 0); err == nil {
				t.Error("the first server still runs")
			}
			if err := r.Stall(ctx); err != nil {
				t.Fatal(err)
			}
			brief, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if err := r.Client().Ping(brief).Err(); err == nil {
				t.Error("a stalled server answers")
			}
			if err := r.Resume(); err != nil {
				t.Fatal(err)
			}
			if keys, err := r.Keys(ctx, "*"); err != nil || len(keys) != 1 {
				t.Errorf("keys %v, %v", keys, err)
			}
			if err := r.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if n, err := r.Commands(ctx, "flushall"); err != nil || n != 1 {
				t.Errorf("flushall was called %d times, %v", n, err)
			}
		})
	}
}
