package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

func TestBreakerOpensProbesAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newBreaker(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults())
		down := fmt.Errorf("%w: connection refused", store.ErrUnavailable)
		ran := 0
		call := func(err error) error {
			return b.do(t.Context(), func(context.Context) error { ran++; return err })
		}
		for range DefaultBreakerFailures - 1 {
			_ = call(down)
		}
		_ = call(nil) // one success starts the count again
		for range DefaultBreakerFailures {
			if err := b.ready(); err != nil {
				t.Fatalf("open too early: %v", err)
			}
			_ = call(down)
		}
		before := ran
		if err := call(nil); !errors.Is(err, store.ErrUnavailable) || ran != before {
			t.Fatalf("after %d failures in a row: %v, ran %v; want a refusal", DefaultBreakerFailures, err, ran != before)
		}
		if err := b.ready(); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("ready while open: %v", err)
		}

		time.Sleep(DefaultBreakerPause + time.Millisecond)
		if err := call(down); ran != before+1 || !strings.Contains(err.Error(), "refused") {
			t.Fatalf("no probe after the pause: %v", err)
		}
		if err := call(nil); !errors.Is(err, store.ErrUnavailable) || ran != before+1 {
			t.Fatalf("a probe that failed must open again: %v", err)
		}

		time.Sleep(DefaultBreakerPause + time.Millisecond)
		release, started := make(chan struct{}), make(chan struct{})
		probe := make(chan error)
		go func() {
			probe <- b.do(t.Context(), func(context.Context) error { close(started); <-release; return nil })
		}()
		<-started
		if err := call(nil); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("a second call beside the probe: %v", err)
		}
		close(release)
		if err := <-probe; err != nil {
			t.Fatal(err)
		}
		if err := call(nil); err != nil {
			t.Fatalf("after a probe that worked: %v", err)
		}
		if got := strings.Count(log.String(), "store unavailable"); got != 1 {
			t.Errorf("logged the outage %d times, want once:\n%s", got, log.String())
		}
		if got := strings.Count(log.String(), "store available again"); got != 1 {
			t.Errorf("logged the recovery %d times, want once:\n%s", got, log.String())
		}
	})
}

func TestBreakerJudgement(t *testing.T) {
	t.Parallel()
	reply := func(text string) error { return fmt.Errorf("%w: %w", store.ErrUnavailable, redisError(text)) }
	late := fmt.Errorf("%w: %w", store.ErrUnavailable, context.DeadlineExceeded)
	b := newBreaker(Options{}.withDefaults())
	for _, c := range []struct {
		name string
		err  error
		took time.Duration
		want error
	}{
		{"fine", nil, 0, nil},
		{"not found", goredis.Nil, 0, nil},
		{"full", reply("OOM command not allowed when used memory > 'maxmemory'."), 0, nil},
		{"read-only", reply("READONLY You can't write against a read only replica."), 0, nil},
		{"loading", reply("LOADING Redis is loading the dataset in memory"), 0, errCounts},
		{"cluster down", reply("CLUSTERDOWN The cluster is down"), 0, errCounts},
		{"wrong password", reply("WRONGPASS invalid username-password pair or user is disabled."), 0, errCounts},
		{"caller gone", fmt.Errorf("%w: %w", store.ErrUnavailable, context.Canceled), time.Hour, errNoReport},
		{"no time given", late, DefaultPutTimeout/fairShare - 1, errNoReport},
		{"time given", late, DefaultPutTimeout / fairShare, errCounts},
		{"refused", errors.New("connection refused"), 0, errCounts},
		{"closed by us", store.ErrClosed, 0, errNoReport},
	} {
		if got := b.judge(c.err, c.took); !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// redisError is a reply as the client gives it.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
