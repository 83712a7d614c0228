package cacheinject_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/cacheinject"
	"github.com/contextguru/contextguru/pipeline/pipelinetest/requesttest"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// lookBack is how many blocks in front of a mark the provider looks for what an
// earlier request wrote.
const lookBack = 20

// cache is a provider's: what was written, by all that the model reads up to there.
type cache map[string]bool

// block is one block of a request without its mark.
type block struct {
	text   string
	marked bool
}

// ask sends a request, and returns up to which block it was read from the cache,
// up to which it is in the cache now, and how many blocks it has.
func (c cache) ask(tb testing.TB, body []byte) (read, kept, all int) {
	tb.Helper()
	blocks := flatten(tb, body)
	prefixes := make([]string, len(blocks)+1)
	for i, b := range blocks {
		prefixes[i+1] = prefixes[i] + "|" + b.text
	}
	for i, b := range blocks {
		if !b.marked {
			continue
		}
		for at := i + 1; at > max(0, i+1-lookBack); at-- {
			if c[prefixes[at]] {
				read = max(read, at)
			}
		}
		kept = i + 1
	}
	for i, b := range blocks {
		if b.marked {
			c[prefixes[i+1]] = true
		}
	}
	return read, kept, len(blocks)
}

// flatten lists what the model reads, in its order.
func flatten(tb testing.TB, body []byte) (blocks []block) {
	tb.Helper()
	var request struct {
		Tools, System []map[string]any
		Messages      []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		tb.Fatal(err)
	}
	add := func(at string, value any) {
		b := block{}
		if m, ok := value.(map[string]any); ok {
			_, b.marked = m["cache_control"]
			delete(m, "cache_control")
		}
		b.text = fmt.Sprint(at, value)
		blocks = append(blocks, b)
	}
	for _, tool := range request.Tools {
		add("tool", tool)
	}
	for _, part := range request.System {
		add("system", part)
	}
	for _, m := range request.Messages {
		list, ok := m.Content.([]any)
		if !ok {
			list = []any{m.Content}
		}
		for _, part := range list {
			add(m.Role, part)
		}
	}
	return blocks
}

// conversation makes the requests of one, with up to a number of calls in a turn.
func conversation(rnd *rand.Rand, turns, calls int) (requests [][]byte) {
	messages := `{"role":"user","content":[{"type":"text","text":"Go."}]}`
	for turn := range turns + 1 {
		requests = append(requests, []byte(`{"tools":[{"name":"f"}],"system":[{"type":"text","text":"You are an agent."}],"messages":[`+messages+`]}`))
		var uses, results []string
		for call := range 1 + rnd.IntN(calls) {
			id := fmt.Sprintf("c%d.%d", turn, call)
			uses = append(uses, `{"type":"tool_use","id":"`+id+`","name":"f","input":{}}`)
			results = append(results, `{"type":"tool_result","tool_use_id":"`+id+`","content":"x `+id+`"}`)
		}
		messages += `,{"role":"assistant","content":[` + strings.Join(uses, ",") + `]},{"role":"user","content":[` + strings.Join(results, ",") + `]}`
	}
	return requests
}

// Everything the request before wrote is read, however many calls a turn has, and
// everything of a request is written, so that no block is ever paid for twice.
func TestEachRequestReadsWhatTheOneBeforeWrote(t *testing.T) {
	t.Parallel()
	step := requesttest.Build(t, cacheinject.Spec(), "{}")
	for seed := range uint64(20) {
		provider, before := cache{}, 0
		for turn, body := range conversation(rand.New(rand.NewPCG(seed, 3)), 12, 1+int(seed)*2) {
			sent, _ := requesttest.Rewrite(t, wire.AnthropicMessages, body, step)
			read, kept, all := provider.ask(t, sent)
			if read != before || kept != all {
				t.Errorf("seed %d turn %d: read %d of the %d blocks written before, wrote %d of %d", seed, turn, read, before, kept, all)
			}
			before = kept
		}
	}
}

// When the outputs of the last turns change, what is in front is still read: at
// least up to the middle, and for another conversation system and tools.
func TestChangedHistoriesReadUpToTheMiddle(t *testing.T) {
	t.Parallel()
	step := requesttest.Build(t, cacheinject.Spec(), "{}")
	provider := cache{}
	requests := conversation(rand.New(rand.NewPCG(1, 4)), 40, 3)
	for turn, body := range requests {
		sent, _ := requesttest.Rewrite(t, wire.AnthropicMessages, body, step)
		provider.ask(t, sent)
		if turn < 2 {
			continue
		}
		changed := strings.ReplaceAll(string(sent), fmt.Sprintf(`"x c%d.`, turn/2), `"y `)
		read, _, _ := provider.ask(t, []byte(changed))
		if least := len(flatten(t, requests[turn/4])); read < least {
			t.Errorf("turn %d: read %d blocks, want those of turn %d: %d", turn, read, turn/4, least)
		}
	}
	other := strings.ReplaceAll(string(requests[0]), "Go.", "Come.")
	sent, _ := requesttest.Rewrite(t, wire.AnthropicMessages, []byte(other), step)
	if read, _, _ := provider.ask(t, sent); read != 2 {
		t.Errorf("another conversation read %d blocks, want the tool and the system prompt", read)
	}
}

// What a client sends as one string cannot be marked; the place in front is.
func TestStringsAreWalkedPast(t *testing.T) {
	t.Parallel()
	step := requesttest.Build(t, cacheinject.Spec(), "{}")
	for body, want := range map[string]int{
		`{"tools":[{"name":"f"}],"system":"s","messages":[{"role":"user","content":"a"}]}`:                                                       1,
		`{"tools":[{"name":"f","defer_loading":true}],"messages":[{"role":"user","content":"a"}]}`:                                               0,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`:                                                                  0, // asked once
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b"}]}`:                               1,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`: 1,
		// A summary of an agent's conversation, which has no tools.
		`{"messages":[{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"a"}]}]}`: 0,
		`{"thread":{"previous_message_id":"m"},"tools":[{"name":"f"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`:   0,
	} {
		sent, acts := requesttest.Rewrite(t, wire.AnthropicMessages, []byte(body), step)
		if got := requesttest.Count(sent); got != want {
			t.Errorf("%s: %d marks, want %d: %+v", body, got, want, acts)
		}
	}
}
