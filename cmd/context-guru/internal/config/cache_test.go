package config

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
)

func TestHorizonTokens(t *testing.T) {
	t.Parallel()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	const note = "cache.horizon_tokens: 0, so failed_run, mask may change old outputs in every turn"
	for data, want := range map[string]struct {
		tokens Distance
		noted  bool
	}{
		"": {32_000, false},
		"cache: {horizon_tokens: 1}\npipeline: [mask]\n":                                         {1, false},
		"cache: {horizon_tokens: 0}\npipeline: [format, failed_run, mask]\n":                     {0, false},
		"cache: {horizon_tokens: 0}\npipeline: [failed_run, mask]\nexpand: {resolver: external}": {0, true},
		"cache: {horizon_tokens: 0}\npreset: safe\nexpand: {resolver: external}":                 {0, false},
		"cache: {horizon_tokens: 0}\npreset: general\nexpand: {resolver: external}":              {0, true},
		"cache: {horizon_tokens: 0}\nexpand: {resolver: external}":                               {0, false},
	} {
		c, err := Parse("cg.yaml", []byte(data), catalog)
		if err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		noted := slices.ContainsFunc(c.Notes(), func(n string) bool { return strings.HasPrefix(n, note) })
		if c.Cache.HorizonTokens != want.tokens || noted != want.noted {
			t.Errorf("%q: %v tokens, notes %q", data, c.Cache.HorizonTokens, c.Notes())
		}
	}
}

// TestDistance checks both ways to write a distance.
func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d            Distance
		window, want int
	}{
		{0, 200_000, 0},
		{1, 200_000, 1},
		{32_000, 0, 32_000},
		{0.16, 200_000, 32_000},
		{0.16, 1_000_000, 160_000},
		{0.16, 0, pipeline.DefaultHorizonTokens},
		{0.000001, 200_000, 1},
	} {
		if got := c.d.Tokens(c.window); got != c.want || c.d.Validate() != nil {
			t.Errorf("%v of %d is %d, %v, want %d", c.d, c.window, got, c.d.Validate(), c.want)
		}
	}
	for _, d := range []Distance{-1, -0.5, 1.5, 1e12, Distance(math.NaN())} {
		if d.Validate() == nil {
			t.Errorf("%v is accepted", d)
		}
	}
}
