package terminal_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextguru/contextguru/components/internal/terminal"
)

func TestScan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]terminal.Code{
		"\x1b[mx":                    {Len: 3},
		"\x1b[38:2::1:2:3mx":         {Len: 14},
		"\x1b[?25lx":                 {Len: 6},
		"\x1b[>4;2mx":                {Len: 7},
		"\x1b[3 qx":                  {Len: 5, Kind: terminal.Other},
		"\x1b[K":                     {Len: 3, Kind: terminal.EraseRight},
		"\x1b[0K":                    {Len: 4, Kind: terminal.EraseRight},
		"\x1b[1K":                    {Len: 4, Kind: terminal.Other},
		"\x1b[2K":                    {Len: 4, Kind: terminal.EraseLine},
		"\x1b[G":                     {Len: 3, Kind: terminal.ToStart},
		"\x1b[1G":                    {Len: 4, Kind: terminal.ToStart},
		"\x1b[7G":                    {Len: 4, Kind: terminal.Other},
		"\x1b[C":                     {Len: 3, Kind: terminal.Forward, N: 1},
		"\x1b[12C":                   {Len: 5, Kind: terminal.Forward, N: 12},
		"\x1b[99999999999999999999C": {Len: 23, Kind: terminal.Forward, N: 1 << 16},
		"\x1b[1;2C":                  {Len: 6, Kind: terminal.Other},
		"\x1b[1Ax":                   {Len: 4, Kind: terminal.Away},
		"\x1b[2Jx":                   {Len: 4, Kind: terminal.Away},
		"\x1b[3D":                    {Len: 4, Kind: terminal.Other},
		"\x1b[2P":                    {Len: 4, Kind: terminal.Other},
		"\x1b]0;title\ax":            {Len: 10, Holds: true},
		"\x1b]8;;http://a\x1b\\x":    {Len: 15, Holds: true},
		"\x1b]0;a ✓ b\ax":            {Len: 12, Holds: true},
		"\x1bPq\x1b\\x":              {Len: 5, Holds: true},
		"\x1b(Bx":                    {Len: 3},
		"\x1b(0x":                    {Len: 3, Kind: terminal.Other},
		"\x1b%Gx":                    {Len: 3},
		"\x1b%B":                     {Len: 3, Kind: terminal.Other},
		"\x1b#8x":                    {Len: 3, Kind: terminal.Other},
		"\x1b=":                      {Len: 2},
		"\x1bM":                      {Len: 2, Kind: terminal.Away},
		"\x1b8":                      {Len: 2, Kind: terminal.Other},
	} {
		if got, ok := terminal.Scan(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"\x1b", "\x1b[", "\x1b[31", "\x1b[31\n", "\x1b[ of a list", "\x1b[31日", "\x1b\x1b[m", "\x1b text", "\x1b日",
		"\x1b]0;no end", "\x1b]0;no end\x1b[m\a", "\x1b]0;no\rend\a", "\x1bPbell does not end it\a", "\x1b(", "\x1b( ", "\x1b]0;\x1b",
	} {
		if got, ok := terminal.Scan(text); ok {
			t.Errorf("%q is said to begin with %+v", text, got)
		}
	}
}

// An unfinished code keeps the line, and so does one that holds an error.
func TestStripKeepsWhatItIsNotSureOf(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"\x1b]0;all of this would vanish", "a \x1b[31", "a \x1b", "\x1b[1mok\x1b[0m \x1b]0;error: in here\a text", "\x1b\x1b[m[m",
	} {
		if got, ok := terminal.Strip(line); ok || got != line {
			t.Errorf("%q became %q, %v", line, got, ok)
		}
	}
	if got, ok := terminal.Strip("\x1b]0;error\a\x1b[31merror\x1b[m"); !ok || got != "error" {
		t.Errorf("%q, %v", got, ok)
	}
}

func TestDrawsOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after string
		want          bool
	}{
		{"Counting: 1", "Counting: 2, done", false},
		{"Counting: 1", "Counting: 2.", true},
		{"Counting: 10%", "Counting: done", true},
		{"Counting: 10%", "Writing: 10%", false},
		{"[##..] verb a", "done", true},
		{"10%", "done", true},
		{"/", "done", true},
		{"first thing", "second thing", false},
		{"error: 10%", "error: 20%", false},
		{"数 1", "数 2", true},
	} {
		if got := terminal.DrawsOver(c.before, c.after); got != c.want {
			t.Errorf("%q and %q: %v", c.before, c.after, got)
		}
	}
}

// The library and this package agree on every line the library reads as
// terminals do: it takes parts of characters for the end of a title, and begins
// another code in an empty ESC P.
func FuzzStrip(f *testing.F) {
	for _, text := range []string{
		"\x1b[1;31mred\x1b[0m", "\x1b[?25l\x1b[2K\x1b[mx", "a\x1b[\x1b[31m", "\x1b[38:2::1:2:3m日本\x1b[~", "\x1b[3 q\x1b[31",
		"\x1b[=5h\x1b[<0;1;2M\x1b[>c", "\x1b]0;t\a\x1b]8;;u\x1b\\l\x1b]8;;\x1b\\", "\x1bP1\x1b\\\x1b(B\x1b=\x1b7",
	} {
		f.Add(text)
	}
	title, other := regexp.MustCompile(`\x1b\]`), regexp.MustCompile(`\x1b[PX^_]`)
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		plain, ok := terminal.Strip(text)
		if !ok {
			if plain != text {
				t.Errorf("%q became %q and is said to be left alone", text, plain)
			}
			return
		}
		ascii := strings.IndexFunc(text, func(r rune) bool { return r >= 0x7f }) < 0
		if !other.MatchString(text) && (ascii || !title.MatchString(text)) && plain != ansi.Strip(text) {
			t.Errorf("%q became %q, the library says %q", text, plain, ansi.Strip(text))
		}
	})
}
