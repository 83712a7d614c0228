package pipeline_test

import (
	"slices"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

func ring(t *testing.T, ids ...string) *pipeline.Keyring {
	t.Helper()
	var keys []pipeline.Key
	for _, id := range ids {
		keys = append(keys, pipeline.Key{ID: id, Secret: []byte(id + " 0123456789abcdef")})
	}
	r, err := pipeline.NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func opening(texts ...string) *pipeline.Transcript {
	return &pipeline.Transcript{Preamble: slices.Values(texts)}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	r := ring(t, "a")
	root := r.Root("t", opening("S", "U"))
	if len(root) != 26 || root != r.Root("t", opening("S", "U")) {
		t.Errorf("root %q is not one", root)
	}
	for name, other := range map[string]string{
		"another tenant":     r.Root("u", opening("S", "U")),
		"another text":       r.Root("t", opening("S", "V")),
		"texts cut anew":     r.Root("t", opening("SU")),
		"text in the tenant": r.Root("tS", opening("U")),
		"another order":      r.Root("t", opening("U", "S")),
		"another key":        ring(t, "b").Root("t", opening("S", "U")),
	} {
		if other == root {
			t.Errorf("%s has the same root", name)
		}
	}
	for name, same := range map[string]string{
		"a key behind it":      ring(t, "a", "b").Root("t", opening("S", "U")),
		"a key in front of it": ring(t, "b", "a").Root("t", opening("S", "U")),
	} {
		if same != root {
			t.Errorf("%s changes the root", name)
		}
	}
	for _, none := range []*pipeline.Transcript{nil, {}, opening()} {
		if got := r.Root("t", none); got != "" {
			t.Errorf("no text has the root %q", got)
		}
	}
}

func TestMinting(t *testing.T) {
	t.Parallel()
	r := ring(t, "a", "b", "c")
	b, ok := r.Minting("b")
	if !ok || b.ID() != "b" || b.Mint("x") != ring(t, "b").Mint("x") || r.ID() != "a" {
		t.Fatalf("minting with b: %v, %v", b.ID(), ok)
	}
	for _, id := range []string{"a", "b", "c"} {
		if !b.Owns(ring(t, id).Mint("x")) {
			t.Errorf("the markers of %s are not recognised", id)
		}
	}
	if _, ok := r.Minting("d"); ok {
		t.Error("a key that is not there mints")
	}
}
