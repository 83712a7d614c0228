package errview_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/errview"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// view returns what is said of the errors of an output, line by line.
func view(t *testing.T, o pipelinetest.Output) (head string, rest []string) {
	t.Helper()
	found, err := errview.Find(t.Context(), &pipeline.Segment{Tool: []byte(o.Tool), Args: []byte(o.Args), Text: o.Text})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(errview.CountLines(o.Text))
	found.Write(&b)
	all := strings.Split(b.String(), "\n")
	return all[0], all[1:]
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d of the log\n", i)
	}
	return b.String()
}

func TestErrorsStayWithTheirNumbers(t *testing.T) {
	t.Parallel()
	filler := lines(1, 60)
	entries := strings.Repeat("12:00:00 a\n", 60)
	long := strings.Repeat("a word of no interest ", 40)
	for name, c := range map[string]struct {
		o    pipelinetest.Output
		head string
		rest []string
	}{
		"none":             {pipelinetest.Output{Text: filler}, "60 lines", nil},
		"one":              {pipelinetest.Output{Text: filler + "error: a\n" + filler}, "121 lines, 1 error:", []string{"61: error: a"}},
		"none at all":      {pipelinetest.Output{Text: filler + "0 errors\n"}, "61 lines", nil},
		"CRLF":             {pipelinetest.Output{Text: filler + "error: a\r\nb\r\n"}, "62 lines, 1 error:", []string{"61: error: a"}},
		"once":             {pipelinetest.Output{Text: "error: a\n" + filler + "error: a\nerror: b\n"}, "63 lines, 3 errors:", []string{"1: error: a", "63: error: b"}},
		"colours":          {pipelinetest.Output{Text: filler + "\x1b[31merror\x1b[0m: a\n"}, "61 lines, 1 error:", []string{"61: error: a"}},
		"long":             {pipelinetest.Output{Text: filler + long + "error: a" + long + "\n"}, "61 lines, 1 error:", []string{"61: …" + long[len(long)-80:] + "error: a" + long[:72] + "…"}},
		"JSON":             {pipelinetest.Output{Text: `{"log":"` + strings.ReplaceAll(filler, "\n", `\n`) + `error: a\nok\n"}`}, "1 line, 1 error:", []string{"1: error: a"}},
		"source":           {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"a.py"}`, Text: filler + "raise ValueError('error')\n"}, "61 lines", nil},
		"printed":          {pipelinetest.Output{Args: `{"command":"cat a.py"}`, Text: filler + "raise error\n"}, "61 lines", nil},
		"a log numbered":   {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"build.log"}`, Text: "1\ta\n2\tb\n3\tc\n4\terror: a\n"}, "4 lines, 1 error:", []string{"4: 4\terror: a"}},
		"a log printed":    {pipelinetest.Output{Args: `{"command":"cat /var/log/app/current"}`, Text: entries + "12:00:00 error: a\n"}, "61 lines, 1 error:", []string{"61: 12:00:00 error: a"}},
		"a log read":       {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"current"}`, Text: "1\t12:00:00 a\n2\t12:00:00 b\n3\t12:00:00 c\n4\t12:00:00 d\n5\t12:00:00 error: a\n"}, "5 lines, 1 error:", []string{"5: 5\t12:00:00 error: a"}},
		"a log":            {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"a.log"}`, Text: filler + "error: a\n"}, "61 lines, 1 error:", []string{"61: error: a"}},
		"numbered":         {pipelinetest.Output{Text: "1\terror\n2\terror\n3\terror\n4\terror\n5\t" + strings.Repeat("x ", 200)}, "5 lines", nil},
		"diff":             {pipelinetest.Output{Text: "diff --git a/x b/x\n@@ -1 +1 @@\n+error: a\n" + filler}, "63 lines", nil},
		"around a listing": {pipelinetest.Output{Text: "E1 SyntaxError: x\n1:error\n 2: error\n(3) error\n4\terror\n"}, "5 lines, 1 error:", []string{"1: E1 SyntaxError: x"}},
		"around a diff":    {pipelinetest.Output{Text: "error: x\n@@ -1 +1 @@\n+error\n-error\n error\n\n"}, "6 lines, 1 error:", []string{"1: error: x"}},
		"a search":         {pipelinetest.Output{Tool: "Grep", Args: `{"pattern":"x"}`, Text: "a.go:1:error\n"}, "1 line", nil},
		"a search command": {pipelinetest.Output{Args: `{"command":"rg error"}`, Text: "a.go:1:error\n"}, "1 line", nil},
		"nothing":          {pipelinetest.Output{}, "0 lines", nil},
		"in a wrapper":     {pipelinetest.Output{Text: "Exit code: 0\nOutput:\n" + filler + "error: a\n"}, "63 lines, 1 error:", []string{"63: error: a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head, rest := view(t, c.o)
			if head != c.head || !slices.Equal(rest, c.rest) {
				t.Errorf("%q %q, want %q %q", head, rest, c.head, c.rest)
			}
		})
	}
}

