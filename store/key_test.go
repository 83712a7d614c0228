package store_test

import (
	"strings"
	"testing"

	"github.com/contextguru/contextguru/store"
)

func TestKeyString(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]store.Key{
		"cg:{acme}:o:abcdefghij234567abcd": {Tenant: "acme", Space: store.Originals, ID: "abcdefghij234567abcd"},
		"cg:{}:g:1":                        {Space: store.Generations, ID: "1"},
		"cg:{me@example.com}:x:a/b":        {Tenant: "me@example.com", Space: store.Exchanges, ID: "a/b"},
		"cg:{a%7d%3ao%3ab}:c:%25%0a%ff":    {Tenant: "a}:o:b", Space: store.Outcomes, ID: "%\n\xff"},
	} {
		if got := k.String(); got != want {
			t.Errorf("%#v renders as %q, want %q", k, got, want)
		}
	}
}

// FuzzKeyString: no two keys share a rendering, and the tenant alone decides the hash tag.
func FuzzKeyString(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("a}:o:b", "c", "a", "b}:o:c")
	f.Add("%7d", "x", "}", "x")
	f.Fuzz(func(t *testing.T, tenant1, id1, tenant2, id2 string) {
		a := store.Key{Tenant: tenant1, Space: store.Originals, ID: id1}
		b := store.Key{Tenant: tenant2, Space: store.Originals, ID: id2}
		if (a == b) != (a.String() == b.String()) {
			t.Fatalf("%#v and %#v render as %q and %q", a, b, a, b)
		}
		if tagA, tagB := hashTag(a.String()), hashTag(b.String()); (tenant1 == tenant2) != (tagA == tagB) {
			t.Fatalf("tenants %q and %q have hash tags %q and %q", tenant1, tenant2, tagA, tagB)
		}
	})
}

// hashTag is what a cluster hashes of a key: what stands between the first
// opening brace and the next closing one.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
