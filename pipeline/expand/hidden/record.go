package hidden

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// DefaultMost bounds a record in bytes: a few expands of a full window each.
const DefaultMost = 1 << 20

// format is the first byte of a record.
const format = 1

// record is what a client did not see of one assistant turn.
type record struct {
	rounds []hiddenRound
	beside []besideCall
}

// hiddenRound is a round of which only the visible pieces of the model's turn are
// in the client's history, joined with those of the next round.
type hiddenRound struct {
	// exchange are the elements that the next request had for the round: the
	// model's turn and the results.
	exchange []byte
	// length and sum are those of the text that the client saw.
	length int
	sum    [16]byte
	// signatures are those that the client saw.
	signatures [][16]byte
	// others counts the other pieces that the client saw.
	others int
}

// besideCall is a call of ours in the last round, where the client has calls of
// its own.
type besideCall struct {
	// calls counts the client's calls in front of it.
	calls int
	// call is the element that held the call, result the one that answers it.
	call, result []byte
}

func sumOf(text string) (sum [16]byte) {
	full := sha256.Sum256([]byte(text))
	copy(sum[:], full[:])
	return sum
}

func (r *record) encode() []byte {
	out := []byte{format}
	bytes := func(b []byte) {
		out = binary.AppendUvarint(out, uint64(len(b)))
		out = append(out, b...)
	}
	number := func(n int) { out = binary.AppendUvarint(out, uint64(n)) }
	number(len(r.rounds))
	for i := range r.rounds {
		h := &r.rounds[i]
		bytes(h.exchange)
		number(h.length)
		out = append(out, h.sum[:]...)
		number(len(h.signatures))
		for _, s := range h.signatures {
			out = append(out, s[:]...)
		}
		number(h.others)
	}
	number(len(r.beside))
	for _, b := range r.beside {
		number(b.calls)
		bytes(b.call)
		bytes(b.result)
	}
	return out
}

var errRecord = errors.New("not a record of hidden rounds")

// decode reads a record. Its slices are those of the data.
func decode(data []byte) (*record, error) {
	d := decoder{data: data}
	if d.byte() != format {
		return nil, errRecord
	}
	r := &record{}
	for range d.count() {
		h := hiddenRound{exchange: d.bytes(), length: d.number()}
		d.fixed(&h.sum)
		for range d.count() {
			var s [16]byte
			d.fixed(&s)
			h.signatures = append(h.signatures, s)
		}
		h.others = d.number()
		r.rounds = append(r.rounds, h)
	}
	for range d.count() {
		r.beside = append(r.beside, besideCall{calls: d.number(), call: d.bytes(), result: d.bytes()})
	}
	if d.bad || len(d.data) > 0 || len(r.rounds)+len(r.beside) == 0 {
		return nil, errRecord
	}
	return r, nil
}

// decoder reads what encode wrote; once something is wrong, all is zero.
type decoder struct {
	data []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.data) {
		d.bad, d.data = true, nil
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) number() int {
	n, size := binary.Uvarint(d.data)
	if size <= 0 || n > 1<<31 {
		d.take(-1)
		return 0
	}
	d.take(size)
	return int(n)
}

// count reads a number of elements, of which each takes a byte at least.
func (d *decoder) count() int {
	n := d.number()
	if n > len(d.data) {
		d.take(-1)
		return 0
	}
	return n
}

func (d *decoder) bytes() []byte { return d.take(d.number()) }

func (d *decoder) fixed(to *[16]byte) { copy(to[:], d.take(len(to))) }
