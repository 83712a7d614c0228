package textclean

import (
	"slices"
	"strings"
	"testing"
)

// The check of the claim shows what terminals show; these lines were typed into
// one.
func TestShow(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                                nil,
		"   ":                             nil,
		"a b  ":                           {"a b"},
		"abc\rx":                          {"xbc"},
		"abc\r\x1b[Kx":                    {"x"},
		"abc\x1b[2Kx":                     {"   x"},
		"abc\x1b[1Kx":                     {"   x"},
		"abc\x1b[1Gx":                     {"xbc"},
		"abc\x1b[2Gx":                     {"axc"},
		"abc\x1b[2Dx":                     {"axc"},
		"abc\bx":                          {"abx"},
		"a\tb\rcd":                        {"cd      b"},
		"a\x1b[2Cb":                       {"a  b"},
		"日本\rx":                           {"x 本"},
		"日本\r xy":                         {" xy"}, // two halves
		"e\u0301\rx":                      {"x"},
		"foo\x1b[1Abar":                   {"foo", "   bar"},
		"\x1b[31mred\x1b[0m":              {"red"},
		"\x1b]0;t\aa\x1b]8;;u\x1b\\b":     {"ab"},
		"\x1b]0;no end":                   {"\x1b]0;no end"},
		"\x1b[31":                         {"\x1b[31"},
		"a\x1b[1@b":                       {"a\x1b[1@b"},
		"a\x1b[99999999999999999999999Cb": {"a b"},
	} {
		if got := show(line); !slices.Equal(got, want) {
			t.Errorf("%q shows %q, want %q", line, got, want)
		}
	}
}

func TestCheckNoticesEveryDifference(t *testing.T) {
	t.Parallel()
	text := "\x1b[31mone\x1b[0m 1%\rtwo 100%\r\n\x1b]8;;u\alink\x1b]8;;\a\nlast"
	good := "two 100%\r\nlink\nlast"
	if err := sameDrawing(text, good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, bad := range []string{good[:i] + good[i+1:], good[:i] + "?" + good[i:], good[:i] + "\n" + good[i:]} {
			if err := sameDrawing(text, bad); err == nil {
				t.Errorf("%q passes for %q", bad, text)
			}
		}
	}
	for _, bad := range []string{"", strings.TrimSuffix(good, "last"), good + "\n", strings.Replace(good, "\r", "", 1)} {
		if err := sameDrawing(text, bad); err == nil {
			t.Errorf("%q passes for %q", bad, text)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"a 1%\ra 2%\r\nb\n", "\x1b[31mred\x1b[0m\n", "x\r\x1b[Ky\n", "日本 1%\r日本 2%\n", "a\x1b[2Cb\x1b[1A\n", "error\r\x1b[2K\x1b[1Gok\n",
		"\x1b]0;t\aa\x1b]0;b\n", "a\tb\ra\tc\n", "e\u0301 1%\re\u0301 2%\n", "abc\b\b\x1b[K\n", "a\x1b[2Kb\n", "\u009b31mx\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		got, err := clean(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameDrawing(text, got); err != nil {
			t.Errorf("%q became %q: %v", text, got, err)
		}
		if again, _ := clean(t.Context(), got); again != got {
			t.Errorf("%q became %q, then %q", text, got, again)
		}
	})
}
