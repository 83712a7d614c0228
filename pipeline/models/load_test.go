package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func texts(errs []error) string {
	var b strings.Builder
	for _, err := range errs {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

func marshal(t *testing.T, m *Map) string {
	t.Helper()
	text, err := m.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLoadDirtyDocument is one document with every fault at once: each costs
// its own entry or field and no other.
func TestLoadDirtyDocument(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/dirty.json")
	if err != nil {
		t.Fatal(err)
	}
	m, errs := Load(data)
	if m == nil {
		t.Fatal(errs)
	}
	got := marshal(t, m) + "\nfaults:\n" + texts(errs)
	const golden = "testdata/dirty.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("testdata/dirty.json (-want +got):\n%s", diff)
	}
}

func TestLoadRefusesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "model map: EOF",
		"[]":                      "want a JSON object",
		"null":                    "want a JSON object",
		"<html>":                  "invalid character '<'",
		`{"a":{"mode":"chat"}`:    "unexpected EOF",
		`{"a":{"mode":"chat"`:     "unexpected EOF",
		`{"a":{"mode":"chat"}} x`: "text follows the JSON object",
		`{"a":{"mode":chat}}`:     "invalid character 'c'",
		`{"a":{"tiered_pricing":[{"input_cost_per_token":}]}}`: "invalid character '}'",
	} {
		m, errs := Load([]byte(text))
		if m != nil || !strings.Contains(texts(errs), want) {
			t.Errorf("%s: got %v and %q, want no map and %q", text, m, texts(errs), want)
		}
	}
}

// shuffled returns a document's members in a random order.
func shuffled(t *testing.T, data []byte, seed uint64) []byte {
	t.Helper()
	var document map[string]json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	var members []string
	for name, value := range document {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, string(quoted)+":"+string(value))
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return []byte("{" + strings.Join(members, ",") + "}")
}

// document writes a map as LiteLLM would.
func document(m *Map) []byte {
	var b bytes.Buffer
	b.WriteString("{")
	for i := range m.models {
		x := &m.models[i]
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `%q:{"mode":"chat","litellm_provider":%q`, x.Name, x.Provider)
		for name, n := range map[string]int{"max_input_tokens": x.Window, "max_output_tokens": x.MaxOutput} {
			if n > 0 {
				fmt.Fprintf(&b, `,%q:%d`, name, n)
			}
		}
		for j, name := range []string{
			"input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
			"cache_creation_input_token_cost", "cache_creation_input_token_cost_above_1hr",
		} {
			if p := x.prices()[j]; p.Known {
				fmt.Fprintf(&b, `,%q:%v`, name, p.USD)
			}
		}
		b.WriteString("}")
	}
	b.WriteString("}")
	return b.Bytes()
}

