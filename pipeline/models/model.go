package models

// Model is what the map says of one model. Prices are those of the standard
// tier for a prompt below any surcharge for length.
type Model struct {
	// Name is the id as the map spells it.
	Name string
	// Provider is who serves it, in LiteLLM's words: "anthropic",
	// "bedrock_converse", "vertex_ai-anthropic_models".
	Provider string
	// Window is the most input tokens the model takes, 0 if unknown.
	Window int
	// MaxOutput is the most output tokens it gives, 0 if unknown.
	MaxOutput int
	// Input is the price of an input token that no cache is involved in.
	Input Price
	// Output is the price of an output token.
	Output Price
	// CacheRead is the price of an input token read from the cache.
	CacheRead Price
	// CacheWrite is the price of an input token written to the cache for the
	// shortest time a provider offers, 5 minutes at Anthropic.
	CacheWrite Price
	// CacheWrite1h is the price of one written for an hour.
	CacheWrite1h Price
}

// Price is what one token costs. The zero value is an unknown price, which is
// not the same as a known price of 0.
type Price struct {
	// USD is the price of one token in US dollars.
	USD float64
	// Known is whether the map states it.
	Known bool
}

// Usage counts the tokens of one exchange by the tier they are billed in. A
// token is in one of the fields only: Input does not include what was read
// from or written to the cache.
type Usage struct {
	Input        int
	CacheRead    int
	CacheWrite5m int
	CacheWrite1h int
	Output       int
}

// Cost returns the price of the usage in US dollars. Tiers whose price the map
// does not state cost Input times the ratio of Caching. It reports false when
// a price that is needed is unknown; the sum is then 0.
func (m Model) Cost(u Usage) (usd float64, ok bool) {
	in := u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
	if in != 0 && !m.Input.Known || u.Output != 0 && !m.Output.Known {
		return 0, false
	}
	c := m.Caching()
	fresh := float64(u.Input) + float64(u.CacheRead)*c.Read + float64(u.CacheWrite5m)*c.Write + float64(u.CacheWrite1h)*c.Write1h
	return fresh*m.Input.USD + float64(u.Output)*m.Output.USD, true
}
