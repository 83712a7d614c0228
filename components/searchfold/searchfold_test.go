package searchfold_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/searchfold"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, searchfold.Spec(), pipelinetest.InStrings(sameSet))
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, searchfold.Spec())
}

// sameSet is what a reader does: put every heading back in front of what is
// indented below it. Nothing of it knows the component.
func sameSet(before, after string) error {
	if got := read(after); got != before {
		return fmt.Errorf("%.300q reads as %.300q", after, got)
	}
	return nil
}

// heading is what a reader takes for one.
var heading = regexp.MustCompile(`^[^ \t]*[/\\]|^[^ \t]*\.[^ \t]*$`)

func read(folded string) string {
	var out strings.Builder
	dir, file := "", ""
	lines := strings.SplitAfter(folded, "\n")
	next := func(i int, prefix string) bool {
		return i+1 < len(lines) && strings.HasPrefix(lines[i+1], prefix)
	}
	for i, l := range lines {
		text := strings.TrimRight(l, "\r\n")
		indent := len(text) - len(strings.TrimLeft(text, " \t"))
		switch {
		case indent > 0 && text[0] == '\t' && file != "":
			row := l[1:]
			switch number := strings.TrimLeft(row, "0123456789"); {
			case text == "\t--":
				out.WriteString(row)
			case number != row && number[0] == '-':
				out.WriteString(file + "-" + row)
			default:
				out.WriteString(file + ":" + row)
			}
		case indent > 0 && text[0] == ' ' && dir != "":
			file = ""
			switch {
			case text == " --":
				out.WriteString(l[1:])
			case strings.HasSuffix(text, ":") && next(i, "\t"):
				file = dir + text[1:len(text)-1]
			default:
				out.WriteString(dir + l[1:])
			}
		case file != "" && len(text) > len(file)+1 && strings.HasPrefix(text, file) && strings.ContainsAny(text[len(file):len(file)+1], ":-"):
			out.WriteString(l)
		case heading.MatchString(text) && strings.HasSuffix(text, ":") && next(i, "\t"):
			dir, file = "", text[:len(text)-1]
		case heading.MatchString(text) && (strings.HasSuffix(text, "/") || strings.HasSuffix(text, `\`)) && next(i, " "):
			dir, file = text, ""
		default:
			if dir == "" || !strings.HasPrefix(l, dir) {
				dir, file = "", ""
			}
			out.WriteString(l)
		}
	}
	return out.String()
}

// heavy counts every byte, so that the runner accepts every fold that is
// shorter.
type heavy struct{ pipelinetest.Words }

func (heavy) Count(text string) pipeline.Count { return pipeline.Count{N: len(text)} }

// rewrite runs the component on an output and returns the text that is sent,
// and the reason when it is the client's.
func rewrite(tb testing.TB, o pipelinetest.Output) (string, pipeline.Reason) {
	tb.Helper()
	settings := pipelinetest.Settings(tb, searchfold.Spec())
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

func TestP36FoldsAreReadBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"grep -rn": {
			"src/app/user.py:12:class User:\nsrc/app/user.py:40:    pass\nsrc/app/group.py:3:import user\nsrc/app/a.py:1:x\n",
			"src/app/\n user.py:\n\t12:class User:\n\t40:    pass\n group.py:3:import user\n a.py:1:x\n",
		},
		"one file": {
			"internal/server.go:1:package server\ninternal/server.go:9:\tx := 1\ninternal/server.go:10:\n",
			"internal/server.go:\n\t1:package server\n\t9:\tx := 1\n\t10:\n",
		},
		"no directory": {
			"main_test_helpers.go:1:package main\nmain_test_helpers.go:3:func main() {\nmain_test_helpers.go:4:}\n",
			"main_test_helpers.go:\n\t1:package main\n\t3:func main() {\n\t4:}\n",
		},
		"context": {
			"cmd/serve/flags-1-x.go-11-// before\ncmd/serve/flags-1-x.go:12:hit\ncmd/serve/flags-1-x.go-13-// after\n--\ncmd/serve/flags-1-x.go-40-\ncmd/serve/flags-1-x.go:41:hit again\n",
			"cmd/serve/flags-1-x.go:\n\t11-// before\n\t12:hit\n\t13-// after\n\t--\n\t40-\n\t41:hit again\n",
		},
		"context of several": {
			strings.ReplaceAll("D/one.c-11-a\nD/one.c:12:b\n--\nD/two.c:12:b\nD/two.c-13-c\nD/two.c-14-d\n", "D", "a/folder/far/down"),
			"a/folder/far/down/\n one.c:\n\t11-a\n\t12:b\n --\n two.c:\n\t12:b\n\t13-c\n\t14-d\n",
		},
		"CRLF": {
			strings.ReplaceAll("D\\user.cs:12:class User\r\nD\\user.cs:40:}\r\nD\\user.cs:41:}\r\nD\\x.cs:1:a\r\n", "D", "src\\application"),
			"src\\application\\\r\n user.cs:\r\n\t12:class User\r\n\t40:}\r\n\t41:}\r\n x.cs:1:a\r\n",
		},
		"Windows": {
			"C:\\work\\my project\\a.cs:12:class A\nC:\\work\\my project\\a.cs:40:}\nC:\\work\\my project\\a.cs:41:}\n",
			"C:\\work\\my project\\a.cs:\n\t12:class A\n\t40:}\n\t41:}\n",
		},
		"blanks and colons": {
			"./My Files/a: b.txt:12:one\n./My Files/a: b.txt:13:two\n./My Files/a: b.txt:14:three\n",
			"./My Files/a: b.txt:\n\t12:one\n\t13:two\n\t14:three\n",
		},
		"columns": {
			"pkg/util/strings.ts:12:5:a\npkg/util/strings.ts:13:7:b\npkg/util/strings.ts:14:7:c\n",
			"pkg/util/strings.ts:\n\t12:5:a\n\t13:7:b\n\t14:7:c\n",
		},
		"no numbers": {
			"./configuration/app.yml:  name: x\n./configuration/app.yml:\tdebug: no\n./configuration/app.yml:key\n./configuration/db.yml:host\n",
			"./configuration/\n app.yml:\n\t  name: x\n\t\tdebug: no\n\tkey\n db.yml:host\n",
		},
		"errors keep their path": {
			strings.ReplaceAll("D/a.py:1:import os\nD/a.py:7:except OSError:\nD/a.py:8:    pass\nD/a.py:9:raise ValueError\nD/b.py:3:x = 1\nD/Makefile:1:all:\nD/Makefile:2:\tcc\nD/Makefile:3:\tcc error.c\n", "D", "src/application"),
			"src/application/\n a.py:\n\t1:import os\nsrc/application/a.py:7:except OSError:\n\t8:    pass\nsrc/application/a.py:9:raise ValueError\n b.py:3:x = 1\n Makefile:\n\t1:all:\n\t2:\tcc\nsrc/application/Makefile:3:\tcc error.c\n",
		},
		"errors first": {
			strings.ReplaceAll("D/a.py:7:except OSError:\n--\nD/a.py:8:    pass\nD/a.py:9:    pass\nD/a.py:10:    pass\n", "D", "src/application"),
			"src/application/a.py:7:except OSError:\n--\nsrc/application/a.py:\n\t8:    pass\n\t9:    pass\n\t10:    pass\n",
		},
		"find": {
			"./node/lib/a.js\n./node/lib/b c.js\n./node/lib/sub\n./node/lib/sub/d.js\n./node/lib/e.js",
			"./node/lib/\n a.js\n b c.js\n sub\n sub/d.js\n e.js",
		},
		"common root": {
			"/srv/app/one/a.go\n/srv/app/two/b.go\n/srv/app/three/c.go\n/srv/app/d.go\n",
			"/srv/app/\n one/a.go\n two/b.go\n three/c.go\n d.go\n",
		},
		"among other lines": {
			"Found 3 files\n/srv/app/one/a.go\n/srv/app/one/b.go\n/srv/app/one/c.go\n\n(exit 0)\n",
			"Found 3 files\n/srv/app/one/\n a.go\n b.go\n c.go\n\n(exit 0)\n",
		},
		"counts": {
			"src/long/folder/a.py:0\nsrc/long/folder/b.py:12\nsrc/long/folder/c.py:3\n",
			"src/long/folder/\n a.py:0\n b.py:12\n c.py:3\n",
		},
		"ls -R": {
			"/srv/data/project:\na  b\n\n/srv/data/project/a:\nx  y\n\n/srv/data/project/a/deep:\n\n/srv/data/project/b:\nz\n",
			"/srv/data/project:\na  b\n\n./a:\nx  y\n\n./a/deep:\n\n./b:\nz\n",
		},
		"ls -R and find": {
			"/srv/data/project:\na\n\n/srv/data/project/a:\n/srv/data/project/a/x\n/srv/data/project/a/y\n/srv/data/project/a/z\n\n/srv/data/project/b:\nz\n",
			"/srv/data/project:\na\n\n./a:\n/srv/data/project/a/\n x\n y\n z\n\n./b:\nz\n",
		},
		"no last line end": {
			"internal/server.go:1:package server\ninternal/server.go:9:x\ninternal/server.go:10:y",
			"internal/server.go:\n\t1:package server\n\t9:x\n\t10:y",
		},
	} {
		got, reason := rewrite(t, pipelinetest.Output{Text: c.text})
		if got != c.want {
			t.Errorf("%s (%s):\n%q, want\n%q", name, reason, got, c.want)
		}
		if strings.HasPrefix(name, "ls -R") {
			continue
		}
		if err := sameSet(c.text, c.want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestP36ProseAndEverythingElseIsUntouched(t *testing.T) {
	t.Parallel()
	repeat := func(format string) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, format+"\n", 10+i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		o    pipelinetest.Output
		want pipeline.Reason
	}{
		"prose":        {pipelinetest.Output{Text: repeat("Read and/or write the file %d, either/or, as of 12/2024: it says so.")}, "no_repeated_paths"},
		"no slash":     {pipelinetest.Output{Text: repeat("line %d: of a text without anything")}, "no_paths"},
		"clock":        {pipelinetest.Output{Text: repeat("host/app.service 12:30:%d started")}, "no_repeated_paths"},
		"time":         {pipelinetest.Output{Text: repeat("2024-05-01T12:30:%d.5 INFO GET /api/items")}, "no_repeated_paths"},
		"urls":         {pipelinetest.Output{Text: repeat("https://example.com/a/b/%d")}, "no_repeated_paths"},
		"requests":     {pipelinetest.Output{Text: repeat("GET /api/v1/items/%d 200")}, "no_repeated_paths"},
		"frames":       {pipelinetest.Output{Text: repeat("    at run (/srv/app/main.js:%d:5)")}, "no_repeated_paths"},
		"python":       {pipelinetest.Output{Text: repeat("  File \"/srv/app/main.py\", line %d, in run")}, "no_repeated_paths"},
		"shell errors": {pipelinetest.Output{Text: repeat("/bin/sh: %d: nothing: not found")}, "no_repeated_paths"},
		"compiler":     {pipelinetest.Output{Text: repeat("src/main/app.c:%d:5: error: no such thing")}, "no_repeated_paths"},
		"mypy":         {pipelinetest.Output{Text: repeat("src/main/app.py:%d: error: no such thing")}, "no_repeated_paths"},
		"html":         {pipelinetest.Output{Text: repeat("<a href=\"/x/y/%d\">z</a>")}, "no_repeated_paths"},
		"closing tags": {pipelinetest.Output{Text: strings.Repeat("</section>\n", 20)}, "no_repeated_paths"},
		"pytest":       {pipelinetest.Output{Text: repeat("tests/unit/test_a.py::test_%d PASSED")}, "no_repeated_paths"},
		"long listing": {pipelinetest.Output{Text: repeat("-rw-r--r-- 1 me me 12 May  1 10:%d /srv/app/x")}, "no_repeated_paths"},
		"commands":     {pipelinetest.Output{Text: repeat("/usr/bin/tool -x /srv/app/%d")}, "no_repeated_paths"},
		"short":        {pipelinetest.Output{Text: repeat("a/%d:1:x")}, "no_repeated_paths"},
		"diff":         {pipelinetest.Output{Text: "diff --git a/x b/x\n" + repeat("/srv/app/some/where/%d.go")}, "diff"},
		"file":         {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"list.txt"}`, Text: repeat("/srv/app/some/where/%d.go")}, "file_read"},
		"NUL":          {pipelinetest.Output{Text: "\x00" + repeat("/srv/app/some/where/%d.go")}, "binary"},
		"listing":      {pipelinetest.Output{Text: "/srv/a:\nx\n\n/srv/b:\ny\n\n/srv/a/c:\nz, and some words more\n"}, "no_repeated_paths"},
		"paths":        {pipelinetest.Output{Text: repeat("/srv/app/some/where/%d.go")}, ""},
	} {
		if got, reason := rewrite(t, c.o); reason != c.want {
			t.Errorf("%s: %q (%s), want %q", name, got, reason, c.want)
		}
	}
}

// What would be read as a part of a fold in the client's own text keeps the
// whole from being folded.
func TestAmbiguousTextsAreLeftAlone(t *testing.T) {
	t.Parallel()
	hits := "src/app/user.py:12:class User:\nsrc/app/user.py:40:    pass\nsrc/app/user.py:41:    pass\n"
	for name, text := range map[string]string{
		"a tab behind a fold":    hits + "\tindented\n",
		"a heading of its own":   "target/app.o:\n\tcc -c app.c\n" + hits,
		"a directory of its own": "target/\n app.o\n" + hits,
		"a file called --":       "/srv/app/where/a\n/srv/app/where/b\n/srv/app/where/--\n/srv/app/where/c\n",
		"a hit that is --":       "./config/app.yml:key\n./config/app.yml:--\n./config/app.yml:key\n./config/app.yml:key\n",
	} {
		if got, reason := rewrite(t, pipelinetest.Output{Text: text}); reason != "ambiguous" {
			t.Errorf("%s: %q (%s)", name, got, reason)
		}
	}
	for name, text := range map[string]string{
		"a blank behind a file": hits + " indented\n",
		"a heading like a name": "else:\n\tx = 1\n" + hits,
	} {
		if got, reason := rewrite(t, pipelinetest.Output{Text: text}); reason != "" {
			t.Errorf("%s: %q (%s)", name, got, reason)
		}
	}
}

// Whatever a search prints, a reader gets it back: every file, line number and
// text, in order.
func TestB90PairsOfFileAndLineStayIntact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	dirs := []string{"", "src/", "src/app/", "src/app/models/", "./", "../x/", "/srv/a b/", "C:\\x\\", "a-1-b/", "a:b/"}
	names := []string{"user.py", "a.go", "README.md", "x-12-y.c", "Makefile", "a b.txt", "--", "12", "name:", "n.py:3"}
	texts := []string{"", "x", "except Error:", "  indented", "\ttab", "--", "12-x", "12:x", " one", "error: y", "日本", "a/b/c:9:z", "/"}
	others := []string{"", "--", "prose/text of it", "(exit 0)", " indented", "\ttab", "else:", "dir/x:", "dir/"}
	folded := 0
	for range 20_000 {
		var b strings.Builder
		end := []string{"\n", "\r\n"}[r.IntN(2)]
		for range 1 + r.IntN(6) {
			path := dirs[r.IntN(len(dirs))] + names[r.IntN(len(names))]
			for range 1 + r.IntN(5) {
				switch r.IntN(12) {
				case 0:
					b.WriteString(others[r.IntN(len(others))])
				case 1:
					b.WriteString(path)
				case 2:
					b.WriteString(path + ":" + texts[r.IntN(len(texts))])
				case 3:
					fmt.Fprintf(&b, "%s-%d-%s", path, r.IntN(200), texts[r.IntN(len(texts))])
				default:
					fmt.Fprintf(&b, "%s:%d:%s", path, r.IntN(200), texts[r.IntN(len(texts))])
				}
				b.WriteString(end)
			}
		}
		text := b.String()
		got, reason := rewrite(t, pipelinetest.Output{Text: text})
		switch reason {
		case "":
			folded++
		case "no_repeated_paths", "ambiguous", "no_paths", pipeline.ReasonBelowMinTokens, pipeline.ReasonNoWin:
			continue
		default:
			t.Fatalf("%q: %s", text, reason)
		}
		if err := sameSet(text, got); err != nil {
			t.Fatal(err)
		}
		if again, why := rewrite(t, pipelinetest.Output{Text: got}); again != got {
			t.Fatalf("%q became %q, then %q (%s)", text, got, again, why)
		}
	}
	if folded < 3_000 {
		t.Errorf("only %d texts were folded", folded)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	build := func(config string) error {
		_, err := searchfold.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
		return err
	}
	if err := build(`{"min_tokens":-1}`); err == nil || err.Error() != "min_tokens must be at least 0, got -1" {
		t.Errorf("error %v", err)
	}
}
