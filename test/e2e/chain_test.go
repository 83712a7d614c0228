package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// onlooker is another external processor, as AI gateways have one: it reads
// everything and changes nothing.
type onlooker struct {
	extprocv3.UnimplementedExternalProcessorServer
	requestBytes, responseBytes atomic.Int64
}

func startOnlooker(t *testing.T) (o *onlooker, addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o = &onlooker{}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	extprocv3.RegisterExternalProcessorServer(g, o)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return o, listener.Addr().String()
}

func (o *onlooker) Process(st extprocv3.ExternalProcessor_ProcessServer) error {
	for {
		m, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply := &extprocv3.ProcessingResponse{}
		switch r := m.GetRequest().(type) {
		case *extprocv3.ProcessingRequest_RequestHeaders:
			reply.Response = &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{}}
		case *extprocv3.ProcessingRequest_RequestBody:
			o.requestBytes.Add(int64(len(r.RequestBody.GetBody())))
			reply.Response = &extprocv3.ProcessingResponse_RequestBody{RequestBody: &extprocv3.BodyResponse{}}
		case *extprocv3.ProcessingRequest_ResponseHeaders:
			reply.Response = &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{}}
		case *extprocv3.ProcessingRequest_ResponseBody:
			o.responseBytes.Add(int64(len(r.ResponseBody.GetBody())))
			reply.Response = &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: &extprocv3.BodyResponse{}}
		default:
			return fmt.Errorf("unexpected %T", m.GetRequest())
		}
		if err := st.Send(reply); err != nil {
			return err
		}
	}
}

// TestSecondProcessor puts another external processor, which buffers requests and
// streams responses, on either side of the service's, and sends answers of
// megabytes in bursts, several at a time.
func TestSecondProcessor(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]stack.Place{"behind": stack.Behind, "before": stack.Before} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, addr := startOnlooker(t)
			s := stack.New(t, stack.WithConfig(external), stack.WithEnvoy(stack.SecondExtProc(place, addr, "BUFFERED", "STREAMED")),
				stack.WithLLM(fakellm.WithResponder(burst)))
			body := question(t, chat.OpenAI, records(0, 120))
			var sent, received atomic.Int64
			const workers, each = 5, 10
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for i := range each {
						n, m := burstExchange(t, s, fmt.Sprintf("%d-%d", w, i), body)
						sent.Add(n)
						received.Add(m)
					}
				})
			}
			all.Wait()
			want := sent.Load()
			if place == stack.Before {
				want = int64(workers * each * len(body))
			}
			if got := o.requestBytes.Load(); got != want {
				t.Errorf("the other processor saw %d bytes of requests, want %d", got, want)
			}
			if got := o.responseBytes.Load(); got != received.Load() {
				t.Errorf("the other processor saw %d bytes of answers, and the clients %d", got, received.Load())
			}
			if rewritten := metric(t, s, "contextguru_exchanges_total", "verdict", "rewritten"); rewritten != workers*each {
				t.Errorf("%v bodies were rewritten, want %d", rewritten, workers*each)
			}
		})
	}
}

// burst answers with 1 to 5 MB in one or in many writes, drawn from the request's tag.
func burst(r *fakellm.Request) *fakellm.Turn {
	seed := sha256.Sum256([]byte(r.Header.Get("x-test-tag")))
	draw := rand.New(rand.NewChaCha8(seed))
	answer := make([]byte, 1_000_000+draw.IntN(4_000_000))
	for i := range answer {
		answer[i] = byte('a' + draw.IntN(26))
	}
	turn := &fakellm.Turn{Raw: &fakellm.Raw{ContentType: "application/json", Parts: []string{string(answer)}}, Chunked: draw.IntN(2) == 0}
	turn.Split = fakellm.Split{Mode: fakellm.SplitNone}
	if draw.IntN(2) == 0 {
		turn.Split = fakellm.Split{Mode: fakellm.SplitRandom, Size: 100_000, Seed: draw.Uint64()}
	}
	return turn
}

// burstExchange makes one exchange and compares digests; it returns the bytes the
// provider received and the client.
func burstExchange(t *testing.T, s *stack.Stack, tag string, body []byte) (sent, received int64) {
	t.Helper()
	reply, err := s.Do(within(t), stack.Call{Protocol: stack.Protocol(len(tag) % 2), Path: chatPath, Body: body, Header: map[string]string{"x-test-tag": tag}})
	if err != nil {
		t.Errorf("%s: %v", tag, err)
		return 0, 0
	}
	for _, r := range s.LLM.Requests() {
		if r.Header.Get("x-test-tag") != tag {
			continue
		}
		answer, err := r.Reply(within(t))
		sum := sha256.Sum256(reply.Body)
		if err != nil || hex.EncodeToString(sum[:]) != answer.SHA256 {
			t.Errorf("%s: status %d with %d bytes, the provider sent %d (%v)", tag, reply.Status, len(reply.Body), answer.Size, err)
		}
		return r.Size, int64(len(reply.Body))
	}
	t.Errorf("%s: the provider received nothing", tag)
	return 0, 0
}

