package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// journey is a long conversation drawn from a seed. Every turn brings one large
// output that was never seen before, the first one records that can be made
// smaller without loss; many turns bring more: files read again, failures, small
// outputs, several at once.
func journey(t *testing.T, d chat.Dialect, seed uint64, turns int) [][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(d)))
	c := chat.New(d, model(d), "You are a coding agent.").User("Make it work.")
	var seen []string
	for turn := range turns {
		texts := []string{fmt.Sprintf("journey %d, step %d of a %v\n", seed, turn, d) + testLog(150+r.IntN(150))}
		if turn == 0 {
			texts = append(texts, records(r.IntN(9), 60+r.IntN(60)))
		}
		for range r.IntN(3) {
			texts = append(texts, anOutput(r, seen))
		}
		seen = append(seen, texts...)
		var calls []chat.Call
		var results []chat.Result
		for i, text := range texts {
			id := fmt.Sprintf("call_%d_%d", turn, i)
			calls = append(calls, chat.Call{ID: id, Name: "run", Args: fmt.Sprintf(`{"command":"step %d"}`, turn)})
			results = append(results, chat.Result{ID: id, Text: text, Failed: r.IntN(6) == 0})
		}
		c.Calls([]string{"", "Next."}[r.IntN(2)], calls...).Results(results...)
		if r.IntN(5) == 0 {
			c.Assistant("Is that right?").User("Yes. Go on.")
		}
	}
	bodies, err := c.Bodies()
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

func anOutput(r *rand.Rand, seen []string) string {
	switch r.IntN(6) {
	case 0:
		return readAgain(r, seen)
	case 1:
		return records(r.IntN(50), 20+r.IntN(80))
	case 2:
		return sourceFile(20 + r.IntN(120))
	case 3:
		return strings.ReplaceAll(testLog(50+r.IntN(50)), "\n", "\r\n")
	case 4:
		return strings.Repeat(fmt.Sprintf("waiting for shard %d …\n", r.IntN(9)), 100+r.IntN(400))
	default:
		return "ok"
	}
}

// readAgain is an output there was before.
func readAgain(r *rand.Rand, seen []string) string {
	if len(seen) == 0 {
		return "nothing yet"
	}
	return seen[r.IntN(len(seen))]
}

// TestLawsOnRandomReplicas sends long conversations over two replicas, each turn
// to one drawn at random, through a restart of one of them in the middle; then
// once more from the start, after both have forgotten everything.
func TestLawsOnRandomReplicas(t *testing.T) {
	t.Parallel()
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, stack.WithConfig(steady), stack.WithRedis(stack.RedisOptions{}), stack.WithPinnedReplicas(2))
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, 7))
				bodies := journey(t, d, seed, 20)
				sent := travel(t, s, d, r, bodies, func(turn int) {
					if turn == len(bodies)/2 {
						restart(t, s, s.Services[r.IntN(2)])
					}
				})
				restart(t, s, s.Services...)
				again := travel(t, s, d, r, bodies, func(int) {})
				for i := range sent {
					equalBytes(t, fmt.Sprintf("seed %d, turn %d after all was forgotten", seed, i+1), again[i], sent[i])
				}
			}
			for i, service := range s.Services {
				stats, err := service.Stats(within(t))
				if err != nil {
					t.Fatal(err)
				}
				if stats.Totals.Requests < 10 || stats.Totals.LosslessOnly["store"] > 0 {
					t.Errorf("replica %d: %+v", i+1, stats.Totals)
				}
			}
		})
	}
}

func restart(t *testing.T, s *stack.Stack, services ...*stack.Service) {
	t.Helper()
	for _, service := range services {
		if err := service.Restart(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	reaches(t, s)
}

// travel sends a conversation turn by turn to random replicas, checks both laws
// at every turn, and returns what the provider received.
func travel(t *testing.T, s *stack.Stack, d chat.Dialect, r *rand.Rand, bodies [][]byte, before func(turn int)) (sent [][]byte) {
	t.Helper()
	read, cache := originals(t, s), map[string]string{}
	var edits []chat.Edit
	for i, body := range bodies {
		before(i)
		p := stack.Protocol(r.IntN(2))
		_, got := exchange(t, s, stack.Call{Protocol: p, Path: d.Path(), Body: body, Replica: 1 + r.IntN(2)})
		if i > 0 {
			if err := chat.Prefix(sent[i-1], got.Body); err != nil {
				t.Errorf("%v turn %d: %v", d, i+1, err)
			}
		}
		var err error
		edits, err = chat.Restore(body, got.Body, func(id string) (string, error) {
			if text, ok := cache[id]; ok {
				return text, nil
			}
			text, err := read(id)
			cache[id] = text
			return text, err
		})
		if err != nil {
			t.Errorf("%v turn %d: %v", d, i+1, err)
		}
		sent = append(sent, got.Body)
	}
	client, provider := bodies[len(bodies)-1], sent[len(sent)-1]
	// Below the floor the laws hold with lossless edits alone.
	if !lossy(s, false) {
		if len(edits) == 0 || markers(edits) > 0 {
			t.Errorf("%v: %d edits with %d markers, want lossless ones only", d, len(edits), markers(edits))
		}
		return sent
	}
	if markers(edits) < len(bodies)/2 || len(provider)*2 > len(client) {
		t.Errorf("%v: %d markers, %d of %d bytes: too little happened for this test to mean anything", d, markers(edits), len(provider), len(client))
	}
	t.Logf("%v: %d turns, last one %d → %d bytes, %d edits, %d originals", d, len(bodies), len(client), len(provider), len(edits), len(cache))
	return sent
}

// sameAnswer checks that the client got what the provider said.
func sameAnswer(t *testing.T, what string, reply *stack.Reply, got *fakellm.Request) {
	t.Helper()
	sent, err := got.Reply(within(t))
	if err != nil {
		t.Fatal(err)
	}
	equalBytes(t, what+": the answer", reply.Body, sent.Body)
}
