//go:build cgo && !notreesitter

package syntax_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/components/internal/syntax"
)

// samples is a source in each language with one function, whose body is the
// lines in the place of BODY.
func samples() map[syntax.Language]string {
	return map[syntax.Language]string{
		syntax.C:          "int add(int a, int b)\n{\n\ta += b;\n\treturn a;\n}\n",
		syntax.CPP:        "class A {\n  int add(int a) {\n    a++;\n    return a;\n  }\n};\n",
		syntax.Go:         "package a\n\nfunc add(a, b int) int {\n\ta += b\n\treturn a\n}\n",
		syntax.Java:       "class A {\n  int add(int a) {\n    a++;\n    return a;\n  }\n}\n",
		syntax.JavaScript: "const add = (a, b) => {\n  a += b;\n  return a;\n};\n",
		syntax.Python:     "def add(a, b):\n    \"\"\"Adds.\"\"\"\n    a += b\n    return a\n",
		syntax.Ruby:       "def add(a, b)\n  a += b\n  a\nend\n",
		syntax.Rust:       "impl A {\n    fn add(&self, a: i32) -> i32 {\n        let b = a;\n        b\n    }\n}\n",
		syntax.TSX:        "export function A(p: P) {\n  const a = p.a;\n  return <b>{a}</b>;\n}\n",
		syntax.TypeScript: "class A {\n  add(a: number): number {\n    a++;\n    return a;\n  }\n}\n",
	}
}

func TestBodiesOfEachLanguage(t *testing.T) {
	t.Parallel()
	for lang, source := range samples() {
		bodies, ok, err := syntax.Bodies(t.Context(), lang, source)
		if err != nil || !ok || len(bodies) != 1 || bodies[0].End-bodies[0].First != 2 {
			t.Errorf("%s: %+v, %v, %v", lang, bodies, ok, err)
			continue
		}
		lines := strings.SplitAfter(source, "\n")
		left := strings.Join(lines[:bodies[0].First], "") + bodies[0].Stub + "\n" + strings.Join(lines[bodies[0].End:], "")
		if ok, err := syntax.Clean(t.Context(), lang, left); !ok || err != nil {
			t.Errorf("%s: not well formed without its body (%v):\n%s", lang, err, left)
		}
		note := strings.Join(lines[:bodies[0].First], "") + "\t… (2 lines omitted) lines 3-4\n" + strings.Join(lines[bodies[0].End:], "")
		if ok, err := syntax.Clean(t.Context(), lang, note); ok || err != nil {
			t.Errorf("%s: well formed with a note in it (%v):\n%s", lang, err, note)
		}
	}
}

// What is not well formed is nothing to decide about, wherever it is broken.
func TestP44UncleanSourcesHaveNoBodies(t *testing.T) {
	t.Parallel()
	for lang, source := range samples() {
		for name, broken := range map[string]string{
			"cut":     source[:len(source)*2/3] + "\n((",
			"in it":   strings.Replace(source, "\n", "\n)) ]\n", 2),
			"long":    source + strings.Repeat("\n", syntax.MaxBytes),
			"NUL":     source + "\x00",
			"bytes":   source + "\n0\xec\xa06\x10\xa4_\xd3",
			"angles":  source + strings.Repeat("<\n", 400),
			"nested":  source + strings.Repeat("(\n", 400),
			"minimal": source + "//" + strings.Repeat("x", 3000),
		} {
			if bodies, ok, err := syntax.Bodies(t.Context(), lang, broken); ok || err != nil {
				t.Errorf("%s, %s: %+v, %v", lang, name, bodies, err)
			}
		}
	}
}