// TestRetriesRepeatTheRewrittenBody lets Envoy try again after a failure of the provider.
func TestRetriesRepeatTheRewrittenBody(t *testing.T) {
	t.Parallel()
	retry := stack.YAML(`{retry_on: 5xx, num_retries: 3, retry_back_off: {base_interval: 0.001s, max_interval: 0.01s}}`)
	s := stack.New(t, stack.WithConfig(external), stack.WithEnvoy(stack.Set(stack.RoutePath().Then("route", "retry_policy"), retry)))
	for name, body := range map[string][]byte{
		"records": question(t, chat.OpenAI, records(0, 120)),
		"large":   question(t, chat.OpenAI, records(0, 20_000)),
	} {
		for _, p := range []stack.Protocol{stack.H1, stack.H2} {
			what := fmt.Sprintf("%s, %v", name, p)
			s.LLM.SetScript(fakellm.Turn{Status: 503, Times: 2}, fakellm.Turn{})
			before := s.LLM.Count()
			reply := do(t, s, stack.Call{Protocol: p, Path: chatPath, Body: body})
			tries := s.LLM.Requests()[before:]
			if reply.Status != 200 || len(tries) != 3 {
				t.Fatalf("%s: status %d after %d tries, want 200 after 3", what, reply.Status, len(tries))
			}
			if edits := restored(t, s, body, tries[0].Body); len(edits) != 1 {
				t.Errorf("%s: %d edits, want 1", what, len(edits))
			}
			for i, try := range tries {
				equalBytes(t, fmt.Sprintf("%s, try %d", what, i+1), try.Body, tries[0].Body)
				if try.ContentLength != int64(len(tries[0].Body)) {
					t.Errorf("%s, try %d: content-length %d for %d bytes", what, i+1, try.ContentLength, len(try.Body))
				}
			}
			sameAnswer(t, what, reply, tries[2])
		}
	}
	if n := metric(t, s, "contextguru_exchanges_total"); n != 4 {
		t.Errorf("%v bodies were read, want each once: 4", n)
	}
}

// TestRouteLimitBelowTheBody: an Envoy whose route holds less than the service
// was told refuses such bodies or never gets to send them. The client gets an
// error in bounded time, and the log says once what to do.
func TestRouteLimitBelowTheBody(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external), stack.WithEnvoy(
		stack.RouteBufferLimit(64<<10), stack.ListenerBufferLimit(64<<10), stack.StreamIdleTimeout(2*time.Second)))
	small, large := question(t, chat.OpenAI, records(0, 120)), question(t, chat.OpenAI, records(0, 20_000))
	served(t, "below the limit", s, stack.Call{Path: chatPath, Body: small})
	statuses := map[int]int{}
	for i := range 4 {
		p := stack.Protocol(i % 2)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		reply, err := s.Do(ctx, stack.Call{Protocol: p, Path: chatPath, Body: large})
		cancel()
		switch {
		case err != nil: // the connection was closed with the body half sent
			statuses[0]++
		case reply.Status == 200:
			// Not every Envoy minds: then it has to be right.
			restored(t, s, large, last(t, s).Body)
			statuses[200]++
		default:
			statuses[reply.Status]++
		}
	}
	t.Logf("statuses %v", statuses)
	served(t, "after a refusal", s, stack.Call{Path: chatPath, Body: small})
	log := s.Service().Log().String()
	for status, message := range map[int]string{413: "envoy_refused_body", 408: "envoy_gave_up_on_body"} {
		want := min(1, statuses[status])
		if s.Envoy.Minor() < 40 {
			want = 0 // the service does not get to see the answer
		}
		if got := strings.Count(log, message); got != want {
			t.Errorf("%d lines of %s in the log after %d answers with %d, want %d", got, message, statuses[status], status, want)
		}
	}
	if strings.Contains(log, "envoy_sent_no_body") {
		t.Error("the log blames allow_mode_override, which is on")
	}
	if statuses[200] == 4 {
		t.Error("every body passed: the limit was none")
	}
}
