package proc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
)

// maxLog bounds what is kept of one program's output. The newest is kept: a
// failure is explained by what came last.
const maxLog = 8 << 20

// Log keeps the lines a program prints. Its methods are safe for concurrent
// use; several programs, or several runs of one, may write to the same Log.
type Log struct {
	mu      sync.Mutex
	lines   []string
	dropped int // lines let go at the front
	size    int
	partial []byte
	changed chan struct{}
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{changed: make(chan struct{})} }

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := append(l.partial, p...)
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		l.lines, l.size, text = append(l.lines, string(line)), l.size+len(line)+1, rest
	}
	l.partial = append([]byte(nil), text...)
	for l.size > maxLog {
		l.size -= len(l.lines[0]) + 1
		l.lines, l.dropped = l.lines[1:], l.dropped+1
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

// Mark returns a position: lines printed from now on lie behind it.
func (l *Log) Mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped + len(l.lines)
}

// Since returns the lines behind a mark, and the mark behind them.
func (l *Log) Since(mark int) (lines []string, next int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since(mark)
}

func (l *Log) since(mark int) ([]string, int) {
	next := l.dropped + len(l.lines)
	return append([]string(nil), l.lines[min(max(mark-l.dropped, 0), len(l.lines)):]...), next
}

// String returns all that is kept.
func (l *Log) String() string {
	lines, _ := l.Since(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(append(lines, string(l.partial)), "\n")
}

// Tail returns at most n bytes of the end, from the start of a line.
func (l *Log) Tail(n int) string {
	text := l.String()
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	return "[...]\n" + text[strings.IndexByte(text, '\n')+1:]
}

// Wait returns the first line behind the mark that matches, as soon as it is
// printed. It returns an error if the context ends first.
func (l *Log) Wait(ctx context.Context, mark int, match func(line string) bool) (string, error) {
	for {
		l.mu.Lock()
		lines, next := l.since(mark)
		changed := l.changed
		l.mu.Unlock()
		for _, line := range lines {
			if match(line) {
				return line, nil
			}
		}
		mark = next
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("wait for a log line: %w", context.Cause(ctx))
		}
	}
}
