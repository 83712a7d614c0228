package expand

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someID = "abcdefghijklmnop2345"

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query string
		want  Query
	}{
		{"", Query{}},
		{"id=" + someID, Query{ID: someID}},
		{"id=+" + someID + "+", Query{ID: someID}},
		{"id=" + someID + ":120-180", Query{ID: someID, Lines: Range{120, 180}}},
		{"id=" + someID + ":7", Query{ID: someID, Lines: Range{7, 7}}},
		{"id=" + someID + "?err(or)?", Query{ID: someID, Grep: "err(or)?"}},
		{"id=" + someID + "%3Fa%2Bb", Query{ID: someID, Grep: "a+b"}},
		{"id=" + someID + ":120-180?a:b@c?", Query{ID: someID, Lines: Range{120, 180}, Grep: "a:b@c?"}},
		{"id=" + someID + ":7-@4096", Query{ID: someID, Lines: Range{7, 0}, Skip: 4096}},
		{"id=" + someID + "@4096?x", Query{ID: someID, Skip: 4096, Grep: "x"}},
		{"id=x&skip=5", Query{ID: "x", Skip: 5}},
		{"id=" + someID + ":", Query{ID: someID + ":"}},
		{"id=%3C%3Ccg:" + someID + "%3E%3E", Query{ID: someID}},
		{"id=%3C%3Ccg:" + someID + "%3E%3E:3-4", Query{ID: someID, Lines: Range{3, 4}}},
		{"id=%3C%3Ccg:" + someID + ":3-4%3E%3E", Query{ID: someID, Lines: Range{3, 4}}},
		{"id=%3C%3Ccg:short%3E%3E", Query{ID: "short"}},
		{"id=short:1-2", Query{ID: "short:1-2"}},
		{"id=x&lines=120-180", Query{ID: "x", Lines: Range{120, 180}}},
		{"id=x&lines=120-", Query{ID: "x", Lines: Range{120, 0}}},
		{"id=x&lines=-50", Query{ID: "x", Lines: Range{1, 50}}},
		{"id=x&lines=7", Query{ID: "x", Lines: Range{7, 7}}},
		{"id=x&lines=+1+-+2+", Query{ID: "x", Lines: Range{1, 2}}},
		{"id=x&lines=&grep=&head=&tail=", Query{ID: "x"}},
		{"id=x&id=", Query{ID: "x"}},
		{"id=x&head=3&tail=4&grep=%5Ea", Query{ID: "x", Head: 3, Tail: 4, Grep: "^a"}},
		{"id=x&lines=999999999", Query{ID: "x", Lines: Range{999999999, 999999999}}},
	} {
		values, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseQuery(values)
		if err != nil {
			t.Errorf("%s: %v", tc.query, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.query, diff)
		}
	}
}

func TestParseQueryFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ query, want string }{
		{"lines=0", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "0"`},
		{"lines=0-5", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "0-5"`},
		{"lines=-", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "-"`},
		{"lines=1-2-3", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "1-2-3"`},
		{"lines=a", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "a"`},
		{"lines=%2B5", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "+5"`},
		{"lines=1234567890", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "1234567890"`},
		{"lines=" + strings.Repeat("9", 100), `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "9999999999999999999999999999999999999999…"`},
		{"lines=5-4", `lines: must not end before it starts, got "5-4"`},
		{"head=0", `head: must be a number of lines, at least 1, got "0"`},
		{"tail=-1", `tail: must be a number of lines, at least 1, got "-1"`},
		{"head=x&tail=1.5", "head: must be a number of lines, at least 1, got \"x\"\ntail: must be a number of lines, at least 1, got \"1.5\""},
		{"id=" + someID + "@1&skip=2", "skip: is given in the id and beside it; give it once"},
		{"skip=-1", `skip: must be a number of bytes, at least 1, got "-1"`},
		{"grep=(", "grep: must be a pattern in RE2 syntax: error parsing regexp: missing closing ): `(`"},
		{"grep=" + strings.Repeat("a", 513), "grep: must have at most 512 bytes, got 513"},
		{"line=5&lines=1", "line: is unknown; use id, lines, skip, grep, head and tail"},
		{"lines=1&lines=2", "lines: is given 2 times; give it once"},
		{"id=" + someID + ":1-2&lines=3", "lines: is given in the id and beside it; give it once"},
		{"id=" + someID + "?x&grep=y", "grep: is given in the id and beside it; give it once"},
		{"id=" + someID + ":zz", `lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got "zz"`},
	} {
		values, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ParseQuery(values)
		if _, ok := errors.AsType[*SelectorError](err); !ok {
			t.Errorf("%.40s: error %v is no SelectorError", tc.query, err)
			continue
		}
		if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
			t.Errorf("%.40s (-want +got):\n%s", tc.query, diff)
		}
		if strings.HasPrefix(tc.query, "id=") && q.ID != someID {
			t.Errorf("%.40s: the id is %q although only the selector is wrong", tc.query, q.ID)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"id=" + someID + ":1-2", "id=" + someID + "?x&lines=1-", "id=%3C%3Ccg:%3E%3E", "grep=(&head=1&tail=2", "a;b", "%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, _ := url.ParseQuery(query)
		q, err := ParseQuery(values)
		if err != nil {
			return
		}
		if q.Head < 0 || q.Tail < 0 || q.Lines.From < 0 || q.Lines.To != 0 && q.Lines.To < q.Lines.From || len(q.Grep) > maxPattern {
			t.Errorf("%q gives %+v", query, q)
		}
	})
}
