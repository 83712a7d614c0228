package laws_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// What the judges go by is judged here: each must see a difference, and must
// not see one where there is none.

func TestClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim         claim
		before, after string
		same          bool
	}{
		{sameDocuments, "{ \"a\": [1, 2.0] }\n", `{"a":[1,2.0]}`, true},
		{sameDocuments, `{"a": 1.0}`, `{"a":1}`, false},
		{sameDocuments, `{"a": 12345678901234567890123}`, `{"a":12345678901234567890124}`, false},
		{sameDocuments, `{"a": 1, "b": 2}`, `{"b":2,"a":1}`, false},
		{sameDocuments, `{"a": 1, "a": 2}`, `{"a":2}`, false},
		{sameDocuments, `["é"]`, `["\u00e9"]`, false},
		{sameDocuments, `["{ \"a\": 1 }"]`, `["{\"a\":1}"]`, true},
		{sameDocuments, `["{ \"a\": 1 }"]`, `["{\"a\":2}"]`, false},
		{sameDocuments, `["[ \"{ \\\"a\\\": 1 }\" ]"]`, `["[\"{\\\"a\\\":1}\"]"]`, true},
		{sameDocuments, `["a  b"]`, `["a b"]`, false},
		{sameDocuments, `["1 "]`, `["1"]`, false},
		{sameDocuments, `{"{ \"a\": 1 }": 0}`, `{"{\"a\":1}":0}`, false},
		{sameDocuments, `[1] [2]`, `[1][2]`, false},
		{sameDocuments, `[1, 2]`, `[1]`, false},
		{sameTables, `[{"id":1,"n":"a"},{"id":2,"n":"b c"}]`, "[2]{id,n}:\n  1,a\n  2,b c", true},
		{sameTables, `[{"id":1,"n":"a"},{"id":2,"n":"5"}]`, "[2]{id,n}:\n  1,a\n  2,5", false},
		{sameTables, `[{"id":1,"n":"a"},{"id":2,"n":"5"}]`, "[2]{id,n}:\n  1,a\n  2,\"5\"", true},
		{sameTables, `[{"id":1},{"id":1.0}]`, "[2]{id}:\n  1\n  1", false},
		{sameTables, `[{"id":1},{"id":2}]`, "[2]{id}:\n  1", false},
		{sameTables, `[{"a":1,"b":2}]`, "[1]{b,a}:\n  2,1", false},
		{sameTables, `[{"p":{"x":1,"y":null},"z":""}]`, "[1]{p{x,y},z}:\n  1,null,\"\"", true},
		{sameTables, `{"t":[1,"a"],"u":{"v":true},"w":[],"rows":[{"a":"x,y"}]}`, "t[2]: 1,a\nu:\n  v: true\nw: []\nrows[1]{a}:\n  \"x,y\"", true},
		{sameTables, `{"t":[1,"a"],"u":{"v":true}}`, "t[2]: 1,a\nu: true", false},
		{sameTables, `{"s":"[{\"a\":1},{\"a\":2}]"}`, `{"s":"[2]{a}:\n  1\n  2"}`, true},
		{sameTables, `{"s":"[{\"a\":1},{\"a\":2}]"}`, `{"s":"[2]{a}:\n  1\n  3"}`, false},
		{sameScreen, "\x1b[1;31mred\x1b[0m\nplain", "red\nplain", true},
		{sameScreen, "10%\r20%\rdone\n", "done\n", true},
		{sameScreen, "a longer line\rshort\n", "short\n", false},
		{sameScreen, "a longer line\r\x1b[Kshort\n", "short\n", true},
		{sameScreen, "日本\rab\n", "ab本\n", true},
		{sameScreen, "日本\rab\n", "ab\n", false},
		{sameScreen, "a\tb", "a       b", true},
		{sameScreen, "a\r\nb", "a\nb", false},
		{sameScreen, "a\nb", "a", false},
	} {
		if err := c.claim(c.before, c.after); (err == nil) != c.same {
			t.Errorf("%q and %q: %v, want same %t", c.before, c.after, err, c.same)
		}
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	const marker = " <<cg:abcdefghijklmnopqrst>>"
	text := "one\ntwo\nERROR: three\nfour\nfive\n"
	for _, c := range []struct {
		name, view    string
		covers, shown bool
	}{
		{"whole", text, true, true},
		{"named", "one\n... (3 lines omitted)" + marker + " lines 2-4\nfive\n", true, true},
		{"hinted", "one\n... (3 lines omitted)" + marker + " [full output: call context_guru_expand] lines 2-4, 1 of them reports an error\nfive\n", true, true},
		{"wrong numbers", "one\n... (3 lines omitted)" + marker + " lines 1-3\nfive\n", false, true},
		{"wrong count", "one\n... (2 lines omitted)" + marker + " lines 2-4\nfive\n", false, false},
		{"error kept", "one\n... (1 line omitted)" + marker + " line 2\nERROR: three\n... (2 lines omitted) lines 4-5\n", true, true},
		{"error gone", "one\n... (1 line omitted)" + marker + " line 2\n... (2 lines omitted) lines 4-5\n", false, false},
		{"end gone", "one\n... (3 lines omitted)" + marker + " lines 2-4\n", false, true},
		{"other order", "two\none\nERROR: three\nfour\nfive\n", false, true},
	} {
		if err := viewCovers(text, c.view); (err == nil) != c.covers {
			t.Errorf("%s: covers: %v", c.name, err)
		}
		if err := errorsShown(text, c.view); (err == nil) != c.shown {
			t.Errorf("%s: errors: %v", c.name, err)
		}
	}
	forged := "... (3 lines omitted) lines 2-4\n"
	if viewCovers(text+forged, "one\n"+forged+"five\n"+forged) == nil {
		t.Error("a line of the client's own counts as a note")
	}
	items := `[{"id":0},{"id":1},{"id":2},{"id":3}]`
	note := ` [2 of 4 items shown; items 1-2 omitted]` + marker
	if err := itemsCover(items, `[{"id":0},{"id":3}]`+note); err != nil {
		t.Error(err)
	}
	for _, view := range []string{`[{"id":0},{"id":2}]` + note, `[{"id":0}]` + note, `[{"id":0},{"id":3}] [2 of 4 items shown; items 1-3 omitted]` + marker} {
		if itemsCover(items, view) == nil {
			t.Errorf("%s passes as a view", view)
		}
	}
}

