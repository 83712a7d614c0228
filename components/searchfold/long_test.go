package searchfold_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/searchfold"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func FuzzFold(f *testing.F) {
	for _, text := range []string{
		"src/app/user.py:12:class User:\nsrc/app/user.py:40:    pass\nsrc/app/group.py:3:import user\n",
		"a/b/c/d.c-11-a\na/b/c/d.c:12:b\n--\na/b/c/e.c:12:b\n",
		"C:\\work\\x.cs:1:a\r\nC:\\work\\x.cs:2:b\r\nC:\\work\\y.cs",
		"/srv/data/p:\na\n\n/srv/data/p/a:\nx\n\n/srv/data/p/b:\n",
		"./a b/c.d:x\n./a b/c.d:y\n./a b/e\n./a b/f/",
		"src/app/\n user.py:\n\t12:x\n\t--\n --\n g.py",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		got, reason := rewrite(t, pipelinetest.Output{Text: strings.Repeat(text+"\n", 3)})
		switch reason {
		case pipeline.ReasonNotEquivalent, pipeline.ReasonPanic, pipeline.ReasonFailed, pipeline.ReasonKind:
			t.Errorf("%q: %s", text, reason)
		}
		if again, _ := rewrite(t, pipelinetest.Output{Text: got}); again != got {
			t.Errorf("%q is folded to %q, then to %q", text, got, again)
		}
	})
}

// files prints hits in so many files.
func files(n int) string {
	var b strings.Builder
	for i := range n {
		for line := range 1 + i%4 {
			fmt.Fprintf(&b, "packages/module_%d/src/component_%d.ts:%d:export const value%d = compute(%d);\n", i/40, i, 10+line*7, line, i)
		}
	}
	return b.String()
}

func TestTenThousandFiles(t *testing.T) {
	t.Parallel()
	text := files(10_000)
	got, reason := rewrite(t, pipelinetest.Output{Text: text})
	if reason != "" || len(got) > len(text)*7/10 {
		t.Fatalf("%d bytes became %d (%s)", len(text), len(got), reason)
	}
	if err := sameSet(text, got); err != nil {
		t.Error(err)
	}
}

// Texts made to be slow: much that looks like the beginning of a fold and is
// none.
func TestFoldingTakesLinearTime(t *testing.T) {
	t.Parallel()
	var roots, dirs strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&roots, "/%d/x.go:1:a\n", i)
		fmt.Fprintf(&dirs, "%s/x.go:1:a\n", strings.Repeat("a/", i%400))
	}
	for name, text := range map[string]string{
		"nothing but a root":   roots.String(),
		"ever deeper":          dirs.String(),
		"colons":               strings.Repeat(strings.Repeat("a:", 1000)+"\n", 1000),
		"dashes":               "a/b.c:1:x\n" + strings.Repeat("a/b.c"+strings.Repeat("-1-", 1000)+"\n", 1000),
		"separators":           "a/b.c:1:x\n" + strings.Repeat("--\n", 500_000) + "a/b.c:2:x\n",
		"separators and lines": strings.Repeat("a/b.c:1:x\n--\n--\n", 100_000),
		"one line":             strings.Repeat("a/b.c:1:", 500_000),
		"slashes":              strings.Repeat("/", 2_000_000) + "\n" + strings.Repeat("/\n", 100_000),
		"headings":             strings.Repeat("/a/b/c:\n\n", 100_000),
	} {
		if _, reason := rewrite(t, pipelinetest.Output{Text: text}); reason == pipeline.ReasonNotEquivalent || reason == pipeline.ReasonPanic {
			t.Errorf("%s: %s", name, reason)
		}
	}
}

func BenchmarkSearchfold(b *testing.B) {
	step, err := searchfold.Spec().Build(nil, pipeline.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	var log strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&log, "2024-05-01T12:%02d:%02dZ INFO request finished path=/api/items/%d status=200 duration=%dms\n", i/60%60, i%60, i, i%37)
	}
	for name, text := range map[string]string{"search": files(800), "log": log.String()} {
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
