package models

import (
	"math"
	"strings"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }

func TestCaches(t *testing.T) {
	t.Parallel()
	m := embedded(t)
	for _, c := range []struct {
		provider, model string
		want            Caching
	}{
		// Anthropic's models, wherever they are served.
		{"", "claude-sonnet-4-5", Caching{CacheExplicit, 0.1, 1.25, 2}},
		{"", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Caching{CacheExplicit, 0.1, 1.25, 2}},
		{"", "vertex_ai/claude-haiku-4-5", Caching{CacheExplicit, 0.1, 1.25, 2}},
		{"", "claude-opus-5-5", Caching{CacheExplicit, 0.05, 1.25, 2}},
		{"", "replicate/anthropic/claude-4-sonnet", Caching{CacheExplicit, 0.1, 1.25, 2}}, // the map has no cache prices
		{"", "claude-nobody-knows-9", Caching{CacheExplicit, 0.1, 1.25, 2}},
		{"bedrock_converse", "eu.anthropic.claude-nobody-9-v1:0", Caching{CacheExplicit, 0.1, 1.25, 2}},
		// OpenAI: half, a quarter or a tenth, by model, and a fee for writes since GPT-5.6.
		{"", "gpt-4o", Caching{CacheAutomatic, 0.5, 1, 1}},
		{"", "gpt-4o-mini-2024-07-18", Caching{CacheAutomatic, 0.5, 1, 1}},
		{"", "o1", Caching{CacheAutomatic, 0.5, 1, 1}},
		{"", "gpt-4.1", Caching{CacheAutomatic, 0.25, 1, 1}},
		{"", "gpt-5", Caching{CacheAutomatic, 0.1, 1, 1}},
		{"", "azure/gpt-5", Caching{CacheAutomatic, 0.1, 1, 1}},
		{"", "gpt-5.6", Caching{CacheAutomatic, 0.1, 1.25, 1.25}},
		{"", "gpt-4-turbo", Caching{CacheNone, 1, 1, 1}},
		{"", "gpt-99", Caching{CacheAutomatic, 0.1, 1, 1}},
		{"azure", "my-deployment", Caching{CacheAutomatic, 0.1, 1, 1}},
		// Gemini and others.
		{"", "gemini-2.5-pro", Caching{CacheAutomatic, 0.1, 1, 1}},
		{"", "models/gemini-4-argon", Caching{CacheAutomatic, 0.05, 1, 1}},
		{"vertex_ai-language-models", "gemini-99", Caching{CacheAutomatic, 0.1, 1, 1}},
		{"", "amazon.nova-pro-v1:0", Caching{CacheExplicit, 0.25, 1, 1}},
		{"", "deepseek-chat", Caching{CacheAutomatic, 0.1, 1, 1}}, // its price of a write is 0
		{"", "grok-4.6", Caching{CacheAutomatic, 0.25, 1, 1}},
		{"", "databricks/databricks-gpt-5-5-pro", Caching{CacheNone, 1, 1, 1}}, // reads at the full price
		{"", "llama3:8b", Caching{CacheNone, 1, 1, 1}},
		{"", "my-model", Caching{CacheNone, 1, 1, 1}},
		{"nobody", "my-model", Caching{CacheNone, 1, 1, 1}},
		{"anthropic", "my-model", Caching{CacheExplicit, 0.1, 1.25, 2}},
	} {
		got := m.Caches(c.provider, c.model)
		if got.Kind != c.want.Kind || !near(got.Read, c.want.Read) || !near(got.Write, c.want.Write) || !near(got.Write1h, c.want.Write1h) {
			t.Errorf("%s %s: got %+v, want %+v", c.provider, c.model, got, c.want)
		}
	}
}

