// Package bill prices conversations as a provider with a prompt cache does.
//
// A provider keeps the prompts it was sent. Of a request, the tools, the system
// prompt and the messages that an earlier one began with are read from the
// cache, the rest is written to it. The read part has to reach [MinCached]
// tokens, and so has a request to be written at the price of writing. Where
// cache directives stand makes no difference. Answers are not billed: rewriting
// does not change them. The bill is in tokens at the price of fresh input.
package bill

// Price is what a provider charges for prompts, as multiples of the price of a
// token that no cache is involved in.
type Price struct {
	// Name stands in reports; amounts under one name are added up.
	Name string
	// Input is the price of a fresh token in US dollars, 0 when it is not known.
	Input float64
	// Read and Write are the ratios of tokens read from and written to the cache.
	Read, Write float64
}

// Cost is the price of a prompt in tokens of fresh input.
func (p Prompt) Cost(price Price) float64 {
	if p.Tokens() < MinCached {
		return float64(p.Written)
	}
	return float64(p.Read)*price.Read + float64(p.Written)*price.Write
}

// share is what n tokens at the front of a prompt cost.
func (p Prompt) share(price Price, n int) float64 {
	switch {
	case p.Tokens() < MinCached:
		return float64(n)
	case p.Read > 0:
		return float64(n) * price.Read
	default:
		return float64(n) * price.Write
	}
}

// Amount is a bill for both sides, in tokens of fresh input and in dollars.
type Amount struct {
	Before, After       float64
	USDBefore, USDAfter float64
	// Tool is the part of After for the definition of the tool that resolves
	// markers.
	Tool float64
	// Unpriced reports that some price in dollars is not known.
	Unpriced bool
}

// Charge returns what a request costs that defines a tool of so many tokens once
// it is rewritten.
func (e Entry) Charge(price Price, tool int) Amount {
	b, c := e.Before.Cost(price), e.After.Cost(price)
	return Amount{
		Before: b, After: c, USDBefore: b * price.Input, USDAfter: c * price.Input,
		Tool: e.After.share(price, tool), Unpriced: price.Input == 0,
	}
}

// Add adds another bill.
func (a *Amount) Add(b Amount) {
	a.Before += b.Before
	a.After += b.After
	a.USDBefore += b.USDBefore
	a.USDAfter += b.USDAfter
	a.Tool += b.Tool
	a.Unpriced = a.Unpriced || b.Unpriced
}

// cent is the difference that counts, in tokens of fresh input: sums of ratios
// are not exact.
const cent = 1e-6

// Dearer reports whether the rewritten side costs more.
func (a Amount) Dearer() bool { return a.After > a.Before+cent }

// BeyondTool reports whether it does by more than the tool costs.
func (a Amount) BeyondTool() bool { return a.After-a.Tool > a.Before+cent }

// SavedPercent is what is saved of Before.
func (a Amount) SavedPercent() float64 {
	if a.Before == 0 {
		return 0
	}
	return 100 * (a.Before - a.After) / a.Before
}

// Ratio is what a token of a unit costs on the rewritten side.
func (e Entry) Ratio(price Price, unit int) float64 {
	switch {
	case e.After.Tokens() < MinCached:
		return 1
	case unit < e.Kept && e.After.Read > 0:
		return price.Read
	default:
		return price.Write
	}
}
