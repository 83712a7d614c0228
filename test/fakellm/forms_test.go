package fakellm_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/test/fakellm"
)

// everyBlock is a turn with every kind of block and parallel calls.
func everyBlock() fakellm.Turn {
	return fakellm.Turn{
		DeltaRunes: 8,
		Usage:      &fakellm.Usage{Input: 10, Output: 20, CacheRead: 300, CacheWrite: 4},
		Blocks: []fakellm.Block{
			fakellm.Thinking("Let me look.", "c2ln"),
			fakellm.Text("I read <both> & más…"),
			fakellm.ToolID("id_1", "read_file", `{"path":"a.go"}`),
			fakellm.ToolID("id_2", "list", ``),
		},
	}
}

const wantMessagesStream = `event: message_start
data: {"type":"message_start","message":{"model":"claude-x","id":"msg_010000000000000000000001","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me l"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ook."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I read <"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"both> & "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"más…"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"id_1","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"a.go\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"id_2","name":"list","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":300,"output_tokens":20}}

event: message_stop
data: {"type":"message_stop"}

`

const wantMessagesJSON = `{"model":"claude-x","id":"msg_010000000000000000000001","type":"message","role":"assistant","content":[` +
	`{"type":"thinking","thinking":"Let me look.","signature":"c2ln"},` +
	`{"type":"text","text":"I read <both> & más…"},` +
	`{"type":"tool_use","id":"id_1","name":"read_file","input":{"path":"a.go"}},` +
	`{"type":"tool_use","id":"id_2","name":"list","input":{}}],` +
	`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":300,` +
	`"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":0},"output_tokens":20,"service_tier":"standard"}}`

const chatHead = `{"id":"chatcmpl-00000000000000000000000000001","object":"chat.completion.chunk","created":1760000001,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_0123456789","choices":`

const chatUsageJSON = `{"prompt_tokens":314,"completion_tokens":20,"total_tokens":334,` +
	`"prompt_tokens_details":{"cached_tokens":300,"cache_write_tokens":4,"audio_tokens":0},` +
	`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`

