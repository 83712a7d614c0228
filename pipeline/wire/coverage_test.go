package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output is a tool output of the coverage table.
type output struct {
	id, tool string
	texts    []string // JSON strings
	failed   bool
	image    bool // beside the texts
	extra    bool // members nobody knows, numbers that no float holds, a repeated one
	list     bool // the only text stands in a list
}

func (o *output) args() string { return `{"of": "` + o.id + `", "n": 1.0}` }

// more returns the members that nobody knows.
func (o *output) more() string {
	if o.extra {
		return `"x":{"n":12345678901234567890123, "text":[[["no"]]]},"x":1.0,`
	}
	return ""
}

// parts writes the texts as a list, or the only one as it is.
func (o *output) parts(part, image string) string {
	if len(o.texts) == 1 && !o.list && !o.image {
		return o.texts[0]
	}
	return o.blocks(part, image)
}

func (o *output) blocks(part, image string) string {
	var list []string
	for i, text := range o.texts {
		list = append(list, strings.Replace(fmt.Sprintf(part, text), "{", "{"+o.more(), 1))
		if o.image && i == 0 {
			list = append(list, image)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// row is a shape of results: calls in order of their ids, outputs as they stand.
type row struct {
	name    string
	outputs []output
}

func coverageRows() []row {
	one := func(texts ...string) output { return output{id: "c1", tool: "run", texts: texts} }
	with := func(o output, change func(*output)) output { change(&o); return o }
	three := []output{one(`"one"`), {id: "c2", tool: "read", texts: []string{`"two"`}}, {id: "c3", tool: "find", texts: []string{`"three"`}}}
	rows := []row{
		{"string", []output{one(`"line\nline\n"`)}},
		{"one part", []output{with(one(`"line\nline\n"`), func(o *output) { o.list = true })}},
		{"parts", []output{one(`"page one"`, `"page two"`, `""`)}},
		{"image beside text", []output{with(one(`"a picture"`, `"and its caption"`), func(o *output) { o.image = true })}},
		{"error", []output{with(one(`"Exit code 1\nboom"`), func(o *output) { o.failed = true })}},
		{"unknown fields", []output{with(one(`"kept"`, `"too"`), func(o *output) { o.extra = true })}},
		{"several in one turn", three},
		{"in another order", []output{three[2], three[0], three[1]}},
		{"one failed of several", []output{three[0], with(three[1], func(o *output) { o.failed = true }), three[2]}},
	}
	for name, text := range map[string]string{
		"ASCII only": `"caf\u00e9 \ud83d\ude00 \u2192"`, "upper case": `"caf\u00E9"`, "raw": `"café 😀"`, "HTML": `"\u003cb\u003e \u0026"`,
		"slashes": `"a\/b"`, "control characters": `"\u001b[31m\r\n\u0000"`, "JSON": `"{\"a\":[1,\"\\u00e9\"]}"`,
	} {
		rows = append(rows, row{"spelled " + name, []output{one(text)}})
	}
	for name, text := range map[string]string{
		"codex":       "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\na.go\n",
		"gemini-cli":  "<untrusted_context>\nOutput: a.go\nProcess Group PGID: 7\n</untrusted_context>",
		"claude-code": "1\tpackage a\n2\t\n\n<system-reminder>\nStay on task.\n</system-reminder>\n",
		"opencode":    "<path>/a.go</path>\n<type>file</type>\n<content>1: package a\n</content>",
	} {
		quoted, _ := json.Marshal(text)
		rows = append(rows, row{"wrapped by " + name, []output{one(string(quoted))}})
	}
	return rows
}

// column is a way to send results.
type column struct {
	name    string
	path    string
	dialect Dialect
	lists   bool // an output may have several texts, and others beside them
	fails   bool // a failure can be said
	write   func(outputs []output) string
}

// each writes the calls in order of their ids, and the outputs.
func each(outputs []output, call, result func(o *output) string) (calls, results string) {
	var list []string
	for _, o := range outputs {
		list = append(list, result(&o))
	}
	inOrder := slices.Clone(outputs)
	slices.SortFunc(inOrder, func(a, b output) int { return strings.Compare(a.id, b.id) })
	var called []string
	for _, o := range inOrder {
		called = append(called, call(&o))
	}
	return strings.Join(called, ","), strings.Join(list, ",")
}

func status(o *output, failed, fine string) string {
	if o.failed {
		return failed
	}
	return fine
}

func chatBody(outputs []output) string {
	calls, results := each(outputs, func(o *output) string {
		return fmt.Sprintf(`{"id":"%s","type":"function","function":{"name":"%s","arguments":%q}}`, o.id, o.tool, o.args())
	}, func(o *output) string {
		content := o.parts(`{"type":"text","text":%s}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`)
		return fmt.Sprintf(`{%s"role":"tool","tool_call_id":"%s","content": %s}`, o.more(), o.id, content)
	})
	return `{"messages":[{"role":"user","content":"Go."},{"role":"assistant","tool_calls":[` + calls + `]},` + results + `],"model":"m"}`
}

func anthropicBody(kind, more string) func([]output) string {
	return func(outputs []output) string {
		use, result := "tool_use", "tool_result"
		if kind == "mcp" {
			use, result = "mcp_tool_use", "mcp_tool_result"
		}
		calls, results := each(outputs, func(o *output) string {
			return fmt.Sprintf(`{"type":"%s","id":"%s","name":"%s","input":%s}`, use, o.id, o.tool, o.args())
		}, func(o *output) string {
			content := o.parts(`{"type":"text","text":%s}`, `{"type":"image","source":{"type":"base64","data":"AAAA"}}`)
			return fmt.Sprintf(`{%s"type":"%s","content": %s ,"tool_use_id":"%s"%s}`, o.more(), result, content, o.id, status(o, `,"is_error":true`, ""))
		})
		between := `]},{"role":"user","content":[`
		if kind == "mcp" {
			between = ","
		}
		return `{` + more + `"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[` + calls + between + results + `]}],"system":"You are."}`
	}
}

func responsesBody(call, result string) func([]output) string {
	return func(outputs []output) string {
		calls, results := each(outputs, func(o *output) string {
			return fmt.Sprintf(call, o.id, o.tool, o.args())
		}, func(o *output) string {
			content := o.parts(`{"type":"input_text","text":%s}`, `{"type":"input_image","image_url":"data:image/png;base64,AAAA"}`)
			if strings.Contains(result, `"shell_call_output"`) {
				content = o.blocks(`{"stdout":%s,"outcome":{"type":"exit","exit_code":`+status(o, "1", "0")+`}}`, "null")
			}
			return fmt.Sprintf(`{`+o.more()+result+`}`, o.id, content, status(o, "failed", "completed"))
		})
		return `{"model":"m","input":[{"role":"user","content":"Go."},` + calls + "," + results + `],"store":false}`
	}
}

func mcpCallBody(outputs []output) string {
	_, results := each(outputs, func(*output) string { return "" }, func(o *output) string {
		return fmt.Sprintf(`{%s"type":"mcp_call","id":"%s","name":"%s","arguments":%q,"output":%s,"error":%s}`,
			o.more(), o.id, o.tool, o.args(), o.texts[0], status(o, `"boom"`, "null"))
	})
	return `{"model":"m","input":[{"role":"user","content":"Go."},` + results + `]}`
}

func geminiBody(call, response, id, wrap string) func([]output) string {
	return func(outputs []output) string {
		name := func(o *output) string {
			if id == "" {
				return ""
			}
			return fmt.Sprintf(id, o.id)
		}
		calls, results := each(outputs, func(o *output) string {
			return fmt.Sprintf(`{"%s":{%s"name":"%s","args":%s},"thoughtSignature":"c2ln"}`, call, name(o), o.tool, o.args())
		}, func(o *output) string {
			content := `"output": ` + o.texts[0]
			switch {
			case o.failed && len(o.texts) == 1:
				content = `"error":` + o.texts[0]
			case len(o.texts) > 1 || o.list:
				content = `"content":` + o.blocks(`{"type":1,"text":%s}`, `{"type":2,"data":[[["AAAA"]]]}`)
			}
			return fmt.Sprintf(`{%s"%s":{%s%s"name":"%s","response":{%s}}}`, o.more(), response, o.more(), name(o), o.tool, content)
		})
		body := `{"contents":[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[` + calls + `]},{"role":"user","parts":[` + results + `]}]}`
		return fmt.Sprintf(wrap, body)
	}
}

func converseBody(part, wrap string) func([]output) string {
	return func(outputs []output) string {
		calls, results := each(outputs, func(o *output) string {
			return fmt.Sprintf(`{"toolUse":{"toolUseId":"%s","name":"%s","input":%s}}`, o.id, o.tool, o.args())
		}, func(o *output) string {
			content := o.blocks(part, `{"image":{"format":"png","source":{"bytes":"AAAA"}}}`)
			return fmt.Sprintf(`{"toolResult":{%s"toolUseId":"%s","content":%s,"status":"%s"}}`, o.more(), o.id, content, status(o, "error", "success"))
		})
		return fmt.Sprintf(wrap, `{"messages":[{"role":"user","content":[{"text":"Go."}]},{"role":"assistant","content":[`+calls+`]},{"role":"user","content":[`+results+`,{"cachePoint":{"type":"default"}}]}]}`)
	}
}

func coverageColumns() []column {
	const function, shell = `{"type":"function_call","call_id":"%s","name":"%s","arguments":%q}`, `{"type":"%[4]s","call_id":"%[1]s","id":"i%[1]s","%[5]s":%[3]s}`
	built := func(kind, args string) string {
		return strings.NewReplacer("%[4]s", kind, "%[5]s", args).Replace(shell)
	}
	const vertex = "/v1/projects/p/locations/l/publishers/"
	return []column{
		{"chat", "/v1/chat/completions", OpenAIChat, true, false, chatBody},
		{"messages", "/v1/messages", AnthropicMessages, true, true, anthropicBody("", "")},
		{"messages counted", "/v1/messages/count_tokens", AnthropicMessages, true, true, anthropicBody("", "")},
		{"messages mcp", "/v1/messages", AnthropicMessages, true, true, anthropicBody("mcp", "")},
		{"bedrock invoke", "/model/m/invoke", AnthropicPlatform, true, true, anthropicBody("", `"anthropic_version":"bedrock-2023-05-31",`)},
		{"bedrock invoke stream", "/model/m/invoke-with-response-stream", AnthropicPlatform, true, true, anthropicBody("", `"anthropic_version":"bedrock-2023-05-31",`)},
		{"vertex", vertex + "anthropic/models/m:streamRawPredict", AnthropicPlatform, true, true, anthropicBody("", `"anthropic_version":"vertex-2023-10-16",`)},
		{"vertex counted", vertex + "anthropic/models/count-tokens:rawPredict", AnthropicMessages, true, true, anthropicBody("", `"model":"m",`)},
		{"responses", "/v1/responses", OpenAIResponses, true, false, responsesBody(function, `"type":"function_call_output","call_id":"%s","output": %s ,"status":"%s"`)},
		{"responses counted", "/v1/responses/input_tokens", OpenAIResponses, true, false, responsesBody(function, `"type":"function_call_output","call_id":"%s","output": %s ,"status":"%s"`)},
		{"responses custom", "/v1/responses", OpenAIResponses, true, false, responsesBody(`{"type":"custom_tool_call","call_id":"%s","name":"%s","input":%q}`, `"status":"%[3]s","output":%[2]s,"call_id":"%[1]s","type":"custom_tool_call_output"`)},
		{"responses shell", "/v1/responses", OpenAIResponses, true, true, responsesBody(built("shell_call", "action"), `"type":"shell_call_output","call_id":"%s","output":%s,"status":"%s"`)},
		{"responses local shell", "/v1/responses", OpenAIResponses, false, false, responsesBody(built("local_shell_call", "action"), `"type":"local_shell_call_output","id":"i%s","output":%s,"status":"%s"`)},
		{"responses patch", "/v1/responses", OpenAIResponses, false, true, responsesBody(built("apply_patch_call", "operation"), `"type":"apply_patch_call_output","call_id":"%s","output":%s,"status":"%s"`)},
		{"responses mcp", "/v1/responses", OpenAIResponses, false, true, mcpCallBody},
		{"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", Gemini, true, true, geminiBody("functionCall", "functionResponse", `"id":"%s",`, "%s")},
		{"gemini without ids", vertex + "google/models/m:generateContent", Gemini, true, true, geminiBody("functionCall", "functionResponse", "", "%s")},
		{"gemini with underscores", "/v1beta/models/m:generateContent", Gemini, true, true, geminiBody("function_call", "function_response", "", "%s")},
		{"gemini wrapped", "/v1internal:generateContent", Gemini, true, true, geminiBody("functionCall", "functionResponse", `"id":"%s",`, `{"model":"m","request":%s}`)},
		{"gemini counted", "/v1beta/models/m:countTokens", Gemini, true, true, geminiBody("functionCall", "functionResponse", `"id":"%s",`, `{"generateContentRequest":%s}`)},
		{"converse", "/model/m/converse", BedrockConverse, true, true, converseBody(`{"text":%s}`, "%s")},
		{"converse json", "/model/m/converse-stream", BedrockConverse, true, true, converseBody(`{"json":{"v":%s}}`, "%s")},
		{"converse counted", "/model/m/count-tokens", BedrockConverse, true, true, converseBody(`{"text":%s}`, `{"input":{"converse":%s}}`)},
	}
}

// TestCoverage crosses every way to send results with every shape of them: each
// text is found with its call, can be replaced, alone and with the others, and
// put back.
func TestCoverage(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, c := range coverageColumns() {
		for _, r := range coverageRows() {
			several := slices.ContainsFunc(r.outputs, func(o output) bool { return len(o.texts) > 1 || o.list || o.image })
			failing := slices.ContainsFunc(r.outputs, func(o output) bool { return o.failed })
			if several && !c.lists || failing && !c.fails {
				continue
			}
			cells++
			t.Run(c.name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				cover(t, c, r.outputs)
			})
		}
	}
	if cells < 400 {
		t.Errorf("%d cells", cells)
	}
}

// cover checks one cell.
func cover(t *testing.T, c column, outputs []output) {
	t.Helper()
	if d, ok := Route(c.path); !ok || d != c.dialect {
		t.Fatalf("Route(%q) = %q, %v", c.path, d, ok)
	}
	body := []byte(c.write(outputs))
	if !json.Valid(body) {
		t.Fatalf("no JSON: %s", body)
	}
	checkOracle(t, c.dialect, body)
	before := mustParse(t, c.dialect, body)
	at := 0
	var patches []Patch
	for i, o := range outputs {
		for j := range o.texts {
			if at == len(before.Segments) {
				t.Fatalf("only %d segments in %s", at, body)
			}
			s := &before.Segments[at]
			tool := o.tool
			if strings.Contains(c.name, "responses") && strings.Contains(c.name, "shell") || c.name == "responses patch" {
				tool = string(s.Tool) // it is built in, and named by the kind of its call
			}
			args, ok := before.Decode(s.Args)
			if !ok {
				args = string(s.Args)
			}
			if s.Turn != 1 || string(s.Tool) != tool || len(tool) == 0 || args != o.args() || s.IsError != o.failed {
				t.Errorf("text %d of output %d: %+v (args %q) in %s", j, i, s, args, body)
			}
			checkText(t, before.Decode, before.Value(s), o.texts[j])
			patches = append(patches, Patch{Span: s.Span, Text: "short"})
			at++
		}
	}
	if at != len(before.Segments) {
		t.Fatalf("%d segments, want %d, in %s", len(before.Segments), at, body)
	}
	for i := range patches {
		checkSplice(t, c.dialect, before, patches[i:i+1])
	}
	checkSplice(t, c.dialect, before, patches)
	out, err := Splice(nil, body, patches)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(outputs)
	for i := range want {
		want[i].texts = slices.Repeat([]string{`"short"`}, len(want[i].texts))
	}
	written := c.write(want)
	if c.name == "converse json" { // only JSON can stay JSON
		written = strings.ReplaceAll(written, `"json":{"v":"short"}`, `"text":"short"`)
	}
	if diff := cmp.Diff(written, string(out)); diff != "" {
		t.Errorf("edited (-want +got):\n%s", diff)
	}
	after := mustParse(t, c.dialect, out)
	var restored bytes.Buffer
	from := 0
	for i := range after.Segments {
		restored.Write(out[from:after.Segments[i].Span.Start])
		restored.Write(before.Value(&before.Segments[i]))
		from = after.Segments[i].Span.End
	}
	restored.Write(out[from:])
	if !bytes.Equal(restored.Bytes(), body) {
		t.Errorf("restored:\n%s\nwant\n%s", restored.Bytes(), body)
	}
}

// checkText compares a segment's text with the JSON string it was written as.
func checkText(t *testing.T, decode func([]byte) (string, bool), value []byte, literal string) {
	t.Helper()
	got, ok := decode(value)
	want, same := blockText([]byte(literal))
	if bytes.Contains(value, []byte(`"json":{`)) {
		want = `{"v":` + literal + `}`
	}
	if !ok || !same || got != want {
		t.Errorf("text %q, %v, want %q", got, ok, want)
	}
}
