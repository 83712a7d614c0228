package textclean_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextguru/contextguru/components/textclean"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, textclean.Spec(), pipelinetest.InStrings(sameLines))
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, textclean.Spec())
}

// moves finds what sets the cursor back or on, and titles, part of whose
// characters the library takes for their end.
var moves = regexp.MustCompile(`\r[^\n]|\r$|\x1b\[\d*[A-LN-Z]|\x08|\x1b\]`)

// sameLines wants the same number of lines, ended in the same way, and the text
// the library leaves of those where nothing moves.
func sameLines(before, after string) error {
	was, now := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	if len(was) != len(now) {
		return fmt.Errorf("%d lines became %d", len(was), len(now))
	}
	for i := range was {
		if strings.HasSuffix(was[i], "\r\n") != strings.HasSuffix(now[i], "\r\n") {
			return fmt.Errorf("line %d %q ends in another way: %q", i+1, was[i], now[i])
		}
		if !moves.MatchString(was[i]) && ansi.Strip(was[i]) != ansi.Strip(now[i]) {
			return fmt.Errorf("line %d %q became %q", i+1, was[i], now[i])
		}
	}
	return nil
}

// heavy counts every byte, so that the runner accepts every edit.
type heavy struct{ pipelinetest.Words }

func (heavy) Count(text string) pipeline.Count { return pipeline.Count{N: len(text)} }

// rewrite runs the component on an output and returns the text that is sent,
// and the reason when it is the client's.
func rewrite(tb testing.TB, o pipelinetest.Output) (string, pipeline.Reason) {
	tb.Helper()
	settings := pipelinetest.Settings(tb, textclean.Spec())
	settings.Counter = heavy{}
	got := pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Transcript([]pipelinetest.Output{o}))[0]
	switch {
	case got.Lossless != nil:
		return got.Lossless.Text, ""
	case got.Reason != "":
		return o.Text, got.Reason
	default:
		return o.Text, got.Acts[0].Reason
	}
}

func check(t *testing.T, cases map[string]string) {
	t.Helper()
	for text, want := range cases {
		got, reason := rewrite(t, pipelinetest.Output{Text: text})
		if got != want {
			t.Errorf("%q became %q (%s), want %q", text, got, reason, want)
		}
		if again, reason := rewrite(t, pipelinetest.Output{Text: got}); again != got || reason == pipeline.ReasonNotEquivalent {
			t.Errorf("%q became %q the second time (%s)", got, again, reason)
		}
	}
}

func TestP35CRLFIsUntouched(t *testing.T) {
	t.Parallel()
	check(t, map[string]string{
		"a\r\nb\r\n":                             "a\r\nb\r\n",
		"\x1b[31ma\x1b[0m\r\n\x1b[1mb\x1b[m\r\n": "a\r\nb\r\n",
		"a\n\x1b[31mb\x1b[0m\r\nc\n":             "a\nb\r\nc\n",
		"a 1%\ra 2%\r\nb\r\n":                    "a 2%\r\nb\r\n",
		"a line\r\r\nanother\n":                  "a line\r\nanother\n",
		"\r\n\x1b[m\r\n ok":                      "\r\n\r\n ok",
	})
}