func wantChatStream() string {
	deltas := []string{
		`{"role":"assistant","content":"","refusal":null}`,
		`{"content":"I read <"}`,
		`{"content":"both> & "}`,
		`{"content":"más…"}`,
		`{"tool_calls":[{"index":0,"id":"id_1","type":"function","function":{"name":"read_file","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"\"a.go\"}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"id_2","type":"function","function":{"name":"list","arguments":""}}]}`,
	}
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString("data: " + chatHead + `[{"index":0,"delta":` + d + `,"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n")
	}
	b.WriteString("data: " + chatHead + `[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}` + "\n\n")
	b.WriteString("data: " + chatHead + `[],"usage":` + chatUsageJSON + "}\n\n")
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}

const wantChatJSON = `{"id":"chatcmpl-00000000000000000000000000001","object":"chat.completion","created":1760000001,"model":"gpt-x","choices":[` +
	`{"index":0,"message":{"role":"assistant","content":"I read <both> & más…","tool_calls":[` +
	`{"id":"id_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}},` +
	`{"id":"id_2","type":"function","function":{"name":"list","arguments":""}}],"refusal":null,"annotations":[]},` +
	`"logprobs":null,"finish_reason":"tool_calls"}],"usage":` + chatUsageJSON + `,"service_tier":"default","system_fingerprint":"fp_0123456789"}`

// TestForms pins the bytes of a turn with every kind of block, in each form,
// over both protocols.
func TestForms(t *testing.T) {
	t.Parallel()
	withUsage := strings.Replace(chatSSE, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}`, 1)
	tests := []struct {
		name, path, body, want, contentType, idHeader string
	}{
		{"messages stream", messagesPath, messagesSSE, wantMessagesStream, "text/event-stream; charset=utf-8", "Request-Id"},
		{"messages json", messagesPath + "?beta=true", messagesJSON, wantMessagesJSON, "application/json", "Request-Id"},
		{"chat stream", "/gw/openai" + chatPath, withUsage, wantChatStream(), "text/event-stream; charset=utf-8", "X-Request-Id"},
		{"chat json", chatPath, chatJSON, wantChatJSON, "application/json", "X-Request-Id"},
	}
	for _, tt := range tests {
		for proto, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
			t.Run(tt.name+" "+proto, func(t *testing.T) {
				t.Parallel()
				s := start(t, fakellm.WithScript(everyBlock()))
				got := send(t, client(t, h2), s.URL()+tt.path, tt.body)
				if got.err != nil {
					t.Fatal(got.err)
				}
				if diff := cmp.Diff(tt.want, got.body); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
				if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != tt.contentType || got.Proto != proto {
					t.Errorf("status %d, content-type %q, proto %s", got.StatusCode, got.Header.Get("Content-Type"), got.Proto)
				}
				if id := got.Header.Get(tt.idHeader); id != "req_000000000000000000000001" {
					t.Errorf("%s: %q", tt.idHeader, id)
				}
			})
		}
	}
}

// TestChatVariants covers what a chat request can ask for.
func TestChatVariants(t *testing.T) {
	t.Parallel()
	s := start(t, fakellm.WithScript(
		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Tool("a", `{}`)}, Choices: [][]fakellm.Block{{fakellm.Text("second")}}, Times: -1},
	))
	body := strings.Replace(chatSSE, `"stream":true`, `"stream":true,"n":3,"n":2`, 1)
	events := readSSE(t, send(t, http.DefaultClient, s.URL()+chatPath, body).body)
	var deltas []string
	for _, e := range events {
		if _, rest, ok := strings.Cut(e.data, `"choices":[`); ok {
			d, tail, _ := strings.Cut(rest, `,"logprobs"`)
			deltas = append(deltas, d)
			if !strings.Contains(tail, `"obfuscation":"`) || strings.Contains(tail, `"usage"`) {
				t.Errorf("chunk ends with %s: want obfuscation and no usage", tail)
			}
		}
	}
	want := []string{
		`{"index":0,"delta":{"role":"assistant","content":null,"refusal":null}`,
		`{"index":1,"delta":{"role":"assistant","content":"","refusal":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_000000000000000100000000","type":"function","function":{"name":"a","arguments":""}}]}`,
		`{"index":1,"delta":{"content":"second"}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`,
		`{"index":1,"delta":{}`,
		`{"index":0,"delta":{}`,
	}
	if diff := cmp.Diff(want, deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	if got := send(t, http.DefaultClient, s.URL()+chatPath, `{"n":null}`); got.StatusCode != http.StatusOK {
		t.Errorf("n null: status %d %s", got.StatusCode, got.body)
	}
	for _, bad := range []string{`"n":0`, `"n":129`, `"n":"2"`, `"stream":"yes"`} {
		got := send(t, http.DefaultClient, s.URL()+chatPath, `{`+bad+`}`)
		if name := strings.Trim(strings.Split(bad, ":")[0], `"`); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, name+": ") {
			t.Errorf("%s: status %d %s", bad, got.StatusCode, got.body)
		}
	}
}

// TestRawAndStops covers raw blocks, invalid arguments and stop reasons.
func TestRawAndStops(t *testing.T) {
	t.Parallel()
	redacted := `{"type":"redacted_thinking","data":"\u003cabc+/=="}`
	tests := []struct {
		name, path, body string
		turn             fakellm.Turn
		want             []string
	}{
		{
			"redacted stream", messagesPath, messagesSSE,
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.RawBlock(redacted)}},
			[]string{`"index":0,"content_block":` + redacted + `}`, `{"type":"content_block_stop","index":0}`, `"end_turn"`},
		},
		{
			"redacted json", messagesPath, messagesJSON,
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.RawBlock(redacted)}},
			[]string{`"content":[` + redacted + `]`},
		},
		{
			"function_call stream", chatPath, chatSSE,
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.RawBlock(`{"function_call":{"name":"f"}}`)}, Stop: "function_call"},
			[]string{`"delta":{"function_call":{"name":"f"}}`, `"finish_reason":"function_call"`},
		},
		{
			"function_call json", chatPath, chatJSON,
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.RawBlock(`{"function_call":{"name":"f"},"refusal":"x"}`)}},
			[]string{`"message":{"role":"assistant","content":null,"refusal":"x","annotations":[],"function_call":{"name":"f"}}`},
		},
		{
			"invalid args messages", messagesPath, messagesJSON,
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.Tool("f", `{"a":`)}},
			[]string{`"id":"toolu_010000000000000000100000","name":"f","input":{"INVALID_JSON":"{\"a\":"}`},
		},
		{"invalid args chat", chatPath, chatJSON, fakellm.Turn{Blocks: []fakellm.Block{fakellm.Tool("f", `{"a":`)}}, []string{`"arguments":"{\"a\":"`}},
		{"length as messages", messagesPath, messagesJSON, fakellm.Turn{Stop: "length"}, []string{`"stop_reason":"max_tokens"`}},
		{"max_tokens as chat", chatPath, chatJSON, fakellm.Turn{Stop: "max_tokens"}, []string{`"finish_reason":"length"`}},
		{"unknown stop", messagesPath, messagesJSON, fakellm.Turn{Stop: "pause_turn"}, []string{`"stop_reason":"pause_turn"`}},
		{"stop sequence", messagesPath, messagesSSE, fakellm.Turn{StopSequence: "END"}, []string{`{"stop_reason":"stop_sequence","stop_sequence":"END"}`}},
		{"empty message", messagesPath, messagesJSON, fakellm.Turn{Blocks: []fakellm.Block{}}, []string{`"content":[]`, `"end_turn"`}},
		{"empty choice", chatPath, chatJSON, fakellm.Turn{Blocks: []fakellm.Block{}}, []string{`"content":null`, `"finish_reason":"stop"`}},
		{"model and id", chatPath, chatJSON, fakellm.Turn{Model: "other", ID: "chatcmpl-z"}, []string{`"id":"chatcmpl-z"`, `"model":"other"`}},
		{
			"generated signature", messagesPath, messagesJSON,
			fakellm.Turn{Blocks: []fakellm.Block{fakellm.Thinking("a", "")}},
			[]string{`"signature":"H0D8kt`},
		}, // SHA-512 of "a" begins 1f40fc92.
		{"invalid UTF-8", chatPath, chatJSON, fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("a\xffb")}}, []string{"\"a\uFFFDb\""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakellm.WithScript(tt.turn))
			got := send(t, http.DefaultClient, s.URL()+tt.path, tt.body)
			for _, want := range tt.want {
				if !strings.Contains(got.body, want) {
					t.Errorf("want %s in\n%s", want, got.body)
				}
			}
		})
	}
}

