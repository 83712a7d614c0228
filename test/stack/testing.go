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
func New(tb testing.TB, opts ...Option) *Stack {
	tb.Helper()
	s, err := Start(tb.Context(), opts...)
	var missing *MissingError
	if errors.As(err, &missing) && os.Getenv("REQUIRE_E2E") != "1" {
		tb.Skip(missing)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			s.dump(tb)
		}
		if err := s.Close(); err != nil {
			tb.Error(err)
			tb.Log(s.Logs(failureLog))
		}
	})
	return s
}

// dump logs what every part printed, Envoy's configuration and the counters.
func (s *Stack) dump(tb testing.TB) {
	tb.Helper()
	tb.Log(s.Logs(failureLog))
	if text, err := os.ReadFile(s.Envoy.ConfigFile()); err == nil {
		tb.Logf("---- envoy.yaml ----\n%s", text)
	}
	// The test's own context is over when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:usetesting // see above
	defer cancel()
	if s.Envoy.Running() {
		stats, err := s.Envoy.ExtProcStats(ctx)
		tb.Logf("---- envoy ext_proc counters ---- %v (error: %v)", stats, err)
	}
	for _, service := range s.Services {
		if !service.Process().Running() {
			tb.Logf("---- %s has ended ----", service.name)
			continue
		}
		page, err := service.Get(ctx, "/stats")
		tb.Logf("---- %s /stats ----\n%s (error: %v)", service.name, page, err)
	}
	tb.Logf("---- provider: %d requests ----", s.LLM.Count())
	for _, r := range s.LLM.Requests() {
		tb.Logf("%d %s %s %s: %d bytes, content-length %d, %s", r.ID, r.Proto, r.Method, r.Target, r.Size, r.ContentLength, r.BodyError)
	}
}