func TestP35RedrawsKeepTheLastState(t *testing.T) {
	t.Parallel()
	check(t, map[string]string{
		"Receiving objects:  10% (1/10)\rReceiving objects: 100% (10/10), done.\nx\n": "Receiving objects: 100% (10/10), done.\nx\n",
		"⠋ building\r⠙ building\r⠹ building\n":                                        "⠹ building\n",
		"|\r/\r-\r\\\rdone\n":                                           "done\n",
		"Reading... 5%\r\x1b[KReading... Done\r\n":                      "Reading... Done\r\n",
		"Reading... 5%\r\x1b[2KDone\n":                                  "Done\n",
		"Reading a long name...\x1b[2K\x1b[1GDone\n":                    "Done\n",
		"Resolving a lot of names\r                        \rDone\nx\n": "Done\nx\n",
		"Done 10%             \rDone 100%     \n":                       "Done 100%\n",
		"50%\r   \nx\n":                                           "\nx\n",
		"\ra line\nanother\n":                                     "a line\nanother\n",
		"下载 10%\r下载 20%\n":                                        "下载 20%\n",
		"🚀 deploy 10%\r🚀 deploy 20%\n":                            "🚀 deploy 20%\n",
		"a\tb 10%\ra\tb 20%\n":                                    "a\tb 20%\n",
		"\x1b[32m10%\x1b[0m\r\x1b[32m20%\x1b[0m\n":                "20%\n",
		"\x1b[2K\x1b[1G\x1b[32msuccess\x1b[39m Saved lockfile.\n": "success Saved lockfile.\n",
		"a 1%\x1b[K\ra 2%\x1b[K\ra 3%\x1b[K\r\n":                  "a 3%\r\n",
	})
}

// What would still be seen of an older state, or is no older state, stays.
func TestP35RedrawsThatAreNotCertainStay(t *testing.T) {
	t.Parallel()
	check(t, map[string]string{
		"Downloading 99%\rDownloading 100%\rDone\n":                    "Downloading 100%\rDone\n",
		"first thing\rsecond thing\rthird\n":                           "first thing\rsecond thing\rthird\n",
		"error: x\r        \rerror: y, too\n":                          "error: x\rerror: y, too\n",
		"cpu 10%\rmemory 20%\n":                                        "cpu 10%\rmemory 20%\n",
		"10%\r20%\r30%\r":                                              "10%\r20%\r30%\r",
		"error: 10% failed\rerror: 20% failed\n":                       "error: 10% failed\rerror: 20% failed\n",
		"error: it broke\r\x1b[K\x1b[1mworking 1%\r\x1b[Kworking 2%\n": "error: it broke\r\x1b[Kworking 2%\n",
		"error: it broke\x1b[2K\rworking\n":                            "error: it broke\x1b[2K\rworking\n",
		"error: x\r        \rok\nx\n":                                  "error: x\r        \rok\nx\n",
		"a\tb 10%\r100000%\n":                                          "a\tb 10%\r100000%\n",
		"10%\r20\b%\n":                                                 "10%\r20\b%\n",
		"👩‍👩‍👧 1%\r👩🏽 2%\n":                                            "👩‍👩‍👧 1%\r👩🏽 2%\n",
		"10%\r\x1b[2C%\n":                                              "10%\r\x1b[2C%\n",
		"foo\x1b[1A\rbar\n":                                            "foo\x1b[1A\rbar\n",
		"foobar\r\tx\x1b[K\n":                                          "foobar\r\tx\x1b[K\n",
	})
}

func TestTerminalCodes(t *testing.T) {
	t.Parallel()
	check(t, map[string]string{
		"\x1b[1m\x1b[31merror\x1b[0m: oops\n":                                           "error: oops\n",
		"\x1b[35m\x1b[Ka.c\x1b[m\x1b[K:\x1b[K\tint \x1b[01;31m\x1b[Kfoo\x1b[m\x1b[K;\n": "a.c:\tint foo;\n",
		"\x1b]8;;http://a.b/c\x1b\\link\x1b]8;;\x1b\\ ok\n":                             "link ok\n",
		"\x1b]0;✳ title\x07text\x1b(B\n":                                                "text\n",

		"\x1b[38;2;10;20;30m日本\x1b[m é 👩‍👩‍👧\n": "日本 é 👩‍👩‍👧\n",

		"\x1b[1A\x1b[2Kup\n":                  "up\n",
		"down\x1b[J\x1b[1B\n":                 "down\n",
		"a\x1b[1Cb\x1b[3Cc\n":                 "a b   c\n",
		"\x1b[?25l\x1b[?2004h$ ls\x1b[?25h\n": "$ ls\n",
		"no line end \x1b[1mat all\x1b[m":     "no line end at all",
		"bell \a and \x1b[1mbold\x1b[m\n":     "bell \a and bold\n",
	})
}

