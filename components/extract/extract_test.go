package extract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/extract"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, extract.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, extract.Spec())
}

func step(tb testing.TB, config string) pipeline.Step {
	tb.Helper()
	s, err := extract.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{AllowIrreversible: true})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// generous makes every text so large that the runner accepts every edit: what
// is left out is judged here, not what it is worth.
type generous struct{ pipelinetest.Words }

func (generous) Count(text string) pipeline.Count {
	if strings.Contains(text, "<<cg:") {
		return pipeline.Count{N: 1}
	}
	return pipeline.Count{N: 1000}
}

// view runs the component on an output of a call. It returns the lines that
// stay and what is said to be left out, or the reason for doing nothing.
func view(tb testing.TB, o pipelinetest.Output) (body, left string, reason pipeline.Reason) {
	tb.Helper()
	settings := pipelinetest.Settings(tb)
	settings.Steps, settings.Counter = []pipeline.Step{step(tb, `{"min_tokens":0}`)}, generous{}
	outcome := pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Transcript([]pipelinetest.Output{o}))[0]
	if outcome.Lossy == nil {
		return "", "", outcome.Acts[0].Reason
	}
	end := ") " + pipeline.Marker(settings.Markers.Mint(o.Text)) + pipeline.HintFullOutput
	rest, whole := strings.CutSuffix(outcome.Lossy.Text, end)
	at := strings.LastIndex(rest, "... (left out: ")
	if !whole || at < 0 {
		tb.Fatalf("%q does not end in %q", outcome.Lossy.Text, end)
	}
	return rest[:at], rest[at+len("... (left out: "):], ""
}

// steps returns different lines.
func steps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "step %d of a block of lines\n", i)
	}
	return b.String()
}

func TestP42RepeatedLinesBecomeOneWithACount(t *testing.T) {
	t.Parallel()
	warning := "warning: peer dependency unmet\n"
	block := steps(12)
	for name, c := range map[string]struct{ text, body, left string }{
		"one line": {
			"resolved\n" + strings.Repeat(warning, 15) + "done\n",
			"resolved\n" + warning + "... (previous line x15)\ndone\n", "14 repeated lines",
		},
		"a block of twelve": {
			"a\n" + strings.Repeat(block, 3) + "b\n",
			"a\n" + block + "... (previous 12 lines x3)\nb\n", "24 repeated lines",
		},
		"half a block more": {
			strings.Repeat("the first line of two\nthe second line of two\n", 5) + "the first line of two\n",
			"the first line of two\nthe second line of two\n... (previous 2 lines x5)\nthe first line of two\n", "8 repeated lines",
		},
		"one after the other": {
			strings.Repeat("first of the warnings\n", 4) + strings.Repeat("second of the warnings\n", 4),
			"first of the warnings\n... (previous line x4)\nsecond of the warnings\n... (previous line x4)\n", "6 repeated lines",
		},
		"no last line end": {
			strings.TrimSuffix(strings.Repeat(warning, 15), "\n"),
			warning + "... (previous line x15)\n", "14 repeated lines",
		},
		"CRLF": {
			strings.Repeat("warning: peer dependency unmet\r\n", 15) + "done",
			"warning: peer dependency unmet\r\n... (previous line x15)\r\ndone\n", "14 repeated lines",
		},
		"errors too": {
			strings.Repeat("error: the same thing failed again\n", 3),
			"error: the same thing failed again\n... (previous line x3)\n", "2 repeated lines",
		},
		"blank lines in a block": {
			strings.Repeat("a paragraph that is there again\n\n", 4),
			"a paragraph that is there again\n\n... (previous 2 lines x4)\n", "6 repeated lines",
		},
	} {
		body, left, reason := view(t, pipelinetest.Output{Text: c.text})
		if body != c.body || left != c.left {
			t.Errorf("%s (%s):\n%s%s\nwant\n%s%s", name, reason, body, left, c.body, c.left)
		}
	}
}

