package components_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/components/internal/syntax"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// The shapes in which clients hand over the output of a command.
func wrappings() map[string]func(output string) string {
	quote := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			return ""
		}
		return string(quoted)
	}
	return map[string]func(output string) string{
		"codex": func(o string) string {
			return "Chunk ID: 5f2a1b\nWall time: 0.0517 seconds\nProcess exited with code 0\nOriginal token count: 700\nOutput:\n" + o
		},
		"gemini-cli": func(o string) string {
			return "<untrusted_context>\nOutput: " + o + "\nExit Code: 0\nProcess Group PGID: 4711\n</untrusted_context>"
		},
		"claude code reminder": func(o string) string {
			return "<system-reminder>\nThe file was cut at its 2000th line.\n</system-reminder>\n" + o
		},
		"reminder behind": func(o string) string {
			return o + "\n<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"
		},
		"streams": func(o string) string { return `{"stdout":` + quote(o) + `,"stderr":"","exit_code":0}` },
		"old codex": func(o string) string {
			return `{"output":` + quote(o) + `,"metadata":{"exit_code":0,"duration_seconds":0.1}}`
		},
		"MCP": func(o string) string { return `{"content":[{"type":"text","text":` + quote(o) + `}]}` },
		"MCP, twice": func(o string) string {
			return `{"content":[{"type":"text","text":` + quote(`{"stdout":`+quote(o)+`}`) + `}]}`
		},
	}
}

// payloads are what each component works on.
func payloads() map[string]string {
	rows := make([]string, 40)
	for i := range rows {
		rows[i] = fmt.Sprintf("  {\n    \"id\": %d,\n    \"name\": \"user number %d\",\n    \"city\": \"a town\"\n  }", i, i)
	}
	table := "[\n" + strings.Join(rows, ",\n") + "\n]"
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	return map[string]string{
		"format":     table,
		"toon":       table,
		"smartcrush": table,
		"dedup":      numbered(60, "what line %d of the output says"),
		"collapse":   numbered(900, "what line %d of the output says"),
		"extract":    numbered(5, "step %d") + strings.Repeat("warning: the same again and again\n", 100) + numbered(5, "end %d"),
		"linecap":    numbered(5, "line %d") + strings.Repeat("thing=another ", 200) + "\n" + numbered(5, "end %d"),
		"textclean":  numbered(40, "\x1b[32mpassed\x1b[0m the step number %d"),
		"searchfold": numbered(40, "src/some/folder/deep/in/the/tree/file.go:%d:what stands there"),
		"mask":       numbered(60, "what line %d of the output says"),
		"failed_run": numbered(60, "what line %d of the output says") + "3 failed, 5 passed in 0.1s\n",
		"skeleton":   strings.Repeat("This is it:\n```go\npackage a\n\nfunc a() {\n"+strings.Repeat("\ta++ // and what that is for\n", 50)+"}\n```\n", 2),
	}
}

// callOf is the arguments of a call whose output a component works on.
func callOf(component string) string {
	if component == "skeleton" {
		return `{"prompt":"show it"}` // what commands show may be a file, which may be edited
	}
	return `{"command":"make test"}`
}

// Whatever a client puts around an output, every component finds in it what it
// finds without.
func TestEveryComponentLooksInsideOfEveryWrapping(t *testing.T) {
	t.Parallel()
	for _, spec := range components.All() {
		if step, err := spec.Build(nil, pipeline.Deps{}); err != nil || step.Request != nil {
			continue // it is about the request
		}
		if spec.Name == "skeleton" && !syntax.Available() {
			continue
		}
		payload, known := payloads()[spec.Name]
		if !known {
			t.Errorf("%s has no payload", spec.Name)
			continue
		}
		for name, wrap := range wrappings() {
			t.Run(spec.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkInside(t, spec, wrap(payload), payload, wrap)
			})
		}
	}
}

func checkInside(t *testing.T, spec pipeline.Spec, text, payload string, wrap func(string) string) {
	t.Helper()
	settings := pipelinetest.Settings(t, spec)
	p := pipeline.New(settings)
	args := callOf(spec.Name)
	turns := [][]pipelinetest.Output{{{Text: text, Args: args}}}
	if spec.Name == "dedup" {
		// The wrapping differs from call to call, as an id or a time does.
		again := strings.NewReplacer("5f2a1b", "77c001", "0.0517", "1.25", "4711", "5822", "0.1}", "0.25}").Replace(text)
		turns = append(turns, []pipelinetest.Output{{Text: again, Args: args}})
		text = again
	}
	if spec.When == pipeline.AtHorizon {
		for range 4 {
			turns = append(turns, []pipelinetest.Output{{Text: "5 passed in 0.1s", Args: args}})
		}
	}
	transcript := pipelinetest.Transcript(turns...)
	outcomes := pipelinetest.Run(t, p, transcript)
	o := outcomes[0]
	if spec.Name == "dedup" {
		o = outcomes[1]
	}
	v := o.Pick(true)
	if v == nil {
		t.Fatalf("left alone: %+v", o.Acts)
	}
	// What stands around is there still, as it was.
	if quiet := wrap("PAYLOAD"); spec.When == pipeline.FirstSight && spec.Name != "dedup" {
		before, after, _ := strings.Cut(quiet, "PAYLOAD")
		if !strings.HasPrefix(v.Text, before) || !strings.Contains(v.Text, strings.TrimSpace(after)) {
			t.Errorf("of the wrapping, something is missing in %.300q", v.Text)
		}
	}
	for _, line := range []string{"<system-reminder>\nThe file was cut at its 2000th line.\n</system-reminder>", "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"} {
		if strings.Contains(text, line) && !strings.Contains(v.Text, line) {
			t.Errorf("the reminder is gone from %.300q", v.Text)
		}
	}
	if before, now := o.Original.N, v.Tokens; spec.Kind == pipeline.KindOffload && now*10 > before*8 {
		t.Errorf("%d tokens became %d: %.300q", before, now, v.Text)
	}
	pipelinetest.CheckNeverWorse(t, transcript, outcomes, settings.Counter)
	if ids := slices.Collect(settings.Markers.Markers(v.Text)); (len(ids) == 1) != (v.ID != "") || v.ID != "" && !settings.Markers.Matches(ids[0], text) {
		t.Errorf("markers %q, want one of the client's text", ids)
	}
	pipelinetest.CheckIdempotent(t, p, transcript, true)
}
