package e2e

import (
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// TestVersionDecidesWhatIsDone tells the service nothing about its Envoy: it
// learns the version from the requests, does what that version can bear, and
// says once what it leaves out. Told a version, it takes the operator's word.
func TestVersionDecidesWhatIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		// told is the minor version in the configuration, 0 for none.
		told int
		sole bool
	}{
		"learnt":           {"", 0, false},
		"learnt, sole":     {"envoy: {sole_ext_proc: true}\n", 0, true},
		"told an old one":  {"envoy: {version: 1.38.3}\n", 38, false},
		"told a very old":  {"envoy: {version: 1.36.0, sole_ext_proc: true}\n", 36, true},
		"told a later one": {"envoy: {version: 1.40.0}\n", 40, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, stack.WithConfig(external+c.config))
			minor := s.Envoy.Minor()
			if c.told > minor {
				t.Skip("an operator who claims a newer Envoy than there is gets what that one cannot do")
			}
			if c.told > 0 {
				minor = c.told
			}
			floor := map[bool]int{false: 39, true: 37}[c.sole]
			for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
				// Twice: what is said must not be said again.
				for range 2 {
					body := question(t, d, testLog(300))
					reply, got := exchange(t, s, stack.Call{Protocol: stack.Protocol(d), Path: d.Path(), Body: body})
					edits := restored(t, s, body, got.Body)
					if want := map[bool]int{true: 1, false: 0}[minor >= floor]; markers(edits) != want {
						t.Errorf("%v: %d markers behind Envoy 1.%d, want %d", d, markers(edits), minor, want)
					}
					sameAnswer(t, d.String(), reply, got)
				}
			}
			log := s.Service().Log().String()
			for message, said := range map[string]bool{"envoy_too_old": minor < floor, "envoy_ignores_route_limit": minor < 37} {
				if got, want := strings.Count(log, message), map[bool]int{true: 1, false: 0}[said]; got != want {
					t.Errorf("%d lines of %s behind Envoy 1.%d, want %d", got, message, minor, want)
				}
			}
			stats, err := s.Envoy.ExtProcStats(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if stats["spurious_msgs_received"] != 0 || stats["failure_mode_allowed"] != 0 {
				t.Errorf("Envoy counts %v", stats)
			}
		})
	}
}
