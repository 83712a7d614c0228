// Package sse cuts a stream of server-sent events into events without changing
// a byte of it.
//
// A [Framer] takes the stream in any pieces and gives whole events, each with
// the bytes it was written in. All the bytes come back, in order: those of the
// events followed by [Framer.Rest] are the stream. Lines may end in LF, CRLF or
// CR, mixed as they like; a byte order mark, comments, unknown fields, data over
// several lines and a colon without a space behind it are understood.
//
// An event ends with the first byte that ends its blank line. When that is a
// carriage return, a line feed behind it belongs to the same event if it has
// arrived by then; one that arrives later begins the next event's Raw. Waiting
// for it would hold an event that is complete.
//
// A blank line with nothing in front of it is an event too, and so is one behind
// comments: they have no Data.
package sse

import "bytes"

// mark is a byte order mark. A stream may begin with one, and it means nothing.
const mark = "\uFEFF"

// Event is one event. Its slices are valid until the next call of Feed.
type Event struct {
	// Raw is the event as it was sent, the blank line at its end included.
	Raw []byte
	// Type is the value of its last event field, or nil.
	Type []byte
	// Data is the value of its data fields, joined by line feeds. Nil means that
	// it has none, so that a reader ignores the event.
	Data []byte

	start int // where Data stands in Raw, if it is one line
	lines int // of data
}

// Framer cuts one stream. Make it with NewFramer.
type Framer struct {
	most int

	src   []byte // what events are read from: the piece, or held
	held  []byte // the beginning of an event and the piece that followed it
	spare []byte // the other buffer of that kind: events may still point into held
	tail  int    // how much of spare, or of held if kept, is the beginning of an event
	kept  bool   // that beginning is at the front of held

	at     int // where the next event begins
	line   int // where the line being read begins
	seen   int // everything in front has been searched for the line's end
	lf, cr int // the next ones of their kind, if not in front of seen
	skip   bool
	begun  bool
	over   bool
	f      fields
}

// fields are those of the event being read; places count from its beginning.
type fields struct {
	typeAt, typeEnd int
	dataAt, dataEnd int
	lines           int
	joined          []byte // the data, once it has several lines
}

// NewFramer returns a framer for events of at most so many bytes.
func NewFramer(most int) *Framer { return &Framer{most: most} }

// Feed gives the next piece of the stream, once Next has returned false for the
// one before. The piece must not change until Next returns false.
func (f *Framer) Feed(piece []byte) {
	switch {
	case f.kept:
		f.held = append(f.held[:f.tail], piece...)
		f.src = f.held
	case f.tail > 0:
		f.held, f.spare = append(f.spare[:f.tail], piece...), f.held
		f.src = f.held
	default:
		f.src = piece
	}
	f.kept, f.lf, f.cr = f.tail > 0, -1, -1
}

// Next returns the next event of what was fed. False means that there is none
// yet, or that it is too large: see Over.
func (f *Framer) Next() (Event, bool) {
	for !f.over {
		end, next := f.eol()
		if end < 0 {
			f.over = len(f.src)-f.at > f.most
			f.stash()
			return Event{}, false
		}
		from := f.line
		f.line, f.seen = next, next
		if !f.begun {
			f.begun = true
			if bytes.HasPrefix(f.src[from:end], []byte(mark)) {
				from += len(mark)
			}
		}
		if from < end {
			f.field(from, end)
			continue
		}
		if f.over = next-f.at > f.most; !f.over {
			return f.event(next), true
		}
	}
	return Event{}, false
}

// stash keeps the beginning of an event, because the piece may be used again.
func (f *Framer) stash() {
	f.tail = len(f.src) - f.at
	if f.kept = f.kept && f.at == 0; f.kept {
		return // no event points into held
	}
	f.spare = append(f.spare[:0], f.src[f.at:]...)
	f.line, f.seen, f.at = f.line-f.at, f.seen-f.at, 0
	f.src = f.spare[:f.tail]
}

// Over reports whether an event was larger than allowed. Then no event follows:
// Rest has what was fed and not returned, and pieces need not be fed any more.
func (f *Framer) Over() bool { return f.over }

// Rest returns the bytes behind the last event. Once Next has returned false,
// they are the beginning of an event; none between events.
func (f *Framer) Rest() []byte { return f.src[f.at:] }

