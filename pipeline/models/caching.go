package models

import "strings"

// CacheKind is how a prompt gets into a provider's cache.
type CacheKind uint8

// Kinds of caching.
const (
	// CacheNone means that every input token is billed as a fresh one.
	CacheNone CacheKind = iota
	// CacheExplicit means that the request marks what is to be cached.
	CacheExplicit
	// CacheAutomatic means that the provider caches prefixes by itself.
	CacheAutomatic
)

// String returns "none", "explicit" or "automatic".
func (k CacheKind) String() string {
	switch k {
	case CacheExplicit:
		return "explicit"
	case CacheAutomatic:
		return "automatic"
	default:
		return "none"
	}
}

// Caching is what a cached token costs, as a multiple of a fresh one. Without
// caching all ratios are 1.
type Caching struct {
	Kind CacheKind
	// Read is the price of a token read from the cache.
	Read float64
	// Write is the price of a token written to it, 1 where writing is free.
	Write float64
	// Write1h is the price of a token written for an hour; the same as Write
	// where a provider has one lifetime only.
	Write1h float64
}

// Caches returns the caching of a model: the map's for one it knows, else what
// the name says of the maker, else what is usual at the provider. Provider is
// a name as in Model.Provider, or empty.
func (m *Map) Caches(provider, model string) Caching {
	if found, ok := m.Find(model); ok {
		return found.Caching()
	}
	name := lastSegment(tidy(model))
	if by := makerOf(canonical(name)); by != "" {
		return usual(by)
	}
	return usual(vendor(provider))
}

// Caching returns the ratios of the model's prices. Claude and Amazon's Nova
// are cached on request everywhere, any other model with a price for reads
// that is below that of fresh input by its provider.
func (m Model) Caching() Caching {
	name := canonical(lastSegment(strings.ToLower(m.Name)))
	by := makerOf(name)
	if by == "" { // databricks-claude-opus-5
		by = makerOf(strings.TrimPrefix(name, vendor(m.Provider)+"-"))
	}
	c := usual(by)
	priced := m.Input.Known && m.Input.USD > 0
	switch {
	case by == anthropic:
	case m.CacheRead.Known && (!priced || m.CacheRead.USD < m.Input.USD):
		c.Write, c.Write1h = 1, 1
		if by != amazon {
			c.Kind = CacheAutomatic
		}
	default:
		return usual("")
	}
	if !priced {
		return c
	}
	if m.CacheRead.Known {
		c.Read = min(m.CacheRead.USD/m.Input.USD, 1)
	}
	// Nobody sells a write below a fresh token: a smaller number, and many
	// entries have 0, means that there is no fee.
	if m.CacheWrite.Known {
		c.Write = max(m.CacheWrite.USD/m.Input.USD, 1)
		if by != anthropic {
			c.Write1h = c.Write
		}
	}
	if m.CacheWrite1h.Known {
		c.Write1h = max(m.CacheWrite1h.USD/m.Input.USD, c.Write)
	}
	return c
}

// usual returns the ratios a vendor's current models have, for models the map
// does not know: Anthropic's and OpenAI's from their price lists, the others'
// from the entries of their own models in the map.
func usual(vendor string) Caching {
	switch vendor {
	case anthropic:
		return Caching{Kind: CacheExplicit, Read: 0.1, Write: 1.25, Write1h: 2}
	case amazon:
		return Caching{Kind: CacheExplicit, Read: 0.25, Write: 1, Write1h: 1}
	case openai, azure, gemini, vertex, moonshot:
		return Caching{Kind: CacheAutomatic, Read: 0.1, Write: 1, Write1h: 1}
	case deepseek, xai, zai:
		return Caching{Kind: CacheAutomatic, Read: 0.2, Write: 1, Write1h: 1}
	default:
		return Caching{Kind: CacheNone, Read: 1, Write: 1, Write1h: 1}
	}
}
