package wire

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/contextguru/contextguru/pipeline"
)

var update = flag.Bool("update", false, "write the transcripts of testdata anew")

// golden is one file of testdata: a comment, body.json and want.
type golden struct {
	path    string
	archive *txtar.Archive
	dialect Dialect
}

func goldens(tb testing.TB) []golden {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no goldens: %v", err)
	}
	var out []golden
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		g := golden{path, archive, AnthropicMessages}
		for prefix, d := range map[string]Dialect{"openai": OpenAIChat, "responses": OpenAIResponses, "gemini": Gemini, "converse": BedrockConverse} {
			if strings.HasPrefix(filepath.Base(path), prefix) {
				g.dialect = d
			}
		}
		out = append(out, g)
	}
	return out
}

func (g *golden) body() []byte { return g.archive.Files[0].Data }

// describe writes a transcript down, one line per segment.
func describe(t *pipeline.Transcript) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model=%s stream=%v messages=%d turn=%d", t.Model, t.Stream, t.Messages, t.Turn)
	if t.ServerHeld {
		b.WriteString(" held")
	}
	b.WriteByte('\n')
	for i := range t.Segments {
		s := &t.Segments[i]
		fmt.Fprintf(&b, "#%d turn=%d tool=%s args=%s", s.Index, s.Turn, s.Tool, s.Args)
		if s.IsError {
			b.WriteString(" error")
		}
		if text, ok := t.Original(i); ok {
			quoted := strconv.Quote(text)
			fmt.Fprintf(&b, " text=%s\n", quoted[1:len(quoted)-1])
		} else {
			b.WriteString(" no exact text\n")
		}
	}
	return b.String()
}

