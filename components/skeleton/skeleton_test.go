//go:build cgo && !notreesitter

package skeleton_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/skeleton"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, skeleton.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, skeleton.Spec())
}

// run lets every turn be a horizon, and returns the outcomes.
func run(tb testing.TB, config string, outputs ...pipelinetest.Output) []*pipeline.Outcome {
	tb.Helper()
	step, err := skeleton.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
	if err != nil {
		tb.Fatal(err)
	}
	settings := pipelinetest.Settings(tb)
	settings.Steps = []pipeline.Step{step}
	turns := make([][]pipelinetest.Output, len(outputs))
	for i, o := range outputs {
		turns[i] = []pipelinetest.Output{o}
	}
	return pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Transcript(turns...))
}

// source is a file of Go with so many functions.
func source(functions int) string {
	var b strings.Builder
	b.WriteString("package a\n")
	for i := range functions {
		fmt.Fprintf(&b, "\n// Add%d adds.\nfunc Add%d(a, b int) int {\n%s\treturn a\n}\n", i, i, strings.Repeat("\ta += b // and what that is good for\n", 20))
	}
	return b.String()
}

func numbered(text, form string, from int) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&b, form, from+i, line)
		b.WriteByte('\n')
	}
	return b.String()
}

func reads(texts ...string) []pipelinetest.Output {
	var outputs []pipelinetest.Output
	for _, text := range texts {
		outputs = append(outputs, pipelinetest.Output{Tool: "Read", Args: `{"file_path":"/srv/a.go"}`, Text: text})
	}
	return append(outputs, pipelinetest.Output{Text: "done"}, pipelinetest.Output{Text: "done"})
}

var note = regexp.MustCompile(`^ *\t*… \((\d+) lines? omitted\) (?:output )?lines? (\d+)(?:-(\d+))?\n$`)

// What stays are whole lines in order, and the notes name exactly the others:
// what a reader asks for by number is the body, byte for byte.
func TestP44EveryLineIsAccountedFor(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":       source(3),
		"cat -n":      numbered(source(3), "%6d\t%s", 1),
		"arrow":       numbered(source(3), "%6d→%s", 1),
		"opencode":    numbered(source(3), "%05d| %s", 1),
		"colon":       numbered(source(3), "%d: %s", 1),
		"bare colon":  numbered(source(3), "%d:%s", 1),
		"with header": "[File: /srv/a.go (75 lines total)]\n" + numbered(source(3), "%d:%s", 1),
		"from 100":    numbered(source(3), "%d\t%s", 100),
		"tags":        "<path>/srv/a.go</path>\n<type>file</type>\n<content>\n" + numbered(source(3), "%d: %s", 1) + "\n(End of file - total 75 lines)\n</content>",
	} {
		outcomes := run(t, `{}`, reads(text, strings.ReplaceAll(text, "good", "bad"))...)
		if outcomes[0].Lossy == nil {
			t.Errorf("%s: %v", name, outcomes[0].Acts)
			continue
		}
		view := outcomes[0].Lossy.Text
		lines := strings.SplitAfter(text, "\n")
		at, notes := 0, 0
		for line := range strings.Lines(view) {
			if strings.HasPrefix(line, "<<cg:") {
				continue
			}
			m := note.FindStringSubmatch(line)
			if m == nil {
				if at >= len(lines) || strings.TrimSuffix(line, "\n") != strings.TrimSuffix(lines[at], "\n") {
					t.Fatalf("%s: %q where the file has %q", name, line, lines[min(at, len(lines)-1)])
				}
				at++
				continue
			}
			count, _ := strconv.Atoi(m[1])
			first, _ := strconv.Atoi(m[2])
			last, _ := strconv.Atoi(m[3])
			if first != at+1 || last != at+count || count != 21 {
				t.Fatalf("%s: %q after line %d", name, line, at)
			}
			at += count
			notes++
		}
		if notes != 3 || at < len(lines)-1 {
			t.Errorf("%s: %d notes, %d of %d lines:\n%s", name, notes, at, len(lines), view)
		}
	}
}

