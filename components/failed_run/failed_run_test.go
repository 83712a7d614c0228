package failedrun_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	failedrun "github.com/contextguru/contextguru/components/failed_run"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, failedrun.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, failedrun.Spec())
}

func settings(tb testing.TB, distance int) pipeline.Settings {
	tb.Helper()
	s := pipelinetest.Settings(tb, failedrun.Spec())
	s.HorizonTokens = distance
	return s
}

// filler is above the floor and says nothing.
func filler(word string) string { return strings.Repeat("  "+word+" and so on, line after line\n", 30) }

func failing(word string) string { return filler(word) + "2 failed, 3 passed in 0.1s\n" }

func passing(word string) string { return filler(word) + "5 passed in 0.1s\n" }

func run(text string) pipelinetest.Output {
	return pipelinetest.Output{Text: text, Args: `{"command":"make test"}`}
}

// decide returns what became of each output: the reason, or nothing when it
// was superseded.
func decide(t *testing.T, turns ...[]pipelinetest.Output) (reasons []pipeline.Reason, outcomes []*pipeline.Outcome) {
	t.Helper()
	transcript := pipelinetest.Transcript(append(turns, []pipelinetest.Output{{Text: "ok"}})...)
	outcomes = pipelinetest.Run(t, pipeline.New(settings(t, 0)), transcript)
	for _, o := range outcomes[:len(outcomes)-1] {
		reasons = append(reasons, o.Acts[0].Reason)
	}
	return reasons, outcomes
}

func turns(outputs ...pipelinetest.Output) (all [][]pipelinetest.Output) {
	for _, o := range outputs {
		all = append(all, []pipelinetest.Output{o})
	}
	return all
}

