package upstream

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// permanentError is a request that cannot be sent.
type permanentError struct{ error }

// Unwrap returns the reason.
func (e *permanentError) Unwrap() error { return e.error }

// refusal is a StatusError with the server's wish for a pause.
type refusal struct {
	StatusError

	after http.Header
}

// Unwrap returns what callers see.
func (e *refusal) Unwrap() error { return &e.StatusError }

// again reports whether another attempt may do better.
func again(err error) bool {
	if _, ok := errors.AsType[*permanentError](err); ok {
		return false
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		switch {
		case r.after.Get("X-Should-Retry") == "true": // the word of OpenAI and Anthropic to their SDKs
			return true
		case r.after.Get("X-Should-Retry") == "false":
			return false
		}
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusRequestTimeout ||
			r.Status == http.StatusConflict || r.Status >= http.StatusInternalServerError
	}
	// Waits that ended were long enough; everything else is a broken connection.
	return !errors.Is(err, ErrHeaderWait) && !errors.Is(err, ErrIdle) && !errors.Is(err, context.Canceled)
}

// pauser makes the pauses between attempts longer and longer.
type pauser struct{ last time.Duration }

// wait waits before the next attempt. It is false when the pause would be too
// long, or when ctx ended.
func (p *pauser) wait(ctx context.Context, err error, most time.Duration) bool {
	p.last = min(max(2*p.last, firstPause), most)
	pause := p.last
	if r, ok := errors.AsType[*refusal](err); ok {
		if asked, ok := retryAfter(r.after); ok {
			pause = asked
		}
	}
	if pause > most {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter reads how long a server wants to be left alone. Of a date only the
// distance to the server's own clock counts.
func retryAfter(h http.Header) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	return max(until.Sub(from), 0), true
}
