package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/proc"
)

// quickHealthChecks lets Envoy notice at once what it otherwise notices in seconds.
func quickHealthChecks() stack.Edit {
	return func(c *stack.Config) {
		check := stack.ClusterPath("context_guru").Then("health_checks", 0)
		for _, name := range []string{"interval", "no_traffic_interval"} {
			c.Set(check.Then(name), "0.1s")
		}
		// By default the workers learn within a second what a check has found.
		c.Set(stack.ClusterPath("context_guru").Then("common_lb_config"), map[string]string{"update_merge_window": "0s"})
	}
}

// held is an exchange that the provider does not finish before it is released.
type held struct {
	release context.CancelFunc
	done    chan error
	reply   *stack.Reply
	got     *fakellm.Request
}

// hold starts an exchange and returns when the provider is about to write the
// event of a number, -1 for the response headers.
func hold(t *testing.T, s *stack.Stack, event int, c stack.Call) *held {
	t.Helper()
	waiting, reached := context.WithCancel(t.Context())
	released, release := context.WithCancel(t.Context())
	yes := true
	s.LLM.SetScript(fakellm.Turn{
		Blocks: []fakellm.Block{fakellm.Text(strings.Repeat("All work and no play. ", 2000))}, Stream: &yes, DeltaRunes: 500,
		Before: func(ctx context.Context, at int) {
			if at != event {
				return
			}
			reached()
			select {
			case <-released.Done():
			case <-ctx.Done():
			}
		},
	})
	h := &held{release: release, done: make(chan error, 1)}
	go func() {
		var err error
		h.reply, err = s.Do(within(t), c)
		h.done <- err
	}()
	select {
	case <-waiting.Done():
	case <-within(t).Done():
		t.Fatal("the provider was not asked")
	}
	h.got = last(t, s)
	return h
}

// TestShutdownFinishesWhatIsInFlight asks one of two replicas to end while an
// exchange of its is held by the provider.
func TestShutdownFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]int{"before the response": -1, "in the response": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, stack.WithConfig(external+"shutdown: {drain: 1s, grace: 60s}\n"), stack.WithPinnedReplicas(2), stack.WithEnvoy(quickHealthChecks()))
			body := question(t, chat.OpenAI, records(0, 120))
			health := watchHealth(t, s.Service())
			h := hold(t, s, event, stack.Call{Path: chatPath, Body: body, Replica: 1})
			ended := make(chan error, 1)
			go func() { ended <- s.Service().Term(within(t)) }()
			health()
			unready(t, s.Service())
			awaitUnhealthy(t, s, s.Service())
			if s.Envoy.Minor() >= 40 {
				// Below, the service does not read responses and need not have anything in flight here.
				select {
				case err := <-ended:
					t.Errorf("the service ended with an exchange in flight: %v", err)
				default:
				}
			}
			// Further exchanges go to the other replica.
			before := s.LLM.Count()
			s.LLM.SetScript()
			for range 4 {
				served(t, "during the shutdown", s, stack.Call{Path: chatPath, Body: body})
			}
			stats, err := s.Services[1].Stats(within(t))
			if err != nil || stats.Totals.Requests != 4 || s.LLM.Count() != before+4 {
				t.Errorf("the other replica served %d of 4 exchanges, %v", stats.Totals.Requests, err)
			}
			h.release()
			if err := <-h.done; err != nil {
				t.Fatal(err)
			}
			sameAnswer(t, "the held exchange", h.reply, h.got)
			restored(t, s, body, h.got.Body)
			if err := <-ended; err != nil {
				t.Errorf("the service ended with %v, want exit status 0", err)
			}
			if log := s.Service().Log().String(); !strings.Contains(log, `"stopped"`) || strings.Contains(log, "stopped_with_exchanges_in_flight") {
				t.Errorf("the log does not tell of a clean end:\n%s", s.Service().Log().Tail(2000))
			}
		})
	}
}

