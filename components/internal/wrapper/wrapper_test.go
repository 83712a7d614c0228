package wrapper_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/components/internal/wrapper"
)

func TestUnwrap(t *testing.T) {
	t.Parallel()
	codex := "Chunk ID: 5f2a1b\nWall time: 0.0517 seconds\nProcess exited with code 1\nOriginal token count: 7\nOutput:\n3 failed\n"
	for name, c := range map[string]struct {
		text string
		want wrapper.Output
	}{
		"nothing":           {"", wrapper.Output{}},
		"plain":             {"a\nb\n", wrapper.Output{Body: "a\nb\n"}},
		"header":            {codex, wrapper.Output{Body: "3 failed\n", Status: 1, HasStatus: true, StatusLine: "Process exited with code 1"}},
		"fine":              {strings.Replace(codex, "code 1", "code 0", 1), wrapper.Output{Body: "3 failed\n", HasStatus: true, StatusLine: "Process exited with code 0"}},
		"no output":         {"Exit code: 0\nWall time: 1 seconds\nOutput:\n", wrapper.Output{HasStatus: true, StatusLine: "Exit code: 0"}},
		"short header":      {"Exit code: 2\nWall time: 1 seconds\nOutput:\nx", wrapper.Output{Body: "x", Status: 2, HasStatus: true, StatusLine: "Exit code: 2"}},
		"not a header":      {"Chunk ID: 1\nsome text\nOutput:\nx", wrapper.Output{Body: "Chunk ID: 1\nsome text\nOutput:\nx"}},
		"header, no output": {"Wall time: 1\nWall time: 2\n", wrapper.Output{Body: "Wall time: 1\nWall time: 2\n"}},
		"endless header":    {strings.Repeat("Wall time: 1\n", 40) + "Output:\nx", wrapper.Output{Body: strings.Repeat("Wall time: 1\n", 40) + "Output:\nx"}},
		"context": {
			"<untrusted_context>\nOutput: one\ntwo\nExit Code: 3\nProcess Group PGID: 4711\n</untrusted_context>",
			wrapper.Output{Body: "one\ntwo", Status: 3, HasStatus: true, StatusLine: "Exit Code: 3"},
		},
		"context without status": {"<untrusted_context>\nOutput: b\n</untrusted_context>\n", wrapper.Output{Body: "b"}},
		"context of keys":        {"<untrusted_context>\nSignal: 9\n</untrusted_context>", wrapper.Output{}},
		"first line":             {"Exit code 1\nTraceback\n", wrapper.Output{Body: "Traceback", Status: 1, HasStatus: true, StatusLine: "Exit code 1"}},
		"only a status":          {"Exit code 1", wrapper.Output{Status: 1, HasStatus: true, StatusLine: "Exit code 1"}},
		"prose":                  {"Exit code is 1\nx", wrapper.Output{Body: "Exit code is 1\nx"}},
		"JSON":                   {`{"output":"a\nb","metadata":{"exit_code":2,"duration_seconds":0.1}}`, wrapper.Output{Body: "a\nb", Status: 2, HasStatus: true}},
		"two streams":            {` {"stdout":"a","stderr":"b","exitCode":0}`, wrapper.Output{Body: "a\nb", HasStatus: true}},
		"MCP":                    {`{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}],"isError":true}`, wrapper.Output{Body: "a\nb", Status: 1, HasStatus: true}},
		"content":                {`{"content":"a","exit_code":3}`, wrapper.Output{Body: "a", Status: 3, HasStatus: true}},
		"MCP, twice":             {`{"content":[{"type":"text","text":"{\"stdout\":\"a\",\"exit_code\":2}"}]}`, wrapper.Output{Body: "a", Status: 2, HasStatus: true}},
		"header, then JSON":      {"Exit code: 0\nOutput:\n{\"stdout\":\"a\"}", wrapper.Output{Body: "a", HasStatus: true, StatusLine: "Exit code: 0"}},
		"other JSON":             {`{"exit_code":1,"files":[]}`, wrapper.Output{Body: `{"exit_code":1,"files":[]}`}},
		"half JSON":              {`{"output":"a`, wrapper.Output{Body: `{"output":"a`}},
		"odd JSON":               {`{"output":7}`, wrapper.Output{Body: `{"output":7}`}},
	} {
		if diff := cmp.Diff(c.want, wrapper.Unwrap(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":     {"a\nb\n", nil},
		"JSON":        {`{"output":"a"}`, nil},
		"header":      {"Chunk ID: 1\nWall time: 2 seconds\nProcess exited with code 0\nOutput:\n{\"a\": 1}\n", []string{"Chunk ID: 1\nWall time: 2 seconds\nProcess exited with code 0\nOutput:\n", "{\"a\": 1}", "\n"}},
		"context":     {"<untrusted_context>\nOutput: one\ntwo\nExit Code: 3\n</untrusted_context>\n", []string{"<untrusted_context>\nOutput: ", "one\ntwo", "\nExit Code: 3\n</untrusted_context>\n"}},
		"status":      {"Exit code 2\n[1]\n", []string{"Exit code 2\n", "[1]", "\n"}},
		"file":        {"<path>/a</path>\n<type>file</type>\n<content>\n1: x\n2: y\n</content>", []string{"<path>/a</path>\n<type>file</type>\n<content>\n", "1: x\n2: y", "\n</content>"}},
		"half a file": {"<path>/a</path>\n<content>\n1: x", nil},
		"reminders":   {"<system-reminder>r</system-reminder>\n[1]\n<system-reminder>s</system-reminder>\n", []string{"<system-reminder>r</system-reminder>\n", "[1]", "\n<system-reminder>s</system-reminder>\n"}},
		"both":        {"<system-reminder>r</system-reminder>\nExit code: 0\nOutput:\n[1]", []string{"<system-reminder>r</system-reminder>\nExit code: 0\nOutput:\n", "[1]", ""}},
	} {
		before, body, after, ok := wrapper.Parts(c.text)
		if before+body+after != c.text {
			t.Errorf("%s: %q, %q, %q are not the text", name, before, body, after)
		}
		var got []string
		if ok {
			got = []string{before, body, after}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, hostile := range []string{"<path>", "<content>", "</content>", "<system-reminder>x</system-reminder>", "Exit code 1\n", "<untrusted_context>"} {
		_ = wrapper.Unwrap(strings.Repeat(hostile, 1<<17))
	}
}

func TestReminders(t *testing.T) {
	t.Parallel()
	const a, b = "<system-reminder>\nfirst\n</system-reminder>", "<system-reminder>second</system-reminder>"
	for name, c := range map[string]struct {
		text string
		want []string
		rest string
	}{
		"none":       {"text", nil, "text"},
		"in front":   {a + "\n" + b + "\ntext", []string{a, b}, "\ntext"},
		"behind":     {"text\n" + a, []string{a}, "text\n" + a},
		"only":       {a, []string{a}, ""},
		"never ends": {"<system-reminder>text", nil, "<system-reminder>text"},
		"two, one":   {a + "<system-reminder>text", []string{a}, "<system-reminder>text"},
		"stray end":  {"</system-reminder>" + b, []string{b}, "</system-reminder>" + b},
	} {
		if diff := cmp.Diff(c.want, wrapper.Reminders(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := wrapper.SkipReminders(c.text); got != c.rest {
			t.Errorf("%s: rest %q, want %q", name, got, c.rest)
		}
	}
	if hostile := strings.Repeat("<system-reminder>", 1<<18); len(wrapper.Reminders(hostile)) != 0 {
		t.Error("tags that are never closed are reminders")
	}
}

func FuzzUnwrap(f *testing.F) {
	f.Add("Chunk ID: 1\nOutput:\nx")
	f.Add("<untrusted_context>\nOutput: a\nExit Code: 1\n</untrusted_context>")
	f.Add(`{"stdout":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		o := wrapper.Unwrap(text)
		if len(o.Body) > len(text) && utf8.ValidString(text) {
			t.Errorf("%q is longer than %q", o.Body, text)
		}
		if before, body, after, _ := wrapper.Parts(text); before+body+after != text {
			t.Errorf("%q, %q, %q are not %q", before, body, after, text)
		}
		for _, r := range wrapper.Reminders(text) {
			if !strings.Contains(text, r) {
				t.Errorf("%q is not in %q", r, text)
			}
		}
	})
}
