package fakellm_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/fakellm"
)

func text(s string) fakellm.Turn { return fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text(s)}} }

// TestScriptOrder covers which turn answers which request.
func TestScriptOrder(t *testing.T) {
	t.Parallel()
	yes := true
	named := func(name, s string) fakellm.Turn {
		turn := text(s)
		turn.Match.Header = map[string]string{"X-Fake-Script": name}
		return turn
	}
	twice, model, streams, suffix, fn := text("twice"), text("model"), text("streams"), text("suffix"), text("func")
	twice.Times = 2
	model.Match.Model = "gpt-x"
	streams.Match.Stream = &yes
	suffix.Match.Path = "/special/v1/messages"
	fn.When = func(r *fakellm.Request) bool { return strings.Contains(string(r.Body), "needle") }
	count := fakellm.Turn{On: fakellm.KindCount, Usage: &fakellm.Usage{Input: 777}}
	other := fakellm.Turn{On: fakellm.KindOther, Status: 503}

	type step struct{ path, body, header, want string }
	tests := []struct {
		name  string
		turns []fakellm.Turn
		steps []step
		left  int
	}{
		{"in order, then the default", []fakellm.Turn{text("one"), twice, text("three")}, []step{
			{want: "one"}, {want: "twice"}, {want: "twice"}, {want: "three"}, {want: "stand-in provider"},
		}, 0},
		{"named scripts", []fakellm.Turn{named("a", "a1"), named("b", "b1"), named("a", "a2")}, []step{
			{header: "b", want: "b1"}, {header: "a", want: "a1"}, {header: "a", want: "a2"}, {header: "b", want: "stand-in"},
		}, 0},
		{"matchers", []fakellm.Turn{model, streams, suffix, fn, text("rest")}, []step{
			{path: "/special" + messagesPath, body: `{"x":"needle"}`, want: "suffix"},
			{path: messagesPath, body: `{"x":"needle"}`, want: "func"},
			{path: messagesPath, body: `{"stream":true}`, want: "streams"},
			{path: chatPath, body: chatJSON, want: "model"},
		}, 1},
		{"other kinds use no turn", []fakellm.Turn{text("one"), count, other}, []step{
			{path: "/v1/files", want: `"scripted error 503"`},
			{path: "/v1/files", want: `"length":2`},
			{path: "/v1/messages/count_tokens", want: `{"input_tokens":777}`},
			{path: "/v1/messages/count_tokens", want: `{"input_tokens":1}`},
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakellm.WithScript(tt.turns...))
			for i, step := range tt.steps {
				if step.path == "" {
					step.path = chatPath
				}
				if step.body == "" {
					step.body = "{}"
				}
				got := send(t, http.DefaultClient, s.URL()+step.path, step.body, "X-Fake-Script", step.header)
				if !strings.Contains(got.body, step.want) {
					t.Errorf("step %d: want %q in %s", i, step.want, got.body)
				}
			}
			if s.Left() != tt.left {
				t.Errorf("left %d: want %d", s.Left(), tt.left)
			}
		})
	}
}

// TestCapture fills what the request says into the answer.
func TestCapture(t *testing.T) {
	t.Parallel()
	s := start(t, fakellm.WithScript(fakellm.Turn{
		Times:  -1,
		Match:  fakellm.Match{Body: regexp.MustCompile(`<<cg:(?P<id>[a-z2-7]{4})>>`)},
		Blocks: []fakellm.Block{fakellm.Text("costs $$1"), fakellm.Tool("expand", `{"id":"${id}"}`)},
	}))
	for _, id := range []string{"abcd", "x2y3"} {
		got := send(t, http.DefaultClient, s.URL()+messagesPath, `{"messages":["<<cg:`+id+`>>"]}`)
		if !strings.Contains(got.body, `"input":{"id":"`+id+`"}`) || !strings.Contains(got.body, `"costs $1"`) {
			t.Errorf("id %s: %s", id, got.body)
		}
	}
	if got := send(t, http.DefaultClient, s.URL()+messagesPath, `{}`); !strings.Contains(got.body, "stand-in") {
		t.Errorf("no match: %s", got.body)
	}
}

