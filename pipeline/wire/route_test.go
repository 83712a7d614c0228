package wire

import "testing"

func TestRoute(t *testing.T) {
	t.Parallel()
	const none = Dialect("")
	for _, tc := range []struct {
		path string
		want Dialect
	}{
		{"/v1/chat/completions", OpenAIChat},
		{"/chat/completions", OpenAIChat},
		{"/openai/deployments/gpt/chat/completions?api-version=2024-10-21", OpenAIChat},
		{"/some/gateway/v1/chat/completions?x=/messages", OpenAIChat},
		{"https://api.example.com/v1/chat/completions", OpenAIChat},
		{"/v1/chat%2Fcompletions", OpenAIChat},
		{"/v1/messages", AnthropicMessages},
		{"/v1/messages?beta=true", AnthropicMessages},
		{"/v1/messages/count_tokens?beta=true", AnthropicMessages},
		{"/proxy/anthropic/v1/messages", AnthropicMessages},
		{"/v1/messages%3Fbeta", none},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/some-model@2025:rawPredict", AnthropicPlatform},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/some-model%402025%3AstreamRawPredict", AnthropicPlatform},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict?x", AnthropicMessages},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/:rawPredict", none},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m:predict", none},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m/n:rawPredict", none},
		{"/v1/projects/p/locations/l/publishers/google/models/gemini:rawPredict", none},
		{"/model/anthropic.some-model-v2:0/invoke", AnthropicPlatform},
		{"/model/anthropic.some-model-v2%3A0/invoke-with-response-stream", AnthropicPlatform},
		{"/prefix/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Feu.some/invoke", AnthropicPlatform},
		{"/model//invoke", none},
		{"/model/m/converse", BedrockConverse},
		{"/model/m/converse-stream", BedrockConverse},
		{"/model/m/count-tokens", BedrockConverse},
		{"/gateway/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Feu.some%3A0/converse", BedrockConverse},
		{"/model//converse", none},
		{"/model/converse", none},
		{"/model/m/converse/", none},
		{"/model/m/async-invoke", none},
		{"/v1/responses", OpenAIResponses},
		{"/responses?x=1", OpenAIResponses},
		{"/openai/v1/responses?api-version=preview", OpenAIResponses},
		{"/v1/responses/input_tokens", OpenAIResponses},
		{"/v1/responses/compact", OpenAIResponses},
		{"/v1/responses/resp_1/cancel", none},
		{"/v1/responses/resp_1", none},
		{"/v1/auto-responses", none},
		{"/v1beta/models/some-model:generateContent", Gemini},
		{"/v1beta/models/some-model:streamGenerateContent?alt=sse", Gemini},
		{"/v1beta/models/some-model%3AcountTokens", Gemini},
		{"/v1beta/tunedModels/mine:generateContent", Gemini},
		{"/v1internal:streamGenerateContent", Gemini},
		{"/v1/projects/p/locations/l/publishers/google/models/some-model:streamGenerateContent", Gemini},
		{"/v1/projects/p/locations/l/endpoints/12:generateContent", Gemini},
		{"/some/gateway/v1/publishers/google/models/some-model:countTokens", Gemini},
		{"/v1beta/models/some-model:embedContent", none},
		{"/v1beta/models/some-model:batchGenerateContent", none},
		{"/v1beta/models/some-model/generateContent", none},
		{"/v1beta/models/some-model", none},
		{"/v1/completions", none},
		{"/v1/messages/", none},
		{"/v1/messages/batches", none},
		{"/v1/mymessages", none},
		{"/v1/embeddings", none},
		{"/%zz/v1/messages", AnthropicMessages},
		{"/", none},
		{"", none},
		{"*", none},
	} {
		got, ok := Route(tc.path)
		if got != tc.want || ok != (tc.want != none) {
			t.Errorf("Route(%q) = %q, %v, want %q", tc.path, got, ok, tc.want)
		}
	}
}

func TestModelInPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/chat/completions":                                                           "",
		"/openai/deployments/d/chat/completions":                                         "",
		"/v1/messages":                                                                   "",
		"/v1/responses":                                                                  "",
		"/v1beta/models/m-1.5:generateContent":                                           "m-1.5",
		"/v1beta/models/m:streamGenerateContent?":                                        "m",
		"/v1beta/tunedModels/t:generateContent":                                          "t",
		"/v1internal:generateContent":                                                    "",
		"/v1/projects/p/locations/l/endpoints/12:generateContent":                        "",
		"/v1/projects/p/locations/l/publishers/google/models/m@001:countTokens":          "m@001",
		"/v1/projects/p/locations/l/publishers/anthropic/models/m%40001:rawPredict":      "m@001",
		"/v1/projects/p/locations/l/publishers/anthropic/models/m@001:streamRawPredict":  "m@001",
		"/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict": "",
		"/model/vendor.m-v2:0/converse":                                                  "vendor.m-v2:0",
		"/model/vendor.m-v2%3A0/invoke":                                                  "vendor.m-v2:0",
		"/x/model/eu.vendor.m/converse-stream":                                           "eu.vendor.m",
		"/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Feu.vendor.m/converse": "eu.vendor.m",
		"/model/arn:aws:bedrock:eu:1:inference-profile/eu.vendor.m/invoke":               "eu.vendor.m",
		"/model/m/count-tokens":                                                          "m",
		"/model/m/unknown":                                                               "",
		"/":                                                                              "",
		"":                                                                               "",
	} {
		if got := ModelInPath(path); got != want {
			t.Errorf("ModelInPath(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestBinary(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/model/m/converse-stream":                        true,
		"/model/m%3A0/invoke-with-response-stream?x":      true,
		"/model/m/converse":                               false,
		"/model/m/invoke":                                 false,
		"/v1/messages":                                    false,
		"/v1beta/models/some-model:streamGenerateContent": false,
	} {
		if Binary(path) != want {
			t.Errorf("%s: %v, want %v", path, !want, want)
		}
	}
}

func TestAside(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/v1/messages/count_tokens?beta=true":                      true,
		"/v1/responses/input_tokens":                               true,
		"/v1/responses/compact":                                    true,
		"/model/m/count-tokens":                                    true,
		"/v1beta/models/some-model%3AcountTokens":                  true,
		"/publishers/anthropic/models/count-tokens:rawPredict":     true,
		"/v1/messages":                                             false,
		"/v1/responses?x=/compact":                                 false,
		"/v1/chat/completions":                                     false,
		"/model/m/converse":                                        false,
		"/v1beta/models/some-model:generateContent":                false,
		"/publishers/anthropic/models/some-model:streamRawPredict": false,
	} {
		if Aside(path) != want {
			t.Errorf("%s: %v, want %v", path, !want, want)
		}
	}
}