// A code without an end, or one that does what is not followed, keeps its line
// and nothing but its line.
func TestUnfinishedAndUnknownCodesSwallowNothing(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"\x1b]0;all of this would vanish", "\x1bPall of this too", "a \x1b[31", "a \x1b", "\x1b\x1b[m[1m", "\x1b[ of a list",
		"\x1b]0;error: in here\x07 text", "foo\x1b[3Dbar", "foo\x1b[1Abar", "\x1b[300Cfar", "\x1b(0qqq\x1b(B", "\x1b7a\x1b8b",
		"foo\x1b[2Kbar", "foo\x1b[1Kbar", "\x1b[2;3Hfoo\x1b[3;1Hbar", "abc\b\b\b\x1b[K", "a\x1b[?K",
	} {
		text := line + "\n\x1b[31mred\x1b[0m\n" + line
		got, reason := rewrite(t, pipelinetest.Output{Text: text})
		if want := line + "\nred\n" + line; got != want {
			t.Errorf("%q became %q (%s)", text, got, reason)
		}
	}
}

func TestTextsThatAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    pipelinetest.Output
		want pipeline.Reason
	}{
		"plain":        {pipelinetest.Output{Text: "a\nb\r\n"}, "no_terminal_codes"},
		"CR at end":    {pipelinetest.Output{Text: "a\nb\r"}, "no_terminal_codes"},
		"NUL":          {pipelinetest.Output{Text: "\x1b[m\x00\n"}, "binary"},
		"file":         {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"a.txt"}`, Text: "\x1b[1ma\x1b[m\n"}, "file_read"},
		"unsure":       {pipelinetest.Output{Text: "a \x1b[31\n"}, "no_certain_codes"},
		"word diff":    {pipelinetest.Output{Text: "\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n the \x1b[31mold\x1b[m\x1b[32mnew\x1b[m word\n"}, "colours_are_the_diff"},
		"word diff, -": {pipelinetest.Output{Text: "diff --git a/x b/x\n\x1b[36m@@ -1 +1 @@\x1b[m\n- the \x1b[31mold\x1b[m\x1b[32mnew\x1b[m word\n"}, "colours_are_the_diff"},
		"diff":         {pipelinetest.Output{Text: "\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-old\x1b[m\n\x1b[32m+new\x1b[m\n same\n"}, ""},
		"blank":        {pipelinetest.Output{Text: "\r\n\x1b[m \r\n"}, "nothing_to_see"},
		"error result": {pipelinetest.Output{Text: "\x1b[31merror\x1b[m\n", IsError: true}, ""},
	} {
		if got, reason := rewrite(t, c.o); reason != c.want {
			t.Errorf("%s: %q (%s), want %q", name, got, reason, c.want)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	build := func(config string) (pipeline.Step, error) {
		return textclean.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
	}
	if _, err := build(`{"min_tokens":-1}`); err == nil || err.Error() != "min_tokens must be at least 0, got -1" {
		t.Errorf("error %v", err)
	}
	step, err := build(`{"min_tokens":5}`)
	if err != nil {
		t.Fatal(err)
	}
	settings := pipelinetest.Settings(t)
	settings.Steps = []pipeline.Step{step}
	o := pipelinetest.Run(t, pipeline.New(settings), pipelinetest.Texts("\x1b[mx\n"))[0]
	if len(o.Acts) != 1 || o.Original.N >= 5 != o.Acts[0].Acted {
		t.Errorf("%+v", o)
	}
}

// random lines of everything a terminal is told: the check agrees with every
// edit, a second pass changes nothing, and no error goes.
func TestP35AnyDrawing(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"10%", "20% of it", "building", " error: x ", "日本", "é", "🚀", "\t", " ", "        ", "\b", "\a", "⠙ ", "x", "-", "[###..]",
		"\r", "\r", "\r", "\r\n", "\n", "\n", "\x1b[m", "\x1b[1;31m", "\x1b[K", "\x1b[K", "\x1b[2K", "\x1b[1K", "\x1b[G", "\x1b[2C", "\x1b[1A", "\x1b[J",
		"\x1b]0;t\a", "\x1b]0;error\a", "\x1b]0;", "\x1b(B", "\x1b7", "\x1b8", "\x1b", "\x1b[", "\x1b[3D", "\x1b[5G", "\u0301", "\u200d", "\x1b[E",
	}
	r := rand.New(rand.NewPCG(3, 4))
	acted := 0
	for range 30_000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := b.String()
		got, reason := rewrite(t, pipelinetest.Output{Text: text})
		switch reason {
		case "":
			acted++
		case "no_terminal_codes", "no_certain_codes", "nothing_to_see":
			continue
		default:
			t.Fatalf("%q: %s", text, reason)
		}
		if again, why := rewrite(t, pipelinetest.Output{Text: got}); again != got {
			t.Fatalf("%q became %q, then %q (%s)", text, got, again, why)
		}
		if err := sameLines(text, got); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if strings.Count(text, "error: x") != strings.Count(got, "error: x") {
			t.Fatalf("%q became %q", text, got)
		}
	}
	if acted < 5_000 {
		t.Errorf("only %d texts were changed", acted)
	}
}

// Lines made to be slow: long ones with many codes, and many states that each
// have to be compared with a long one.
func TestCleaningTakesLinearTime(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long text\t", 100_000)
	for name, text := range map[string]string{
		"erased again and again": long + strings.Repeat("\x1b[K", 200_000) + "\n",
		"lines erased":           long + strings.Repeat("\x1b[2K", 200_000) + "\n",
		"short on long":          long + strings.Repeat("\rshort", 200_000) + "\n",
		"blank on long":          long + strings.Repeat(" ", 1<<20) + strings.Repeat("\r    ", 200_000) + "\n",
		"error below":            "error: " + long + strings.Repeat("\r\x1b[Kok 10%", 200_000) + "\n",
		"growing":                strings.Repeat("\r"+long[:1000], 1000) + "\n",
		"titles without an end":  strings.Repeat("\x1b]0;", 300_000) + "\n",
		"colours":                strings.Repeat("\x1b[31mx", 300_000) + "\n",
		"moves":                  strings.Repeat("\x1b[256C", 50_000) + "\n",
		"many lines":             strings.Repeat("\x1b[31mx\x1b[m\n", 200_000),
	} {
		if _, reason := rewrite(t, pipelinetest.Output{Text: text}); reason == pipeline.ReasonNotEquivalent || reason == pipeline.ReasonPanic {
			t.Errorf("%s: %s", name, reason)
		}
	}
}

func BenchmarkTextclean(b *testing.B) {
	var colour, progress, plain strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&colour, "\x1b[32mok\x1b[0m   package/number/%d\t\x1b[2m0.0%ds\x1b[0m of all the packages there are in it\n", i, i%10)
		fmt.Fprintf(&progress, "Receiving objects: %d%%\rReceiving objects: %d%%\rReceiving objects: 100%%, done.\n", i%50, 50+i%50)
		fmt.Fprintf(&plain, "2024-05-01T12:%02d:%02dZ INFO request finished path=/api/items/%d status=200 duration=%dms\r\n", i/60%60, i%60, i, i%37)
	}
	step, err := textclean.Spec().Build(nil, pipeline.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"colour": colour.String(), "progress": progress.String(), "plain": plain.String()} {
		b.Run(name, func(b *testing.B) {
			s := pipeline.Segment{Text: text, Tokens: 10_000, Args: []byte(`{"command":"make all"}`)}
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