// TestResponder answers by function, and by the script where that declines.
func TestResponder(t *testing.T) {
	t.Parallel()
	s := start(t, fakellm.WithScript(text("scripted")), fakellm.WithResponder(func(r *fakellm.Request) *fakellm.Turn {
		if r.Model != "claude-x" {
			return nil
		}
		turn := text(fmt.Sprintf("request %d has %d bytes", r.ID, r.Size))
		return &turn
	}))
	if got := send(t, http.DefaultClient, s.URL()+messagesPath, messagesJSON); !strings.Contains(got.body, fmt.Sprintf("request 1 has %d bytes", len(messagesJSON))) {
		t.Errorf("responder: %s", got.body)
	}
	if got := send(t, http.DefaultClient, s.URL()+chatPath, chatJSON); !strings.Contains(got.body, "scripted") {
		t.Errorf("script: %s", got.body)
	}
}

// TestSetScript replaces and rewinds.
func TestSetScript(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask := func() string { return send(t, http.DefaultClient, s.URL()+chatPath, chatJSON).body }
	s.SetScript(text("new"))
	if got := ask(); !strings.Contains(got, `"new"`) {
		t.Errorf("after SetScript: %s", got)
	}
	first := s.Last().ID
	s.Reset()
	if s.Count() != 0 || s.Last() != nil || s.Left() != 1 {
		t.Errorf("after Reset: count %d, last %v, left %d", s.Count(), s.Last(), s.Left())
	}
	if got := ask(); !strings.Contains(got, `"new"`) || s.Last().ID != first {
		t.Errorf("after Reset: %s, id %d: want %d", got, s.Last().ID, first)
	}
}

// TestBadTurn tells what is wrong with a turn, in the answer.
func TestBadTurn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		turn fakellm.Turn
		want string
	}{
		{fakellm.Turn{Status: 99}, "status 99"},
		{fakellm.Turn{Split: fakellm.Split{Mode: "lines"}}, `split.mode \"lines\"`},
		{fakellm.Turn{Split: fakellm.Split{Size: -1}}, "split.size -1"},
		{fakellm.Turn{Fault: &fakellm.Fault{}}, `fault.do \"\"`},
		{fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultAbort, At: "byte"}}, `fault.at \"byte\"`},
		{fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultError}}, "fault.do error at"},
		{fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultEnd}}, "fault.do end at"},
		{fakellm.Turn{Fault: &fakellm.Fault{Do: fakellm.FaultAbort, N: -1}}, "fault.n -1"},
		{fakellm.Turn{Blocks: []fakellm.Block{fakellm.RawBlock(`{"a"`)}}, "block 0: raw"},
		{fakellm.Turn{Choices: [][]fakellm.Block{{fakellm.RawBlock(`7`)}}}, "block 0: raw"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakellm.WithScript(tt.turn))
			got := send(t, http.DefaultClient, s.URL()+chatPath, chatJSON)
			if got.StatusCode != http.StatusInternalServerError || !strings.Contains(got.body, tt.want) {
				t.Errorf("status %d: want %q in %s", got.StatusCode, tt.want, got.body)
			}
		})
	}
}

