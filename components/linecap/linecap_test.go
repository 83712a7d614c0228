package linecap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/linecap"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, linecap.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, linecap.Spec())
}

func step(tb testing.TB, config string) pipeline.Step {
	tb.Helper()
	s, err := linecap.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{AllowIrreversible: true})
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

// view runs the component on an output of a call. It returns what stays and
// what is said to be left out, or the reason for doing nothing.
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

// filler is n characters of a line nobody misses.
func filler(n int) string { return strings.Repeat("k=77;", n/5+1)[:n] }

func TestMiddleOfLongLinesIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, body, left string }{
		"head and tail": {
			"a\n" + filler(1000) + "\nb\n",
			"a\n" + filler(333) + "...[cut 501 chars of line 2]..." + filler(1000)[834:] + "\nb\n", "501 characters of 1 line",
		},
		"CRLF and no last line end": {
			filler(1000) + "\r\n" + filler(1500),
			filler(333) + "...[cut 501 chars of line 1]..." + filler(1000)[834:] + "\r\n" +
				filler(333) + "...[cut 1001 chars of line 2]..." + filler(1500)[1334:] + "\n", "1502 characters of 2 lines",
		},
		"characters, not bytes": {
			strings.Repeat("ü日", 500),
			strings.Repeat("ü日", 166) + "ü" + "...[cut 501 chars of line 1]..." + strings.Repeat("ü日", 83) + "\n", "501 characters of 1 line",
		},
		"graphemes": {
			strings.Repeat("👩‍👩‍👧🇩🇪e\u0301", 200), // 5 + 2 + 2 characters in three
			strings.Repeat("👩‍👩‍👧🇩🇪e\u0301", 37) + "...[cut 1301 chars of line 1]..." + "🇩🇪e\u0301" + strings.Repeat("👩‍👩‍👧🇩🇪e\u0301", 18) + "\n", "1301 characters of 1 line",
		},
	} {
		body, left, reason := view(t, pipelinetest.Output{Text: c.text})
		if body != c.body || left != c.left {
			t.Errorf("%s (%s): %q, %q\nwant\n%q, %q", name, reason, body, left, c.body, c.left)
		}
	}
}

func TestP43TrailingPathOfALongLineStays(t *testing.T) {
	t.Parallel()
	path := "/srv/" + strings.Repeat("a_long_folder/", 14) + "main_test.go" // longer than the tail
	body, _, reason := view(t, pipelinetest.Output{Text: filler(700-len(path)-1) + " " + path + "\n"})
	if !strings.HasSuffix(body, "]... "+path+"\n") && !strings.HasSuffix(body, "]..."+path+"\n") {
		t.Errorf("(%s) %q", reason, body)
	}
	// With a place in it, the whole line stays.
	if body, _, reason := view(t, pipelinetest.Output{Text: filler(700) + " src/main_test.go:42\n"}); reason != "nothing_long_or_repeated" {
		t.Errorf("(%s) %q", reason, body)
	}
}

func TestLinesThatStayWhole(t *testing.T) {
	t.Parallel()
	long := filler(900)
	for name, o := range map[string]pipelinetest.Output{
		"500":                {Text: filler(500)},
		"a few more":         {Text: filler(570)},
		"error":              {Text: long + " error: it broke " + long},
		"verdict":            {Text: long + " 12 passed " + long},
		"exit code":          {Text: long + " exit code 3 " + long},
		"place":              {Text: long + " src/main.go:12 " + long},
		"Windows place":      {Text: long + ` C:\src\main.cs:12 ` + long},
		"Python place":       {Text: long + `, File "main.py", line 12, in x ` + long},
		"frame":              {Text: "    at run (" + long + ")"},
		"address":            {Text: long + " https://example.com/x " + long},
		"hit":                {Text: "src/main.js:12:" + long},
		"hit under heading":  {Text: "src/\n main.js:\n\t12:" + long},
		"numbered":           {Text: "    12\t" + long},
		"JSON":               {Text: `{"a":"` + long + `","b":[` + strings.Repeat("1,", 5000) + `2]}`},
		"JSON behind a word": {Text: `Output: {"a":"` + long + `"}`},
		"prose":              {Text: strings.Repeat("A paragraph of a text that somebody wrote. ", 40)},
		"reminder":           {Text: "a\n<system-reminder>\n" + long + "\n</system-reminder>\nb\n"},
		"reminder in a line": {Text: long + "<system-reminder>x</system-reminder>" + long},
		"reminder, open":     {Text: "a <system-reminder>\n" + strings.Repeat(long, 30)},
		"diff":               {Text: "diff --git a/x b/x\n@@ -1 +1 @@\n-" + long + "\n+" + long + long + "\n " + strings.Repeat(long, 30)},
		"file":               {Text: long, Tool: "Read", Args: `{"file_path":"a.txt"}`},
	} {
		if body, left, reason := view(t, o); reason != "nothing_long_or_repeated" {
			t.Errorf("%s (%s): %.300q, %q", name, reason, body, left)
		}
	}
	for name, o := range map[string]pipelinetest.Output{
		"no error":         {Text: long + " 0 errors " + long},
		"far hit":          {Text: "src/main.js:12:" + long + long + long},
		"long prose":       {Text: strings.Repeat("A paragraph of a text that somebody wrote. ", 60)},
		"behind reminder":  {Text: "<system-reminder>x</system-reminder>\n" + long},
		"a clock":          {Text: long + " 12:30:45 " + long},
		"a date in front":  {Text: "2024-05-01 " + long},
		"half a document":  {Text: `{"a":"` + long},
		"huge line, file":  {Text: strings.Repeat(long, 30), Tool: "Read", Args: `{"file_path":"a.txt"}`},
		"huge JSON":        {Text: `{"a":"` + strings.Repeat(long, 30) + `"}`},
		"huge with places": {Text: strings.Repeat(long+" src/main.go:12 ", 30)},
	} {
		if body, _, reason := view(t, o); reason != "" {
			t.Errorf("%s (%s): %.300q", name, reason, body)
		}
	}
}