// Of too many lines with errors, the first and the last stay and the others
// are named.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errors, every int
		named         string
	}{
		"as many as stay": {20, 1, ""},
		"one more":        {21, 1, "... and in line 11"},
		"a run":           {50, 1, "... and in lines 11-40"},
		"scattered":       {23, 3, "... and in lines 31, 34, 37"},
		"very many":       {60, 3, "... and in lines 31, 34, 37, 40, 43, 46, 49, 52, 55, 58, 30 more in 61-148"},
	} {
		var b strings.Builder
		for i := range c.errors {
			fmt.Fprintf(&b, "error: number %d\n", i)
			b.WriteString(strings.Repeat("fine and so on and so forth and more\n", c.every-1))
		}
		head, rest := view(t, pipelinetest.Output{Text: b.String() + lines(1, 200)})
		want := min(c.errors, 20)
		if !strings.HasSuffix(head, fmt.Sprintf(", %d errors:", c.errors)) {
			t.Errorf("%s: %q", name, head)
		}
		if i := slices.IndexFunc(rest, func(l string) bool { return strings.HasPrefix(l, "...") }); i >= 0 {
			if rest[i] != c.named {
				t.Errorf("%s: %q, want %q", name, rest[i], c.named)
			}
			rest = slices.Delete(rest, i, i+1)
		} else if c.named != "" {
			t.Errorf("%s: the others are not named", name)
		}
		if len(rest) != want || rest[0] != "1: error: number 0" || !strings.HasSuffix(rest[want-1], fmt.Sprintf(": error: number %d", c.errors-1)) {
			t.Errorf("%s: %d lines, from %q to %q", name, len(rest), rest[0], rest[len(rest)-1])
		}
	}
}

// Every line that a detector written apart calls an error is in the view or
// named by its number, as long as it is a line of usual length.
func FuzzNoErrorIsLost(f *testing.F) {
	f.Add("error: a\n0 errors\nfatal: b\r\n", uint8(3))
	f.Add("\x1b[31mFAILED\x1b[0m x\n", uint8(40))
	f.Add("Traceback (most recent call last):\n\n\npanic: x\n", uint8(60))
	f.Fuzz(func(t *testing.T, text string, times uint8) {
		if len(text) > 2000 || strings.ContainsAny(text, "\x00") {
			t.Skip()
		}
		var b strings.Builder
		b.WriteString(lines(1, 80))
		for i := range int(times) {
			fmt.Fprintf(&b, "%s\nerror: %d\n", text, i)
		}
		whole := strings.ToValidUTF8(b.String(), "?")
		_, rest := view(t, pipelinetest.Output{Text: whole})
		got := "\n" + strings.Join(rest, "\n")
		told := strings.Contains(got, "\n... and in line")
		number := 0
		for line := range strings.Lines(whole) {
			number++
			line = strings.TrimRight(line, "\r\n")
			plain := strings.NewReplacer("<<cg:", "<< cg:").Replace(line)
			if len(line) <= 400 && !strings.Contains(line, "\x1b") && pipelinetest.ErrorLine(line) && !strings.Contains(got, plain) && !told && !isSource(whole) {
				t.Errorf("line %d, %q, is not in %q", number, line, got)
			}
		}
	})
}

// isSource reports whether a text may be taken for one that is read for its lines.
func isSource(text string) bool {
	return strings.Contains(text, "\n@@ -") || strings.Contains(text, "\n@@@ -") || strings.Contains(text, "diff --git ")
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := errview.Find(ctx, &pipeline.Segment{Text: lines(1, 3)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