// TestErrors covers the providers' error bodies.
func TestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path string
		turn fakellm.Turn
		want string
	}{
		{chatPath, fakellm.Turn{Status: 429, RetryAfter: 7}, `{"error":{"message":"scripted error 429","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{chatPath, fakellm.Turn{Status: 500}, `{"error":{"message":"scripted error 500","type":"server_error","param":null,"code":null}}`},
		{
			chatPath,
			fakellm.Turn{Status: 400, Error: &fakellm.ErrorBody{Message: "too long", Code: "context_length_exceeded", Param: "messages"}},
			`{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		},
		{messagesPath, fakellm.Turn{Status: 429, RetryAfter: 7}, `{"type":"error","error":{"type":"rate_limit_error","message":"scripted error 429"},"request_id":"req_000000000000000000000001"}`},
		{messagesPath, fakellm.Turn{Status: 529}, `{"type":"error","error":{"type":"overloaded_error","message":"scripted error 529"},"request_id":"req_000000000000000000000001"}`},
		{messagesPath, fakellm.Turn{Error: &fakellm.ErrorBody{}}, `{"type":"error","error":{"type":"api_error","message":"scripted error 500"},"request_id":"req_000000000000000000000001"}`},
		{
			messagesPath,
			fakellm.Turn{Status: 400, Error: &fakellm.ErrorBody{Message: "no", Details: []byte(`{"error_code":"x"}`)}},
			`{"type":"error","error":{"details":{"error_code":"x"},"type":"invalid_request_error","message":"no"},"request_id":"req_000000000000000000000001"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakellm.WithScript(tt.turn))
			got := send(t, http.DefaultClient, s.URL()+tt.path, `{"stream":true}`)
			status := tt.turn.Status
			if status == 0 {
				status = http.StatusInternalServerError
			}
			if got.StatusCode != status || got.body != tt.want || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("status %d, %s\n got %s\nwant %s", got.StatusCode, got.Header.Get("Content-Type"), got.body, tt.want)
			}
			if after := got.Header.Get("Retry-After"); (after == "7") != (tt.turn.RetryAfter == 7) {
				t.Errorf("retry-after %q", after)
			}
		})
	}
}

// TestOtherErrors covers the error bodies of the other dialects.
func TestOtherErrors(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/responses":                    `{"error":{"message":"scripted error 503","type":"server_error","param":null,"code":null}}`,
		"/v1beta/models/m:generateContent": `{"error":{"code":503,"message":"scripted error 503","status":"UNAVAILABLE"}}`,
		"/model/vendor.model-x/converse":   `{"message":"scripted error 503"}`,
	} {
		s := start(t, fakellm.WithScript(fakellm.Turn{Status: 503}))
		if got := send(t, http.DefaultClient, s.URL()+path, `{}`); got.StatusCode != 503 || got.body != want {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}

// TestOtherStreams covers the streams of the other dialects.
func TestOtherStreams(t *testing.T) {
	t.Parallel()
	turn := fakellm.Turn{ID: "x", DeltaRunes: 3, Usage: &fakellm.Usage{Input: 1, Output: 2}, Blocks: []fakellm.Block{
		fakellm.Thinking("hm", "c2ln"), fakellm.Text("hello"), fakellm.ToolID("c1", "f", `{"a":1}`),
	}}
	s := start(t, fakellm.WithScript(turn, turn))
	var types []string
	for i, e := range readSSE(t, send(t, http.DefaultClient, s.URL()+"/v1/responses", `{"stream":true}`).body) {
		types = append(types, e.name)
		if !strings.HasPrefix(e.data, fmt.Sprintf(`{"type":"%s","sequence_number":%d,`, e.name, i)) {
			t.Errorf("event %d: %s", i, e.data)
		}
	}
	want := "response.created response.in_progress response.output_item.added response.output_item.done response.output_item.added " +
		"response.content_part.added response.output_text.delta response.output_text.delta response.output_text.done response.content_part.done " +
		"response.output_item.done response.output_item.added response.function_call_arguments.delta response.function_call_arguments.delta " +
		"response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("events %s", got)
	}
	var chunks []string
	for _, e := range readSSE(t, send(t, http.DefaultClient, s.URL()+"/v1/models/m:streamGenerateContent?alt=sse", `{}`).body) {
		chunks = append(chunks, strings.SplitN(strings.TrimPrefix(e.data, `{"candidates":[`), `,"usageMetadata"`, 2)[0])
	}
	want = `{"content":{"parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"}],"role":"model"},"index":0}]
{"content":{"parts":[{"text":"hel"}],"role":"model"},"index":0}]
{"content":{"parts":[{"text":"lo"}],"role":"model"},"index":0}]
{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1},"id":"c1"}}],"role":"model"},"finishReason":"STOP","index":0}]`
	if got := strings.Join(chunks, "\n"); got != want {
		t.Errorf("chunks\n%s", got)
	}
}

// TestPaths covers the paths that are served and what they answer.
func TestPaths(t *testing.T) {
	t.Parallel()
	const vertex = "/v1/projects/p/locations/l/publishers/anthropic/models/"
	tests := []struct {
		path, body, contentType, want string
		kind                          fakellm.Kind
	}{
		{vertex + "claude-v:rawPredict", `{"anthropic_version":"vertex"}`, "application/json", `"model":"claude-v"`, fakellm.KindMessages},
		{vertex + "claude-v:streamRawPredict", `{"anthropic_version":"vertex"}`, "text/event-stream; charset=utf-8", `"model":"claude-v"`, fakellm.KindMessages},
		{vertex + "count-tokens:rawPredict", `{"model":"claude-v"}`, "application/json", `{"input_tokens":5}`, fakellm.KindCount},
		{"/model/anthropic.claude-x%3A0/invoke", `{"anthropic_version":"bedrock-2023-05-31","stream":true}`, "application/json", `"model":"anthropic.claude-x:0"`, fakellm.KindMessages},
		{"/p/v1/messages/count_tokens?beta=true", `{"messages":["0123456789"]}`, "application/json", `{"input_tokens":6}`, fakellm.KindCount},
		{"/v1/responses", `{"model":"gpt-r","tools":[{"name":"f"}]}`, "application/json", `"tools":[{"name":"f"}],"usage":{"input_tokens":`, fakellm.KindResponses},
		{"/v1/responses", `{"model":"gpt-r","stream":true}`, "text/event-stream; charset=utf-8", `"model":"gpt-r"`, fakellm.KindResponses},
		{"/v1beta/models/gem-x:generateContent", `{}`, "application/json", `"modelVersion":"gem-x"`, fakellm.KindGemini},
		{"/v1beta/models/gem-x:streamGenerateContent?alt=sse", `{}`, "text/event-stream; charset=utf-8", `"finishReason":"STOP"`, fakellm.KindGemini},
		{"/v1beta/models/gem-x:streamGenerateContent", `{}`, "application/json", "}\n]\n", fakellm.KindGemini},
		{"/model/vendor.model-x/converse", `{"stream":true}`, "application/json", `"stopReason":"end_turn"`, fakellm.KindConverse},
		{"/v1/embeddings", `{"input":"x"}`, "application/json", `"length":13,"sha256":"b70f6e1e`, fakellm.KindOther},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			got := send(t, http.DefaultClient, s.URL()+tt.path, tt.body)
			if !strings.Contains(got.body, tt.want) || got.Header.Get("Content-Type") != tt.contentType {
				t.Errorf("%s %s\nwant %s in it", got.Header.Get("Content-Type"), got.body, tt.want)
			}
			if last := s.Last(); last.Kind != tt.kind || last.Target != tt.path {
				t.Errorf("recorded %s %s", last.Kind, last.Target)
			}
		})
	}
}
