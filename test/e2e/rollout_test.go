package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// Two configurations that rewrite the same outputs differently.
const (
	far    = "expand: {resolver: external}\ncache: {horizon_tokens: 100000000}\n"
	before = far + "pipeline: [format, dedup, collapse]\ncomponents: {collapse: {max_tokens: 500}}\n"
	after  = far + "pipeline: [extract, collapse]\ncomponents: {collapse: {max_tokens: 900, head_lines: 3, tail_lines: 3}}\n"
)

// traveller is a conversation that both replicas are sent.
type traveller struct {
	name     string
	bodies   [][]byte
	turn     int
	previous []byte
}

func newTraveller(t *testing.T, d chat.Dialect, name string) *traveller {
	t.Helper()
	c := &traveller{name: fmt.Sprint(d, " ", name)}
	for _, body := range journey(t, d, 7, 12) {
		// What a conversation begins with is its name.
		c.bodies = append(c.bodies, bytes.Replace(body, []byte("Make it work."), []byte("Make it work, "+name+"."), 1))
	}
	return c
}

// step sends the next turns to one replica and then to the other, which must
// rewrite them to the same bytes, each a continuation of the last.
func (c *traveller) step(t *testing.T, s *stack.Stack, path string, turns int) {
	t.Helper()
	for range turns {
		body := c.bodies[c.turn]
		c.turn++
		_, one := exchange(t, s, stack.Call{Path: path, Body: body, Replica: 1 + c.turn%2})
		_, other := exchange(t, s, stack.Call{Path: path, Body: body, Replica: 2 - c.turn%2})
		equalBytes(t, fmt.Sprintf("%s, turn %d, on the other replica", c.name, c.turn), other.Body, one.Body)
		if c.previous != nil {
			if err := chat.Prefix(c.previous, one.Body); err != nil {
				t.Errorf("%s, turn %d: %v", c.name, c.turn, err)
			}
		}
		c.previous = one.Body
	}
}

// TestRollout takes conversations over a rollout: a replica comes back with
// another configuration, then the other one loads it without a restart. Whatever
// began before goes on as it began, on both.
func TestRollout(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(before), stack.WithRedis(stack.RedisOptions{}), stack.WithPinnedReplicas(2))
	for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
		old := newTraveller(t, d, "old")
		old.step(t, s, d.Path(), 3)

		if err := s.Services[1].Configure(after); err != nil {
			t.Fatal(err)
		}
		if err := s.Services[1].Restart(within(t)); err != nil {
			t.Fatal(err)
		}
		between := newTraveller(t, d, "between")
		between.step(t, s, d.Path(), 3) // begins on replica 2
		old.step(t, s, d.Path(), 3)

		configure(t, after, "config_reloaded", s.Services[0])
		fresh := newTraveller(t, d, "fresh")
		for _, c := range []*traveller{fresh, old, between} {
			c.step(t, s, d.Path(), 3)
		}
		old.step(t, s, d.Path(), 3)
		between.step(t, s, d.Path(), 3)

		// The laws hold trivially when both configurations do the same.
		same := func(c *traveller) []byte {
			return bytes.ReplaceAll(c.previous, []byte(", "+c.name[len(fmt.Sprint(d, " ")):]+"."), []byte("."))
		}
		fresh.step(t, s, d.Path(), 9)
		if bytes.Equal(same(old), same(fresh)) {
			t.Errorf("%v: both configurations rewrite alike", d)
		}
		configure(t, before, "config_reloaded", s.Services...)
	}
	for _, reason := range []string{"lost", "unavailable", "unloaded", "late"} {
		if n := metric(t, s, "contextguru_generation_breaks_total", "reason", reason); n != 0 {
			t.Errorf("%v breaks: %s", n, reason)
		}
	}
}

// configure gives replicas a configuration and waits for what they say of it,
// without a restart.
func configure(t *testing.T, config, event string, services ...*stack.Service) {
	t.Helper()
	for _, service := range services {
		mark := service.Log().Mark()
		if err := service.Configure(config); err != nil {
			t.Fatal(err)
		}
		if err := service.Process().Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		said := func(line string) bool { return strings.Contains(line, event) }
		if _, err := service.Log().Wait(within(t), mark, said); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConfigAtFaultChangesNothing reloads a file that cannot be run.
func TestConfigAtFaultChangesNothing(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(before))
	c := newTraveller(t, chat.OpenAI, "only")
	_, got := exchange(t, s, stack.Call{Path: chatPath, Body: c.bodies[2]})
	configure(t, "pipeline: [no_such_component]\n", "config_refused", s.Service())
	if n := metric(t, s, "contextguru_config_reloads_total", "outcome", "refused"); n != 1 {
		t.Errorf("%v refused", n)
	}
	_, again := exchange(t, s, stack.Call{Path: chatPath, Body: c.bodies[2]})
	equalBytes(t, "after a configuration at fault", again.Body, got.Body)
	if len(got.Body) >= len(c.bodies[2]) {
		t.Error("nothing was rewritten")
	}
}
