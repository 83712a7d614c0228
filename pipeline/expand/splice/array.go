package splice

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
)

// array frames the items of one JSON array, as they come. An item's Raw begins
// with what separates it from the one before. The brackets are no events: the
// opening one passes in the first round, the closing one when all is over.
type array struct {
	most int

	buf   []byte // what is not complete
	at    int    // where the next event begins
	seen  int    // everything in front has been looked at
	item  int    // where the item begins; negative outside of one
	depth int
	quote bool // in a string
	skip  bool // behind a backslash in it
	began bool // the opening bracket is behind us
	ended bool // the closing one is
	over  bool
}

// arrays reports whether a body is an array; decided is false for white space.
func arrays(body []byte) (yes, decided bool) {
	body = bytes.TrimLeft(body, " \r\n\t")
	return len(body) > 0 && body[0] == '[', len(body) > 0
}

func newArray(most int) *array { return &array{most: most, item: -1} }

// Feed implements framer.
func (f *array) Feed(piece []byte) {
	if f.at > 0 {
		f.buf = f.buf[:copy(f.buf, f.buf[f.at:])]
	}
	f.buf = append(f.buf, piece...)
	f.seen -= f.at
	if f.item >= 0 {
		f.item -= f.at
	}
	f.at = 0
}

// Next implements framer.
func (f *array) Next() (codec.Event, bool) {
	for ; f.seen < len(f.buf) && !f.over; f.seen++ {
		switch c := f.buf[f.seen]; {
		case f.quote:
			f.string()
		case f.item >= 0 && c == '"':
			f.quote = true
		case f.item >= 0:
			if f.inside(c) {
				f.seen++
				return f.take(), true
			}
		case c == '[' && !f.began:
			f.began = true
			f.seen++
			e := codec.Event{Raw: f.buf[f.at:f.seen]}
			f.at = f.seen
			return e, true
		case c == '{' && f.began && !f.ended:
			f.item, f.depth = f.seen, 1
		case c == ']' && f.began && !f.ended:
			f.ended = true
			f.seen++
			e := codec.Event{Raw: f.buf[f.at:f.seen], Last: true}
			f.at = f.seen
			return e, true
		case c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t':
		default:
			f.over = true // not an array of objects
		}
	}
	f.over = f.over || len(f.buf)-f.at > f.most
	return codec.Event{}, false
}

// string goes on inside of a string, as far as a byte counts.
func (f *array) string() {
	switch {
	case f.skip:
		f.skip = false
		return
	case f.buf[f.seen] == '"':
		f.quote = false
		return
	case f.buf[f.seen] == '\\':
		f.skip = true
		return
	}
	rest := f.buf[f.seen:]
	n := bytes.IndexAny(rest, "\"\\")
	if n < 0 {
		n = len(rest)
	}
	f.seen += n - 1
}

// inside goes on inside of an item and reports whether it ends there.
func (f *array) inside(c byte) bool {
	switch c {
	case '{', '[':
		f.depth++
	case '}', ']':
		f.depth--
	}
	return f.depth == 0
}

func (f *array) take() codec.Event {
	e := codec.Event{Raw: f.buf[f.at:f.seen], Data: f.buf[f.item:f.seen]}
	f.at, f.item = f.seen, -1
	f.over = len(e.Raw) > f.most
	return e
}

// Over implements framer.
func (f *array) Over() bool { return f.over }

// Rest implements framer.
func (f *array) Rest() []byte { return f.buf[f.at:] }

// Last implements framer.
func (f *array) Last() (codec.Event, bool) {
	e := codec.Event{Raw: f.buf[f.at:]}
	if f.item >= 0 {
		e.Data = f.buf[f.item:]
	}
	f.at = len(f.buf)
	return e, len(e.Raw) > 0
}

func (f *array) again() framer { return newArray(f.most) }

func (*array) close(o *codec.Out) {
	if !o.Closed {
		o.Closed = true
		o.Text("]")
	}
}
