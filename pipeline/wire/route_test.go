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
		{"/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict?x", AnthropicPlatform},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/:rawPredict", none},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m:predict", none},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/m/n:rawPredict", none},
		{"/v1/projects/p/locations/l/publishers/google/models/gemini:rawPredict", none},
		{"/model/anthropic.some-model-v2:0/invoke", AnthropicPlatform},
		{"/model/anthropic.some-model-v2%3A0/invoke-with-response-stream", AnthropicPlatform},
		{"/prefix/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Feu.some/invoke", AnthropicPlatform},
		{"/model//invoke", none},
		{"/model/m/converse", none},
		{"/v1/responses", none},
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
