package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

func mustParse(t *testing.T, d Dialect, body []byte) *pipeline.Transcript {
	t.Helper()
	got, err := NewParser(Limits{}).Parse(d, body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestDepth(t *testing.T) {
	t.Parallel()
	// The places a value can stand in, with the levels around it.
	for _, place := range []struct {
		name   string
		format string
		levels int
	}{
		{"item", `{"input":[{"type":"function_call_output","output":"found","x":%s}]}`, 3},
		{"output part", `{"input":[{"output":[{"type":"input_text","text":"found","x":%s}],"type":"function_call_output"}]}`, 5},
		{"outcome", `{"input":[{"type":"shell_call_output","output":[{"stdout":"found","outcome":{"x":%s}}]}]}`, 6},
		{"action", `{"input":[{"type":"shell_call","action":%s},{"type":"mcp_call","output":"found"}]}`, 3},
		{"gemini part", `{"contents":[{"parts":[{"functionResponse":{"response":{"output":"found"}},"x":%s}]}]}`, 5},
		{"gemini response", `{"contents":[{"parts":[{"functionResponse":{"response":{"output":"found","x":[{"x":[%s]}]}}}]}]}`, 10},
		{"gemini wrapper", `{"request":{"contents":{"parts":{"functionResponse":{"response":{"output":"found"}}}},"x":%s}}`, 2},
		{"converse result", `{"messages":[{"role":"user","content":[{"toolResult":{"content":[{"text":"found"}],"x":%s}}]}]}`, 6},
		{"converse block", `{"messages":[{"role":"user","content":[{"toolResult":{"content":[{"json":%s}]}}]}]}`, 8},
		{"root", `{"x":%s,"messages":[{"role":"tool","content":"found"}]}`, 1},
		{"message", `{"messages":[{"role":"tool","content":"found","x":%s}]}`, 3},
		{"part", `{"messages":[{"role":"tool","content":[{"type":"text","text":"found"},{"x":%s}]}]}`, 5},
		{"in the place of a message", `{"messages":[%s,{"role":"tool","content":"found"}]}`, 2},
		{"in the place of a part", `{"messages":[{"content":[%s,{"type":"text","text":"found"}],"role":"tool"}]}`, 4},
	} {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			d := OpenAIChat
			for list, other := range map[string]Dialect{`"input"`: OpenAIResponses, `"contents"`: Gemini, `"toolResult"`: BedrockConverse} {
				if strings.Contains(place.format, list) {
					d = other
				}
			}
			for _, limit := range []int{0, 12, 100} {
				deepest := limit
				if limit == 0 {
					deepest = DefaultDepth
				}
				p := NewParser(Limits{Depth: limit})
				got, err := p.Parse(d, fmt.Appendf(nil, place.format, nested(deepest-place.levels)))
				if err != nil || len(got.Segments) != 1 {
					t.Errorf("limit %d, just as deep: %v, %v", limit, got, err)
				}
				for _, more := range []int{1, 2, 1000} {
					_, err = p.Parse(d, fmt.Appendf(nil, place.format, nested(deepest-place.levels+more)))
					if err == nil || reasonOf(t, err) != TooDeep {
						t.Errorf("limit %d, %d levels over: %v", limit, more, err)
					}
				}
			}
		})
	}
	t.Run("millions of levels", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{strings.Repeat(`{"messages":`, 1<<20), `{"messages":` + strings.Repeat("[", 5<<20), strings.Repeat("[", 1<<20)} {
			_, err := NewParser(Limits{}).Parse(OpenAIChat, []byte(body))
			if err == nil {
				t.Error("no error")
			} else if reason := reasonOf(t, err); reason != TooDeep && reason != NotAnObject && reason != NotJSON {
				t.Error(reason)
			}
		}
	})
	t.Run("a limit the structure itself breaks", func(t *testing.T) {
		t.Parallel()
		_, err := NewParser(Limits{Depth: 4}).Parse(OpenAIChat, []byte(`{"messages":[{"role":"tool","content":[{"type":"text","text":"x"}]}]}`))
		if err == nil || reasonOf(t, err) != TooDeep {
			t.Error(err)
		}
	})
}