func TestPrefixJudge(t *testing.T) {
	t.Parallel()
	body := func(messages string) []byte { return []byte(`{"m":[],"messages":[` + messages + `],"stream":true}`) }
	const (
		user    = `{"role":"user","content":"a"}`
		asBlock = `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`
		other   = `{"role":"user","content":[{"type":"text","text":"b"}]}`
		more    = `,{"role":"assistant","content":"x"}`
	)
	for _, c := range []struct {
		client, later, sent, sentLater string
		want                           string
	}{
		{user, user + more, user, user + more, ""},
		{user, user + more, user, asBlock + more, "do not begin"},
		{asBlock, user + more, asBlock, user + more, ""},
		{asBlock, user + more, asBlock, other + more, "do not begin"},
		{user, other + more, user, user + more, "client's own"},
		{user, user + more, user + " ", user + more, ""},
	} {
		err := checkPrefix(body(c.client), body(c.later), body(c.sent), body(c.sentLater))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s then %s: %v, want %q", c.sent, c.sentLater, err, c.want)
		}
	}
}

// However a text is spelled, it is read back, and the paths and turns of tool
// outputs do not depend on the spelling.
func TestSpellingsSayTheSame(t *testing.T) {
	t.Parallel()
	w := newWriter(1)
	for range 200 {
		text := w.output()
		for _, how := range spellings {
			if got, ok := exactText([]byte(w.spell(text, how))); !ok || got != text {
				t.Fatalf("spelling %d: %t, %s", how, ok, parting(text, got))
			}
		}
		if utf8.ValidString(text) {
			for _, half := range []string{`\ud83d`, `\ude00`} {
				if _, ok := exactText([]byte(strings.TrimSuffix(w.spell(text, spellPlain), `"`) + half + `"`)); ok {
					t.Fatalf("half a character passes as text behind %q", text)
				}
			}
		}
	}
}

// The requests of a plot are what the rule for real conversations cuts out of
// the last one, and the tool outputs in it are those of the plot.
func TestPlotsAreConversations(t *testing.T) {
	t.Parallel()
	for n := range uint64(40) {
		p := newWriter(n).plot()
		p.quirky = false
		for _, d := range []wire.Dialect{wire.OpenAIChat, wire.AnthropicMessages} {
			requests := p.write(d)
			want, err := cut(requests[len(requests)-1])
			if err != nil {
				t.Fatal(err)
			}
			if p.trailing {
				requests = requests[:len(requests)-1] // the prefill is another request of the same turn
			}
			if !bytes.Equal(bytes.Join(requests, []byte("\n")), bytes.Join(want, []byte("\n"))) {
				t.Errorf("plot %d, %s: %d requests, cut into %d", n, d, len(requests), len(want))
			}
			found, err := places(requests[len(requests)-1])
			if err != nil {
				t.Fatal(err)
			}
			turns := map[int]string{}
			for _, p := range found {
				turns[p.order] = fmt.Sprint(p.turn, " ", string(p.original))
			}
			var told []string
			for i, turn := range p.turns {
				if turn.remote != "" && d == wire.AnthropicMessages {
					told = append(told, fmt.Sprint(i+1, " ", turn.remote))
				}
				for _, r := range turn.results {
					for _, leaf := range r.leaves {
						told = append(told, fmt.Sprint(i+1, " ", leaf))
					}
				}
			}
			var got []string
			for i := range len(turns) {
				got = append(got, turns[i])
			}
			if diff := cmp.Diff(told, got); diff != "" {
				t.Errorf("plot %d, %s: outputs (-plot +found):\n%.2000s", n, d, diff)
			}
		}
	}
}
