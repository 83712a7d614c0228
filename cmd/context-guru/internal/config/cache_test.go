package config

import (
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
		tokens int
		noted  bool
	}{
		"": {32_000, false},
		"cache: {horizon_tokens: 1}\npipeline: [mask]\n":                                         {1, false},
		"cache: {horizon_tokens: 0}\npipeline: [format, failed_run, mask]\n":                     {0, false},
		"cache: {horizon_tokens: 0}\npipeline: [failed_run, mask]\nexpand: {resolver: external}": {0, true},
		"cache: {horizon_tokens: 0}\nexpand: {resolver: external}":                               {0, false},
	} {
		c, err := Parse("cg.yaml", []byte(data), catalog)
		if err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		noted := slices.ContainsFunc(c.Notes(), func(n string) bool { return strings.HasPrefix(n, note) })
		if c.Cache.HorizonTokens != want.tokens || noted != want.noted {
			t.Errorf("%q: %d tokens, notes %q", data, c.Cache.HorizonTokens, c.Notes())
		}
	}
}