// Last reads what is left at the end of the stream as if a blank line followed
// it. By the letter, a reader drops such an event; many do not.
func (f *Framer) Last() (Event, bool) {
	if f.over || f.at == len(f.src) {
		return Event{}, false
	}
	if f.line < len(f.src) {
		f.field(f.line, len(f.src))
	}
	f.line, f.seen, f.tail, f.kept = len(f.src), len(f.src), 0, false
	return f.event(len(f.src)), true
}

// event returns the event that ends in front of a place, and begins the next.
func (f *Framer) event(end int) Event {
	raw := f.src[f.at:end]
	e := Event{Raw: raw, start: f.f.dataAt, lines: f.f.lines}
	if f.f.typeEnd > 0 {
		e.Type = raw[f.f.typeAt:f.f.typeEnd]
	}
	switch {
	case e.lines == 1:
		e.Data = raw[f.f.dataAt:f.f.dataEnd]
	case e.lines > 1:
		e.Data, f.f.joined = f.f.joined, nil
	}
	f.f = fields{}
	f.at = end
	return e
}

// eol finds where the line being read ends and where the next one begins; a
// negative end means that it has not ended yet.
func (f *Framer) eol() (end, next int) {
	if f.skip && f.line < len(f.src) { // the line before ended in a carriage return
		f.skip = false
		if f.src[f.line] == '\n' {
			f.line++
			f.seen = f.line
		}
	}
	if f.lf < f.seen {
		f.lf = find(f.src, f.seen, '\n')
	}
	if f.cr < f.seen {
		f.cr = find(f.src, f.seen, '\r')
	}
	end = min(f.lf, f.cr)
	f.seen = end
	if end == len(f.src) {
		return -1, 0
	}
	next = end + 1
	if f.src[end] == '\r' {
		switch {
		case next == len(f.src):
			f.skip = true
		case f.src[next] == '\n':
			next++
		}
	}
	return end, next
}

// find returns the first place of c at or behind from, or the end.
func find(b []byte, from int, c byte) int {
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

// field takes one line of an event, without its end.
func (f *Framer) field(from, end int) {
	name, value := split(f.src[from:end])
	at := end - len(value) - f.at
	switch string(name) {
	case "event":
		f.f.typeAt, f.f.typeEnd = at, end-f.at
	case "data":
		switch f.f.lines++; f.f.lines {
		case 1:
			f.f.dataAt, f.f.dataEnd = at, end-f.at
			return
		case 2:
			f.f.joined = append(f.f.joined, f.src[f.at+f.f.dataAt:f.at+f.f.dataEnd]...)
		}
		f.f.joined = append(append(f.f.joined, '\n'), value...)
	}
}

// split cuts a line into the name and the value of a field. A comment has no name.
func split(line []byte) (name, value []byte) {
	name, value, found := bytes.Cut(line, []byte{':'})
	if !found {
		return name, line[len(line):]
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

// Append appends the event with other data, which has no carriage returns. All
// its other lines stay as they are, but for lone carriage returns at their ends
// when there are several lines of data. An event without data stays as it is.
func (e Event) Append(out, data []byte) []byte {
	switch {
	case e.lines == 0:
		return append(out, e.Raw...)
	case e.lines == 1 && bytes.IndexByte(data, '\n') < 0:
		out = append(out, e.Raw[:e.start]...)
		out = append(out, data...)
		return append(out, e.Raw[e.start+len(e.Data):]...)
	}
	written := false
	for rest := e.Raw; len(rest) > 0; {
		end := min(find(rest, 0, '\n'), find(rest, 0, '\r'))
		next := min(end+1, len(rest))
		if end+1 < len(rest) && rest[end] == '\r' && rest[end+1] == '\n' {
			next++
		}
		line, eol := rest[:end], rest[end:next]
		rest = rest[next:]
		if string(eol) == "\r" { // must not meet a line feed that stood elsewhere
			eol = []byte("\n")
		}
		if name, _ := split(bytes.TrimPrefix(line, []byte(mark))); string(name) != "data" {
			out = append(append(out, line...), eol...)
			continue
		}
		if written {
			continue
		}
		written = true
		for text := range bytes.SplitSeq(data, []byte("\n")) {
			out = append(append(append(out, "data: "...), text...), eol...)
		}
	}
	return out
}
