package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextguru/contextguru/test/stack"
)

// subject is one ext_proc server behind an Envoy of its own.
type subject struct {
	name  string
	stack *stack.Stack
	pid   int // of the ext_proc server
}

// sample is one series of requests.
type sample struct {
	latency time.Duration // median
	server  time.Duration // CPU time of the ext_proc server per request
	envoy   time.Duration // CPU time of Envoy per request
}

// total is what one request costs the machine outside client and provider.
func (s sample) total() time.Duration { return s.server + s.envoy }

// run sends the bodies one after the other.
func (s *subject) run(ctx context.Context, bodies [][]byte) (sample, error) {
	serverBefore, err := cpu(s.pid)
	if err != nil {
		return sample{}, err
	}
	envoyBefore, err := cpu(s.stack.Envoy.PID())
	if err != nil {
		return sample{}, err
	}
	latencies := make([]time.Duration, 0, len(bodies))
	for _, body := range bodies {
		start := time.Now()
		reply, err := s.stack.Do(ctx, stack.Call{Path: "/v1/chat/completions", Body: body})
		if err != nil {
			return sample{}, err
		}
		if reply.Status != http.StatusOK {
			return sample{}, fmt.Errorf("%s: status %d", s.name, reply.Status)
		}
		latencies = append(latencies, time.Since(start))
	}
	serverAfter, err := cpu(s.pid)
	if err != nil {
		return sample{}, err
	}
	envoyAfter, err := cpu(s.stack.Envoy.PID())
	if err != nil {
		return sample{}, err
	}
	n := time.Duration(len(bodies))
	slices.Sort(latencies)
	return sample{
		latency: latencies[len(latencies)/2],
		server:  (serverAfter - serverBefore) / n,
		envoy:   (envoyAfter - envoyBefore) / n,
	}, nil
}

// clockTick is the unit of CPU time in /proc: USER_HZ is 100 on Linux.
const clockTick = 10 * time.Millisecond

// cpu is the user and system time a process has used, to 10 ms.
func cpu(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	// The second field, the command, is in parentheses and may hold blanks.
	_, rest, ok := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, errors.New("read CPU time: unknown form of /proc/PID/stat")
	}
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime, fields 14 and 15 of the file
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// medianOf returns the median of a figure over samples.
func medianOf[T any](list []T, figure func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = figure(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