func TestSegmentLimit(t *testing.T) {
	t.Parallel()
	const one = `{"role":"tool","tool_call_id":"x","content":"out"},`
	parts := func(n int) string {
		return `{"role":"tool","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x"},`, n), ",") + `]},`
	}
	for _, tc := range []struct {
		name  string
		limit int
		list  string
		want  int // segments, or -1
	}{
		{"exactly", 3, strings.Repeat(one, 3), 3},
		{"one over", 3, strings.Repeat(one, 4), -1},
		{"exactly, in one message", 3, parts(3), 3},
		{"one over, in one message", 3, parts(4), -1},
		{"one over, in two messages", 3, parts(2) + parts(2), -1},
		{"default", 0, strings.Repeat(one, DefaultSegments), DefaultSegments},
		{"one over the default", 0, strings.Repeat(one, DefaultSegments+1), -1},
		{"others do not count", 1, strings.Repeat(`{"role":"user","content":[{"type":"text","text":"x"}]},`, 50) + one, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := []byte(`{"messages":[` + strings.TrimSuffix(tc.list, ",") + `]}`)
			got, err := NewParser(Limits{Segments: tc.limit}).Parse(OpenAIChat, body)
			switch {
			case tc.want < 0:
				if err == nil || reasonOf(t, err) != TooManySegments {
					t.Errorf("error %v", err)
				}
			case err != nil:
				t.Error(err)
			case len(got.Segments) != tc.want:
				t.Errorf("%d segments, want %d", len(got.Segments), tc.want)
			}
		})
	}
}

// TestSegmentLimitPerBlock shows that texts of other blocks do not count.
func TestSegmentLimitPerBlock(t *testing.T) {
	t.Parallel()
	const block = `{"type":"%s","tool_use_id":"x","content":[{"type":"text","text":"x"}]}`
	search, result := fmt.Sprintf(block, "web_search_tool_result"), fmt.Sprintf(block, "tool_result")
	body := `{"messages":[{"role":"user","content":[` + strings.Repeat(search+",", 50) + result + `]}]}`
	got, err := NewParser(Limits{Segments: 1}).Parse(AnthropicMessages, []byte(body))
	if err != nil || len(got.Segments) != 1 {
		t.Errorf("Parse = %+v, %v", got, err)
	}
}

func TestHostileSizes(t *testing.T) {
	t.Parallel()
	t.Run("a million empty messages", func(t *testing.T) {
		t.Parallel()
		got := mustParse(t, AnthropicMessages, []byte(`{"messages":[`+strings.Repeat("{},", 1e6)+`{"role":"assistant"}]}`))
		if got.Messages != 1e6+1 || got.Turn != 1 || len(got.Segments) != 0 {
			t.Errorf("%d messages, %d turns, %d segments", got.Messages, got.Turn, len(got.Segments))
		}
	})
	t.Run("a hundred thousand keys", func(t *testing.T) {
		t.Parallel()
		var keys strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&keys, `"k%d":0,`, i)
		}
		body := fmt.Sprintf(`{%s"messages":[{%s"role":"tool",%s"content":[{%s"type":"text","text":"found"}]}]}`, keys.String(), keys.String(), keys.String(), keys.String())
		if got := mustParse(t, OpenAIChat, []byte(body)); len(got.Segments) != 1 {
			t.Errorf("%d segments", len(got.Segments))
		}
	})
	for _, d := range []Dialect{AnthropicMessages, OpenAIResponses, Gemini, BedrockConverse} {
		t.Run("thirty megabytes of "+string(d), func(t *testing.T) {
			t.Parallel()
			body := agentBody(t, d, 30<<20)
			got := mustParse(t, d, body)
			last := got.Segments[len(got.Segments)-1]
			if got.Turn != len(got.Segments) || last.Turn != got.Turn || last.Span.End < 30<<20-20<<10 || len(last.Args) == 0 {
				t.Errorf("%d turns, %d segments, the last %+v", got.Turn, len(got.Segments), last.Span)
			}
			out, err := Splice(nil, body, []Patch{{Span: last.Span, Text: "short"}})
			short := Encode(got.Value(&last), "short")
			if err != nil || !bytes.HasPrefix(out, body[:last.Span.Start]) || !bytes.HasSuffix(out, append(short, body[last.Span.End:]...)) {
				t.Errorf("spliced to %d bytes, %v", len(out), err)
			}
		})
	}
	t.Run("nothing but escapes", func(t *testing.T) {
		t.Parallel()
		for _, escape := range []string{`\"`, `\\`, `\u0000`, `\ud83d\ude00`, `\/`, `\u003c`} {
			literal := `"` + strings.Repeat(escape, 1<<18) + `"`
			got := mustParse(t, OpenAIChat, []byte(`{"messages":[{"role":"tool","content":`+literal+`}]}`))
			text, ok := got.Original(0)
			if !ok || string(got.Value(&got.Segments[0])) != literal {
				t.Fatalf("%s: no text", escape)
			}
			out, err := Splice(nil, []byte(literal), []Patch{{Span: pipeline.Span{End: len(literal)}, Text: text}})
			if err != nil || string(out) != literal {
				t.Errorf("%s does not come back: %v", escape, err)
			}
		}
	})
}

