package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/contextguru/contextguru/store"
)

// fairShare is the part of the put timeout a call must have had before running
// out of time says something about the server rather than about the caller.
const fairShare = 10

// The breaker counts these, not the errors the caller sees.
var (
	errCounts   = errors.New("counts as a failure of the server")
	errNoReport = errors.New("says nothing about the server either way")
)

// breaker refuses calls at once while the server is known not to answer.
type breaker struct {
	cb   *gobreaker.CircuitBreaker[struct{}]
	fair time.Duration
}

func newBreaker(o Options) *breaker {
	return &breaker{
		fair: o.PutTimeout / fairShare,
		cb: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
			MaxRequests:  1, // one probe at a time
			Timeout:      o.BreakerPause,
			ReadyToTrip:  func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= o.BreakerFailures },
			IsSuccessful: func(err error) bool { return err == nil },
			IsExcluded:   func(err error) bool { return errors.Is(err, errNoReport) },
			OnStateChange: func(_ string, from, to gobreaker.State) {
				switch to {
				case gobreaker.StateOpen:
					if from == gobreaker.StateClosed {
						o.Logger.Warn("store unavailable", slog.Duration("probe_every", o.BreakerPause))
					}
				case gobreaker.StateClosed:
					o.Logger.Info("store available again")
				case gobreaker.StateHalfOpen:
				}
			},
		}),
	}
}

// ready fails at once when a call would be refused, before any work for it is done.
func (b *breaker) ready() error {
	if b.cb.State() == gobreaker.StateOpen {
		return refused(gobreaker.ErrOpenState)
	}
	return nil
}

// do runs one exchange with the server unless the breaker refuses it.
func (b *breaker) do(ctx context.Context, exchange func(context.Context) error) error {
	var err error
	_, verdict := b.cb.Execute(func() (struct{}, error) {
		start := time.Now()
		err = exchange(ctx)
		return struct{}{}, b.judge(err, time.Since(start))
	})
	if errors.Is(verdict, gobreaker.ErrOpenState) || errors.Is(verdict, gobreaker.ErrTooManyRequests) {
		return refused(verdict)
	}
	return err
}

// judge decides what an outcome says about the server's health.
func (b *breaker) judge(err error, took time.Duration) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrClosed):
		return errNoReport
	case errors.Is(err, context.DeadlineExceeded) && took < b.fair:
		return errNoReport
	case answered(err):
		return nil
	}
	return errCounts
}

func refused(cause error) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
}
