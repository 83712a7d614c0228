package e2e

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/contextguru/contextguru/pipeline/pipelinetest/requesttest"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

const marking = external + "pipeline: [format, dedup, extract, collapse, cacheinject]\ncomponents: {cacheinject: {ttl: 1h}}\n"

// TestCacheMarks sends a conversation of a client that does not mark it, and
// judges what the provider received: where the marks stand, and that all laws
// hold with the marks aside.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(marking), stack.WithPinnedReplicas(2), stack.WithRedis(stack.RedisOptions{}))
	bodies, err := work(chat.Anthropic).Bodies()
	if err != nil {
		t.Fatal(err)
	}
	var previous []byte
	newest := 0 // messages up to the newest mark of the turn before
	for i, body := range bodies {
		_, got := exchange(t, s, stack.Call{Path: messagesPath, Body: body, Replica: 1 + i%2})
		if got.BodyError != "" || got.ContentLength != int64(len(got.Body)) {
			t.Fatalf("turn %d: content-length %d for %d bytes, %s", i+1, got.ContentLength, len(got.Body), got.BodyError)
		}
		_, other := exchange(t, s, stack.Call{Path: messagesPath, Body: body, Replica: 2 - i%2})
		equalBytes(t, "the other replica", other.Body, got.Body)
		plain := requesttest.Unmark(got.Body)
		restored(t, s, body, plain)
		if previous != nil {
			if err := chat.Prefix(previous, plain); err != nil {
				t.Errorf("turn %d: %v", i+1, err)
			}
		}
		previous = plain
		n, at, ttls := marked(t, got.Body)
		if n < 1 || n > 4 || ttls != n || requesttest.Count(got.Body) != n {
			t.Errorf("turn %d: %d marks, %d of them for an hour, %d by another count", i+1, n, ttls, requesttest.Count(got.Body))
		}
		// What the turn before wrote is read: a mark stands where its newest did.
		if newest > 0 && !at[newest] {
			t.Errorf("turn %d: no mark on message %d, where the turn before had its newest; marks on %v", i+1, newest, at)
		}
		for message := range at {
			newest = max(newest, message)
		}
		again, marks := exchange(t, s, stack.Call{Path: messagesPath, Body: got.Body, Replica: 1})
		if again.Status != 200 || !bytes.Equal(marks.Body, got.Body) {
			t.Errorf("turn %d: sent again it became another request", i+1)
		}
	}
	if newest < 10 {
		t.Errorf("the newest mark of the last turn is on message %d", newest)
	}
	// Providers that cache by themselves get none, and clients that mark no more.
	_, got := exchange(t, s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, "short"), Replica: 1})
	equalBytes(t, "a chat request", got.Body, question(t, chat.OpenAI, "short"))
	own := bytes.Replace(question(t, chat.Anthropic, "short"), []byte(`{"`), []byte(`{"cache_control":{"type":"ephemeral"},"`), 1)
	_, got = exchange(t, s, stack.Call{Path: messagesPath, Body: own, Replica: 1})
	equalBytes(t, "a client's own mark", got.Body, own)
	if n := metric(t, s, "contextguru_declines_total", "component", "cacheinject", "reason", "client_marks"); n < 1 {
		t.Errorf("%v requests counted that clients marked themselves", n)
	}
	if n := metric(t, s, "contextguru_edits_total", "component", "cacheinject"); n < float64(2*len(bodies)) {
		t.Errorf("%v requests counted that were marked, in %d turns sent twice", n, len(bodies))
	}
}

// marked counts the marks of a request, and those for an hour, and tells which
// messages have one: the first is 1.
func marked(t *testing.T, body []byte) (n int, messages map[int]bool, hours int) {
	t.Helper()
	type mark struct{ Type, TTL string }
	type block struct {
		Mark *mark `json:"cache_control"`
	}
	var request struct {
		Tools    []block
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	count := func(blocks []block) (here int) {
		for _, b := range blocks {
			if b.Mark != nil {
				here++
				if b.Mark.Type == "ephemeral" && b.Mark.TTL == "1h" {
					hours++
				}
			}
		}
		n += here
		return here
	}
	count(request.Tools)
	messages = map[int]bool{}
	for i, m := range request.Messages {
		var blocks []block
		if json.Unmarshal(m.Content, &blocks) == nil && count(blocks) > 0 {
			messages[i+1] = true
		}
	}
	return n, messages, hours
}
