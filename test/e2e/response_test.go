package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// TestResponsesArriveUnchanged compares what clients get with what the provider
// wrote, for every form of answer, in exchanges whose request was rewritten.
func TestResponsesArriveUnchanged(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	long := strings.Repeat("All work and no play. ⌛ ", 4000)
	answer := []fakellm.Block{fakellm.Thinking("hm", "sig"), fakellm.Text(long), fakellm.Tool("run", `{"command":"ls"}`)}
	yes := true
	turns := map[string]fakellm.Turn{
		"json":            {Blocks: answer},
		"chunked json":    {Blocks: answer, Chunked: true, Split: fakellm.Split{Mode: fakellm.SplitRandom, Size: 30000, Seed: 1}},
		"events":          {Blocks: answer, Stream: &yes},
		"events in bits":  {Blocks: answer[2:], Stream: &yes, Split: fakellm.Split{Mode: fakellm.SplitBytes, Size: 1}},
		"events at once":  {Blocks: answer, Stream: &yes, Split: fakellm.Split{Mode: fakellm.SplitNone}},
		"events, CRLF":    {Blocks: answer[1:], Stream: &yes, Frame: fakellm.Frame{Before: ": hello\r\n\r\n", EOL: "\r\n"}},
		"compressed":      {Blocks: answer, Stream: &yes, Gzip: true},
		"refusal":         {Status: 429, RetryAfter: 7},
		"failure":         {Status: 500},
		"empty":           {Status: 204},
		"empty, chunked":  {Raw: &fakellm.Raw{}, Chunked: true},
		"trailers":        {Blocks: answer, Trailer: map[string]string{"X-Checksum": "abc"}},
		"not even JSON":   {Raw: &fakellm.Raw{ContentType: "text/html", Parts: []string{"<html>", strings.Repeat("x", 1<<20), "</html>"}}},
		"error in stream": {Blocks: answer, Stream: &yes, Fault: &fakellm.Fault{Do: fakellm.FaultError, At: fakellm.AtEvents, N: 5}},
	}
	for name, turn := range turns {
		for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
			for _, p := range []stack.Protocol{stack.H1, stack.H2} {
				s.LLM.SetScript(turn)
				reply := do(t, s, stack.Call{Protocol: p, Path: d.Path(), Body: question(t, d, testLog(300))})
				sent, err := last(t, s).Reply(within(t))
				if err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s, %v, %v", name, d, p)
				equalBytes(t, what, reply.Body, sent.Body)
				if reply.Status != sent.Status {
					t.Errorf("%s: status %d, want %d", what, reply.Status, sent.Status)
				}
				if turn.RetryAfter > 0 && reply.Header.Get("Retry-After") != "7" {
					t.Errorf("%s: headers %v lack retry-after", what, reply.Header)
				}
			}
		}
	}
}

// TestEventsAreNotHeldBack lets the provider write each event only after the
// client has read the one before.
func TestEventsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		for _, p := range []stack.Protocol{stack.H1, stack.H2} {
			read := make(chan struct{})
			yes, events := true, 0
			s.LLM.SetScript(fakellm.Turn{
				Blocks: []fakellm.Block{fakellm.Text("one two three four five six")}, Stream: &yes, DeltaRunes: 4,
				Before: func(ctx context.Context, event int) {
					if event > 0 {
						select {
						case <-read:
						case <-ctx.Done():
						}
					}
				},
			})
			resp, err := s.Open(within(t), stack.Call{Protocol: p, Path: d.Path(), Body: question(t, d, testLog(300))})
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(resp.Body)
			for {
				line, err := lines.ReadString('\n')
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%v %v: after %d events: %v", d, p, events, err)
				}
				if line == "\n" {
					events++
					select {
					case read <- struct{}{}:
					case <-recorded(t, s):
					}
				}
			}
			resp.Body.Close()
			if events < 5 {
				t.Errorf("%v %v: %d events", d, p, events)
			}
		}
	}
}

// recorded is closed when the provider's last answer has ended.
func recorded(t *testing.T, s *stack.Stack) <-chan struct{} {
	t.Helper()
	ended := make(chan struct{})
	request := last(t, s)
	ctx := within(t)
	go func() {
		if _, err := request.Reply(ctx); err == nil {
			close(ended)
		}
	}()
	return ended
}

// TestProviderBreakingOffIsSeen: a broken answer must never look like a whole one.
func TestProviderBreakingOffIsSeen(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	yes := true
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		for _, fault := range []fakellm.FaultKind{fakellm.FaultAbort, fakellm.FaultReset} {
			s.LLM.SetScript(fakellm.Turn{
				Blocks: []fakellm.Block{fakellm.Text(strings.Repeat("x", 10_000))}, Stream: &yes,
				Fault: &fakellm.Fault{Do: fault, At: fakellm.AtEvents, N: 4},
			})
			reply, err := s.Do(within(t), stack.Call{Protocol: p, Path: chatPath, Body: question(t, chat.OpenAI, testLog(300))})
			if err == nil && reply.Status == http.StatusOK {
				t.Errorf("%v, %s: a clean answer of %d bytes", p, fault, len(reply.Body))
			}
		}
	}
}