func TestTextsWithoutNoiseAreLeftAlone(t *testing.T) {
	t.Parallel()
	thirteen := steps(13)
	for name, text := range map[string]string{
		"different lines":         "a\nb\nc\n",
		"a block of thirteen":     thirteen + thirteen,
		"not at once":             "the same line as below\nanother line\nthe same line as below\nyet another\n",
		"too short to be worth":   "}\n}\n}\n}\n",
		"another blank":           "a line of some length \na line of some length\n",
		"single blank lines":      "a\n\nb\n\nc\n",
		"CRLF":                    "a\r\nb\r\n",
		"bare CR":                 "an old line ending\ranother line\rmore\r",
		"table":                   "| a | b |\n|---|---|\n| 1 | 2% |\n",
		"percentages in a column": "12%\n7%\n45%\n3%\n",
		"one percentage":          "coverage\n85%\n",
		"histogram":               "0-10  ████ 12\n10-20 ████████ 24\n20-30 ██ 6\n",
		"rulers":                  "=====\n-----\n━━━━━\n",
		"shell prompt":            "$ ls -l [--all]\n",
	} {
		if body, left, reason := view(t, pipelinetest.Output{Text: text}); reason != "no_noise" {
			t.Errorf("%s: %q, %q, %q", name, body, left, reason)
		}
	}
}

func TestLittleNoiseIsNotWorthAMarker(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "line %02d of a text of a thousand bytes\n", i)
	}
	for blanks, want := range map[int]pipeline.Reason{100: "little_noise", 300: ""} {
		if _, left, reason := view(t, pipelinetest.Output{Text: lines.String() + strings.Repeat("\n", blanks)}); reason != want {
			t.Errorf("%d blank lines: %q, %q, want %q", blanks, left, reason, want)
		}
	}
}

func TestBlankRunsBecomeOneLine(t *testing.T) {
	t.Parallel()
	body, left, _ := view(t, pipelinetest.Output{Text: "\n\n\na\n\n \n\t\n\nb\n\nc\r\n\r\n\r\n"})
	if want := "\na\n\nb\n\nc\r\n\r\n"; body != want || left != "6 blank lines" {
		t.Errorf("%q, %q, want %q", body, left, want)
	}
}

func TestP42ProgressIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		left string
	}{
		"pip":             {"   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2.3/2.3 MB 10.1 MB/s eta 0:00:00\n", "1 progress line"},
		"tqdm":            {" 45%|████▌     | 45/100 [00:10<00:12,  4.50it/s]\n", "1 progress line"},
		"brackets":        {"[=====>      ] 12/40 30% 1.2 MB/s\n", "1 progress line"},
		"dots with sizes": {"  0K .......... .......... 12% 1.2M 10s\n 50K .......... .......... 60% 1.3M 5s\n100K .......... .......... 99% 1.4M 0s\n", "3 progress lines"},
		"rising":          {"10%\n20%\n20%\n100%\n", "4 progress lines"},
		"spinners":        {"⠋\n ⠙ \n⠹\n", "3 progress lines"},
	} {
		body, left, reason := view(t, pipelinetest.Output{Text: "start\n" + c.text + "end\n"})
		if body != "start\nend\n" || left != c.left {
			t.Errorf("%s (%s): %q, %q", name, reason, body, left)
		}
	}
}

func TestProgressWithWordsStays(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"Downloading foo.whl ━━━━━━━━ 2.3/2.3 MB 10.1 MB/s",
		"pkg/a.go 45% [====] 3/7 covered",
		"[=====>] 3/3 error",
		"█████ 45%",
		"构建 ████ 45% 3/7",
	} {
		if body, left, reason := view(t, pipelinetest.Output{Text: line + "\nnext\n"}); reason != "no_noise" {
			t.Errorf("%q: %q, %q, %q", line, body, left, reason)
		}
	}
}

