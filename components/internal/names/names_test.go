package names_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/names"
	"github.com/contextguru/contextguru/pipeline"
)

func list(text string, shown ...string) *names.List {
	l := names.Known(shown...)
	l.Add(text)
	return l
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"words of a language":   {"the build of it went well, in 12 s", ""},
		"paths and numbers":     {"see ./cmd/main.go:120 in parseBody of x_test at 4096 B (v1.2.3)", "./cmd/main.go 120 parseBody x_test 4096 v1.2.3"},
		"each once":             {"a_b1 a_b1, a_b1", "a_b1"},
		"ends of sentences":     {"read main.go. Then (util.go).", "main.go util.go"},
		"in JSON":               {`{"user_id":"mia_li_3668","total":1250}`, "user_id mia_li_3668 1250"},
		"behind an escape":      {`"out\nmain.go\tutil.go"`, "main.go util.go"},
		"parts of a longer one": {"a/b/main.go and main.go and b/main.go, a/b too", "a/b/main.go"},
		"an address":            {"write to ada@example.com", "ada@example.com"},
		"beyond ASCII":          {"der Größe_2 und größer", "Größe_2"},
		"too long to say much":  {strings.Repeat("a1", 100), ""},
		"punctuation":           {"--- ... /// @@ -- ./ ../", ""},
	} {
		if got, left := list(c.text).Text(1000); got != c.want || left != 0 {
			t.Errorf("%s: %q, %d left out, want %q", name, got, left, c.want)
		}
	}
}

func TestWhatIsShownIsNotNamed(t *testing.T) {
	t.Parallel()
	if got, _ := list("parseBody util.go cmd/main.go", "func parseBody() in cmd/util.go").Text(1000); got != "cmd/main.go" {
		t.Errorf("%q", got)
	}
}

func TestTheLongestGoFirst(t *testing.T) {
	t.Parallel()
	l := list("a_longer_name_1 b_22 c_333 d_44")
	for most, want := range map[int]string{
		0: "", 4: "", 5: "b_22", 10: "b_22 d_44", 16: "b_22 c_333 d_44", 100: "a_longer_name_1 b_22 c_333 d_44",
	} {
		got, left := l.Text(most)
		if got != want || left != 4-len(strings.Fields(want)) || len(got) > most {
			t.Errorf("in %d bytes: %q, %d left out, want %q", most, got, left, want)
		}
	}
	if got := l.Line(5, "\r\n"); got != "... names in there, the shorter ones: b_22\r\n" {
		t.Errorf("%q", got)
	}
	if got := l.Line(100, "\n"); got != "... names in there: a_longer_name_1 b_22 c_333 d_44\n" {
		t.Errorf("%q", got)
	}
	if got := l.Line(3, "\n"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestManyNamesAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100_000 {
		text.WriteString("n_")
		text.WriteString(strings.Repeat("x", i%60))
		text.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + " ")
	}
	line := list(text.String()).Line(1<<30, "")
	if n := len(strings.Fields(line)); n > 17_000 || !strings.Contains(line, "the shorter ones") {
		t.Errorf("%d names: %.80q", n, line)
	}
	list(strings.Repeat("a/", 1<<20)) // one word of a million parts
}

func TestCheckShare(t *testing.T) {
	t.Parallel()
	for percent, want := range map[int]bool{-1: false, 0: true, 50: true, 51: false} {
		err := names.CheckShare(percent)
		var field *pipeline.FieldError
		if (err == nil) != want || err != nil && !errors.As(err, &field) {
			t.Errorf("%d: %v", percent, err)
		}
	}
}

// TestTextIsBounded checks that a list of a very long text stays one that can be
// looked through, whatever share of the text it may take.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "request_%d took %d\n", i, 1000+i)
	}
	l := names.Known()
	l.Add(b.String())
	if text, left := l.Text(b.Len()); len(text) > 12<<10 || left == 0 {
		t.Errorf("%d bytes of names, %d left out", len(text), left)
	}
}