// TestCachingIsPlausible bounds the ratios of every entry: a read is never
// dearer than a fresh token, a write never cheaper.
func TestCachingIsPlausible(t *testing.T) {
	t.Parallel()
	kinds := map[CacheKind]int{}
	for x := range embedded(t).All() {
		c := x.Caching()
		if c.Read < 0 || c.Read > 1 || c.Write < 1 || c.Write1h < c.Write {
			t.Errorf("%s: %+v", x.Name, c)
		}
		if c.Kind == CacheNone && c != (Caching{Read: 1, Write: 1, Write1h: 1}) {
			t.Errorf("%s: no caching, and %+v", x.Name, c)
		}
		if strings.Contains(x.Name, "claude") && c.Kind == CacheAutomatic {
			t.Errorf("%s: %v", x.Name, c.Kind)
		}
		kinds[c.Kind]++
	}
	for _, kind := range []CacheKind{CacheNone, CacheExplicit, CacheAutomatic} {
		if kinds[kind] < 200 {
			t.Errorf("%v: %d models", kind, kinds[kind])
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	million := Usage{Input: 1e6, CacheRead: 1e6, CacheWrite5m: 1e6, CacheWrite1h: 1e6, Output: 1e6}
	snapshot := embedded(t)
	for _, c := range []struct {
		model string
		usage Usage
		usd   float64
	}{
		{"claude-sonnet-4-5", million, 3 + 0.3 + 3.75 + 6 + 15},
		{"claude-sonnet-4-5", Usage{}, 0},
		{"claude-sonnet-4-5", Usage{CacheRead: 20_000}, 0.006},
		{"gpt-4o", million, 2.5 + 1.25 + 2.5 + 2.5 + 10},
		{"gpt-5", Usage{Input: 1000, CacheRead: 9000, Output: 100}, 0.00125 + 0.001125 + 0.001},
		{"gemini-2.5-pro", Usage{Input: 1e6, CacheRead: 1e6}, 1.25 + 0.125},
		{"gpt-4", Usage{CacheRead: 1e6}, 30},
		{"deepseek-chat", Usage{CacheWrite5m: 1e6}, 0.28},
		{"bedrock/us-east-1/meta.llama3-8b-instruct-v1:0", Usage{Input: 1e6, Output: 1e6}, 0.3 + 0.6},
	} {
		x, ok := snapshot.Find(c.model)
		usd, known := x.Cost(c.usage)
		if !ok || !known || !near(usd, c.usd) {
			t.Errorf("%s, %+v: got %v, %t; want %v", c.model, c.usage, usd, known, c.usd)
		}
	}
}

// TestUnknownIsNotFree tells a price of 0 from none.
func TestUnknownIsNotFree(t *testing.T) {
	t.Parallel()
	m := parsed(t, "free\tp\t10\t-\t0\t0", "silent\tp\t10", "half\tp\t10\t-\t1")
	for _, c := range []struct {
		model string
		usage Usage
		usd   float64
		ok    bool
	}{
		{"free", Usage{Input: 5, CacheRead: 5, Output: 5}, 0, true},
		{"silent", Usage{Input: 5}, 0, false},
		{"silent", Usage{CacheRead: 5}, 0, false},
		{"silent", Usage{Output: 5}, 0, false},
		{"silent", Usage{}, 0, true},
		{"half", Usage{Input: 5}, 5e-6, true},
		{"half", Usage{Input: 5, Output: 1}, 0, false},
	} {
		x, _ := m.Find(c.model)
		if usd, ok := x.Cost(c.usage); !near(usd, c.usd) || ok != c.ok {
			t.Errorf("%s, %+v: got %v, %t; want %v, %t", c.model, c.usage, usd, ok, c.usd, c.ok)
		}
	}
	if free, _ := m.Find("free"); !free.Input.Known || free.CacheRead.Known || free.MaxOutput != 0 {
		t.Errorf("got %+v", free)
	}
}

func TestCacheKindNames(t *testing.T) {
	t.Parallel()
	if got := CacheNone.String() + CacheExplicit.String() + CacheAutomatic.String(); got != "noneexplicitautomatic" {
		t.Error(got)
	}
}
