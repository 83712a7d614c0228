package codec

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/wire/sse"
)

// Event is one event of a stream, however it is framed.
type Event struct {
	// Raw is the event as it was sent.
	Raw []byte
	// Data is the JSON in it. Nil: an event that says nothing.
	Data []byte
	// Last is true for what ends a stream and is no event: the bracket behind the
	// items of an array.
	Last bool
	// SSE is the event if the stream is one of server-sent events.
	SSE sse.Event
}

// Out collects what the client gets for one piece of the upstream's bytes. As
// long as everything passes unchanged, nothing is copied.
type Out struct {
	// Array frames events as the items of one JSON array.
	Array bool
	// Items counts what was written to the array.
	Items int
	// Mended is true when items may be missing or be ours, so that the commas
	// between them have to be put right.
	Mended bool
	// Opened and Closed tell whether its brackets were written.
	Opened, Closed bool
	// Sent is true once there was an event with data.
	Sent bool

	buf   []byte
	span  []byte // events that pass unchanged, one behind the other in memory
	whole bool   // the next event follows the span directly
	eol   string
}

// Reset begins the next piece. What Bytes returned before is no longer valid.
func (o *Out) Reset() {
	o.buf, o.span, o.whole = o.buf[:0], nil, false
	if cap(o.buf) > maxIdle {
		o.buf = nil
	}
}

// maxIdle bounds the memory that a stream keeps for its next output.
const maxIdle = 64 << 10

// Bytes returns what the client gets.
func (o *Out) Bytes() []byte {
	if len(o.buf) == 0 {
		return o.span
	}
	o.flush()
	return o.buf
}

func (o *Out) flush() {
	o.buf = append(o.buf, o.span...)
	o.span, o.whole = nil, false
}

// Passed grows with every event that passes as it is.
func (o *Out) Passed() int { return len(o.span) }

// Gap tells that an event did not pass as it was.
func (o *Out) Gap() { o.whole = false }

// Pass sends an event as it is.
func (o *Out) Pass(e *Event) {
	if e.Data != nil {
		o.Sent = true
		if o.Array && o.item(e) {
			return
		}
	}
	o.Raw(e.Raw)
}

// Raw sends bytes of the input as they are, in the order of the input.
func (o *Out) Raw(b []byte) {
	switch {
	case o.whole && len(o.span) > 0:
		o.span = o.span[:len(o.span)+len(b)]
	case len(o.span) > 0 || len(o.buf) > 0:
		o.flush()
		o.buf = append(o.buf, b...)
	default:
		o.span, o.whole = b, true
	}
}

// item sends an item whose comma does not fit any more, because of what was left
// out or put in before it.
func (o *Out) item(e *Event) bool {
	lead := e.Raw[:len(e.Raw)-len(e.Data)]
	_, rest, comma := bytes.Cut(lead, []byte{','})
	o.Items++
	if comma == (o.Items > 1) || !o.Mended {
		return false
	}
	o.flush()
	if !comma {
		rest = []byte(",\n")
	}
	o.buf = append(append(o.buf, rest...), e.Data...)
	return true
}

// Edit sends an event with other data.
func (o *Out) Edit(e *Event, data []byte) {
	if o.Array {
		o.Add("", data)
		return
	}
	o.flush()
	o.Sent = true
	if bytes.IndexByte(data, '\r') >= 0 { // only behind a lone one between two lines of data
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	o.buf = e.SSE.Append(o.buf, data)
}

// Add sends an event of our own. A type is only written to streams that have them.
func (o *Out) Add(typ string, data []byte) {
	o.flush()
	o.Sent = true
	if o.Array {
		switch o.Items++; {
		case !o.Opened:
			o.Opened = true
			o.buf = append(o.buf, '[')
		case o.Items > 1:
			o.buf = append(o.buf, ',', '\n')
		}
		o.buf = append(o.buf, data...)
		return
	}
	eol := o.eol
	if eol == "" {
		eol = "\n"
	}
	if typ != "" {
		o.buf = append(append(append(o.buf, "event: "...), typ...), eol...)
	}
	o.buf = append(o.buf, "data: "...)
	from := len(o.buf)
	o.buf = append(o.buf, data...)
	for i, c := range o.buf[from:] {
		if c == '\n' || c == '\r' { // between two tokens, where white space is as good as another
			o.buf[from+i] = ' '
		}
	}
	o.buf = append(append(o.buf, eol...), eol...)
}

// Text sends bytes of our own.
func (o *Out) Text(b string) {
	o.flush()
	o.buf = append(o.buf, b...)
}

// Like makes the events of our own end their lines as an event of the stream does.
func (o *Out) Like(e *Event) {
	switch {
	case o.eol != "" || o.Array || len(e.Raw) == 0:
	case bytes.Contains(e.Raw, []byte("\r\n")):
		o.eol = "\r\n"
	case e.Raw[len(e.Raw)-1] == '\r':
		o.eol = "\r"
	default:
		o.eol = "\n"
	}
}

// AddHeld sends an event that waited, with other data.
func (o *Out) AddHeld(h Held, data []byte) { o.Add(string(h.Type), data) }
