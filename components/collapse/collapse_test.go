package collapse_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/collapse"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, collapse.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, collapse.Spec())
}

// view runs the component and returns the outcome's text without the marker,
// which is checked, and the reason when there is none.
func view(tb testing.TB, config, text string) (string, pipeline.Reason) {
	tb.Helper()
	step, err := collapse.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
	if err != nil {
		tb.Fatal(err)
	}
	settings := pipelinetest.Settings(tb)
	settings.Steps = []pipeline.Step{step}
	o := pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Texts(text))[0]
	if o.Lossy == nil {
		return "", o.Acts[0].Reason
	}
	marker := pipeline.Marker(settings.Markers.Mint(text)) + pipeline.HintFullOutput
	without := strings.Replace(o.Lossy.Text, marker, "MARK", 1)
	if without == o.Lossy.Text {
		tb.Fatalf("no marker %s in %q", marker, o.Lossy.Text)
	}
	return without, ""
}

func lines(from, to int, end string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d of the log%s", i, end)
	}
	return b.String()
}

func TestP38HeadTailAndCountAreExact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, text, want string }{
		"as in the specification": {
			`{}`, lines(1, 2000, "\n"),
			lines(1, 20, "\n") + "... (1960 lines omitted) MARK lines 21-1980\n" + lines(1981, 2000, "\n"),
		},
		"no last line end": {
			`{}`, strings.TrimSuffix(lines(1, 2000, "\n"), "\n"),
			lines(1, 20, "\n") + "... (1960 lines omitted) MARK lines 21-1980\n" + strings.TrimSuffix(lines(1981, 2000, "\n"), "\n"),
		},
		"CRLF": {
			`{}`, lines(1, 2000, "\r\n"),
			lines(1, 20, "\r\n") + "... (1960 lines omitted) MARK lines 21-1980\r\n" + lines(1981, 2000, "\r\n"),
		},
		"other sizes": {
			`{"max_tokens":100,"head_lines":3,"tail_lines":1}`, lines(1, 100, "\n"),
			lines(1, 3, "\n") + "... (96 lines omitted) MARK lines 4-99\n" + lines(100, 100, "\n"),
		},
		"no tail": {
			`{"tail_lines":0}`, lines(1, 2000, "\n"),
			lines(1, 20, "\n") + "... (1980 lines omitted) MARK lines 21-2000\n",
		},
		"no head": {
			`{"head_lines":0}`, lines(1, 2000, "\n"),
			"... (1980 lines omitted) MARK lines 1-1980\n" + lines(1981, 2000, "\n"),
		},
		"neither": {
			`{"head_lines":0,"tail_lines":0}`, lines(1, 2000, "\r\n"),
			"... (2000 lines omitted) MARK lines 1-2000\r\n",
		},
		"one line": {
			`{"max_tokens":10,"head_lines":1,"tail_lines":1}`, "a\n" + strings.Repeat("long ", 100) + "\nb\n",
			"a\n... (1 line omitted) MARK line 2\nb\n",
		},
		"blank lines count": {
			`{"max_tokens":1,"head_lines":1,"tail_lines":1}`, "\n\n" + strings.Repeat("long ", 100) + "\n\n\n",
			"\n... (3 lines omitted) MARK lines 2-4\n\n",
		},
	} {
		if got, reason := view(t, c.config, c.text); got != c.want {
			t.Errorf("%s (%s):\n%s\nwant\n%s", name, reason, got, c.want)
		}
	}
}

func TestP38SmallAndFewLinesAreLeftAlone(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for name, c := range map[string]struct {
		config, text string
		want         pipeline.Reason
	}{
		"exactly max_tokens": {`{"max_tokens":200,"head_lines":0,"tail_lines":0}`, words(200), "within_max_tokens"},
		"one more":           {`{"max_tokens":200,"head_lines":0,"tail_lines":0}`, words(201), ""},
		"one giant line":     {`{}`, words(10_000), "few_lines"},
		"few giant lines":    {`{}`, strings.Repeat(words(1000)+"\n", 40), "few_lines"},
		"head but no middle": {`{"max_tokens":1,"head_lines":3,"tail_lines":3}`, words(100) + "\n2\n3\n4\n5\n6", "few_lines"},
		"less than the head": {`{"max_tokens":1,"head_lines":3,"tail_lines":0}`, words(100) + "\n2", "few_lines"},
		"CR is no line end":  {`{}`, strings.Repeat("a line of old\r", 3000), "few_lines"},
		"nothing but errors": {`{"max_tokens":1,"head_lines":1,"tail_lines":1}`, "head " + words(100) + "\nerror: 1\nerror: 2\ntail\n", "few_lines"},
		"not worth a marker": {`{"max_tokens":1,"head_lines":1,"tail_lines":1}`, words(100) + "\nshort words that take as much as a note about them\nshort\n", "no_win"},
	} {
		if _, reason := view(t, c.config, c.text); reason != c.want {
			t.Errorf("%s: %q, want %q", name, reason, c.want)
		}
	}
}