func TestP35RedrawsKeepTheLastState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, body, left string }{
		"git":        {"Receiving objects:  10% (1/10)\rReceiving objects:  20% (2/10), 1.2 MiB\rReceiving objects: 100% (10/10), done.\n", "Receiving objects: 100% (10/10), done.\n", "2 redraws"},
		"CRLF":       {"Counting: 1\rCounting: 2\r\nnext\r\n", "Counting: 2\r\nnext\r\n", "1 redraw"},
		"spinner":    {"⠋ building\r⠙ building\r⠹ building\n", "⠹ building\n", "2 redraws"},
		"sticks":     {"|\r/\r-\r\\\rdone\n", "done\n", "4 redraws"},
		"erased":     {"Reading... 5%\r\x1b[KReading... Done\r\n", "Reading... Done\r\n", "1 redraw, terminal codes"},
		"bars":       {"[#...] verb a\r[##..] verb b\r[####] c\n", "[####] c\n", "2 redraws"},
		"bare table": {"  5 1234    0 --:--:-- --:--:--     0\r100 1234  100 --:--:--  0:00:01  1234\n", "100 1234  100 --:--:--  0:00:01  1234\n", "1 redraw"},
		"double CR":  {"a line\r\r\nanother\n", "a line\r\nanother\n", "terminal codes"},
		"leading CR": {"\ra line\nanother\n", "a line\nanother\n", "terminal codes"},
	} {
		body, left, reason := view(t, pipelinetest.Output{Text: c.text})
		if body != c.body || left != c.left {
			t.Errorf("%s (%s): %q, %q, want %q, %q", name, reason, body, left, c.body, c.left)
		}
	}
	for name, text := range map[string]string{
		"different lines":     "first thing\rsecond thing\rthird\n",
		"an error drawn over": "error: 10% failed\rerror: 20% failed\n",
		"words and figures":   "cpu 10%\rmemory 20%\n",
		"bare CR only":        "10%\r20%\r30%\r",
	} {
		if body, left, reason := view(t, pipelinetest.Output{Text: text}); reason != "no_noise" {
			t.Errorf("%s: %q, %q, %q", name, body, left, reason)
		}
	}
}

func TestTerminalCodes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x1b[1m\x1b[31merror\x1b[0m: oops\n":               "error: oops\n",
		"\x1b]8;;http://a.b/c\x1b\\link\x1b]8;;\x1b\\ ok\n": "link ok\n",
		"\x1b]0;title\x07text\x1b(B\n":                      "text\n",
		"\x1b]0;a ✓ b\x07 text\n":                           " text\n",
		"\x1b[38;2;10;20;30m日本\x1b[m é 👩‍👩‍👧\n":             "日本 é 👩‍👩‍👧\n",
		"\x1b[2K\x1b[1Aup\n":                                "up\n",
		"a $$cg b\n\x1b[0mc\n":                              "a $$cg b\nc\n",
	} {
		if body, left, reason := view(t, pipelinetest.Output{Text: text}); body != want || left != "terminal codes" {
			t.Errorf("%q became %q (%s, %s)", text, body, left, reason)
		}
	}
	for name, text := range map[string]string{
		"title without an end":      "\x1b]0;all of this would vanish\nand more\n",
		"code without an end":       "a line \x1b[31\nnext\n",
		"escape at the end":         "a line \x1b\nnext\n",
		"error inside a title":      "\x1b]0;error: in here\x07 text\n",
		"the guard and a swallower": "a $$cg\x1b]0; b\n",
	} {
		if body, left, reason := view(t, pipelinetest.Output{Text: text}); reason != "no_noise" {
			t.Errorf("%s: %q, %q, %q", name, body, left, reason)
		}
	}
}

// counted is a line that states a repetition.
var counted = regexp.MustCompile(`^\.\.\. \(previous (?:line|(\d+) lines) x(\d+)\)\n$`)

// Reading the notes backwards gives the text again, but for blank runs: every
// line is there, in order, as often as it was.
func TestP42NotesCanBeReadBackwards(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	pool := []string{"", " ", "}", "short", "a line of medium length", "another line of medium length", "one more, with a number: 17", "error: it failed"}
	folded := 0
	for range 2000 {
		var lines []string
		for range 1 + r.IntN(8) {
			block := make([]string, 1+r.IntN(14))
			for i := range block {
				block[i] = pool[r.IntN(len(pool))]
			}
			for range 1 + r.IntN(5) {
				lines = append(lines, block...)
			}
		}
		text := strings.Join(lines, "\n") + "\n"
		want := text
		for blanks := regexp.MustCompile(`(?m)^ ?\n(?: ?\n)+`); blanks.MatchString(want); {
			want = blanks.ReplaceAllStringFunc(want, func(run string) string { return run[:strings.Index(run, "\n")+1] })
		}
		body, _, reason := view(t, pipelinetest.Output{Text: text})
		if reason != "" {
			if want != text && reason != "little_noise" {
				t.Fatalf("%q: %s", text, reason)
			}
			continue
		}
		if got := unfold(t, body); got != want {
			t.Fatalf("%q\nbecame\n%q,\nwhich reads\n%q", text, body, got)
		}
		if strings.Contains(body, "... (previous") {
			folded++
		}
	}
	if folded < 500 {
		t.Errorf("only %d texts were folded", folded)
	}
}

func unfold(t *testing.T, body string) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(body) {
		found := counted.FindStringSubmatch(line)
		if found == nil {
			out = append(out, line)
			continue
		}
		block, copies := 1, 0
		if found[1] != "" {
			block, _ = strconv.Atoi(found[1])
		}
		copies, _ = strconv.Atoi(found[2])
		again := out[len(out)-block:]
		for range copies - 1 {
			out = append(out, again...)
		}
	}
	return strings.Join(out, "")
}