func TestParseGolden(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t) {
		t.Run(filepath.Base(g.path), func(t *testing.T) {
			t.Parallel()
			checkOracle(t, g.dialect, g.body())
			got, err := NewParser(Limits{}).Parse(g.dialect, g.body())
			if err != nil {
				t.Fatal(err)
			}
			want := &g.archive.Files[1].Data
			if diff := cmp.Diff(string(*want), describe(got)); diff != "" && !*update {
				t.Errorf("transcript (-want +got):\n%s", diff)
			} else if *update {
				*want = []byte(describe(got))
				if err := os.WriteFile(g.path, txtar.Format(g.archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"nothing", "", NotJSON},
		{"white space", " \n", NotJSON},
		{"byte order mark", "\ufeff{\"messages\":[]}", NotJSON},
		{"cut off", `{"messages":[{"role":"tool","content":"x`, NotJSON},
		{"cut off behind a list", `{"messages":[]`, NotJSON},
		{"bare control character", "{\"messages\":[{\"content\":\"a\x01\"}]}", NotJSON},
		{"bad escape", `{"messages":[{"content":"\q"}]}`, NotJSON},
		{"leading zero", `{"messages":[],"n":007}`, NotJSON},
		{"NaN", `{"messages":[],"n":NaN}`, NotJSON},
		{"comma at the end", `{"messages":[],}`, NotJSON},
		{"number as key", `{1:2}`, NotJSON},
		{"wrong bracket", `{"messages":[}`, NotJSON},
		{"single quotes", `{'messages':[]}`, NotJSON},
		{"form", "model=x&stream=true", NotJSON},
		{"two values", `{"messages":[]} {"messages":[]}`, TrailingData},
		{"garbage behind", `{"messages":[]}x`, TrailingData},
		{"NUL behind", "{\"messages\":[]}\x00", TrailingData},
		{"list", `[{"messages":[]}]`, NotAnObject},
		{"string", `"messages"`, NotAnObject},
		{"number", `12`, NotAnObject},
		{"null", `null`, NotAnObject},
		{"messages twice", `{"messages":[],"messages":[]}`, AmbiguousKeys},
		{"messages twice, once spelled", `{"messages":[],"\u006dessages":[]}`, AmbiguousKeys},
		{"model twice", `{"model":"a","messages":[],"model":"a"}`, AmbiguousKeys},
		{"stream twice", `{"stream":true,"messages":[],"stream":null}`, AmbiguousKeys},
		{"no messages", `{"model":"x","prompt":"y"}`, NoMessages},
		{"messages is no list", `{"messages":{"role":"tool","content":"x"}}`, NoMessages},
		{"messages is null", `{"messages":null}`, NoMessages},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, d := range []Dialect{OpenAIChat, AnthropicMessages} {
				got, err := NewParser(Limits{}).Parse(d, []byte(tc.body))
				if got != nil || err == nil || reasonOf(t, err) != tc.want {
					t.Errorf("Parse(%s) = %v, %v, want %s", d, got, err, tc.want)
				}
			}
		})
	}
}

func TestParseRefusesByDialect(t *testing.T) {
	t.Parallel()
	for d, bodies := range map[Dialect]map[string]string{
		OpenAIResponses: {
			`{"model":"x","prompt":"y"}`: NoMessages,
			`{"input":null}`:             NoMessages,
			`{"input":{"type":"function_call_output","output":"x"}}`: NoMessages,
			`{"messages":[]}`:                                             NoMessages,
			`{"input":[],"input":"x"}`:                                    AmbiguousKeys,
			`{"input":[],"model":"a","\u006dodel":"b"}`:                   AmbiguousKeys,
			`{"input":[],"stream":true,"stream":true}`:                    AmbiguousKeys,
			`{"input":[],"conversation":null,"conversation":null}`:        "",
			`{"input":"Go."}`:                                             "",
			`{"input":[]}{}`:                                              TrailingData,
			`{"input":[{"type":"function_call_output","output":["x"]]}`:   NotJSON,
			`{"input":[{"type":"function_call_output","output":[{"a":1]}`: NotJSON,
		},
		Gemini: {
			`{"messages":[]}`:                           NoMessages,
			`{"contents":"Go."}`:                        NoMessages,
			`{"instances":[]}`:                          NoMessages,
			`{"request":[{"contents":[]}]}`:             NoMessages,
			`{"request":{"request":{"contents":[]}}}`:   NoMessages,
			`{"contents":[],"contents":[]}`:             AmbiguousKeys,
			`{"contents":[],"request":{"contents":[]}}`: AmbiguousKeys,
			`{"request":{"contents":[]},"generateContentRequest":{"contents":1}}`:      AmbiguousKeys,
			`{"request":{"contents":[],"contents":[]}}`:                                AmbiguousKeys,
			`{"request":{"contents":[]},"request":{}}`:                                 AmbiguousKeys,
			`{"generateContentRequest":{"contents":[]},"generate_content_request":{}}`: AmbiguousKeys,
			`{"model":"a","request":{"model":"b","contents":[]}}`:                      "",
			`{"contents":{}}`: "",
			`{"contents":[{"parts":[{"functionResponse":{"response":{"a":[1}}}]}]}`: NotJSON,
		},
		BedrockConverse: {
			`{"inputText":"Go."}`:                                               NoMessages,
			`{"messages":"Go."}`:                                                NoMessages,
			`{"messages":{}}`:                                                   NoMessages,
			`{"converse":{"messages":[]}}`:                                      NoMessages,
			`{"input":{"invokeModel":{"body":"e30="}}}`:                         NoMessages,
			`{"input":{"messages":[]}}`:                                         NoMessages,
			`{"input":"x","messages":[]}`:                                       "",
			`{"messages":[],"messages":[]}`:                                     AmbiguousKeys,
			`{"messages":[],"input":{"converse":{"messages":[]}}}`:              AmbiguousKeys,
			`{"input":{"converse":{"messages":[]},"converse":{}}}`:              AmbiguousKeys,
			`{"messages":[{"content":[{"toolResult":{"content":[{"json":}]}}]}`: NotJSON,
		},
	} {
		for body, want := range bodies {
			t.Run(string(d)+" "+body, func(t *testing.T) {
				t.Parallel()
				checkOracle(t, d, []byte(body))
				got, err := NewParser(Limits{}).Parse(d, []byte(body))
				switch {
				case want == "" && err != nil:
					t.Error(err)
				case want != "" && (err == nil || got != nil || reasonOf(t, err) != want):
					t.Errorf("Parse = %v, %v, want %s", got, err, want)
				}
			})
		}
	}
}

// TestServerHeld lists what says that the provider keeps some of the history.
func TestServerHeld(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		d    Dialect
		body string
		want bool
	}{
		{OpenAIResponses, `{"input":[]}`, false},
		{OpenAIResponses, `{"input":[],"previous_response_id":null,"conversation":null,"store":true}`, false},
		{OpenAIResponses, `{"previous_response_id":"resp_1","input":"Go."}`, true},
		{OpenAIResponses, `{"input":[],"\u0063onversation":{"id":"conv_1"}}`, true},
		{OpenAIResponses, `{"input":[],"conversation":"conv_1","conversation":null}`, true},
		{OpenAIResponses, `{"input":[{"type":"item_reference","id":"msg_1"}]}`, true},
		{OpenAIResponses, `{"input":[{"id":"msg_1"}]}`, true},
		{OpenAIResponses, `{"input":[{"id":"msg_1","role":"user","content":"x"}]}`, false},
		{OpenAIResponses, `{"input":[{"id":"msg_1","type":"message"}]}`, false},
		{AnthropicMessages, `{"messages":[],"thread":{"type":"create"}}`, false},
		{AnthropicMessages, `{"messages":[],"thread":{"type":"continue","previous_message_id":"msg_1"}}`, true},
		{AnthropicMessages, `{"thread":{"previous_message_id":null},"messages":[]}`, false},
		{AnthropicMessages, `{"messages":[],"thread":"x","previous_message_id":"msg_1"}`, false},
		{AnthropicMessages, `{"messages":[{"thread":{"previous_message_id":"msg_1"}}]}`, false},
		{OpenAIChat, `{"messages":[],"previous_response_id":"x","thread":{"previous_message_id":"msg_1"}}`, false},
		{Gemini, `{"contents":[],"cachedContent":null}`, false},
		{Gemini, `{"contents":[],"cachedContent":"cachedContents/1"}`, true},
		{Gemini, `{"request":{"contents":[],"cached_content":"cachedContents/1"}}`, true},
		{BedrockConverse, `{"messages":[],"conversation":"x"}`, false},
	} {
		checkOracle(t, tc.d, []byte(tc.body))
		if got := mustParse(t, tc.d, []byte(tc.body)); got.ServerHeld != tc.want {
			t.Errorf("%s: %s: held %v", tc.d, tc.body, got.ServerHeld)
		}
	}
}