func TestErrorsInTheMiddleStayInPlace(t *testing.T) {
	t.Parallel()
	all := strings.SplitAfter(lines(1, 2000, "\n"), "\n")
	all[0] = "error: in the head\n"
	all[20] = "error: first of the middle\n"
	all[99] = "\tpanic: at 100\n"
	all[100] = "FAIL at 101\n"
	all[102] = "Traceback at 103\n"
	all[1999] = "fatal: in the tail\n"
	got, reason := view(t, `{}`, strings.Join(all, ""))
	want := strings.Join(all[:20], "") +
		"error: first of the middle\n" +
		"... (78 lines omitted) MARK lines 22-99\n" +
		"\tpanic: at 100\nFAIL at 101\n" +
		"line 102 of the log\n" + // shorter than a note
		"Traceback at 103\n" +
		"... (1877 lines omitted) lines 104-1980\n" +
		strings.Join(all[1980:], "")
	if got != want {
		t.Errorf("(%s)\n%s\nwant\n%s", reason, got, want)
	}
}

func TestErrorsBeyondTheBoundAreCounted(t *testing.T) {
	t.Parallel()
	all := strings.SplitAfter(lines(1, 2000, "\n"), "\n")
	for i := 100; i < 1900; i += 2 { // 900 of them, of which a quarter of the text holds less
		all[i] = fmt.Sprintf("error: at %d\n", i+1)
		all[i+1] = strings.Repeat("what was done ", 4) + "\n"
	}
	all[50] = "error: " + strings.Repeat("far too long ", 100) + "\n"
	all[60] = all[100]
	all[1950] = all[100]
	got, reason := view(t, `{}`, strings.Join(all, ""))
	for _, want := range []string{
		"... (40 lines omitted) MARK lines 21-60, 1 of them reports an error\nerror: at 101\n",
		"error: at 103\n... (1 line omitted) line 104\nerror: at 105\n",
		"error: at 1899\n... (81 lines omitted) lines 1900-1980, 1 of them reports an error\nline 1981",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("(%s) %q is missing in\n%s", reason, want, got)
		}
	}
	if n := strings.Count(got, "error: at"); n < 300 || n > 900 || len(got) > 60_000 || !regexp.MustCompile(`\d of them report errors`).MatchString(got) {
		t.Errorf("%d errors are shown in %d bytes", n, len(got))
	}
}

// note is a line that announces a gap.
var note = regexp.MustCompile(`^\.\.\. \((\d+) lines? omitted\)(?: MARK)? lines? (\d+)(?:-(\d+))?(?:, (?:(\d+) of them reports? (?:an error|errors)|which reports an (error)))?\r?\n$`)

// Whatever the text: what stays are whole lines in order, the notes account for
// every other line, and no line the judge calls an error is hidden silently.
func TestB89B91EveryLineIsAccountedFor(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		end := []string{"\n", "\r\n"}[r.IntN(2)]
		errorRate := []int{0, 1, 5, 50, 100}[r.IntN(5)]
		var all []string
		for i := range 60 + r.IntN(300) {
			text := fmt.Sprintf("%d some text of a line that means little", i)
			if r.IntN(100) < errorRate {
				text = fmt.Sprintf("error: %d %s", i, strings.Repeat("x ", []int{1, 100, 300}[r.IntN(3)]))
			}
			all = append(all, text+end)
		}
		config := fmt.Sprintf(`{"max_tokens":100,"head_lines":%d,"tail_lines":%d}`, r.IntN(20), r.IntN(20))
		got, reason := view(t, config, strings.Join(all, ""))
		if reason != "" {
			if reason != pipeline.ReasonNoWin {
				t.Fatalf("%s: %s", config, reason)
			}
			continue
		}
		at, shown := 0, 0
		for line := range strings.Lines(got) {
			found := note.FindStringSubmatch(line)
			if found == nil {
				if line != all[at] {
					t.Fatalf("%s: line %d is %q, want %q", config, at+1, line, all[at])
				}
				at++
				continue
			}
			gap, from := number(t, found[1]), number(t, found[2])
			if from != at+1 || found[3] != "" && number(t, found[3]) != at+gap || found[3] == "" && gap != 1 {
				t.Fatalf("%s: %q after line %d", config, line, at)
			}
			hidden := len(slices.DeleteFunc(slices.Clone(all[at:at+gap]), func(l string) bool { return !pipelinetest.ErrorLine(l) }))
			if said := number(t, found[4]) + len(found[5])/len("error"); said != hidden {
				t.Fatalf("%s: %q hides %d errors", config, line, hidden)
			}
			at += gap
			shown++
		}
		if at != len(all) || shown == 0 {
			t.Fatalf("%s: %d of %d lines are accounted for", config, at, len(all))
		}
	}
}

func number(t *testing.T, digits string) int {
	t.Helper()
	if digits == "" {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := collapse.Spec().Build(func(into any) error {
		return json.Unmarshal([]byte(`{"max_tokens":0,"head_lines":-1,"tail_lines":-2}`), into)
	}, pipeline.Deps{})
	want := "max_tokens must be at least 1, got 0\nhead_lines must be at least 0, got -1\ntail_lines must be at least 0, got -2"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func BenchmarkCollapse(b *testing.B) {
	step, err := collapse.Spec().Build(nil, pipeline.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	plain := lines(1, 5000, "\n")
	for name, text := range map[string]string{
		"log":    plain,
		"errors": strings.ReplaceAll(plain, "line", "error:"),
	} {
		b.Run(name, func(b *testing.B) {
			s := pipeline.Segment{Text: text, Tokens: 10_000}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := step.Component.Rewrite(b.Context(), pipeline.View{}, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
