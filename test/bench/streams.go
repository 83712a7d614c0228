package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// streamHeader numbers the streams, so that the provider finds what it is to send.
const streamHeader = "x-bench-stream"

// provider streams answers without a call in them and notes when it wrote each
// event. Client and provider are this one process, so their times are of one clock.
type provider struct {
	parts  []string // the events, each with its terminator
	whole  []byte
	pace   time.Duration // before each event but the first
	next   atomic.Int64
	open   sync.Map // stream number → []atomic.Int64, one write time per event
	tooled atomic.Int64
}

// newProvider makes answers of n events, n at least 3: a role, pieces of text,
// and an end.
func newProvider(n int, pace time.Duration) *provider {
	p := &provider{pace: pace, parts: make([]string, n)}
	chunk := func(delta, finish string) string {
		return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":` +
			delta + `,"logprobs":null,"finish_reason":` + finish + "}]}\n\n"
	}
	for i := range p.parts {
		p.parts[i] = chunk(`{"content":"piece `+strconv.Itoa(i)+` "}`, "null")
	}
	p.parts[0] = chunk(`{"role":"assistant","content":""}`, "null")
	p.parts[n-2], p.parts[n-1] = chunk(`{}`, `"stop"`), "data: [DONE]\n\n"
	for _, part := range p.parts {
		p.whole = append(p.whole, part...)
	}
	return p
}

// respond is the provider's answer to one request.
func (p *provider) respond(r *fakellm.Request) *fakellm.Turn {
	if bytes.Contains(r.Body, []byte("context_guru_expand")) {
		p.tooled.Add(1)
	}
	found, ok := p.open.Load(r.Header.Get(streamHeader))
	if !ok {
		return nil
	}
	written := found.([]atomic.Int64)
	return &fakellm.Turn{
		Raw: &fakellm.Raw{Parts: p.parts}, Delay: fakellm.Delay{Event: p.pace},
		Before: func(_ context.Context, event int) {
			if event >= 0 {
				written[event].Store(time.Now().UnixNano())
			}
		},
	}
}

// flow is what one stream took.
type flow struct {
	first  time.Duration   // from the client's request to its first event
	answer time.Duration   // from the provider's first event to the client's
	later  []time.Duration // of each later event, from the provider to the client
}

// errLoss says that a client did not get what the provider sent.
var errLoss = errors.New("the client got other bytes than the provider sent")

// stream sends one request and follows its answer.
func (p *provider) stream(ctx context.Context, s *stack.Stack, body []byte) (flow, error) {
	number := strconv.FormatInt(p.next.Add(1), 10)
	written := make([]atomic.Int64, len(p.parts))
	p.open.Store(number, written)
	defer p.open.Delete(number)
	begun := time.Now()
	reply, err := s.Open(ctx, stack.Call{Path: chat.OpenAI.Path(), Body: body, Header: map[string]string{streamHeader: number}})
	if err != nil {
		return flow{}, err
	}
	defer reply.Body.Close() //nolint:errcheck // it was read to its end
	if reply.StatusCode != http.StatusOK {
		return flow{}, fmt.Errorf("status %d", reply.StatusCode)
	}
	came, err := p.arrivals(reply.Body)
	if err != nil {
		return flow{}, err
	}
	since := func(i int) time.Duration { return time.Duration(came[i].UnixNano() - written[i].Load()) }
	f := flow{first: came[0].Sub(begun), answer: since(0), later: make([]time.Duration, 0, len(came)-1)}
	for i := 1; i < len(came); i++ {
		f.later = append(f.later, since(i))
	}
	return f, nil
}

// arrivals reads an answer to its end and returns when each event was complete.
// Anything but the provider's own bytes is [errLoss].
func (p *provider) arrivals(r io.Reader) ([]time.Time, error) {
	came := make([]time.Time, 0, len(p.parts))
	buf := make([]byte, 32<<10)
	at, end := 0, len(p.parts[0]) // bytes read, and where the event under way ends
	for {
		n, err := r.Read(buf)
		now := time.Now()
		if n > len(p.whole)-at || !bytes.Equal(buf[:n], p.whole[at:at+n]) {
			return nil, fmt.Errorf("%w, from byte %d on", errLoss, at)
		}
		at += n
		for len(came) < len(p.parts) && at >= end {
			came = append(came, now)
			if len(came) < len(p.parts) {
				end += len(p.parts[len(came)])
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if at < len(p.whole) {
		return nil, fmt.Errorf("%w: it ends after %d of %d", errLoss, at, len(p.whole))
	}
	return came, nil
}

// quantile is the value below which a share q of a list lies; the list is sorted.
func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}