func TestParseTrailingSpace(t *testing.T) {
	t.Parallel()
	got, err := NewParser(Limits{}).Parse(OpenAIChat, []byte("\r\n\t {\"messages\":[]} \r\n\t "))
	if err != nil || got.Messages != 0 {
		t.Fatalf("Parse = %+v, %v", got, err)
	}
}

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	const ours = `{"anthropic_version":"vertex-2023-10-16","messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`
	p := NewParser(Limits{})
	got, err := p.Parse(AnthropicPlatform, []byte(ours))
	if err != nil || len(got.Segments) != 1 {
		t.Errorf("with anthropic_version: %+v, %v", got, err)
	}
	_, err = p.Parse(AnthropicPlatform, []byte(strings.Replace(ours, "anthropic_version", "version", 1)))
	if err == nil || reasonOf(t, err) != NoAnthropicVersion {
		t.Errorf("without anthropic_version: %v", err)
	}
	if _, err = p.Parse("cohere.chat", []byte(ours)); err == nil || reasonOf(t, err) != UnknownDialect {
		t.Errorf("with a dialect nobody knows: %v", err)
	}
}

// TestErrorHoldsNoContent matters because the error is logged.
func TestErrorHoldsNoContent(t *testing.T) {
	t.Parallel()
	_, err := NewParser(Limits{}).Parse(OpenAIChat, []byte(`{"messages":[{"hunter2":"hunter2`))
	if err == nil || strings.Contains(err.Error(), "hunter2") || err.Error() != "read request body: not_json at byte 32" {
		t.Errorf("error %q", err)
	}
}