func TestP39FailThenPass(t *testing.T) {
	t.Parallel()
	const superseded, newest, passed = pipeline.Reason(""), pipeline.Reason("no_later_run"), pipeline.Reason("run_passed")
	other := pipelinetest.Output{Text: failing("x"), Args: `{"command":"make lint"}`}
	for name, c := range map[string]struct {
		turns [][]pipelinetest.Output
		want  []pipeline.Reason
	}{
		"fail, pass":             {turns(run(failing("a")), run(passing("b"))), []pipeline.Reason{superseded, newest}},
		"pass, pass":             {turns(run(passing("a")), run(passing("b"))), []pipeline.Reason{passed, newest}},
		"pass, fail":             {turns(run(passing("a")), run(failing("b"))), []pipeline.Reason{passed, newest}},
		"fail, fail":             {turns(run(failing("a")), run(failing("b"))), []pipeline.Reason{superseded, newest}},
		"fail, fail, pass":       {turns(run(failing("a")), run(failing("b")), run(passing("c"))), []pipeline.Reason{superseded, superseded, newest}},
		"pass, fail, pass, fail": {turns(run(passing("a")), run(failing("b")), run(passing("c")), run(failing("d"))), []pipeline.Reason{passed, superseded, passed, newest}},
		"another command":        {turns(run(failing("a")), other), []pipeline.Reason{newest, newest}},
		"one run":                {turns(run(failing("a"))), []pipeline.Reason{newest}},
		"parallel":               {[][]pipelinetest.Output{{run(failing("a")), run(passing("b"))}}, []pipeline.Reason{newest, newest}},
		"the same text again":    {turns(run(failing("a")), run(failing("b")), run(failing("a"))), []pipeline.Reason{"repeated_later", superseded, newest}},
		"the same text, passed":  {turns(run(failing("a")), run(failing("a")), run(passing("b"))), []pipeline.Reason{superseded, superseded, newest}},
		"small":                  {turns(run("1 failed"), run("1 passed")), []pipeline.Reason{"below_min_tokens", "below_min_tokens"}},
		"no command":             {turns(pipelinetest.Output{Text: failing("a")}, run(failing("b"))), []pipeline.Reason{"no_command", newest}},
	} {
		got, _ := decide(t, c.turns...)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What only mentions a run is none.
func TestP39MentionsAreNoRuns(t *testing.T) {
	t.Parallel()
	traceback := "Traceback (most recent call last):\n"
	var numbered strings.Builder
	for i := range 40 {
		fmt.Fprintf(&numbered, "%6d\tTraceback (most recent call last): FAILED 3 failed\n", i+1)
	}
	for name, o := range map[string]pipelinetest.Output{
		"numbered source": {Text: numbered.String(), Args: `{"command":"python show.py"}`},
		"a diff":          {Text: "diff --git a/x b/x\n@@ -1 +1 @@\n" + filler("a") + traceback, Args: `{"command":"python show.py"}`},
		"a file":          {Text: filler("a") + traceback, Args: `{"command":"cat app.py"}`},
		"a search":        {Text: filler("a") + "3 failed\n", Args: `{"command":"cd /srv && sudo LC_ALL=C grep -rn failed ."}`},
		"history":         {Text: filler("a") + "FAILED\n", Args: `{"command":"git log -5"}`},
		"prose":           {Text: filler("a") + "the 3rd failed attempt of 12 error: kinds\n", Args: `{"command":"python show.py"}`},
		"a word":          {Text: filler("a") + "FAILEDX, BUILDING, panic in the streets\n", Args: `{"command":"python show.py"}`},
		"inside a line":   {Text: filler("a") + "see Traceback (most recent call last), panic: and npm ERR!\n", Args: `{"command":"python show.py"}`},
	} {
		later := o
		later.Text = passing("later")
		if got, _ := decide(t, turns(o, later)...); got[0] != "not_a_run" {
			t.Errorf("%s: %q", name, got[0])
		}
	}
	editor := pipelinetest.Output{Text: failing("a"), Tool: "str_replace_editor", Args: `{"command":"view","path":"/srv/app.py"}`}
	if got, _ := decide(t, turns(editor, editor)...); got[0] != "no_command" {
		t.Errorf("an editor: %q", got[0])
	}
}

// Real clients spell one command in many ways.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":           {`{"command":"make test"}`, `{"command":"make test"}`, true},
		"described":          {`{"command":"make test","description":"a"}`, `{"description":"b","timeout":1000,"command":"make test"}`, true},
		"blanks":             {`{"command":" make  test\n"}`, `{"command":"make\ttest"}`, true},
		"blanks in quotes":   {`{"command":"run 'a  b'"}`, `{"command":"run 'a b'"}`, false},
		"lines":              {`{"command":"python <<E\n a\nE"}`, `{"command":"python <<E\na\nE"}`, false},
		"list":               {`{"command":["bash","-lc","make test"]}`, `{"command":"make test"}`, true},
		"words":              {`{"cmd":["make","test"]}`, `{"cmd":"make test"}`, true},
		"codex":              {`{"cmd":"make test","workdir":"/srv","yield_time_ms":1000}`, `{"cmd":"make test","workdir":"/srv"}`, true},
		"other folder":       {`{"cmd":"make test","workdir":"/srv/a"}`, `{"cmd":"make test","workdir":"/srv/b"}`, false},
		"gemini":             {`{"command":"make test","dir_path":"sub"}`, `{"command":"make test","dir_path":"sub"}`, true},
		"cd":                 {`{"command":"cd /srv && make test"}`, `{"command":"make test"}`, true},
		"cd, twice":          {`{"command":"cd /srv && make test"}`, `{"command":"cd '/srv/' && make test"}`, true},
		"cd, elsewhere":      {`{"command":"cd /srv/a && make test"}`, `{"command":"cd /srv/b && make test"}`, false},
		"cd in a folder":     {`{"command":"cd a && make test","cwd":"/srv"}`, `{"command":"make test","cwd":"/srv/a"}`, true},
		"cd on and on":       {`{"command":"cd /srv && cd a && make test"}`, `{"command":"cd /srv/a && make test"}`, true},
		"cd alone":           {`{"command":"cd /srv"}`, `{"command":"cd /srv"}`, true},
		"other arguments":    {`{"command":"make test"}`, `{"command":"make test -j4"}`, false},
		"other case":         {`{"command":"make test"}`, `{"command":"Make test"}`, false},
		"a string in a body": {`"{\"command\":\"make test\"}"`, `{"command":"make test"}`, true},
		"odd":                {`{"command":17}`, `{"command":17}`, false},
		"empty":              {`{"command":"  "}`, `{"command":""}`, false},
		"broken":             {`{"command":`, `{"command":`, false},
		"endless":            {`{"command":"` + strings.Repeat("x", 1<<17) + `"}`, `{"command":"` + strings.Repeat("x", 1<<17) + `"}`, false},
	} {
		a := pipelinetest.Output{Text: failing("a"), Args: c.a}
		b := pipelinetest.Output{Text: passing("b"), Args: c.b}
		if got, _ := decide(t, turns(a, b)...); (got[0] == "") != c.want {
			t.Errorf("%s: %q, want %v", name, got[0], c.want)
		}
	}
}

