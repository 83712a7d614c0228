package fakellm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// randomSize is the largest write of SplitRandom if the script gives none.
const randomSize = 64

// sender writes one response.
type sender struct {
	ctx  context.Context
	w    http.ResponseWriter
	ctl  *http.ResponseController
	turn *Turn
	kept *keeper
}

// deliver sends a response as its turn says. The connection is to be dropped
// afterwards if drop is true.
func (s *Server) deliver(ctx context.Context, w http.ResponseWriter, r *http.Request, turn Turn, p *payload) (reply Reply, drop bool) {
	out := &sender{
		ctx: ctx, w: w, ctl: http.NewResponseController(w), turn: &turn,
		kept: &keeper{buf: new(bytes.Buffer), limit: s.bodyLimit, sum: sha256.New()},
	}
	defer func() {
		reply.Size, reply.SHA256 = out.kept.size, out.kept.digest()
		if out.kept.size <= s.bodyLimit {
			reply.Body = out.kept.buf.Bytes()
		}
	}()
	if turn.Before != nil {
		turn.Before(ctx, -1)
	}
	if !sleep(ctx, turn.Delay.Headers) {
		return Reply{Outcome: s.gone()}, true
	}
	if f := p.fault; f != nil && (f.At == "" || f.At == AtHeaders) {
		return s.strike(out, r, f, Reply{})
	}
	reply.Status = p.status
	hasBody := r.Method != http.MethodHead && p.status != http.StatusNoContent && p.status != http.StatusNotModified
	out.headers(p, hasBody)
	if hasBody && !out.body(p) {
		reply.Outcome = s.gone()
		return reply, true
	}
	if p.fault != nil {
		return s.strike(out, r, p.fault, reply)
	}
	if turn.Delay.End > 0 && (out.ctl.Flush() != nil || !sleep(ctx, turn.Delay.End)) {
		reply.Outcome = s.gone()
		return reply, true
	}
	for name, value := range turn.Trailer {
		w.Header().Set(name, value)
	}
	reply.Outcome = Complete
	return reply, false
}

// headers sends status and headers. They leave together with the first byte of
// the body unless something is to happen in between.
func (o *sender) headers(p *payload, hasBody bool) {
	h := o.w.Header()
	maps.Copy(h, p.header)
	for name := range o.turn.Trailer {
		h.Add("Trailer", name)
	}
	// A body that ends cleanly before its time must not announce its length.
	short := p.fault != nil && p.fault.Do == FaultEnd || p.length < 0
	if hasBody && !p.stream && !o.turn.Chunked && o.turn.Trailer == nil && !short {
		h.Set("Content-Length", strconv.Itoa(p.length))
	}
	o.w.WriteHeader(p.status)
	// What is not flushed net/http may still send with a content-length.
	if o.turn.Delay.First > 0 || (p.fault != nil || o.turn.Chunked) && len(p.parts) == 0 {
		// A failed flush shows in the first write as well.
		_ = o.ctl.Flush()
	}
}

// body writes the parts; false means that the client went away.
func (o *sender) body(p *payload) bool {
	if !sleep(o.ctx, o.turn.Delay.First) {
		return false
	}
	data := bytes.Join(p.parts, nil)
	cut := o.turn.Split.cutter(p.parts)
	next, start := 0, 0 // the event that starts next, and where
	for at := 0; at < len(data); {
		end := min(len(data), at+cut())
		if at > 0 && !sleep(o.ctx, o.turn.Delay.Write) {
			return false
		}
		for ; next < len(p.parts) && start < end; next++ {
			if !o.announce(next) {
				return false
			}
			start += len(p.parts[next])
		}
		if !o.write(data[at:end], p.stream || end < len(data) || p.fault != nil || o.turn.Chunked) {
			return false
		}
		at = end
	}
	return true
}

// announce waits for what the turn wants to happen before an event.
func (o *sender) announce(index int) bool {
	if index > 0 && !sleep(o.ctx, o.turn.Delay.Event) {
		return false
	}
	if o.turn.Before != nil {
		o.turn.Before(o.ctx, index)
	}
	return o.ctx.Err() == nil
}

func (o *sender) write(p []byte, flush bool) bool {
	n, err := o.w.Write(p)
	_, _ = o.kept.Write(p[:n]) // a keeper does not fail
	if err != nil {
		return false
	}
	return !flush || o.ctl.Flush() == nil
}

// cutter returns a function that gives the size of the next write.
func (s Split) cutter(parts [][]byte) func() int {
	most := s.Size
	switch s.Mode {
	case SplitBytes:
		return func() int { return max(1, most) }
	case SplitRandom:
		if most == 0 {
			most = randomSize
		}
		rng := rand.New(rand.NewPCG(s.Seed, uint64(most)))
		return func() int { return 1 + rng.IntN(most) }
	case SplitNone:
		return func() int { return size(parts) }
	case SplitEvents:
	}
	i := -1
	return func() int {
		i++
		return len(parts[i])
	}
}

// strike makes a fault happen.
func (s *Server) strike(out *sender, r *http.Request, f *Fault, reply Reply) (Reply, bool) {
	reply.Outcome = Cut
	switch f.Do {
	case FaultEnd, FaultError:
		return reply, false
	case FaultHang:
		<-out.ctx.Done()
		reply.Outcome = s.gone()
	case FaultReset:
		out.reset(r)
	case FaultAbort:
	}
	return reply, true
}

// reset drops an HTTP/1.1 connection in a way that makes TCP send a reset.
func (o *sender) reset(r *http.Request) {
	if r.ProtoMajor != 1 {
		return
	}
	conn, _, err := o.ctl.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Closing with no time to linger discards the connection. Neither
		// error changes what the caller does next.
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// sleep waits and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
