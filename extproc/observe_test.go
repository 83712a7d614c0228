package extproc_test

import (
	"bytes"
	"strconv"
	"testing"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline"
)

// TestObserveNeverWaits holds the one worker up: traffic goes on, one body waits,
// and what comes then is dropped. Envoy is told to forget the response.
func TestObserveNeverWaits(t *testing.T) {
	t.Parallel()
	begun, free := make(chan struct{}, 8), make(chan struct{})
	h := start(t, setup{
		component: shorten{before: func(pipeline.Segment) { begun <- struct{}{}; <-free }},
		server:    func(c *extproc.Config) { c.Observe = &extproc.Observe{MaxQueue: 1, Workers: 1} },
	})
	for i := range 4 {
		// The memo must not know what is sent next.
		body := string(bytes.ReplaceAll([]byte(chat), []byte("first line"), []byte("first line "+strconv.Itoa(i))))
		s := h.open(t, t.Context())
		s.send(reqHeaders(chatHeaders(len(body)), false))
		mode := s.recv().GetModeOverride()
		if mode.GetRequestBodyMode() != buffered || mode.GetResponseHeaderMode() != filterv3.ProcessingMode_SKIP {
			t.Fatalf("mode override %v", mode)
		}
		s.send(reqBody(body, true))
		if r := s.recv().GetRequestBody().GetResponse(); r.GetBodyMutation() != nil || r.GetHeaderMutation() != nil {
			t.Fatalf("the body was changed: %v", r)
		}
		s.ends()
		if i == 0 {
			<-begun // the worker has it, and the queue is empty again
		}
	}
	if n := h.stats.Snapshot().Totals.Requests; n != 0 {
		t.Errorf("%d bodies measured while the worker was held up", n)
	}
	close(free)
	<-begun // the one that waited
	h.server.Close()
	if n := h.stats.Snapshot().Totals.Requests; n != 2 {
		t.Errorf("%d bodies measured, want the one in work and the one that waited", n)
	}
	select {
	case <-begun:
		t.Error("more than one waited")
	default:
	}
}