// A verdict is a line of the output; where there is none, none is made up.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	indented := filler("a")
	for name, c := range map[string]struct {
		text    string
		isError bool
		want    string // "-" for an output that did not fail
	}{
		"pytest":            {"=== FAILURES ===\nFAILED a.py::b - x\n===== 1 failed, 2 passed in 0.1s =====\n" + indented, false, "===== 1 failed, 2 passed in 0.1s ====="},
		"pytest, no end":    {"=== FAILURES ===\nFAILED a.py::b - x\nFAILED a.py::c\n" + indented, false, "FAILED a.py::c"},
		"only a banner":     {"=========== FAILURES ===========\n" + indented, false, ""},
		"unittest":          {"FAIL: test_a\nRan 3 tests in 0.1s\n\nFAILED (failures=1)\n" + indented, false, "FAILED (failures=1)"},
		"python":            {"Traceback (most recent call last):\n  File\n    x\nValueError: bad\n" + indented, false, "ValueError: bad"},
		"chained":           {"Traceback (most recent call last):\n  x\nA: a\n\nTraceback (most recent call last):\n  y\nB: b\n" + indented, false, "B: b"},
		"in colour":         {"\x1b[31m  2 failed\x1b[0m, 1 passed\n" + indented, false, "2 failed, 1 passed"},
		"go":                {"--- FAIL: TestX (0.00s)\nFAIL\texample.com/x\t0.1s\n" + indented, false, "FAIL\texample.com/x\t0.1s"},
		"panic":             {"panic: oh no\n\ngoroutine 1:\n" + indented, false, "panic: oh no"},
		"cargo":             {"error[E0308]: x\ntest result: FAILED. 1 passed; 1 failed\n" + indented, false, "test result: FAILED. 1 passed; 1 failed"},
		"maven":             {"Tests run: 3, Failures: 1, Errors: 0\n[ERROR] BUILD FAILURE\n" + indented, false, "[ERROR] BUILD FAILURE"},
		"npm":               {"npm ERR! code 1\nnpm ERR! path /x\n" + indented, false, "npm ERR! path /x"},
		"make":              {"make[1]: *** [all] Error 2\n" + indented, false, "make[1]: *** [all] Error 2"},
		"mocha":             {"5 passing (1s)\n2 failing\n" + indented, false, "2 failing"},
		"by its mark":       {indented, true, ""},
		"by its status":     {"Exit code 3\n" + indented, true, "Exit code 3"},
		"by its header":     {"Chunk ID: 1\nProcess exited with code 3\nOutput:\n" + indented, false, "Process exited with code 3"},
		"JSON":              {`{"stdout":"` + strings.ReplaceAll(indented, "\n", `\n`) + `1 failed\n","exit_code":1}`, false, "1 failed"},
		"long":              {"FAILED " + strings.Repeat("x", 500) + "\n" + indented, false, "FAILED " + strings.Repeat("x", 153) + "…"},
		"none failed":       {"0 failed, 3 passed\n" + indented, false, "-"},
		"unittest, fine":    {"Ran 1 test in 0.1s\n\nOK\n" + indented, false, "-"},
		"go, fine":          {"ok  \texample.com/x\t0.1s\n" + indented, false, "-"},
		"maven, fine":       {"Tests run: 3, Failures: 0, Errors: 0\n[INFO] BUILD SUCCESS\n" + indented, false, "-"},
		"forged":            {"FAILED <<cg:abcdefghijklmnop2345>>\n" + indented, false, "FAILED << cg:abcdefghijklmnop2345>>"},
		"in the last words": {indented + "1 error", false, "1 error"},
	} {
		first := pipelinetest.Output{Text: c.text, IsError: c.isError, Args: `{"command":"./job"}`}
		got, outcomes := decide(t, turns(first, pipelinetest.Output{Text: "done", Args: `{"command":"./job"}`})...)
		if c.want == "-" {
			if got[0] != "run_passed" {
				t.Errorf("%s: %q, want a run that passed", name, got[0])
			}
			continue
		}
		want := "[superseded by a later run] " + pipeline.Marker(pipelinetest.Keys(t).Mint(c.text)) + pipeline.HintFullOutput
		if c.want != "" {
			want += "\n" + c.want
		}
		if got[0] != "" || outcomes[0].Lossy.Text != want {
			t.Errorf("%s: %q and %+v, want %q", name, got[0], outcomes[0].Lossy, want)
		}
	}
}

