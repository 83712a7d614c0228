package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestB95TextsReadForTheirLinesAreLeftAlone(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat("the same line of text again\n", 20)
	numbered := func(form string) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, form+"\n", i+1)
		}
		return b.String() + noise[:28]
	}
	for name, c := range map[string]struct {
		o    pipelinetest.Output
		want pipeline.Reason
	}{
		"noise":             {pipelinetest.Output{}, ""},
		"NUL":               {pipelinetest.Output{Text: "\x00" + noise}, "binary"},
		"git diff":          {pipelinetest.Output{Text: "diff --git a/x b/x\n" + noise}, "diff"},
		"hunk":              {pipelinetest.Output{Text: "some words\n@@ -1,2 +1,2 @@\n" + noise}, "diff"},
		"merge":             {pipelinetest.Output{Text: "@@@ -1,2 -1,2 +1,2 @@@\n" + noise}, "diff"},
		"cat -n":            {pipelinetest.Output{Text: numbered("%6d\tthe same line of text again")}, "numbered_lines"},
		"grep -n":           {pipelinetest.Output{Text: numbered("%d:the same line of text again")}, "numbered_lines"},
		"arrows":            {pipelinetest.Output{Text: numbered("%5d→the same line of text again")}, "numbered_lines"},
		"bars":              {pipelinetest.Output{Text: numbered("%5d | the same line of text again")}, "numbered_lines"},
		"times":             {pipelinetest.Output{Text: strings.Repeat("12:30:45 the same line again\n", 20)}, ""},
		"read tool":         {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"a/b.go"}`}, "file_read"},
		"qualified":         {pipelinetest.Output{Tool: "mcp__files__read_text_file", Args: `{"path":"b.md"}`}, "file_read"},
		"read without args": {pipelinetest.Output{Tool: "fs.readFile"}, "file_read"},
		"read a log":        {pipelinetest.Output{Tool: "Read", Args: `{"file_path":"a/b.log"}`}, ""},
		"editor":            {pipelinetest.Output{Tool: "str_replace_editor", Args: `{"command":"view","path":"a.c"}`}, "file_read"},
		"cat":               {pipelinetest.Output{Args: `{"command":"cat src/a.c"}`}, "file_read"},
		"sed":               {pipelinetest.Output{Args: `{"command":"sed -n 1,200p 'a.c'"}`}, "file_read"},
		"cd and cat":        {pipelinetest.Output{Args: `{"cmd":"cd /x/y && cat a.c"}`}, "file_read"},
		"list of words":     {pipelinetest.Output{Args: `{"command":["bash","-lc","head -n 50 a.c"]}`}, "file_read"},
		"cat a log":         {pipelinetest.Output{Args: `{"command":"tail -n 500 'out/build.log'"}`}, ""},
		"pipeline":          {pipelinetest.Output{Args: `{"command":"cat a.c | grep x"}`}, ""},
		"two commands":      {pipelinetest.Output{Args: `{"command":"cat a.c; make"}`}, ""},
		"build":             {pipelinetest.Output{Args: `{"command":"make all"}`}, ""},
		"search":            {pipelinetest.Output{Tool: "search", Args: `{"path":"a"}`}, ""},
		"odd args":          {pipelinetest.Output{Args: `{"command":17,"path":[1]}`}, ""},
		"broken args":       {pipelinetest.Output{Args: `{"command":`}, ""},
	} {
		if c.o.Text == "" {
			c.o.Text = noise
		}
		if body, _, reason := view(t, c.o); reason != c.want {
			t.Errorf("%s: %q and %.60q, want %q", name, reason, body, c.want)
		}
	}
}
