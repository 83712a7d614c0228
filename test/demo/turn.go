package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// demo is the state of a run.
type demo struct {
	s        *stack.Stack
	p        *printer
	root     string
	replicas int
	counters *tokens.Counters
	turns    int
	// outputs are the tool outputs of the conversation so far, commands says
	// what printed each.
	outputs  []string
	commands map[string]string
	checks   []check
	totals   pair // bytes and tokens over all turns
	best     expansion
	restored map[string]string // originals read back, by id
}

// check is one promise that was looked at.
type check struct {
	what string
	err  error
}

// pair is a size before and after.
type pair struct{ bytesBefore, bytesAfter, tokensBefore, tokensAfter int }

func (p *pair) add(q pair) {
	p.bytesBefore += q.bytesBefore
	p.bytesAfter += q.bytesAfter
	p.tokensBefore += q.tokensBefore
	p.tokensAfter += q.tokensAfter
}

// expansion is the output whose rewriting saved most.
type expansion struct {
	id, command, output string
	dialect             chat.Dialect
	saved               int
}

// turn is one request: what the client sent, what the provider received, and
// which command the model then asked for.
type turn struct {
	sent, received []byte
	reply          *stack.Reply
	next, output   string
}

func newDemo(s *stack.Stack, p *printer, replicas int) (*demo, error) {
	root, err := stack.Root()
	if err != nil {
		return nil, err
	}
	return &demo{s: s, p: p, root: root, replicas: replicas, counters: tokens.New(), commands: map[string]string{}, restored: map[string]string{}}, nil
}

func (d *demo) check(what string, err error) {
	d.checks = append(d.checks, check{what, err})
	if err != nil {
		d.p.alert("CHECK FAILED: %s: %v", what, err)
	}
}

// send sends the history as it stands and reports on the turn.
func (d *demo) send(ctx context.Context, c *chat.Conversation, model string, last turn) (turn, error) {
	body, err := c.Body(false)
	if err != nil {
		return turn{}, err
	}
	d.turns++
	replica := 0
	if d.replicas > 1 {
		replica = 1 + d.turns%d.replicas
	}
	t := turn{sent: body}
	if t.reply, t.received, err = d.post(ctx, c, body, replica); err != nil {
		return t, err
	}
	edits, restoreErr := chat.Restore(t.sent, t.received, func(id string) (string, error) { return d.original(ctx, c.Dialect(), id) })
	d.check(fmt.Sprintf("turn %d: every original can be read back, and nothing else differs", d.turns), restoreErr)
	if last.received != nil {
		d.check(fmt.Sprintf("turn %d: the history of turn %d is unchanged, so the provider's cache holds", d.turns, d.turns-1),
			chat.Prefix(last.received, t.received))
	}
	size, err := d.measure(c.Dialect(), model, t, edits)
	if err != nil {
		return t, err
	}
	d.totals.add(size)
	d.report(last, edits, size, replica)
	if d.replicas > 1 {
		return t, d.askOther(ctx, c, t, replica)
	}
	return t, nil
}

// askOther sends the same history to another replica. It must make the same of it.
func (d *demo) askOther(ctx context.Context, c *chat.Conversation, t turn, replica int) error {
	other := 1 + replica%d.replicas
	_, received, err := d.post(ctx, c, t.sent, other, probeHeader, "1")
	if err != nil {
		return err
	}
	var differs error
	if !bytes.Equal(received, t.received) {
		differs = fmt.Errorf("%d and %d bytes that differ", len(t.received), len(received))
	}
	d.check(fmt.Sprintf("turn %d: replica %d makes the same bytes of this history as replica %d", d.turns, other, replica), differs)
	return nil
}

// probeHeader marks requests that the scripted model takes no notice of.
const probeHeader = "x-demo-probe"

// unscripted answers such requests.
func unscripted(r *fakellm.Request) *fakellm.Turn {
	if r.Header.Get(probeHeader) == "" {
		return nil
	}
	return &fakellm.Turn{}
}

// original reads an original back through Envoy, once.
func (d *demo) original(ctx context.Context, dialect chat.Dialect, id string) (string, error) {
	if text, known := d.restored[id]; known {
		return text, nil
	}
	reply, err := d.s.Do(ctx, stack.Call{Path: expandPath + url.QueryEscape(id), Header: credential(dialect)})
	if err != nil {
		return "", err
	}
	if reply.Status != http.StatusOK {
		return "", fmt.Errorf("GET %s%s: status %d: %.200s", expandPath, id, reply.Status, reply.Body)
	}
	d.restored[id] = string(reply.Body)
	return d.restored[id], nil
}

// expandPath is the reserved path, answered by context-guru through Envoy.
const expandPath = "/context-guru/expand?id="

// credential is how the dialect's clients say who they are.
func credential(dialect chat.Dialect) map[string]string {
	if dialect == chat.Anthropic {
		return map[string]string{"x-api-key": stack.Credential, "authorization": "", "anthropic-version": "2023-06-01"}
	}
	return map[string]string{"authorization": "Bearer " + stack.Credential}
}

// measure counts the request's bytes and its tool outputs' tokens.
func (d *demo) measure(dialect chat.Dialect, model string, t turn, edits []chat.Edit) (pair, error) {
	counter, err := d.counters.ForModel(model)
	if err != nil {
		return pair{}, err
	}
	size := pair{bytesBefore: len(t.sent), bytesAfter: len(t.received)}
	for _, output := range d.outputs {
		size.tokensBefore += counter.Count(output).Tokens
	}
	size.tokensAfter = size.tokensBefore
	for _, edit := range edits {
		saved := counter.Count(edit.Client).Tokens - counter.Count(edit.Sent).Tokens
		size.tokensAfter -= saved
		if len(edit.IDs) > 0 && saved > d.best.saved {
			d.best = expansion{id: edit.IDs[0], dialect: dialect, saved: saved, command: d.commands[edit.Client], output: edit.Client}
		}
	}
	return size, nil
}