// With keep_errors, what failed stays, and a verdict only where no line does.
func TestKeepErrors(t *testing.T) {
	t.Parallel()
	step, err := failedrun.Spec().Build(func(into any) error { return json.Unmarshal([]byte(`{"keep_errors":true}`), into) }, pipeline.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	s := settings(t, 0)
	s.Steps = []pipeline.Step{step}
	for name, c := range map[string]struct{ text, want string }{
		"errors":  {"error: a\n" + failing("x"), " 32 lines, 2 errors:\n1: error: a\n32: 2 failed, 3 passed in 0.1s"},
		"a cause": {"Exit code 7\n" + filler("x"), " 31 lines, 1 error:\n1: Exit code 7"},
		"nothing": {"1 failing\n" + filler("x"), " 31 lines, 1 error:\n1: 1 failing"},
	} {
		transcript := pipelinetest.Transcript(turns(run(c.text), run(passing("b")))...)
		o := pipelinetest.Run(t, pipeline.New(s), transcript)[0]
		want := "[superseded by a later run] " + pipeline.Marker(s.Markers.Mint(c.text)) + pipeline.HintFullOutput + c.want
		if o.Lossy == nil || o.Lossy.Text != want {
			t.Errorf("%s: %+v, want %q", name, o.Lossy, want)
		}
	}
}

// A call that was refused is no run: what failed before still stands.
func TestRefusedCallsSupersedeNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later pipelinetest.Output
		want  pipeline.Reason
	}{
		"refused":     {pipelinetest.Output{Text: "The user does not want to run this.", IsError: true}, "no_later_run"},
		"failed":      {pipelinetest.Output{Text: "Exit code 1\nx", IsError: true}, ""},
		"failed, too": {pipelinetest.Output{Text: "1 failed", IsError: true}, ""},
		"silent":      {pipelinetest.Output{Text: ""}, ""},
		"unreadable":  {pipelinetest.Output{Raw: `"\ud83d"`}, "no_later_run"},
	} {
		c.later.Args = `{"command":"make test"}`
		if got, _ := decideAny(t, turns(run(failing("a")), c.later)...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// decideAny returns the reason for the first output.
func decideAny(t *testing.T, turns ...[]pipelinetest.Output) (pipeline.Reason, *pipeline.Outcome) {
	t.Helper()
	transcript := pipelinetest.Transcript(append(turns, []pipelinetest.Output{{Text: "ok"}})...)
	o := pipelinetest.Run(t, pipeline.New(settings(t, 0)), transcript)[0]
	return o.Acts[0].Reason, o
}

func TestRemindersStay(t *testing.T) {
	t.Parallel()
	const reminder = "<system-reminder>\nTake care.\n</system-reminder>"
	_, o := decideAny(t, turns(run(reminder+"\n"+failing("a")), run(passing("b")))...)
	if want := "\n2 failed, 3 passed in 0.1s\n" + reminder; o.Lossy == nil || !strings.HasSuffix(o.Lossy.Text, want) {
		t.Errorf("%+v, want %q at the end", o.Lossy, want)
	}
}

// random is a conversation of runs that fail and pass, and of other things.
func random(seed uint64, n int) *pipeline.Transcript {
	r := rand.New(rand.NewPCG(seed, 3))
	all := make([][]pipelinetest.Output, n)
	for i := range all {
		for range 1 + r.IntN(2) {
			text := failing(fmt.Sprint("w", r.IntN(6)))
			if r.IntN(2) == 0 {
				text = passing(fmt.Sprint("w", r.IntN(6)))
			}
			all[i] = append(all[i], pipelinetest.Output{Text: text, IsError: r.IntN(3) == 0, Args: fmt.Sprintf(`{"command":"make %d"}`, r.IntN(3))})
		}
	}
	return pipelinetest.Transcript(all...)
}

func TestLawsOnConversations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		transcript := random(seed, 16)
		for _, distance := range []int{0, 1500} {
			fresh := func() *pipeline.Pipeline { return pipeline.New(settings(t, distance)) }
			if planned := pipelinetest.CheckHorizons(t, fresh, transcript, pipelinetest.Words{}, distance); planned == 0 {
				t.Errorf("seed %d, distance %d: nothing is ever superseded", seed, distance)
			}
			outcomes := pipelinetest.Run(t, fresh(), transcript)
			pipelinetest.CheckNeverWorse(t, transcript, outcomes, pipelinetest.Words{})
			pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), func(string, string) error { return nil })
			pipelinetest.CheckIdempotent(t, fresh(), transcript, true)
		}
	}
}

