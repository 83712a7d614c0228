package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Answer is a successful answer that is still coming. One goroutine reads it;
// Close may be called by any, also while another reads.
type Answer struct {
	// Header is the answer's header.
	Header http.Header
	// RequestID is the id the request was sent with.
	RequestID string
	// Attempts counts the requests it took.
	Attempts int

	//nolint:containedctx // it is the request's, and says why reading ended
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	idle   time.Duration
	buffer []byte
	first  []byte // read by Send
	err    error  // that came with or after first
}

// Next returns the next piece, valid until the next call, or [io.EOF] after the
// last. Any other error means that the answer is not whole.
func (a *Answer) Next() ([]byte, error) {
	if len(a.first) > 0 {
		piece := a.first
		a.first = nil
		return piece, nil
	}
	if a.err != nil {
		return nil, a.err
	}
	var piece []byte
	if piece, a.err = a.read(); len(piece) > 0 {
		return piece, nil
	}
	return nil, a.err
}

// read waits for a piece. It returns bytes, an error, or both.
func (a *Answer) read() ([]byte, error) {
	timer := time.AfterFunc(a.idle, func() { a.cancel(ErrIdle) })
	defer timer.Stop()
	for {
		n, err := a.body.Read(a.buffer)
		if err != nil {
			// Also an end: hanging up can make the server finish neatly.
			err = caused(a.ctx, err)
		}
		if n > 0 || err != nil {
			return a.buffer[:n], err
		}
	}
}

// Close ends the request if it is not over, and gives back what it holds.
func (a *Answer) Close() {
	a.cancel(context.Canceled)
	_ = a.body.Close() // the answer's end is not interesting any more
}