// Whatever a text holds, parsing it ends, and takes no memory to speak of.
func TestHostileSourcesAreBounded(t *testing.T) {
	before := resident(t)
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 12_000)
	for i := range random {
		random[i] = byte(' ' + r.IntN(95))
		if i%80 == 79 {
			random[i] = '\n'
		}
	}
	var log strings.Builder
	for i := range 200 {
		fmt.Fprintf(&log, "2026-01-02T03:04:05Z INFO [worker-%d] request id=%x took %dms (status: %d)\n", i%7, r.Uint64(), r.IntN(900), 200)
	}
	for name, text := range map[string]string{
		"random":    string(random),
		"log":       log.String(),
		"templates": strings.Repeat("aaaaaaaaa<\n", 1000),
		"names":     strings.Repeat("a b c d e f\n", 1500),
		"quotes":    strings.Repeat("abcdefghij\"\n", 1000),
		"operators": strings.Repeat("a * b & c (\nd) [e]\n", 600),
		"colons":    strings.Repeat("a::b:c ? d : e\n", 1000),
		"generics":  strings.Repeat("abcd<efgh, ijkl>(mnop)\n", 500),
	} {
		for lang := range samples() {
			begin := time.Now()
			_, ok, err := syntax.Bodies(t.Context(), lang, text)
			if err != nil && !errors.Is(err, syntax.ErrTimeout) || ok && err != nil {
				t.Errorf("%s as %s: %v", name, lang, err)
			}
			const most = 5 * time.Second // ten times the safety net: this machine may be busy
			if took := time.Since(begin); took > most {
				t.Errorf("%s as %s took %v", name, lang, took)
			}
		}
	}
	const most = 150 << 20
	if grown := resident(t) - before; grown > most {
		t.Errorf("hostile sources left %d KB behind", grown>>10)
	}
}

// The trees are C's memory, which no collector sees: what is not closed stays.
func TestThousandsOfParsesLeakNothing(t *testing.T) {
	source := "package a\n" + strings.Repeat("\nfunc add(a, b int) int {\n\ta += b\n\treturn a\n}\n", 20)
	parse := func(times int) {
		for range times {
			if _, ok, err := syntax.Bodies(t.Context(), syntax.Go, source); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if _, ok, _ := syntax.Bodies(t.Context(), syntax.JavaScript, "class A {\n"); ok {
				t.Fatal("well formed although it is cut")
			}
		}
	}
	parse(200)
	before := resident(t)
	const times = 3000
	parse(times)
	const most = 10 << 10 // of C's memory, per pair; a tree is larger
	if grown := resident(t) - before; grown > times*most {
		t.Errorf("%d parses left %d KB behind", times, grown>>10)
	}
}

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", "self", "statm"))
	if err != nil {
		t.Skipf("the memory of a process cannot be read here: %v", err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

func TestLanguagesByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]syntax.Language{
		"a/b.go": syntax.Go, "x.PY": syntax.Python, "x.tsx": syntax.TSX, "x.h": syntax.CPP, "Makefile": "", "x.python": "", "go": "", "x.txt": "",
	} {
		if got := syntax.OfFile(name); got != want {
			t.Errorf("file %s is %q, want %q", name, got, want)
		}
	}
	for info, want := range map[string]syntax.Language{
		"go": syntax.Go, "Python": syntax.Python, "rust,no_run": syntax.Rust, "ts title=x": syntax.TypeScript, "": "", "text": "",
	} {
		if got := syntax.OfFence(info); got != want {
			t.Errorf("fence %s is %q, want %q", info, got, want)
		}
	}
}

// Whatever the source, the process lives, and bodies are lines of it, in order
// and apart.
func FuzzBodies(f *testing.F) {
	languages := slices.Sorted(maps.Keys(samples()))
	for i := range languages {
		for _, source := range samples() {
			f.Add(uint8(i), source)
		}
	}
	f.Add(uint8(slices.Index(languages, syntax.Ruby)), "0\xec\xa06\x10\xa4_\xd3")
	f.Fuzz(func(t *testing.T, at uint8, source string) {
		const enough = 4 << 10
		if len(source) > enough {
			return
		}
		lang := languages[int(at)%len(languages)]
		bodies, ok, err := syntax.Bodies(t.Context(), lang, source)
		if err != nil && !errors.Is(err, syntax.ErrTimeout) || !ok && len(bodies) > 0 {
			t.Fatal(bodies, ok, err)
		}
		line := 0
		for _, b := range bodies {
			if b.First < line || b.End <= b.First || b.End > strings.Count(source, "\n")+1 {
				t.Fatalf("%+v of %d lines", bodies, strings.Count(source, "\n")+1)
			}
			line = b.End
		}
	})
}
