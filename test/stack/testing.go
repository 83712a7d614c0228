package stack

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// failureLog is how much of each part's output a failed test prints.
const failureLog = 16 << 10

// New starts a stack for a test and ends it with the test. Where Envoy or Redis
// is missing the test is skipped, or fails if REQUIRE_E2E=1. When the test failed,
// everything that helps to find out why is logged. A service that does not stop
// cleanly fails the test.
func New(t testing.TB, opts ...Option) *Stack {
	t.Helper()
	s, err := Start(t.Context(), opts...)
	var missing *MissingError
	if errors.As(err, &missing) && os.Getenv("REQUIRE_E2E") != "1" {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.dump(t)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
			t.Log(s.Logs(failureLog))
		}
	})
	return s
}

// dump logs what every part printed, Envoy's configuration and the counters.
func (s *Stack) dump(t testing.TB) {
	t.Helper()
	t.Log(s.Logs(failureLog))
	if text, err := os.ReadFile(s.Envoy.ConfigFile()); err == nil {
		t.Logf("---- envoy.yaml ----\n%s", text)
	}
	// The test's own context is over when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:usetesting // see above
	defer cancel()
	if s.Envoy.Running() {
		stats, err := s.Envoy.ExtProcStats(ctx)
		t.Logf("---- envoy ext_proc counters ---- %v (error: %v)", stats, err)
	}
	for _, service := range s.Services {
		if !service.Process().Running() {
			t.Logf("---- %s has ended ----", service.name)
			continue
		}
		page, err := service.Get(ctx, "/stats")
		t.Logf("---- %s /stats ----\n%s (error: %v)", service.name, page, err)
	}
	t.Logf("---- provider: %d requests ----", s.LLM.Count())
	for _, r := range s.LLM.Requests() {
		t.Logf("%d %s %s %s: %d bytes, content-length %d, %s", r.ID, r.Proto, r.Method, r.Target, r.Size, r.ContentLength, r.BodyError)
	}
}
