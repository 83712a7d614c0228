package splice

import (
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/wire/sse"
)

// framer cuts a round's body into events. See sse.Framer for the contract.
type framer interface {
	Feed(piece []byte)
	Next() (codec.Event, bool)
	Over() bool
	Rest() []byte
	Last() (codec.Event, bool)
	// again returns a framer for the next round.
	again() framer
	// close ends what the client gets.
	close(o *codec.Out)
}

// events frames server-sent events.
type events struct {
	*sse.Framer

	most int
}

func newEvents(most int) *events { return &events{sse.NewFramer(most), most} }

func (f *events) Next() (codec.Event, bool) { return event(f.Framer.Next()) }

func (f *events) Last() (codec.Event, bool) { return event(f.Framer.Last()) }

func event(e sse.Event, ok bool) (codec.Event, bool) {
	return codec.Event{Raw: e.Raw, Data: e.Data, SSE: e}, ok
}

func (f *events) again() framer { return newEvents(f.most) }

func (*events) close(*codec.Out) {}
