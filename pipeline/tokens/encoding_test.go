package tokens

import (
	"testing"

	"github.com/pkoukk/tiktoken-go"
)

func TestEncodingFor(t *testing.T) {
	t.Parallel()
	o200k, cl100k := Encoding{Name: O200kBase}, Encoding{Name: CL100kBase}
	unknown := Encoding{Name: O200kBase, Approximate: true}
	for model, want := range map[string]Encoding{
		"gpt-4o": o200k, "gpt-4o-mini": o200k, "gpt-4o-2024-05-13": o200k, "chatgpt-4o-latest": o200k,
		"gpt-4.1": o200k, "gpt-4.1-nano-2025-04-14": o200k, "gpt-4.5-preview": o200k,
		"gpt-5": o200k, "gpt-5-mini": o200k, "gpt-5.1-codex-max": o200k, "gpt-5.2": o200k, "gpt-oss-120b": o200k,
		"o1": o200k, "o1-mini": o200k, "o3": o200k, "o3-pro-2025-06-10": o200k, "o4-mini": o200k,
		"codex-mini-latest": o200k,
		"gpt-4":             cl100k, "gpt-4-32k": cl100k, "gpt-4-turbo": cl100k, "gpt-4-0613": cl100k,
		"gpt-3.5-turbo": cl100k, "gpt-3.5-turbo-0125": cl100k, "gpt-35-turbo": cl100k, "gpt-35-turbo-16k": cl100k,
		"text-embedding-ada-002": cl100k, "text-embedding-3-small": cl100k, "text-embedding-3-large": cl100k,
		"davinci-002": cl100k, "babbage-002": cl100k,

		"openai/gpt-4o": o200k, "OpenAI/GPT-4": cl100k, " gpt-4o ": o200k, "azure/eu/gpt-35-turbo": cl100k,
		"ft:gpt-4o-mini-2024-07-18:org::id": o200k, "ft:gpt-3.5-turbo:org": cl100k, "gpt-4:free": cl100k,
		"openai.gpt-oss-20b-1:0": o200k,

		"": unknown, "claude-opus-4-5": unknown, "anthropic.claude-3-5-sonnet-20240620-v1:0": unknown,
		"gemini-2.5-pro": unknown, "models/gemini-2.5-pro": unknown, "text-embedding-004": unknown,
		"llama-3.1-70b": unknown, "o3x": unknown, "o10": unknown, "gpt-45": unknown, "gpt-4ox": unknown, "my-gpt-4": unknown,
		"text-davinci-003": unknown, "gpt2": unknown,
	} {
		if got := EncodingFor(model); got != want {
			t.Errorf("%q: got %+v, want %+v", model, got, want)
		}
	}
}

// TestEncodingForFollowsTheTable checks every model of tiktoken-go's table
// that has one of our encodings, alone and with a suffix where it allows one.
func TestEncodingForFollowsTheTable(t *testing.T) {
	t.Parallel()
	for model, name := range tiktoken.MODEL_TO_ENCODING {
		got := EncodingFor(model)
		if ours := name == O200kBase || name == CL100kBase; got.Approximate == ours || ours && got.Name != name {
			t.Errorf("%q: got %+v, the table says %s", model, got, name)
		}
	}
	for prefix, name := range tiktoken.MODEL_PREFIX_TO_ENCODING {
		if got := EncodingFor(prefix + "2025-01-01"); got != (Encoding{Name: name}) {
			t.Errorf("%q: got %+v, the table says %s", prefix, got, name)
		}
	}
}
