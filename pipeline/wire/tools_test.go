package wire

import "testing"

// The golden files of pipeline/expand/tool show what becomes of tools.

func TestKept(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		dialect Dialect
		body    string
		want    bool
	}{
		{OpenAIResponses, `{"input":"hi"}`, true},
		{OpenAIResponses, `{"input":"hi","store":true}`, true},
		{OpenAIResponses, `{"input":"hi","store":null}`, true},
		{OpenAIResponses, `{"input":"hi","store":"false"}`, true},
		{OpenAIResponses, `{"store":false,"input":"hi"}`, false},
		{OpenAIResponses, `{"input":"hi","store": false }`, false},
		{OpenAIResponses, `{"store":false,"input":"hi","store":false}`, true},
		{AnthropicMessages, `{` + messages + `}`, false},
		{AnthropicMessages, `{` + messages + `,"thread":{"type":"create"}}`, true},
		{AnthropicMessages, `{` + messages + `,"thread":null}`, false},
		{OpenAIChat, `{` + messages + `,"store":true}`, false}, // kept to be looked at, never continued
	} {
		got, err := NewParser(Limits{}).Parse(c.dialect, []byte(c.body))
		if err != nil || got.Kept != c.want {
			t.Errorf("%s %s: %v, %v, want %v", c.dialect, c.body, got.Kept, err, c.want)
		}
	}
}

func TestSeveral(t *testing.T) {
	t.Parallel()
	const (
		messages = `"messages":[{"role":"user","content":"hi"}]`
		contents = `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	)
	for _, c := range []struct {
		dialect Dialect
		body    string
		want    bool
	}{
		{OpenAIChat, `{` + messages + `}`, false},
		{OpenAIChat, `{` + messages + `,"n":1}`, false},
		{OpenAIChat, `{"n":null,` + messages + `}`, false},
		{OpenAIChat, `{"n":2,` + messages + `}`, true},
		{OpenAIChat, `{"n":2,` + messages + `,"n":1}`, true},
		{OpenAIChat, `{"x":{"n":2},` + messages + `}`, false},
		{OpenAIChat, `{"candidateCount":2,` + messages + `}`, false},
		{AnthropicMessages, `{"n":2,` + messages + `}`, false},
		{Gemini, `{` + contents + `,"generationConfig":{"temperature":1,"candidateCount":1}}`, false},
		{Gemini, `{"generationConfig":{"x":{"candidateCount":2}},` + contents + `}`, false},
		{Gemini, `{"generationConfig":[],` + contents + `}`, false},
		{Gemini, `{"generationConfig":{"candidateCount":2},` + contents + `}`, true},
		{Gemini, `{` + contents + `,"generation_config":{"candidate_count":3}}`, true},
	} {
		got, err := NewParser(Limits{}).Parse(c.dialect, []byte(c.body))
		if err != nil || got.Several != c.want {
			t.Errorf("%s %s: %+v, %v, want %v", c.dialect, c.body, got, err, c.want)
		}
	}
}
