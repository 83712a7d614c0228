package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/otlp"
)

// TestObserve sends the same conversations through a service that rewrites and
// one that observes. Behind the second the provider receives what the client
// sent and nothing is stored, and yet all figures are those of the first.
func TestObserve(t *testing.T) {
	t.Parallel()
	// One marker costs some tokens more than another, so both sign with one key.
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(mode string) *stack.Stack {
		config := external + "keys: [{id: k1, file: \"" + key + "\"}]\nmode: " + mode + "\n"
		return stack.New(t, stack.WithConfig(config), stack.WithRedis(stack.RedisOptions{}), stack.WithOTLP())
	}
	live, observed := start("sync"), start("observe")
	requests := 0
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		bodies, err := work(d).Bodies()
		if err != nil {
			t.Fatal(err)
		}
		for i, body := range bodies {
			exchange(t, live, stack.Call{Path: d.Path(), Body: body})
			reply, got := exchange(t, observed, stack.Call{Path: d.Path(), Body: body})
			equalBytes(t, "what the provider received", got.Body, body)
			if sent, err := got.Reply(within(t)); err != nil || !bytes.Equal(reply.Body, sent.Body) {
				t.Errorf("%v turn %d: the client got another answer than the provider gave, %v", d, i+1, err)
			}
			requests++
		}
	}
	projected := func() (spans []otlp.Span) {
		return slices.DeleteFunc(observed.OTLP.Spans(), func(s otlp.Span) bool { return s.Name != "contextguru.projection" })
	}
	if _, err := observed.OTLP.WaitSpan(within(t), func(otlp.Span) bool { return len(projected()) >= requests }); err != nil {
		t.Fatal(err)
	}
	want, got := figures(t, live), figures(t, observed)
	if lossy(live, false) && want.Totals.Markers == 0 || want.Totals.TokensUnique.After >= want.Totals.TokensUnique.Before {
		t.Errorf("nothing was saved: %+v", want.Totals)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-sync +observe):\n%s", diff)
	}
	for _, name := range []string{"tokens", "request_bytes", "edits", "tokens_saved", "markers", "exchanges"} {
		a, b := metric(t, live, "contextguru_"+name+"_total"), metric(t, observed, "contextguru_potential_"+name+"_total")
		if a != b || a == 0 && name != "markers" {
			t.Errorf("%s: %v in sync, %v in observe", name, a, b)
		}
	}
	if n := metric(t, observed, "contextguru_tokens_total") + metric(t, observed, "contextguru_observe_dropped_total"); n != 0 {
		t.Errorf("observing counted %v as if it had been done, or dropped", n)
	}
	if n := metric(t, observed, "contextguru_exchanges_total", "reason", "observe"); int(n) != requests {
		t.Errorf("%v exchanges observed, want %d", n, requests)
	}
	if keys, err := observed.Redis.Keys(within(t), "cg:*"); err != nil || len(keys) > 0 {
		t.Errorf("observing left %q in the store, %v", keys, err)
	}
	for _, s := range projected() {
		if s.Attributes["contextguru.verdict"] == nil {
			t.Errorf("a projection without a verdict: %v", s.Attributes)
		}
	}
}

func figures(t *testing.T, s *stack.Stack) stack.Stats {
	t.Helper()
	stats, err := s.Service().Stats(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return stats
}