// note is what stands for the middle of a line.
var note = regexp.MustCompile(`\.\.\.\[cut (\d+) chars of line (\d+)(?:, with (an error|\d+ mentions of errors))?\]\.\.\.`)

// Whatever is cut, what stays are parts of the line in order and the notes
// account for the rest.
func account(t *testing.T, line, view string, number int) (told int) {
	t.Helper()
	cut := 0
	rest := line
	at := 0
	for _, m := range append(note.FindAllStringSubmatchIndex(view, -1), nil) {
		end := len(view)
		if m != nil {
			end = m[0]
		}
		piece := view[at:end]
		i := strings.Index(rest, piece)
		switch {
		case at == 0 && !strings.HasPrefix(rest, piece):
			t.Fatalf("%.80q does not begin with %.80q", rest, piece)
		case m == nil && !strings.HasSuffix(rest, piece):
			t.Fatalf("%.80q does not end in %.80q", rest, piece)
		case m == nil:
			i = len(rest) - len(piece)
		}
		if i < 0 {
			t.Fatalf("%.80q is no part of the line", piece)
		}
		rest = rest[i+len(piece):]
		if m == nil {
			break
		}
		n, _ := strconv.Atoi(view[m[2]:m[3]])
		if view[m[4]:m[5]] != strconv.Itoa(number) {
			t.Errorf("%q is line %d", view[m[0]:m[1]], number)
		}
		if m[6] >= 0 {
			mentions, err := strconv.Atoi(strings.TrimSuffix(view[m[6]:m[7]], " mentions of errors"))
			if err != nil {
				mentions = 1
			}
			told += mentions
		}
		cut += n
		at = m[1]
	}
	kept := utf8.RuneCountInString(note.ReplaceAllString(view, ""))
	if want := utf8.RuneCountInString(line); cut+kept != want {
		t.Errorf("%d characters stay and %d are told of, of %d", kept, cut, want)
	}
	return told
}

func TestErrorsInHugeLinesStayOrAreTold(t *testing.T) {
	t.Parallel()
	for _, errors := range []int{0, 1, 2, 7, 10, 11, 40} {
		var b strings.Builder
		for i := range errors {
			fmt.Fprintf(&b, "%s\"message %d\":\"error: it broke\",", strings.Repeat("\"key\":\"some value or other\",", 40), i)
		}
		line := `{` + b.String() + strings.Repeat("\"key\":\"some value or other\",", 1000) + `"z":0}`
		body, _, reason := view(t, pipelinetest.Output{Text: "first\n" + line + "\n"})
		if reason != "" {
			t.Fatalf("%d errors: %s", errors, reason)
		}
		lines := strings.Split(body, "\n")
		told := account(t, line, lines[1], 2)
		if shown := strings.Count(lines[1], "error: it broke"); shown+told != errors || shown < min(errors, 10) {
			t.Errorf("%d errors: %d are shown, %d told of in %.2000q", errors, shown, told, lines[1])
		}
	}
}

func TestRepeatsAreFoldedToACount(t *testing.T) {
	t.Parallel()
	warning := "warning: peer dependency unmet"
	other := func(i int) string { return fmt.Sprintf("step %d of the installation is done", i) }
	var text []string
	for i := range 15 {
		text = append(text, other(i), warning)
	}
	body, left, reason := view(t, pipelinetest.Output{Text: strings.Join(text, "\n") + "\n"})
	// The first at the edge stays, the next carries the count, the last at the edge stays.
	if got := strings.Count(body, warning); got != 4 || !strings.Contains(body, warning+"  (x12)\n") || left != "11 repeated lines" {
		t.Errorf("(%s, %s) %d of them in\n%s", reason, left, got, body)
	}
	for i := range 15 {
		if !strings.Contains(body, other(i)+"\n") {
			t.Errorf("%q is gone", other(i))
		}
	}
}