func TestP44WhatStaysWhole(t *testing.T) {
	t.Parallel()
	read := func(args, text string) pipelinetest.Output {
		return pipelinetest.Output{Tool: "Read", Args: args, Text: text}
	}
	bash := func(command, text string) pipelinetest.Output {
		return pipelinetest.Output{Tool: "Bash", Args: `{"command":` + strconv.Quote(command) + `}`, Text: text}
	}
	const file = `{"file_path":"/srv/a.go"}`
	done := pipelinetest.Output{Text: "done"}
	a, b := source(2), source(3)
	for name, c := range map[string]struct {
		outputs []pipelinetest.Output
		acts    bool
	}{
		"read again":                {[]pipelinetest.Output{read(file, a), read(file, b), done}, true},
		"read again by a command":   {[]pipelinetest.Output{read(file, a), bash("cat /srv/a.go", b), done}, true},
		"read by command twice":     {[]pipelinetest.Output{bash("cd /srv && cat a.go", a), bash("cat /srv/a.go", b), done}, true},
		"newest":                    {[]pipelinetest.Output{read(file, a), done, done}, false},
		"edited only":               {[]pipelinetest.Output{read(file, a), {Tool: "Edit", Args: `{"file_path":"/srv/a.go","old_string":"a","new_string":"b"}`, Text: "The file was updated."}, done}, false},
		"same text again":           {[]pipelinetest.Output{read(file, a), read(file, a), done}, false},
		"came back":                 {[]pipelinetest.Output{read(file, a), read(file, b), read(file, a), done}, false},
		"other file":                {[]pipelinetest.Output{read(file, a), read(`{"file_path":"/srv/b.go"}`, b), done}, false},
		"other part":                {[]pipelinetest.Output{read(file, a), read(`{"file_path":"/srv/a.go","offset":1}`, b), done}, false},
		"failed later":              {[]pipelinetest.Output{read(file, a), {Tool: "Read", Args: file, Text: b, IsError: true}, done}, false},
		"refused later":             {[]pipelinetest.Output{read(file, a), read(file, "File too large to be shown."), done}, false},
		"referred to":               {[]pipelinetest.Output{read(file, a), read(file, "File unchanged since last read."), read(file, b), done}, false},
		"part of a pipe":            {[]pipelinetest.Output{bash("cat /srv/a.go | head -90", a), bash("cat /srv/a.go | head -90", b), done}, false},
		"not well formed":           {[]pipelinetest.Output{read(file, a+"func ("), read(file, b), done}, false},
		"comment from the brace on": {[]pipelinetest.Output{read(file, strings.Replace(strings.Replace(a, "int {\n", "int { /* from here\n", 1), "return a", "to here */ return a", 1)), read(file, b), done}, false},
		"reminder in a body":        {[]pipelinetest.Output{read(file, strings.Replace(a, "a += b", "/* <system-reminder>Heed.</system-reminder> */", 1)), read(file, b), done}, false},
		"no code":                   {[]pipelinetest.Output{read(`{"file_path":"/srv/a.txt"}`, a), read(`{"file_path":"/srv/a.txt"}`, b), done}, false},
		"fence in an answer":        {[]pipelinetest.Output{{Tool: "Task", Args: `{"prompt":"x"}`, Text: "This:\n```go\n" + a + "```\n"}, done, done}, true},
		"fence of no language":      {[]pipelinetest.Output{{Tool: "Task", Args: `{"prompt":"x"}`, Text: "This:\n```\n" + a + "```\n"}, done, done}, false},
		"fence that does not end":   {[]pipelinetest.Output{{Tool: "Task", Args: `{"prompt":"x"}`, Text: "This:\n```go\n" + a}, done, done}, false},
		"fence in a file":           {[]pipelinetest.Output{read(`{"file_path":"/srv/a.md"}`, "This:\n```go\n"+a+"```\n"), done, done}, false},
		"fence behind a command":    {[]pipelinetest.Output{bash("cat *.md", "This:\n```go\n"+a+"```\n"), done, done}, false},
		"fence of another's tool":   {[]pipelinetest.Output{{Tool: "fetch_doc", Args: `{"doc_path":"x"}`, Text: "This:\n```go\n" + a + "```\n"}, done, done}, false},
		"fence in the newest turn":  {[]pipelinetest.Output{done, {Tool: "Task", Args: `{"prompt":"x"}`, Text: "```go\n" + a + "```\n"}}, false},
	} {
		outcomes := run(t, `{}`, c.outputs...)
		for i, o := range outcomes {
			if i > 0 || !c.acts {
				if o.Lossy != nil && (name != "came back" || i != 1) {
					t.Errorf("%s: output %d was touched:\n%s", name, i, o.Lossy.Text)
				}
			} else if o.Lossy == nil {
				t.Errorf("%s: %+v", name, o.Acts)
			}
		}
	}
}

// The literal behaviour of the specification: fenced blocks when they are new.
func TestFirstSight(t *testing.T) {
	t.Parallel()
	outcomes := run(t, `{"when":"first_sight"}`,
		pipelinetest.Output{Tool: "Read", Args: `{"file_path":"/srv/a.go"}`, Text: source(2)},
		pipelinetest.Output{Tool: "Read", Args: `{"file_path":"/srv/a.go"}`, Text: source(3)},
		pipelinetest.Output{Text: "```go\n" + source(2) + "```"})
	if outcomes[0].Lossy != nil || outcomes[1].Lossy != nil || outcomes[2].Lossy == nil {
		t.Errorf("%+v", outcomes)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := skeleton.Spec().Build(func(into any) error {
		return json.Unmarshal([]byte(`{"min_tokens":-1,"when":"now"}`), into)
	}, pipeline.Deps{})
	want := "min_tokens must be at least 0, got -1\nwhen must be horizon or first_sight, got \"now\""
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