// watchHealth watches the gRPC health of a service until the test ends; the
// function returned waits until it is NOT_SERVING.
func watchHealth(t *testing.T, s *stack.Service) (turned func()) {
	t.Helper()
	target := s.GRPC()
	if s.OnSocket() {
		target = "unix:" + target
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	watch, err := healthv1.NewHealthClient(conn).Watch(within(t), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	next := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("health is %v (%v), want %v", got.GetStatus(), err, want)
		}
	}
	next(healthv1.HealthCheckResponse_SERVING)
	return func() {
		t.Helper()
		next(healthv1.HealthCheckResponse_NOT_SERVING)
	}
}

// unready wants /readyz to refuse.
func unready(t *testing.T, s *stack.Service) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, s.URL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("/readyz: %v", err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/readyz: status %d, want 503", resp.StatusCode)
	}
}

// awaitUnhealthy waits until Envoy sends no new exchanges to a service.
func awaitUnhealthy(t *testing.T, s *stack.Stack, service *stack.Service) {
	t.Helper()
	err := proc.Until(within(t), nil, func(ctx context.Context) error {
		page, err := s.Envoy.Admin(ctx, "/clusters?format=json")
		if err != nil {
			return err
		}
		var clusters struct {
			Statuses []struct {
				Name  string `json:"name"`
				Hosts []struct {
					Address struct {
						Socket struct {
							Address string `json:"address"`
							Port    int    `json:"port_value"`
						} `json:"socket_address"`
					} `json:"address"`
					Health map[string]any `json:"health_status"`
				} `json:"host_statuses"`
			} `json:"cluster_statuses"`
		}
		if err := json.Unmarshal(page, &clusters); err != nil {
			return err
		}
		for _, c := range clusters.Statuses {
			for _, h := range c.Hosts {
				address := fmt.Sprintf("%s:%d", h.Address.Socket.Address, h.Address.Socket.Port)
				if c.Name == "context_guru" && address == service.GRPC() && h.Health["failed_active_health_check"] == true {
					return nil
				}
			}
		}
		return errors.New("Envoy takes the service for healthy")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestShutdownDoesNotWaitForever: what does not end within the grace time is
// given up, and the client still gets an answer where nothing of it went out yet.
func TestShutdownDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external+"shutdown: {drain: 0s, grace: 100ms}\n"))
	body := question(t, chat.OpenAI, records(0, 120))
	h := hold(t, s, -1, stack.Call{Path: chatPath, Body: body})
	if err := s.Service().Term(within(t)); err != nil {
		t.Errorf("the service ended with %v, want exit status 0", err)
	}
	// Below Envoy 1.40 the service does not read responses; whether Envoy lets go of
	// the exchange after the request then depends on the version.
	gaveUp := strings.Contains(s.Service().Log().String(), "stopped_with_exchanges_in_flight")
	if s.Envoy.Minor() >= 40 && !gaveUp {
		t.Error("the log does not tell of exchanges given up")
	}
	h.release()
	if err := <-h.done; err != nil {
		t.Fatal(err)
	}
	sameAnswer(t, "the held exchange", h.reply, h.got)
}

// TestShutdownWhileNobodyAsks: without exchanges the end comes at once, far
// within the times a busy service may take, also while somebody watches its health.
func TestShutdownWhileNobodyAsks(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external+"shutdown: {drain: 0s, grace: 10m}\n"), stack.WithRedis(stack.RedisOptions{}), stack.WithOTLP(), stack.WithSocket())
	served(t, "before", s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120))})
	turned := watchHealth(t, s.Service())
	start := time.Now()
	if err := s.Service().Term(within(t)); err != nil {
		t.Error(err)
	}
	turned()
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	// Restarted it serves again, on the same socket.
	if err := s.Service().Start(within(t)); err != nil {
		t.Fatal(err)
	}
	servedAgain(t, s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120))})
}
