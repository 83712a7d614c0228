package extract

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// The quick way and the parser agree on every line the quick way takes.
func FuzzStripPlain(f *testing.F) {
	f.Add("\x1b[1;31mred\x1b[0m")
	f.Add("\x1b[?25l\x1b[2K\x1b[mx")
	f.Add("a\x1b[\x1b[31m")
	f.Add("\x1b[38:2::1:2:3m日本\x1b[~")
	f.Add("\x1b[3 q\x1b[31")
	f.Add("\x1b[=5h\x1b[<0;1;2M\x1b[>c")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		plain, ok := stripPlain(text)
		if ok && plain != ansi.Strip(text) {
			t.Errorf("%q became %q, the parser says %q", text, plain, ansi.Strip(text))
		}
	})
}