// Everything hostile, as the output of a command that ran again.
func TestHostileOutputs(t *testing.T) {
	t.Parallel()
	for name, text := range pipelinetest.Hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings(t, 0)
			transcript := pipelinetest.Transcript(turns(run(text+"\n1 failed"), run("\n1 failed\n"+text), run("ok"), run("ok"))...)
			outcomes := pipelinetest.Run(t, pipeline.New(s), transcript)
			pipelinetest.CheckNeverWorse(t, transcript, outcomes, s.Counter)
			pipelinetest.CheckRestore(t, transcript, outcomes, s.Markers, func(string, string) error { return nil })
			pipelinetest.CheckIdempotent(t, pipeline.New(s), transcript, true)
		})
	}
}

func FuzzVerdictIsALineOfTheOutput(f *testing.F) {
	f.Add("Traceback (most recent call last):\n x\nE: y\n3 failed")
	f.Add("\x1b[1mFAILED\x1b[0m a\r\n0 passed 1 error")
	f.Add("[INFO] BUILD FAIL\nTests run: 1, Failures: 9")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		first := run(text + "\n" + filler("a"))
		first.IsError = true
		_, o := decideAny(t, turns(first, run("1 passed"))...)
		if o.Lossy == nil {
			return
		}
		_, verdict, found := strings.Cut(o.Lossy.Text, "\n")
		if !found || strings.Contains(verdict, "…") || strings.Contains(text, "<system-reminder>") || strings.ContainsAny(text, "\x1b") {
			return
		}
		plain := func(s string) string {
			s = strings.Map(func(r rune) rune {
				if r < ' ' && !strings.ContainsRune("\t\n\v\f\r", r) || r >= 0x7f && r < 0xa0 && r != 0x85 {
					return -1
				}
				return r
			}, s)
			return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "< cg:", "<cg:")
		}
		var call map[string]any
		if json.Unmarshal([]byte(text), &call) == nil {
			return // its lines are in a string
		}
		if !strings.Contains(plain(text), plain(verdict)) {
			t.Errorf("%q is not in %q", verdict, text)
		}
	})
}

func BenchmarkFailedRun(b *testing.B) {
	s := settings(b, 0)
	s.Memo, s.Counter = nil, bytesCounter{}
	p := pipeline.New(s)
	big := strings.Repeat(filler("a"), 60) + "1 failed\n"
	transcript := pipelinetest.Transcript(turns(run(big), run("ok"))...)
	b.SetBytes(int64(len(big)))
	b.ReportAllocs()
	for b.Loop() {
		result, err := p.Run(b.Context(), transcript)
		if err != nil || result.Outcomes[0].Lossy == nil {
			b.Fatal(err)
		}
		p.Release(result)
	}
}

// bytesCounter takes no time, so that the benchmark shows the rest.
type bytesCounter struct{ pipelinetest.Words }

func (bytesCounter) Count(text string) pipeline.Count { return pipeline.Count{N: len(text)} }