// TestCallsAreBounded shows that what is kept and compared does not grow with
// the body.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	results := func(ids ...int) string {
		var b strings.Builder
		b.WriteString(`{"role":"user","content":[`)
		for i, id := range ids {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"type":"tool_result","tool_use_id":"%s%d","content":"x"}`, strings.Repeat("long", 100), id)
		}
		b.WriteString(`]}`)
		return b.String()
	}
	calls := func(n int, each string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"type":"tool_use","id":"%s%d","name":"n%d","input":{}}%s`, strings.Repeat("long", 100), i, i, each)
		}
		return strings.TrimSuffix(b.String(), each)
	}
	const n = 5000
	ids := []int{n - 1, n - callsKept, n - callsKept - 1, 0, n}
	want := []string{fmt.Sprint("n", n-1), fmt.Sprint("n", n-callsKept), "", "", ""}
	for name, body := range map[string]string{
		"one message":   `{"messages":[{"role":"assistant","content":[` + calls(n, ",") + `]},` + results(ids...) + `]}`,
		"many messages": `{"messages":[{"role":"assistant","content":[` + calls(n, `]},{"role":"user"},{"role":"assistant","content":[`) + `]},` + results(ids...) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewParser(Limits{})
			got, err := p.Parse(AnthropicMessages, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if tool := string(got.Segments[i].Tool); tool != want[i] {
					t.Errorf("result of call %d is paired with %q, want %q", ids[i], tool, want[i])
				}
			}
			if cap(p.calls) > 8*callsKept || cap(p.pending) > 8*callsKept {
				t.Errorf("kept room for %d and %d calls", cap(p.calls), cap(p.pending))
			}
		})
	}
}

// TestCallsByOrderAreBounded shows the same for responses without ids, and that
// the last run is still the last when calls in front of it are forgotten.
func TestCallsByOrderAreBounded(t *testing.T) {
	t.Parallel()
	const n = 3000
	var calls, responses strings.Builder
	for i := range n {
		fmt.Fprintf(&calls, `{"functionCall":{"name":"f%d","args":%d}},`, i, i)
	}
	for _, name := range []int{0, n - callsKept - 1, n - callsKept, n - 1, n - 1} {
		fmt.Fprintf(&responses, `{"functionResponse":{"name":"f%d","response":{"output":"x"}}},`, name)
	}
	many, answers := strings.TrimSuffix(calls.String(), ","), strings.TrimSuffix(responses.String(), ",")
	for name, tc := range map[string]struct {
		contents string
		want     []string
	}{
		"one run":        {`{"role":"model","parts":[` + many + `]},{"parts":[` + answers + `]}`, []string{"", "", "2488", "2999", ""}},
		"several models": {`{"role":"model","parts":[` + strings.ReplaceAll(many, "},{", `}]},{"role":"model","parts":[{`) + `]},{"parts":[` + answers + `]}`, []string{"", "", "2488", "2999", ""}},
		"the run before": {`{"role":"model","parts":[` + many + `]},{"parts":[]},{"role":"model","parts":[{"functionCall":{"name":"g"}}]},{"parts":[` + answers + `]}`, make([]string, 5)},
		"a run behind":   {`{"role":"model","parts":[` + many + `]},{},{"role":"model","parts":[` + many + `]},{"parts":[` + answers + `]}`, []string{"", "", "2488", "2999", ""}},
		"run after run": {strings.ReplaceAll(`{"role":"model","parts":[`+many+`]}`, "},{", `}]},{},{"role":"model","parts":[{`) + `,{"role":"model","parts":[{"functionCall":{"name":"f2998","args":1}}]},` +
			`{"parts":[{"functionResponse":{"name":"f2998","response":{"output":"x"}}},{"functionResponse":{"name":"f2998","response":{"output":"x"}}},{"functionResponse":{"name":"f2999","response":{"output":"x"}}}]}`, []string{"1", "", "2999"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewParser(Limits{})
			got, err := p.Parse(Gemini, []byte(`{"contents":[`+tc.contents+`]}`))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tc.want {
				if args := string(got.Segments[i].Args); args != want {
					t.Errorf("response %d is paired with %q, want %q", i, args, want)
				}
			}
			if cap(p.calls) > 8*callsKept || cap(p.pending) > 8*callsKept {
				t.Errorf("kept room for %d and %d calls", cap(p.calls), cap(p.pending))
			}
		})
	}
}

// TestResponseTextsAreBounded shows that a table of short strings does not fill
// the transcript, and that what comes behind it is found all the same.
func TestResponseTextsAreBounded(t *testing.T) {
	t.Parallel()
	response := `{"functionResponse":{"name":"f","response":{"rows":[` + strings.TrimSuffix(strings.Repeat(`{"a":"x"},`, 10000), ",") + `],"last":"no"}}}`
	body := `{"contents":[{"parts":[` + response + `,{"functionResponse":{"name":"g","response":{"output":"found"}}}]}]}`
	got := mustParse(t, Gemini, []byte(body))
	if n := len(got.Segments); n != responseTexts+1 || string(got.Segments[n-1].Tool) != "g" {
		t.Errorf("%d segments", n)
	}
}
