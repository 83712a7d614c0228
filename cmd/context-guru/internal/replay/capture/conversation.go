// Package capture reads recorded conversations: transcripts, which are the last
// request of a conversation each, and captures, which hold one request per line.
//
// Only what tells the conversations apart is kept in memory. The requests are
// read again when a conversation is opened, so its files must not change.
package capture

import (
	"fmt"
	"os"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Conversation is one recorded conversation.
type Conversation struct {
	// Set is the folder it was found in, ID names it there.
	Set, ID string
	Dialect wire.Dialect
	// Model is the model of its requests' path; one in a body counts more.
	Model string

	path     string
	requests int
	lines    []place  // of a capture
	bodies   [][]byte // of one that is in memory
}

// place is where a line stands in a file.
type place struct {
	offset int64
	length int
}

// New returns a conversation of requests that are in memory.
func New(set, id string, d wire.Dialect, bodies ...[]byte) *Conversation {
	return &Conversation{Set: set, ID: id, Dialect: d, requests: len(bodies), bodies: bodies}
}

// Len returns the number of requests.
func (c *Conversation) Len() int { return c.requests }

// Name tells conversations apart.
func (c *Conversation) Name() string { return c.Set + "/" + c.ID }

// Requests gives the requests of a conversation, from the first on.
type Requests struct {
	c    *Conversation
	file *os.File        // of a capture
	last *prompt.Outline // of a transcript
	cuts []int
}

// Open returns the requests. They must be closed.
func (c *Conversation) Open() (*Requests, error) {
	r := &Requests{c: c}
	switch {
	case c.bodies != nil:
	case c.lines != nil:
		f, err := os.Open(c.path)
		if err != nil {
			return nil, err
		}
		r.file = f
	default:
		body, err := os.ReadFile(c.path)
		if err != nil {
			return nil, err
		}
		if r.last, err = prompt.Read(body); err != nil {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
		if r.cuts = r.last.Cuts(); len(r.cuts) != c.requests {
			return nil, fmt.Errorf("%s has changed", c.path)
		}
	}
	return r, nil
}

// Close ends reading.
func (r *Requests) Close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// Request returns a request. It must not be changed.
func (r *Requests) Request(i int) ([]byte, error) {
	switch {
	case r.c.bodies != nil:
		return r.c.bodies[i], nil
	case r.last != nil:
		return r.last.Cut(r.cuts[i]), nil
	}
	at := r.c.lines[i]
	text := make([]byte, at.length)
	if _, err := r.file.ReadAt(text, at.offset); err != nil {
		return nil, fmt.Errorf("%s: read the request at byte %d: %w", r.c.path, at.offset, err)
	}
	line, err := readLine(text)
	if err != nil {
		return nil, fmt.Errorf("%s has changed: %w", r.c.path, err)
	}
	return line.body, nil
}

// Sample picks so many conversations of every set and dialect, spread evenly;
// 0 picks all. They must be in the order of Load.
func Sample(conversations []*Conversation, most int) []*Conversation {
	if most <= 0 {
		return conversations
	}
	var picked []*Conversation
	for start := 0; start < len(conversations); {
		end := start
		for end < len(conversations) && conversations[end].Set == conversations[start].Set && conversations[end].Dialect == conversations[start].Dialect {
			end++
		}
		n := end - start
		for i := range min(n, most) {
			picked = append(picked, conversations[start+i*n/min(n, most)])
		}
		start = end
	}
	return picked
}