func TestRepeatsThatStay(t *testing.T) {
	t.Parallel()
	spread := func(line string) string {
		var b strings.Builder
		for i := range 12 {
			fmt.Fprintf(&b, "step %d of the installation is done\n%s\n", i, line)
		}
		return b.String()
	}
	for name, o := range map[string]pipelinetest.Output{
		"short":     {Text: spread("done 1!")},
		"few bytes": {Text: "a step\nb step\nc step\n12345678x\nd step\n12345678x\ne step\nf step\ng step\n"},
		"error":     {Text: spread("error: it broke again")},
		"verdict":   {Text: spread("3 tests passed in all")},
		"frame":     {Text: spread("#1 main of the program")},
		"indented":  {Text: spread("    return the same thing")},
		"block":     {Text: spread("begin something {")},
		"item":      {Text: spread("- an item of a list")},
		"row":       {Text: spread("| a | row | of | a | table |")},
		"rule":      {Text: spread("_________________")},
		"reminder":  {Text: "<system-reminder>\n" + spread("the same thing again") + "</system-reminder>\n"},
		"diff":      {Text: "diff --git a/x b/x\n" + spread("the same thing again")},
		"file":      {Text: spread("the same thing again"), Tool: "Bash", Args: `{"command":"cat notes.txt"}`},
		"numbered":  {Text: "1\ta\n2\tb\n3\tc\n4\td\n5\te\n6\tf\n7\tg\n8\th\n" + strings.Repeat("the same thing again\n", 4) + "x\ny\nz\n"},
		"program":   {Text: spread("the same thing again") + strings.Repeat("    indented;\n", 20)},
		"edges":     {Text: "the same thing again\nthe same thing again\nx\ny\nz\nthe same thing again\nthe same thing again\n"},
	} {
		if body, left, reason := view(t, o); reason != "nothing_long_or_repeated" {
			t.Errorf("%s (%s): %s, %s", name, reason, body, left)
		}
	}
	settings := pipelinetest.Settings(t)
	settings.Steps, settings.Counter = []pipeline.Step{step(t, `{"fold_repeats":false}`)}, generous{}
	if o := pipelinetest.Run(t, pipeline.New(settings), pipelinetest.Texts(spread("the same thing again")))[0]; o.Lossy != nil {
		t.Errorf("folded although switched off: %s", o.Lossy.Text)
	}
}

func TestLittleIsNotWorthAMarker(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "line %03d of a text of a lot of bytes\n", i)
	}
	for cut, want := range map[int]pipeline.Reason{1000: "little_to_gain", 1500: ""} {
		if _, left, reason := view(t, pipelinetest.Output{Text: lines.String() + filler(cut) + "\n"}); reason != want {
			t.Errorf("%d: %q, %q, want %q", cut, left, reason, want)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	text := filler(3000)
	for mode, c := range map[string]struct{ marker, hint, irreversible bool }{
		"full": {true, true, false}, "summary": {true, false, false}, "off": {false, false, true},
	} {
		settings := pipelinetest.Settings(t)
		settings.Steps = []pipeline.Step{step(t, fmt.Sprintf(`{"marker_mode":%q,"max_chars":200}`, mode))}
		o := pipelinetest.Run(t, pipeline.New(settings), pipelinetest.Texts(text))[0]
		if o.Lossy == nil {
			t.Fatalf("%s: %+v", mode, o.Acts)
		}
		if settings.Markers.Marked(o.Lossy.Text) != c.marker || strings.HasSuffix(o.Lossy.Text, pipeline.HintFullOutput) != c.hint || o.Irreversible != c.irreversible {
			t.Errorf("%s: %q, irreversible %v", mode, o.Lossy.Text, o.Irreversible)
		}
		if !strings.Contains(o.Lossy.Text, "[cut 2801 chars") {
			t.Errorf("%s: max_chars has no effect: %q", mode, o.Lossy.Text)
		}
	}
	for config, want := range map[string]string{
		`{"marker_mode":"off"}`: "marker_mode off loses text for good; set allow_irreversible: true at the top level to accept that",
		`{"max_chars":119,"min_tokens":-1,"marker_mode":"none"}`: "max_chars must be at least 120, got 119\nmin_tokens must be at least 0, got -1\n" +
			`marker_mode must be full, summary or off, got "none"`,
	} {
		_, err := linecap.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// Where the lines are not the client's any more, no number leads anywhere.
func TestNoNumbersOfLinesThatAreNotTheClients(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{true, false} {
		same := pipeline.Equivalence{Name: "for the test", Check: func(string, string) error { return nil }, Lines: keeps}
		front := pipeline.Define(pipeline.Meta{Name: "front", Kind: pipeline.KindReformat}, struct{}{}, func(struct{}, pipeline.Deps) (pipeline.Component, error) {
			return replacing{pipeline.Replace("a\n"+filler(2000), same)}, nil
		})
		settings := pipelinetest.Settings(t, front, linecap.Spec())
		o := pipelinetest.Run(t, pipeline.New(settings), pipelinetest.Texts("b\n"+filler(3000)))[0]
		if o.Lossy == nil || strings.Contains(o.Lossy.Text, "...[cut 1501 chars of line 2]...") != keeps || strings.Contains(o.Lossy.Text, "...[cut 1501 chars]...") == keeps {
			t.Errorf("lines kept %v: %+v", keeps, o.Lossy)
		}
	}
}

type replacing struct{ edit pipeline.Edit }

func (r replacing) Rewrite(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
	return r.edit, nil
}
