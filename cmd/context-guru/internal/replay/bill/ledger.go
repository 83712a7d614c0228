package bill

import (
	"crypto/sha256"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/internal/bounded"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
)

// MinCached is the fewest tokens of a prompt that are cached: the least of
// Anthropic's and OpenAI's current models.
const MinCached = 1024

// Prompt is what a provider bills for one request: the tokens its cache has, and
// those it has not.
type Prompt struct{ Read, Written int }

// Tokens returns the size of the prompt.
func (p Prompt) Tokens() int { return p.Read + p.Written }

// Ledger remembers which prompts a provider was sent, and which it would have
// been sent rewritten. It must not be used by two goroutines at once.
type Ledger struct {
	client, rewritten cache
}

// LedgerOptions bound what a ledger remembers; the zero value has no bound.
type LedgerOptions struct {
	// Units is how many units are remembered at least.
	Units int
	// Lifetime is how long a provider keeps a prompt that nobody sends again.
	Lifetime time.Duration
}

// NewLedger returns a ledger of a provider that has not seen anything yet.
func NewLedger(o LedgerOptions) *Ledger {
	side := func() cache {
		return cache{known: bounded.New[prompt.Digest, time.Time](o.Units), lifetime: o.Lifetime}
	}
	return &Ledger{client: side(), rewritten: side()}
}

// Entry is one request in a ledger.
type Entry struct {
	// Before is the client's prompt, After the rewritten one.
	Before, After Prompt
	// Shared is how many units of the client's prompt the provider has seen, and
	// Kept how many of the rewritten one it would have.
	Shared, Kept int
}

// Broken reports whether rewriting keeps the provider's cache from hitting as
// far as it would for the client's own requests.
func (e Entry) Broken() bool { return e.Kept < e.Shared }

// Add enters a request. Requests of different scopes, which are callers and
// models, share nothing.
func (l *Ledger) Add(scope string, now time.Time, client, rewritten []prompt.Unit) Entry {
	var e Entry
	e.Shared = l.client.add(scope, now, client)
	e.Kept = l.rewritten.add(scope, now, rewritten)
	e.Before, e.After = split(client, e.Shared), split(rewritten, e.Kept)
	return e
}

// split tells how much of a prompt is read from the cache that has its first
// units.
func split(units []prompt.Unit, cached int) Prompt {
	read, total := 0, 0
	for i := range units {
		total += units[i].Tokens
		if i < cached {
			read += units[i].Tokens
		}
	}
	if read < MinCached {
		read = 0
	}
	return Prompt{Read: read, Written: total - read}
}

// cache knows every beginning of the prompts that were sent, by a digest of all
// of it, and when it was last of use.
type cache struct {
	known    *bounded.Map[prompt.Digest, time.Time]
	lifetime time.Duration
}

// add enters a prompt and returns how many of its units were known.
func (c *cache) add(scope string, now time.Time, units []prompt.Unit) int {
	shared, hit := 0, true
	at := sha256.Sum256([]byte(scope))
	for i := range units {
		at = sha256.Sum256(append(at[:], units[i].Digest[:]...))
		last, ok := c.known.Get(at)
		hit = hit && ok && (c.lifetime == 0 || now.Sub(last) <= c.lifetime)
		if hit {
			shared = i + 1
		}
		c.known.Put(at, now)
	}
	return shared
}
