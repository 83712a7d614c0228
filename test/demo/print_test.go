package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/stack/chat"
)

func TestReportShowsTheChangeAndTheTail(t *testing.T) {
	t.Parallel()
	const id = "abcdefghijklmnopqrst"
	var out bytes.Buffer
	d := &demo{p: &printer{out: &out}, turns: 3}
	last := turn{next: "git log", output: "long"}
	edits := []chat.Edit{
		{Client: "other", Sent: "not this one"},
		{Client: "long", Sent: "first\n... <<cg:" + id + ">>\nthree\nfour\nfive\n\x1b[1msix\n", IDs: []string{id}},
	}
	d.report(last, edits, pair{123456, 12345, 1000, 250}, 2)
	d.report(last, edits[:1], pair{900, 900, 10, 10}, 0)
	want := `turn 3, replica 2  $ git log
  request        123,456 →  12,345 bytes (-90.0 %)
  tool outputs     1,000 →     250 tokens (-75.0 %)
  its output is now 6 lines and ends:
  | ... <<cg:abcdefghijklmnopqrst>>
  | ...
  | four
  | five
  |  [1msix
turn 3  $ git log
  request            900 bytes, unchanged
  tool outputs        10 tokens, unchanged
  its output goes out as it is
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestClipKeepsBothEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300) + "<<cg:end>>"
	got := clip(long)
	if n := len([]rune(got)); n != tailWidth || !strings.HasSuffix(got, "<<cg:end>>") || !strings.HasPrefix(got, "ä") {
		t.Errorf("%d characters: %s", n, got)
	}
	if short := strings.Repeat("x", tailWidth); clip(short) != short {
		t.Error("a line that fits is changed")
	}
}

func TestOnlyScriptedCommandsRun(t *testing.T) {
	t.Parallel()
	d := &demo{root: "."}
	steps := []step{{"", "go version"}, {"", "no-such-program x"}}
	if _, _, err := d.execute(t.Context(), `{"command":"rm -rf /"}`, steps); err == nil {
		t.Error("a command that is not in the script was run")
	}
	if _, output, err := d.execute(t.Context(), steps[0].args(), steps); err != nil || !strings.HasPrefix(output, "go version ") {
		t.Errorf("got %q, %v", output, err)
	}
	if _, output, err := d.execute(t.Context(), steps[1].args(), steps); err != nil || !strings.Contains(output, "no-such-program") {
		t.Errorf("a missing program: got %q, %v; want what a shell would say", output, err)
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{
		`{"choices":[{"delta":{"content":"hi"},"finish_reason":null}]}`: `delta {"content":"hi"}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`:             "finish_reason stop",
		`{"choices":[]}`: `{"choices":[]}`,
		"[DONE]":         "[DONE]",
	} {
		if got := said(event); got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}
