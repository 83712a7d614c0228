package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
)

// tries is how often a round is begun: an answer that breaks off before the
// client got anything of it is asked for once more.
const tries = 2

// next sends the request on and reads the answer to its end.
func (r *run) next(ctx context.Context) (*round.Turn, error) {
	for try := 1; ; try++ {
		r.stream.Continue()
		err := r.read(ctx)
		if errors.As(err, &goneError{}) {
			return nil, err
		}
		if err != nil && (r.stream.Said() || try == tries || ctx.Err() != nil) {
			return nil, r.why(ctx, err)
		}
		out, turn := r.stream.End()
		if gone := r.out(out); gone != nil {
			return nil, gone
		}
		switch {
		case err == nil && turn == nil:
			return nil, &failure{ReasonBroken, errors.New("the answer cannot be read")}
		case err == nil && turn.Failed && !r.stream.Said() && try < tries:
		case err == nil:
			r.l.Rounds++
			return turn, nil
		}
	}
}

func (r *run) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &failure{ReasonUpstream, err}
}

// read sends the request and writes the answer into the stream, with signs of
// life for the client while there is nothing else.
func (r *run) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	pieces := make(chan piece)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.fetch(ctx, pieces)
	}()
	defer func() {
		cancel()
		<-done // nothing of this round outlives it
	}()
	alive := time.NewTicker(r.d.c.KeepAlive)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-alive.C:
			if err := r.alive(); err != nil {
				return err
			}
		case p := <-pieces:
			if p.end || p.err != nil {
				return p.err
			}
			out := r.stream.Write(p.bytes)
			if len(out) > 0 {
				alive.Reset(r.d.c.KeepAlive)
			}
			if err := r.out(out); err != nil {
				return err
			}
			if r.stream.Done() {
				return nil
			}
		}
	}
}

// alive sends a blank line, which stands between two events or in front of a
// body: whole events only are sent, and an answer that is not streamed comes in
// one piece.
func (r *run) alive() error { return r.out([]byte("\n")) }

// piece is a piece of an answer, its end, or why there is none.
type piece struct {
	bytes []byte
	end   bool
	err   error
}

// fetch sends the request and passes its answer on until the end or ctx's.
func (r *run) fetch(ctx context.Context, to chan<- piece) {
	give := func(p piece) bool {
		select {
		case to <- p:
			return p.err == nil && !p.end
		case <-ctx.Done():
			return false
		}
	}
	request := r.x.Request
	request.Body = r.body
	answer, err := r.d.c.Sender.Send(ctx, request)
	if err != nil {
		give(piece{err: fmt.Errorf("continue: %w", err)})
		return
	}
	defer answer.Close()
	if form, ok := splice.FormOf(answer.Header.Get("Content-Type")); !ok || form != r.x.Form {
		give(piece{err: fmt.Errorf("continue: an answer of type %.60q", answer.Header.Get("Content-Type"))})
		return
	}
	for {
		read, err := answer.Next()
		p := piece{bytes: bytes.Clone(read), err: err}
		if err == io.EOF { //nolint:errorlint // a connection that broke off wraps it at times, and is no end
			p.end, p.err = true, nil
		}
		if !give(p) { // the next call overwrites it
			return
		}
	}
}

var _ Sender = (*upstream.Client)(nil)