// TestOrderDoesNotMatter loads the same entries in many orders: the same text,
// the same digest, and the same answer for every id.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	want := embedded(t)
	data := document(want)
	for seed := range uint64(4) {
		got, errs := Load(shuffled(t, data, seed))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if marshal(t, got) != marshal(t, want) {
			t.Fatalf("order %d: another text", seed)
		}
		if got.Digest() != want.Digest() {
			t.Fatalf("order %d: another digest", seed)
		}
		for id := range want.names {
			a, aok := want.Find(id)
			if b, bok := got.Find(id); a != b || aok != bok {
				t.Fatalf("order %d: %q: got %q, want %q", seed, id, b.Name, a.Name)
			}
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	lines := []string{
		"a/m-1-20250101\ta\t100\t10\t1\t2\t0.1", "b/m-1\tb\t100\t10\t3\t4", "b/m-2\tb\t300\t10\t3\t4", "c/m-2\tc\t200\t10\t5\t4",
	}
	base := parsed(t, lines...).Digest()
	with := func(i int, line string) [32]byte {
		changed := append([]string(nil), lines...)
		changed[i] = line
		return parsed(t, changed...).Digest()
	}
	for what, digest := range map[string][32]byte{
		"a price":           with(1, "b/m-1\tb\t100\t10\t9\t9"),
		"a price of writes": with(0, "a/m-1-20250101\ta\t100\t10\t1\t2\t0.1\t7"),
	} {
		if digest != base {
			t.Errorf("%s changed, and the digest with it", what)
		}
	}
	seen := map[[32]byte]string{base: "nothing"}
	for what, digest := range map[string][32]byte{
		"a window":       with(1, "b/m-1\tb\t101\t10\t3\t4"),
		"an output":      with(1, "b/m-1\tb\t100\t11\t3\t4"),
		"caching":        with(0, "a/m-1-20250101\ta\t100\t10\t1\t2"),
		"a name":         with(0, "a/m-2-20250101\ta\t100\t10\t1\t2\t0.1"),
		"a missing line": with(0, "# gone"),
	} {
		if other := seen[digest]; other != "" {
			t.Errorf("%s changed, and the digest is that of %s", what, other)
		}
		seen[digest] = what
	}
}

func TestParseIsTheInverse(t *testing.T) {
	t.Parallel()
	prices := []float64{0, 1e-6, 1.25e-06, 3e-07, 1.8750000000000002e-06, 5e-324, 0.01, 1.5000000000000001e-5, 6.0000000000000001e-11, 0.000168, 1.0 / 3e6}
	var models []Model
	for i, usd := range prices {
		models = append(models, Model{
			Name: fmt.Sprintf("p/m%02d", i), Provider: "p", Window: i, MaxOutput: i * 7,
			Input: Price{usd, true}, Output: Price{usd * 3, usd*3 <= maxPrice && i%2 == 0}, CacheWrite1h: Price{usd, i%3 == 0},
		})
		for _, p := range models[i].prices() {
			if !p.Known {
				*p = Price{}
			}
		}
	}
	for _, m := range []*Map{newMap(models), embedded(t), newMap(nil)} {
		text := marshal(t, m)
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !again.equal(m) {
			t.Errorf("the text of %d models says something else: %s", m.Len(), cmp.Diff(m.models, again.models))
		}
		if second := marshal(t, again); second != text {
			t.Errorf("the second text differs: %s", cmp.Diff(text, second))
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                          "the first line does not say",
		"# context-guru models 2\n":                 "the first line does not say",
		textHeader + "a":                            `model map, line 2: "a" has no provider`,
		textHeader + "\n#\na b\tp":                  `model map, line 4: model "a b"`,
		textHeader + "a\tp\tx":                      `line 2: "a": want a number of tokens, got "x"`,
		textHeader + "a\tp\t-1":                     `want a number of tokens from 0`,
		textHeader + "a\tp\t-\t-\ty":                `want a price, got "ye-6"`,
		textHeader + "a\tp\t-\t-\t100000":           `want a price per token from 0 to 0.01`,
		textHeader + "a\tp\t1\t1\t1\t1\t1\t1\t1\t1": `more than 9 columns`,
	} {
		if m, err := Parse(text); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v and %v, want %q", text, m, err, want)
		}
	}
}

func TestSnapshotIsWhole(t *testing.T) {
	t.Parallel()
	m := embedded(t)
	if m.Len() < 2000 || m.windows() < m.Len()*9/10 {
		t.Errorf("%d models, %d with a window", m.Len(), m.windows())
	}
	if len(snapshot) > 400<<10 {
		t.Errorf("the snapshot has %d bytes", len(snapshot))
	}
	source := SnapshotSource()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(source, "litellm ") || !strings.Contains(string(doc), source) {
		t.Errorf("the package comment does not say %q", source)
	}
	for _, text := range []string{"", textHeader, textHeader + "a\tp\n"} {
		if got := SourceOf(text); got != "" {
			t.Errorf("%q: got source %q", text, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	dirty, err := os.ReadFile("testdata/dirty.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dirty)
	for _, text := range []string{
		"", "{}", "[]", `{"a":{"mode":"chat","max_input_tokens":1e309}}`, `{"a":{"alias_of":"a"}}`, `{"a":1}`, "{\"\xff\":{\"mode\":\"chat\",\"max_input_tokens\":1}}",
		`{"a":{"mode":"chat","tiered_pricing":[[[[]]]]}}`, `{"a":{"mode":"chat","input_cost_per_token":"-0"}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, errs := Load(data)
		if m == nil {
			if errors.Join(errs...) == nil {
				t.Fatal("no map and no reason")
			}
			return
		}
		again, err := Parse(marshal(t, m))
		if err != nil || !again.equal(m) || again.Digest() != m.Digest() {
			t.Fatalf("%v: %s", err, cmp.Diff(m.models, again.models))
		}
		for x := range m.All() {
			// Names that differ in case only, or that escapes turn into another, may answer for each other.
			if got, ok := m.Find(x.Name); !ok && tidy(x.Name) == strings.ToLower(x.Name) {
				t.Fatalf("%q: got %q, %t", x.Name, got.Name, ok)
			}
			if c := x.Caching(); c.Read < 0 || c.Read > 1 || c.Write < 1 || c.Write1h < c.Write {
				t.Fatalf("%q: got %+v", x.Name, c)
			}
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Snapshot(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	data := document(embedded(b))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if m, _ := Load(data); m == nil {
			b.Fatal("no map")
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	m := embedded(b)
	for b.Loop() {
		m.sum()
	}
}

func BenchmarkFind(b *testing.B) {
	m := embedded(b)
	for name, id := range map[string]string{
		"full": "claude-sonnet-4-5", "long": "openrouter/anthropic/claude-sonnet-4.5:beta", "unknown": "azure/my-own-deployment-2025-01-01",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Find(id)
			}
		})
	}
}