func TestMarkerModes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("the same line of text again\n", 100)
	for mode, c := range map[string]struct {
		marker, hint, irreversible bool
	}{
		"full": {true, true, false}, "summary": {true, false, false}, "off": {false, false, true},
	} {
		settings := pipelinetest.Settings(t)
		settings.Steps = []pipeline.Step{step(t, fmt.Sprintf(`{"marker_mode":%q}`, mode))}
		o := pipelinetest.Run(t, pipeline.New(settings), pipelinetest.Texts(text))[0]
		if o.Lossy == nil {
			t.Fatalf("%s: %+v", mode, o.Acts)
		}
		if settings.Markers.Marked(o.Lossy.Text) != c.marker || strings.HasSuffix(o.Lossy.Text, pipeline.HintFullOutput) != c.hint || o.Irreversible != c.irreversible {
			t.Errorf("%s: %q, irreversible %v", mode, o.Lossy.Text, o.Irreversible)
		}
	}
	for config, want := range map[string]string{
		`{"marker_mode":"off"}`:                  "marker_mode off loses text for good; set allow_irreversible: true at the top level to accept that",
		`{"marker_mode":"none","min_tokens":-1}`: "min_tokens must be at least 0, got -1\n" + `marker_mode must be full, summary or off, got "none"`,
	} {
		_, err := extract.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// Long lines that are nearly equal, and lines that repeat with every period at
// once, take no longer than others.
func TestFoldingTakesLinearTime(t *testing.T) {
	t.Parallel()
	giant := strings.Repeat("x", 2<<20)
	for name, text := range map[string]string{
		"giants":  strings.Repeat("a\n", 5000) + giant + "1\n" + strings.Repeat("a\n", 11) + giant + "2\n" + strings.Repeat("a\n", 5000),
		"periods": strings.Repeat("a\nb\na\nb\nb\n", 200_000),
		"braces":  strings.Repeat("}\n}\n{\n", 300_000),
	} {
		if _, left, reason := view(t, pipelinetest.Output{Text: text}); left == "" && reason != "little_noise" {
			t.Errorf("%s: %s", name, reason)
		}
	}
}