// TestParseScript reads a file that uses everything.
func TestParseScript(t *testing.T) {
	t.Parallel()
	const file = `{"turns": [
		{"on": "chat", "times": 3,
		 "match": {"method": "POST", "path": "/x", "header": {"a": "b"}, "model": "m", "stream": false, "body": "a+"},
		 "blocks": [{"thinking": "t", "signature": "s"}, {"text": "x"}, {"tool": "f", "args": {"b": 1, "a": 2}, "id": "i"},
		            {"tool": "g", "args": "{\"bad"}, {"raw": {"type": "z"}}],
		 "choices": [[{"text": "y"}]], "stop": "length", "stop_sequence": "q", "model": "mm", "id": "ii", "delta_runes": 2,
		 "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}},
		{"status": 429, "retry_after": 2, "header": {"x": "y"}, "trailer": {"t": "v"},
		 "error": {"type": "t", "code": "c", "param": "p", "message": "m", "details": {"k": 1}}},
		{"raw": {"content_type": "text/plain", "parts": ["a", "b"]}, "stream": true, "chunked": true, "gzip": true,
		 "frame": {"before": "\n", "between": ": x\n\n", "eol": "\r\n", "no_space": true},
		 "delay": {"headers": "1ms", "first": "2ms", "event": "3ms", "write": "4ms", "end": "5s"},
		 "split": {"mode": "random", "size": 5, "seed": 9}, "fault": {"do": "hang", "at": "bytes", "n": 6}}
	]}`
	turns, err := fakellm.ParseScript("s.json", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if len(turns) != 3 || turns[0].Match.Body.String() != "a+" {
		t.Fatalf("turns: %+v", turns)
	}
	turns[0].Match.Body = nil
	no, yes := false, true
	want := []fakellm.Turn{
		{
			On: fakellm.KindChat, Times: 3,
			Match: fakellm.Match{Method: "POST", Path: "/x", Header: map[string]string{"a": "b"}, Model: "m", Stream: &no},
			Blocks: []fakellm.Block{
				fakellm.Thinking("t", "s"), fakellm.Text("x"), fakellm.ToolID("i", "f", `{"b": 1, "a": 2}`),
				fakellm.Tool("g", `{"bad`), fakellm.RawBlock(`{"type": "z"}`),
			},
			Choices: [][]fakellm.Block{{fakellm.Text("y")}}, Stop: "length", StopSequence: "q", Model: "mm", ID: "ii", DeltaRunes: 2,
			Usage: &fakellm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		},
		{
			Status: 429, RetryAfter: 2, Header: map[string]string{"x": "y"}, Trailer: map[string]string{"t": "v"},
			Error: &fakellm.ErrorBody{Type: "t", Code: "c", Param: "p", Message: "m", Details: []byte(`{"k": 1}`)},
		},
		{
			Raw:    &fakellm.Raw{ContentType: "text/plain", Parts: []string{"a", "b"}},
			Stream: &yes, Chunked: true, Gzip: true,
			Frame: fakellm.Frame{Before: "\n", Between: ": x\n\n", EOL: "\r\n", NoSpace: true},
			Delay: fakellm.Delay{Headers: 1e6, First: 2e6, Event: 3e6, Write: 4e6, End: 5e9},
			Split: fakellm.Split{Mode: fakellm.SplitRandom, Size: 5, Seed: 9},
			Fault: &fakellm.Fault{Do: fakellm.FaultHang, At: fakellm.AtBytes, N: 6},
		},
	}
	if diff := cmp.Diff(want, turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// TestParseScriptErrors names line, place and cure.
func TestParseScriptErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, want string }{
		{"{\"turns\": [\n {},\n {\"txt\": 1}]}", `s.json:3: at "/turns/1/txt": unknown object member name; known here: on, match, times,`},
		{"{\"turns\": [\n {\"status\": \"x\"}]}", `s.json:2: at "/turns/0/status": a string does not fit here: want a number of type int`},
		{"{\"turns\": [{\"times\": 1.5}]}", `s.json:1: at "/turns/0/times": a number does not fit here: want a number of type int`},
		{"{\"turns\": [{\"blocks\": {}}]}", `s.json:1: at "/turns/0/blocks": an object does not fit here: want an array`},
		{"{\"turns\": [{\"delay\": {\n\"first\": 5}}]}", `s.json:2: at "/turns/0/delay/first": duration 5: want a string such as "150ms"`},
		{"{\"turns\": [{\"delay\": {\"first\": \"5\"}}]}", `duration "5": want a time of 0 or more`},
		{"{\"turns\": [{\"match\": {\"body\": \"(\"}}]}", `s.json:1: at "/turns/0/match/body": error parsing regexp`},
		{"{\"turns\": [{\"status\": 1, \"status\": 2}]}", `s.json:1: at "/turns/0/status": duplicate object member name`},
		{"{\"turns\": [{}, {\"status\": 99}]}", `s.json: turns[1]: status 99: want 200 to 599`},
		{"{\"turns\": [\n{\"status\": }]}", `s.json:2: at "/turns/0/status": `},
		{"", `s.json:1: `},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			_, err := fakellm.ParseScript("s.json", []byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v\nwant %s", err, tt.want)
			}
		})
	}
}

// FuzzParseScript never crashes, and what it accepts can be answered.
func FuzzParseScript(f *testing.F) {
	f.Add(`{"turns":[{"blocks":[{"tool":"f","args":"\ud800"}],"split":{"mode":"random","size":3},"fault":{"do":"error","at":"events","n":1}}]}`)
	f.Add(`{"turns":[{"match":{"body":"(a)|b"},"blocks":[{"text":"$1"}]}]}`)
	f.Fuzz(func(t *testing.T, file string) {
		turns, err := fakellm.ParseScript("f", []byte(file))
		if err != nil && len(turns) > 0 {
			t.Errorf("%d turns with error %v", len(turns), err)
		}
	})
}
