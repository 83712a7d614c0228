package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

func keyring(t *testing.T, ids ...string) *pipeline.Keyring {
	t.Helper()
	keys := make([]pipeline.Key, len(ids))
	for i, id := range ids {
		keys[i] = pipeline.Key{ID: id, Secret: []byte("the secret of the key named " + id)}
	}
	ring, err := pipeline.NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// noise is text that is nearly made of markers.
func noise(r *rand.Rand) string {
	pieces := []string{"<", "<<", ">>", "cg:", "<<cg:", `\u003c`, `\u003c\u003ccg:`, `\u003e\u003e`, "a", "é", "\x00", strings.Repeat("q", 20)}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// spellings are the forms in which a marker may come back.
func spellings(id string) []string {
	return []string{
		pipeline.Marker(id),
		`\u003c\u003ccg:` + id + `\u003e\u003e`,
		`\u003C\u003ccg:` + id + `\u003e\u003E`,
		`\U003C\u003Ccg:` + id + `\u003E\u003E`,
	}
}

func TestB24B25EveryMintedMarkerIsFound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	ring := keyring(t, "a", "b")
	for round := range 3000 {
		var text strings.Builder
		var want []string
		text.WriteString(noise(r))
		for range r.IntN(4) {
			id := ring.Mint(fmt.Sprint(round, noise(r)))
			forms := spellings(id)
			text.WriteString(forms[r.IntN(len(forms))])
			text.WriteString(noise(r))
			want = append(want, id)
		}
		if got := slices.Collect(ring.Markers(text.String())); !slices.Equal(got, want) {
			t.Fatalf("in %q: found %q, want %q", text.String(), got, want)
		}
		if ring.Marked(text.String()) != (len(want) > 0) {
			t.Fatalf("in %q: Marked disagrees", text.String())
		}
	}
}

func TestMarkerForm(t *testing.T) {
	t.Parallel()
	ring := keyring(t, "a")
	for _, original := range []string{"", "x", strings.Repeat("long ", 1<<16), "\x00\xff"} {
		id := ring.Mint(original)
		if len(id) != pipeline.IDLen || strings.Trim(id, alphabet) != "" {
			t.Errorf("id %q", id)
		}
		if ring.Mint(original) != id || ring.Mint(original+"x") == id {
			t.Errorf("id %q is not a function of the text", id)
		}
		if !ring.Owns(id) || !ring.Matches(id, original) || ring.Matches(id, original+" ") {
			t.Errorf("id %q is not recognised as the text's", id)
		}
		if got := pipeline.Marker(id); got != "<<cg:"+id+">>" {
			t.Errorf("marker %q", got)
		}
	}
}

// A look-alike is accepted with the chance of its tag alone: of the 32 last
// characters an id can have, one is right, whatever the other characters are.
func TestB27B40ForgedTagsAreRefused(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	ring := keyring(t, "a")
	for range 200 {
		id := ring.Mint(strconv.FormatUint(r.Uint64(), 10))
		for place := pipeline.IDLen - 4; place < pipeline.IDLen; place++ {
			owned := 0
			for _, c := range alphabet {
				if ring.Owns(id[:place] + string(c) + id[place+1:]) {
					owned++
				}
			}
			if owned != 1 {
				t.Fatalf("%d of 32 characters in place %d of %q are right, want 1", owned, place, id)
			}
		}
	}
	// 2^16 random ids against a tag of 20 bits: 1/16 of one is expected, and
	// four are less likely than one in a million.
	owned := 0
	for range 1 << 16 {
		id := make([]byte, pipeline.IDLen)
		for i := range id {
			id[i] = alphabet[r.IntN(len(alphabet))]
		}
		if ring.Owns(string(id)) {
			owned++
		}
	}
	if owned > 3 {
		t.Errorf("%d of 65536 random ids are owned", owned)
	}
}

func TestNotMarkers(t *testing.T) {
	t.Parallel()
	ring := keyring(t, "a")
	id := ring.Mint("text")
	for name, text := range map[string]string{
		"other key":       pipeline.Marker(keyring(t, "b").Mint("text")),
		"upper case":      pipeline.Marker(strings.ToUpper(id)),
		"short":           pipeline.Marker(id[1:]),
		"long":            pipeline.Marker(id + "a"),
		"bare":            id,
		"one bracket":     "<cg:" + id + ">",
		"unclosed":        "<<cg:" + id,
		"half closed":     "<<cg:" + id + ">",
		"unopened":        "cg:" + id + ">>",
		"mixed spellings": `\u003c\u003ccg:` + id + ">>",
		"blank inside":    "<<cg: " + id + ">>",
		"hash only":       "<<cg:" + id[:16] + ">>",
		"hash as tag":     "<<cg:" + id[:16] + id[:4] + ">>",
		"other escape":    `\x3c\x3ccg:` + id + `\x3e\x3e`,
		"empty":           "",
	} {
		if ring.Marked(text) {
			t.Errorf("%s: %q counts as a marker", name, text)
		}
	}
	// Only the first of two ids in a row is one, and what follows still counts.
	if got := slices.Collect(ring.Markers(pipeline.Marker(id) + id + ">>" + pipeline.Marker(id))); len(got) != 2 {
		t.Errorf("found %q", got)
	}
	for range ring.Markers(pipeline.Marker(id) + pipeline.Marker(id)) {
		break // a reader may stop early
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	old, rotated, dropped := keyring(t, "old"), keyring(t, "new", "old"), keyring(t, "new")
	before := old.Mint("text")
	after := rotated.Mint("text")
	if before == after || after != dropped.Mint("text") {
		t.Errorf("the first key does not mint: %q, %q, %q", before, after, dropped.Mint("text"))
	}
	if rotated.ID() != "new" || old.ID() != "old" {
		t.Errorf("ids %q, %q", rotated.ID(), old.ID())
	}
	for _, c := range []struct {
		ring *pipeline.Keyring
		id   string
		want bool
	}{
		{old, before, true},
		{rotated, before, true},
		{dropped, before, false},
		{old, after, false},
		{rotated, after, true},
		{dropped, after, true},
	} {
		if c.ring.Owns(c.id) != c.want || c.ring.Matches(c.id, "text") != c.want || c.ring.Marked(pipeline.Marker(c.id)) != c.want {
			t.Errorf("ring of %s and id %q: want %v", c.ring.ID(), c.id, c.want)
		}
	}
	names, alone := rotated.Derive("tenant", "secret"), dropped.Derive("tenant", "secret")
	if len(names) != 2 || len(alone) != 1 || names[0] != alone[0] || names[0] == names[1] {
		t.Errorf("derived %q and %q", names, alone)
	}
	if rotated.Derive("other", "secret")[0] == names[0] || rotated.Derive("tenant", "other")[0] == names[0] {
		t.Error("a derived name ignores its purpose or its input")
	}
}

func TestKeyringRefusesBadKeys(t *testing.T) {
	t.Parallel()
	secret := []byte(strings.Repeat("s", pipeline.MinKeyBytes))
	for want, keys := range map[string][]pipeline.Key{
		"no service key given":                                 nil,
		"a service key has no id":                              {{Secret: secret}},
		`service key "a" is given twice`:                       {{ID: "a", Secret: secret}, {ID: "a", Secret: secret}},
		`service key "a" has 15 bytes, at least 16 are needed`: {{ID: "a", Secret: secret[1:]}},
		`service key "b" has 0 bytes, at least 16 are needed`:  {{ID: "a", Secret: secret}, {ID: "b"}},
	} {
		if _, err := pipeline.NewKeyring(keys...); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	keys := []pipeline.Key{{ID: "a", Secret: secret}}
	ring, err := pipeline.NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	keys[0].ID = "changed"
	if ring.ID() != "a" {
		t.Error("a keyring changes with its caller's slice")
	}
}

// Whatever the text, scanning ends, finds owned ids only, and finds them again
// in the same place when the text is cut in front of them.
func FuzzMarkers(f *testing.F) {
	ring, err := pipeline.NewKeyring(pipeline.Key{ID: "a", Secret: []byte("a secret for fuzzing only")})
	if err != nil {
		f.Fatal(err)
	}
	id := ring.Mint("text")
	for _, form := range spellings(id) {
		f.Add("x" + form + form)
		f.Add("<<cg:" + form + ">>")
	}
	f.Add("<<cg:cg:cg:")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for id := range ring.Markers(text) {
			n++
			if !ring.Owns(id) || !strings.Contains(text, "cg:"+id) {
				t.Errorf("found %q", id)
			}
		}
		forms := strings.Count(text, "cg:")
		if n > forms {
			t.Errorf("%d markers, %d openings", n, forms)
		}
		for _, form := range spellings(id) {
			if got := len(slices.Collect(ring.Markers(text + " " + form))); got != n+1 {
				t.Errorf("%d markers, and %d with one more behind", n, got)
			}
		}
	})
}
