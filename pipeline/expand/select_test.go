package expand

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// ten is ten lines: "line 1" to "line 10".
func ten(end string) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "line %d%s", i+1, end)
	}
	return b.String()
}

func TestSelect(t *testing.T) {
	t.Parallel()
	lf, open := ten("\n"), strings.TrimSuffix(ten("\n"), "\n")
	crlf := ten("\r\n")
	for _, tc := range []struct {
		name, original string
		q              Query
		want           Selection
	}{
		{"whole", lf, Query{}, Selection{Text: lf}},
		{"whole of nothing", "", Query{}, Selection{}},
		{"lines", lf, Query{Lines: Range{3, 4}}, Selection{Text: "line 3\nline 4\n", Note: "lines 3-4 of 10"}},
		{"lines crlf", crlf, Query{Lines: Range{3, 4}}, Selection{Text: "line 3\r\nline 4\r\n", Note: "lines 3-4 of 10"}},
		{"all lines", lf, Query{Lines: Range{1, 10}}, Selection{Text: lf, Note: "lines 1-10 of 10"}},
		{"last line without end", open, Query{Lines: Range{10, 10}}, Selection{Text: "line 10", Note: "lines 10-10 of 10"}},
		{"from", lf, Query{Lines: Range{9, 0}}, Selection{Text: "line 9\nline 10\n", Note: "lines 9-10 of 10"}},
		{"to", lf, Query{Lines: Range{0, 2}}, Selection{Text: "line 1\nline 2\n", Note: "lines 1-2 of 10"}},
		{"past the end", lf, Query{Lines: Range{9, 90}}, Selection{Text: "line 9\nline 10\n", Note: "lines 9-10 of 10", Short: true}},
		{"behind the end", lf, Query{Lines: Range{11, 12}}, Selection{Note: "no such lines: the text has 10 lines", Short: true}},
		{"of nothing", "", Query{Lines: Range{1, 2}}, Selection{Note: "no such lines: the text has 0 lines", Short: true}},
		{"of one", "x", Query{Lines: Range{2, 2}}, Selection{Note: "no such lines: the text has 1 line", Short: true}},
		{"lone cr is no end", "a\rb\nc", Query{Lines: Range{1, 1}}, Selection{Text: "a\rb\n", Note: "lines 1-1 of 2"}},
		{"head", lf, Query{Head: 2}, Selection{Text: "line 1\nline 2\n", Note: "lines 1-2 of 10"}},
		{"head more", lf, Query{Head: 11}, Selection{Text: lf, Note: "lines 1-10 of 10"}},
		{"tail", lf, Query{Tail: 2}, Selection{Text: "line 9\nline 10\n", Note: "lines 9-10 of 10"}},
		{"tail open", open, Query{Tail: 2}, Selection{Text: "line 9\nline 10", Note: "lines 9-10 of 10"}},
		{"tail more", open, Query{Tail: 99}, Selection{Text: open, Note: "lines 1-10 of 10"}},
		{"tail of newlines", "\n\n\n", Query{Tail: 2}, Selection{Text: "\n\n", Note: "lines 2-3 of 3"}},
		{
			"head and tail", lf,
			Query{Head: 1, Tail: 2},
			Selection{Text: "line 1\n[lines 2-8 left out]\nline 9\nline 10\n", Note: "lines 1-1 and 9-10 of 10"},
		},
		{"head meets tail", lf, Query{Head: 5, Tail: 5}, Selection{Text: lf, Note: "lines 1-10 of 10"}},
		{"head of lines", lf, Query{Lines: Range{4, 8}, Head: 2}, Selection{Text: "line 4\nline 5\n", Note: "lines 4-5 of 10"}},
		{"tail of lines", lf, Query{Lines: Range{4, 8}, Tail: 1}, Selection{Text: "line 8\n", Note: "lines 8-8 of 10"}},
		{
			"grep", lf,
			Query{Grep: "5$"},
			Selection{Text: "3-line 3\n4-line 4\n5:line 5\n6-line 6\n7-line 7\n", Note: "1 of 1 matching lines; searched lines 1-10 of 10"},
		},
		{
			"grep crlf", crlf,
			Query{Grep: "^line 1$"},
			Selection{Text: "1:line 1\r\n2-line 2\r\n3-line 3\r\n", Note: "1 of 1 matching lines; searched lines 1-10 of 10"},
		},
		{
			"grep groups", lf,
			Query{Grep: "line (1|9)$"},
			Selection{
				Text: "1:line 1\n2-line 2\n3-line 3\n--\n7-line 7\n8-line 8\n9:line 9\n10-line 10\n",
				Note: "2 of 2 matching lines; searched lines 1-10 of 10",
			},
		},
		{
			"grep joined", lf,
			Query{Grep: "line [16]$"},
			Selection{
				Text: "1:line 1\n2-line 2\n3-line 3\n4-line 4\n5-line 5\n6:line 6\n7-line 7\n8-line 8\n",
				Note: "2 of 2 matching lines; searched lines 1-10 of 10",
			},
		},
		{
			"grep in lines", lf,
			Query{Lines: Range{5, 6}, Grep: "line"},
			Selection{Text: "5:line 5\n6:line 6\n", Note: "2 of 2 matching lines; searched lines 5-6 of 10"},
		},
		{"grep nothing", lf, Query{Grep: "absent"}, Selection{Note: "no line matches; searched lines 1-10 of 10", Short: true}},
		{
			"grep head", lf,
			Query{Grep: "line", Head: 1},
			Selection{Text: "1:line 1\n2-line 2\n3-line 3\n", Note: "1 of 10 matching lines; searched lines 1-10 of 10"},
		},
		{
			"grep tail", lf,
			Query{Grep: "line", Tail: 1},
			Selection{Text: "8-line 8\n9-line 9\n10:line 10\n", Note: "1 of 10 matching lines; searched lines 1-10 of 10"},
		},
		{
			"grep head and tail", lf,
			Query{Grep: "line", Head: 1, Tail: 1},
			Selection{
				Text: "1:line 1\n2-line 2\n3-line 3\n--\n8-line 8\n9-line 9\n10:line 10\n",
				Note: "2 of 10 matching lines; searched lines 1-10 of 10",
			},
		},
		{
			"grep does not cross lines", "a\nb\n",
			Query{Grep: "(?s)a.b"},
			Selection{Note: "no line matches; searched lines 1-2 of 2", Short: true},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Select(t.Context(), tc.original, tc.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrepOfLongLines(t *testing.T) {
	t.Parallel()
	for shift := range 3 { // so that the cuts fall on every byte of a character
		line := strings.Repeat("x", shift) + strings.Repeat("€", 50_000) + "NEEDLE" + strings.Repeat("y", shift) + strings.Repeat("₤", 50_000)
		s, err := Select(t.Context(), line+"\n"+line+"\n", Query{Grep: "NEEDLE", Head: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.Text, "€NEEDLE") || len(s.Text) > 2*(maxGrepLine+20) || !utf8.ValidString(s.Text) || !s.Short {
			t.Errorf("%d bytes, valid %v, short %v: %.100q", len(s.Text), utf8.ValidString(s.Text), s.Short, s.Text)
		}
		if want := "1 of 2 matching lines, 2000 bytes at most of a line; searched lines 1-2 of 2"; s.Note != want {
			t.Errorf("note %q, want %q", s.Note, want)
		}
	}
}

func TestGrepIsBounded(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x\n", 1<<20)
	s, err := Select(t.Context(), text, Query{Grep: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Text) > maxGrepBytes || !s.Short {
		t.Errorf("%d bytes, short %v", len(s.Text), s.Short)
	}
	// Each line costs its number, a colon, x and the newline.
	if want := "128853 of 1048576 matching lines, the next is after line 128853; searched lines 1-1048576 of 1048576"; s.Note != want {
		t.Errorf("note %q, want %q", s.Note, want)
	}

	var selector *SelectorError
	_, err = Select(t.Context(), strings.Repeat("a", 1<<20), Query{Grep: "(a?){500}b"})
	if !errors.As(err, &selector) || selector.Param != "grep" {
		t.Errorf("a costly pattern on a large text: %v", err)
	}
	if _, err = Select(t.Context(), strings.Repeat("a", 1<<10), Query{Grep: "(a?){500}b"}); err != nil {
		t.Errorf("the same pattern on a small text: %v", err)
	}
	// Plain text is cheap however long the pattern and the text are.
	if _, err = Select(t.Context(), strings.Repeat("a\n", 8<<20), Query{Grep: strings.Repeat("b", maxPattern)}); err != nil {
		t.Errorf("plain text: %v", err)
	}
}

func TestSelectStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Select(ctx, strings.Repeat("a line\n", 1<<20), Query{Grep: "(?i)z"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestSelectRefusesHandmadeNonsense(t *testing.T) {
	t.Parallel()
	for _, q := range []Query{{Lines: Range{5, 2}}, {Lines: Range{-4, -1}}, {Head: -1}, {Tail: -3}, {Head: -5, Tail: -5, Grep: "l"}, {Lines: Range{-9, 3}, Tail: -1}} {
		if _, err := Select(t.Context(), ten("\n"), q); err != nil {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := Select(t.Context(), "x", Query{Grep: "("}); err == nil {
		t.Error("a broken pattern was accepted")
	}
}

// Without a pattern a selection is made of the original's own lines, and the
// parts a reader can page through put it together again.
func FuzzSelect(f *testing.F) {
	f.Add("a\nb\r\nc", 1, 2, 0, 0, "")
	f.Add("a\nb\r\nc\n", 2, 0, 1, 1, "b")
	f.Add("\n\n\r\n", 0, 0, 2, 0, "^$")
	f.Add(strings.Repeat("é", 3000), 1, 1, 0, 1, "é")
	f.Fuzz(func(t *testing.T, original string, from, to, head, tail int, pattern string) {
		q := Query{Lines: Range{from, to}, Head: head, Tail: tail, Grep: pattern}
		got, err := Select(t.Context(), original, q)
		var selector *SelectorError
		if err != nil && !errors.As(err, &selector) {
			t.Fatalf("error %v", err)
		}
		if utf8.ValidString(original) && !utf8.ValidString(got.Text) {
			t.Errorf("a character was cut: %q", got.Text)
		}
		if pattern == "" && (head <= 0 || tail <= 0) && !strings.Contains(original, got.Text) {
			t.Errorf("%+v of %q gives foreign text %q", q, original, got.Text)
		}
		for _, r := range got.Note {
			if r < ' ' || r > '~' {
				t.Errorf("note %q cannot be a header", got.Note)
			}
		}
		var all strings.Builder
		n := countLines(original)
		for i := 1; i <= n && n < 2000; i += 3 {
			part, err := Select(t.Context(), original, Query{Lines: Range{i, i + 2}})
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(part.Text)
		}
		if n < 2000 && all.String() != original {
			t.Errorf("pages of %q make %q", original, all.String())
		}
	})
}

// A reader with little room gets whole lines where there are any, is told how
// to go on, and has everything when there is nothing left to ask for.
func TestWindow(t *testing.T) {
	t.Parallel()
	const id = someID
	lf := ten("\n") // 71 bytes
	for _, tc := range []struct {
		name, original string
		q              Query
		most           int
		want           Selection
	}{
		{"fits", lf, Query{}, 71, Selection{Text: lf}},
		{"whole", lf, Query{}, 30, Selection{Text: lf[:28], Note: "lines 1-4 of 10; the rest is " + id + ":5-10", Short: true}},
		{"whole at a line end", lf, Query{}, 28, Selection{Text: lf[:28], Note: "lines 1-4 of 10; the rest is " + id + ":5-10", Short: true}},
		{"lines", lf, Query{Lines: Range{3, 9}}, 15, Selection{Text: "line 3\nline 4\n", Note: "lines 3-4 of 10; the rest is " + id + ":5-9", Short: true}},
		{"lines that fit", lf, Query{Lines: Range{3, 4}}, 14, Selection{Text: "line 3\nline 4\n", Note: "lines 3-4 of 10"}},
		{"head", lf, Query{Head: 5}, 15, Selection{Text: "line 1\nline 2\n", Note: "lines 1-2 of 10; the rest is " + id + ":3-10", Short: true}},
		{"tail", lf, Query{Tail: 5}, 15, Selection{Text: "line 6\nline 7\n", Note: "lines 6-7 of 10; the rest is " + id + ":8-10", Short: true}},
		{
			"head and tail", lf,
			Query{Head: 1, Tail: 3},
			45,
			Selection{Text: "line 1\n[lines 2-7 left out]\nline 8\nline 9\n", Note: "lines 1-1 and 8-9 of 10; the rest is " + id + ":10-10", Short: true},
		},
		{"long line", "abcdefgh\nij\n", Query{}, 5, Selection{Text: "abcde", Note: "lines 1-1 of 2; the rest is " + id + ":1-2@5", Short: true}},
		{"long line goes on", "abcdefgh\nij\n", Query{Lines: Range{1, 2}, Skip: 5}, 100, Selection{Text: "fgh\nij\n", Note: "lines 1-2 from byte 5 of line 1 of 2"}},
		{"long line goes on and on", "abcdefgh\nij\n", Query{Lines: Range{1, 2}, Skip: 2}, 3, Selection{Text: "cde", Note: "lines 1-1 from byte 2 of line 1 of 2; the rest is " + id + ":1-2@5", Short: true}},
		{"short line, long line", "a\nbcdefghijk", Query{}, 8, Selection{Text: "a\nbcdefg", Note: "lines 1-2 of 2; the rest is " + id + ":2-2@6", Short: true}},
		{"character", "äöü", Query{}, 3, Selection{Text: "ä", Note: "lines 1-1 of 1; the rest is " + id + ":1-1@2", Short: true}},
		{"no room for a character", "äöü", Query{}, 1, Selection{Text: "ä", Note: "lines 1-1 of 1; the rest is " + id + ":1-1@2", Short: true}},
		{"skip cuts a character", "äöü", Query{Skip: 1}, 9, Selection{Text: "öü", Note: "lines 1-1 from byte 2 of line 1 of 1"}},
		{"skip lines", lf, Query{Skip: 7}, 9, Selection{Text: "line 2\n", Note: "lines 2-2 of 10; the rest is " + id + ":3-10", Short: true}},
		{"skip everything", lf, Query{Skip: 71}, 9, Selection{Note: "nothing is left behind byte 71 of these lines", Short: true}},
		{"skip and search", "a a\na", Query{Skip: 2, Grep: "a"}, 99, Selection{Text: "1:a\n2:a", Note: "2 of 2 matching lines; searched lines 1-2 of 2"}},
		{"search", lf, Query{Grep: "1|9"}, 40, Selection{Text: "1:line 1\n2-line 2\n3-line 3\n--\n7-line 7\n", Note: "1 of 3 matching lines, the next is after line 7; searched lines 1-10 of 10", Short: true}},
	} {
		tc.q.ID = id
		got, err := Window(t.Context(), tc.original, tc.q, tc.most)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// Following the notes leads through the whole text, whatever it is.
func FuzzWindow(f *testing.F) {
	f.Add("line 1\nline 2\n", 3)
	f.Add("äöü\r\n\n\n日本語日本語日本語", 4)
	f.Add("no end", 1)
	f.Add(strings.Repeat("x", 200), 7)
	f.Fuzz(func(t *testing.T, original string, most int) {
		if most < 1 || most > 1<<20 || len(original) > 1<<12 || !utf8.ValidString(original) {
			return
		}
		var read strings.Builder
		q := Query{ID: someID}
		for range len(original) + 2 {
			s, err := Window(t.Context(), original, q, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Text) > max(most, utf8.UTFMax) {
				t.Fatalf("%d bytes where %d fit", len(s.Text), most)
			}
			read.WriteString(s.Text)
			_, next, more := strings.Cut(s.Note, "the rest is ")
			if !more {
				break
			}
			if q, err = ParseArguments([]byte(next)); err != nil {
				t.Fatalf("%s: %v", next, err)
			}
		}
		if read.String() != original {
			t.Fatalf("read %q of %q", read.String(), original)
		}
	})
}
