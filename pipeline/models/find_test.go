package models

import (
	"strings"
	"testing"
)

func embedded(tb testing.TB) *Map {
	tb.Helper()
	m, err := Snapshot()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func parsed(t *testing.T, lines ...string) *Map {
	t.Helper()
	m, err := Parse(textHeader + strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFindInSnapshot holds the entry that ids in real use lead to. An empty
// name is a model that must stay unknown.
func TestFindInSnapshot(t *testing.T) {
	t.Parallel()
	m := embedded(t)
	for _, c := range []struct {
		id, name string
		window   int
	}{
		// Anthropic, as its own API and as gateways spell it.
		{"claude-sonnet-4-5", "claude-sonnet-4-5", 200000},
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929", 200000},
		{" Claude-Sonnet-4-5\n", "claude-sonnet-4-5", 200000},
		{"claude-sonnet-4-5[1m]", "claude-sonnet-4-5", 200000},
		{"claude-sonnet-4-5-latest", "claude-sonnet-4-5", 200000},
		{"claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001", 200000},
		{"claude-opus-4-6", "claude-opus-4-6", 1000000},
		{"claude-opus-4-1-20250805", "anthropic.claude-opus-4-1-20250805-v1:0", 200000},
		{"claude-sonnet-4-20250514", "anthropic.claude-sonnet-4-20250514-v1:0", 200000},
		{"claude-3-7-sonnet-20250219", "anthropic.claude-3-7-sonnet-20250219-v1:0", 200000},
		{"claude-3-5-haiku-20241022", "anthropic.claude-3-5-haiku-20241022-v1:0", 200000},
		{"claude-3-5-sonnet-latest", "vercel_ai_gateway/anthropic/claude-3-5-sonnet", 200000},
		{"claude-opus-latest", "claude-opus-latest", 1000000},
		{"anthropic/claude-sonnet-4-5", "claude-sonnet-4-5", 200000},
		{"anthropic/claude-sonnet-4.5", "claude-sonnet-4-5", 200000},
		{"openrouter/anthropic/claude-sonnet-4.5:beta", "claude-sonnet-4-5", 200000},
		{"github_copilot/claude-sonnet-5.5", "github_copilot/claude-sonnet-5.5", 200000},
		// Bedrock.
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1%3A0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000},
		{"eu.anthropic.claude-sonnet-4-20250514-v1:0", "eu.anthropic.claude-sonnet-4-20250514-v1:0", 200000},
		{"apac.anthropic.claude-sonnet-4-20250514-v1:0", "apac.anthropic.claude-sonnet-4-20250514-v1:0", 200000},
		{"global.anthropic.claude-sonnet-4-5-20250929-v1:0", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000},
		{"sa.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0", 200000},
		{"anthropic.claude-sonnet-4-5-20250929-v9:0", "claude-sonnet-4-5-20250929", 200000},
		{"anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic.claude-3-5-sonnet-20241022-v2:0", 200000},
		{"bedrock/us.anthropic.claude-opus-4-1-20250805-v1:0", "us.anthropic.claude-opus-4-1-20250805-v1:0", 200000},
		{"bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000},
		{
			"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
			"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000,
		},
		{"arn:aws:bedrock:us-west-2::foundation-model/anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic.claude-3-5-sonnet-20241022-v2:0", 200000},
		{"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4", "", 0},
		{"amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0", 300000},
		{"us.amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0", 300000},
		{"us.meta.llama4-maverick-17b-instruct-v1:0", "us.meta.llama4-maverick-17b-instruct-v1:0", 1000000},
		{"openai.gpt-oss-120b-1:0", "openai.gpt-oss-120b-1:0", 128000},
		// Vertex and Gemini.
		{"claude-sonnet-4-5@20250929", "vertex_ai/claude-sonnet-4-5@20250929", 200000},
		{"vertex_ai/claude-sonnet-4-5@20250929", "vertex_ai/claude-sonnet-4-5@20250929", 200000},
		{"claude-haiku-4-5@19990101", "claude-haiku-4-5", 200000},
		{"publishers/anthropic/models/claude-sonnet-4-5@20250929", "vertex_ai/claude-sonnet-4-5@20250929", 200000},
		{"projects/p/locations/us-east5/publishers/anthropic/models/claude-haiku-4-5", "claude-haiku-4-5", 200000},
		{"models/gemini-2.5-pro", "gemini-2.5-pro", 1048576},
		{"gemini/gemini-2.5-flash", "gemini/gemini-2.5-flash", 1048576},
		{"google/gemini-2.5-pro", "gemini-2.5-pro", 1048576},
		{"publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash", 1048576},
		{"gemini-2.5-pro-preview-05-06", "gemini-2.5-pro", 1048576},
		{"gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite-preview-09-2025", 1048576},
		{"gemini-2.5-pro-002", "gemini-2.5-pro", 1048576},
		// OpenAI and Azure.
		{"gpt-4o", "gpt-4o", 128000},
		{"gpt-4o-2024-08-06", "gpt-4o-2024-08-06", 128000},
		{"gpt-4o-2031-12-31", "gpt-4o", 128000},
		{"gpt-4.1-mini-2025-04-14", "gpt-4.1-mini-2025-04-14", 1047576},
		{"gpt-5", "gpt-5", 272000},
		{"gpt-5-2025-08-07", "gpt-5-2025-08-07", 272000},
		{"gpt-5.1-codex", "gpt-5.1-codex", 400000},
		{"openai/gpt-4o", "gpt-4o", 128000},
		{"openai/gpt-5:online", "gpt-5", 272000},
		{"azure/gpt-4o", "azure/gpt-4o", 128000},
		{"azure/eu/gpt-4o-2024-08-06", "azure/eu/gpt-4o-2024-08-06", 128000},
		{"gpt-4", "gpt-4", 8192},
		{"gpt-4-0613", "gpt-4-0613", 8192},
		{"gpt-4-turbo-preview", "gpt-4-turbo", 128000},
		{"gpt-4-0125-preview", "azure/gpt-4-0125-preview", 128000},
		{"o1", "o1", 200000},
		{"o4-mini-2025-04-16", "o4-mini-2025-04-16", 200000},
		{"ft:gpt-4o-mini-2024-07-18:acme::AbC123", "ft:gpt-4o-mini-2024-07-18", 128000},
		{"ft:gpt-5-2025-08-07:acme:name:id", "gpt-5-2025-08-07", 272000},
		{"azure/my-deployment", "", 0},
		{"gpt-4-vision-preview", "", 0},
		{"gpt-4.5-preview", "", 0},
		{"gpt-45", "", 0},
		// Others, by their maker where the map has it.
		{"deepseek-chat", "deepseek-chat", 131072},
		{"deepseek-ai/DeepSeek-V3", "deepseek/deepseek-v3", 65536},
		{"mistral-large-latest", "mistral/mistral-large-latest", 262144},
		{"mistralai/codestral-latest", "mistral/codestral-latest", 128000},
		{"z-ai/glm-4.6", "zai/glm-4.6", 200000},
		{"zai-org/GLM-4.6", "zai/glm-4.6", 200000},
		{"moonshotai/kimi-k2.5", "moonshot/kimi-k2.5", 262144},
		{"x-ai/grok-4.6", "xai/grok-4.6", 500000},
		{"minimax/minimax-m2", "minimax/MiniMax-M2", 200000},
		{"qwen3-coder-plus", "dashscope/qwen3-coder-plus", 997952},
		{"command-r-plus", "command-r-plus-08-2024", 128000},
		{"groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b", 131072},
		{"accounts/fireworks/models/llama-v3p1-70b-instruct", "fireworks_ai/accounts/fireworks/models/llama-v3p1-70b-instruct", 131072},
		{"llama3:8b", "ollama/llama3:8b", 8192},
		{"llama3.1:8b", "", 0},
		// Nothing to go by.
		{"", "", 0},
		{"/", "", 0},
		{"models/", "", 0},
		{"-latest", "", 0},
		{":free", "", 0},
		{"@", "", 0},
		{"[1m]", "", 0},
		{"ft:", "", 0},
		{"claude", "", 0},
		{"gpt", "", 0},
		{"my-model", "", 0},
		{"sample_spec", "", 0},
		{strings.Repeat("x/", 200) + "gpt-4o", "", 0},
	} {
		got, ok := m.Find(c.id)
		if ok != (c.name != "") || got.Name != c.name || got.Window != c.window {
			t.Errorf("%q: got %q with %d, %t; want %q with %d", c.id, got.Name, got.Window, ok, c.name, c.window)
		}
	}
}

// TestFindEveryEntry looks for each id of the snapshot, as it is and in the
// spellings that must not lose it.
func TestFindEveryEntry(t *testing.T) {
	t.Parallel()
	m := embedded(t)
	for x := range m.All() {
		for _, id := range []string{x.Name, strings.ToUpper(x.Name), "somebody/" + x.Name, " " + x.Name} {
			got, ok := m.Find(id)
			if !ok || got != x && got.Name == x.Name {
				t.Fatalf("%q: got %+v, %t", id, got, ok)
			}
			if got.Name != x.Name {
				t.Errorf("%q: got %q", id, got.Name)
			}
		}
	}
}

// TestFindRules shows each rule on a few lines that do not change.
func TestFindRules(t *testing.T) {
	t.Parallel()
	m := parsed(t,
		"claude-a-1-20250101\tanthropic\t100\t-\t1",
		"claude-a-1-20250601\tanthropic\t200\t-\t1",
		"eu.anthropic.claude-a-1-20250601-v1:0\tbedrock_converse\t201\t-\t1.1",
		"vertex_ai/claude-a-1@20250601\tvertex_ai-anthropic_models\t202\t-\t1",
		"reseller/anthropic/claude-a.1\treseller\t203\t-\t0.5",
		"claude-b\tanthropic",
		"claude-b-preview\tanthropic\t300\t-\t1",
		"one/open-7b\tone\t10\t-\t1",
		"two/open-7b\ttwo\t40000000\t-\t1",
		"three/lab/Open_7B\tthree\t20\t-\t1",
		"four/open-7b\tfour\t20\t-\t3",
		"five/open-7b\tfive",
		"host/accounts/host/models/open-7b\thost\t30\t-\t1",
		"gpt-4\topenai\t8\t-\t1",
	)
	for _, c := range []struct{ rule, id, name string }{
		{"the full id", "reseller/anthropic/claude-a.1", "reseller/anthropic/claude-a.1"},
		{"the id by its provider", "anthropic/claude-a-1-20250101", "claude-a-1-20250101"},
		{"the maker's newest", "claude-a-1", "claude-a-1-20250601"},
		{"dots are dashes", "elsewhere/claude-a.1", "claude-a-1-20250601"},
		{"a region the map lacks", "us.anthropic.claude-a-1-20250601-v1:0", "eu.anthropic.claude-a-1-20250601-v1:0"},
		{"without region, vendor and revision", "us.anthropic.claude-a-1-20250101-v1:0", "claude-a-1-20250101"},
		{"without the date", "claude-a-1-20250301", "claude-a-1-20250601"},
		{"the longest match", "vertex_ai/claude-a-1@20250601", "vertex_ai/claude-a-1@20250601"},
		{"an at", "claude-a-1-20250101@default", "claude-a-1-20250101"},
		{"an id that is there counts, complete or not", "claude-b", "claude-b"},
		{"the middle of those that rank alike", "open-7b", "four/open-7b"},
		{"three segments of a path", "accounts/host/models/open-7b", "host/accounts/host/models/open-7b"},
		{"a name is not completed", "gpt-4-vision", ""},
		{"a number is not a revision", "gpt-4-32k", ""},
		{"what precedes a last word stays", "gpt-4-0125-preview", ""},
		{"a tag with a number names the model", "open-7b:8b", ""},
		{"no such day", "claude-a-1-20251341", ""},
	} {
		if got, ok := m.Find(c.id); got.Name != c.name || ok != (c.name != "") {
			t.Errorf("%s: %q: got %q, %t; want %q", c.rule, c.id, got.Name, ok, c.name)
		}
	}
}

// TestFindPrefersWhatIsComplete wants an entry that can be used over a longer
// match of a name that tells nothing.
func TestFindPrefersWhatIsComplete(t *testing.T) {
	t.Parallel()
	m := parsed(t, "a/m-1-latest\ta", "b/m-1\tb\t5\t-\t1", "a/n-1-latest\ta")
	for id, want := range map[string]string{"m-1-latest": "b/m-1", "a/m-1-latest": "a/m-1-latest", "n-1-latest": "a/n-1-latest"} {
		if got, _ := m.Find(id); got.Name != want {
			t.Errorf("%q: got %q, want %q", id, got.Name, want)
		}
	}
}

func TestReductions(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"us-gov.anthropic.claude-x-20250101-v1:0:200k": "us-gov.anthropic.claude-x-20250101-v1:0:200k anthropic.claude-x-20250101-v1:0:200k " +
			"anthropic.claude-x-20250101 anthropic.claude-x",
		"anthropic.claude-v2:1":            "anthropic.claude-v2:1",
		"openai.gpt-oss-20b-1:0":           "openai.gpt-oss-20b-1:0 openai.gpt-oss-20b",
		"gemini-9-flash-preview-09-2025":   "gemini-9-flash-preview-09-2025 gemini-9-flash-preview gemini-9-flash",
		"gemini-9-pro-preview-05-06":       "gemini-9-pro-preview-05-06 gemini-9-pro-preview gemini-9-pro",
		"gpt-9-2031-08-07":                 "gpt-9-2031-08-07 gpt-9",
		"mistral-2411":                     "mistral-2411 mistral",
		"glm-4-7-251222":                   "glm-4-7-251222 glm-4-7",
		"claude-3-5-sonnet":                "claude-3-5-sonnet",
		"qwen2.5-coder-32b":                "qwen2.5-coder-32b",
		"kimi-latest:free":                 "kimi-latest:free kimi-latest kimi",
		"ft:gpt-4-0613":                    "ft:gpt-4-0613 ft:gpt-4",
		"gpt-4.1":                          "gpt-4.1",
		"x-latest-preview":                 "x-latest-preview x-latest",
		"20250101":                         "20250101",
		"-001":                             "-001",
		"model-9999":                       "model-9999",
		"":                                 "",
		"eu.x":                             "eu.x",
		"us.amazon.nova-2-lite-v1:0@x[1m]": "us.amazon.nova-2-lite-v1:0@x[1m] amazon.nova-2-lite-v1:0@x[1m] amazon.nova-2-lite-v1:0@x amazon.nova-2-lite-v1:0 amazon.nova-2-lite",
	} {
		var got []string
		for short := range reductions(id) {
			got = append(got, short)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%q:\n got %s\nwant %s", id, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, id := range []string{
		"gpt-4o", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "models/gemini-2.5-pro", "claude@x", "a/b/c/d:e", "ft:gpt-4o:x", "%zz", "[", "x-01-01", "é.É-001",
	} {
		f.Add(id)
	}
	m := embedded(f)
	f.Fuzz(func(t *testing.T, id string) {
		got, ok := m.Find(id)
		if again, and := m.Find(id); again != got || and != ok {
			t.Fatalf("%q: got %+v, then %+v", id, got, again)
		}
		if !ok {
			return
		}
		if same, ok := m.Find(got.Name); !ok || same != got {
			t.Fatalf("%q leads to %q, that to %q", id, got.Name, same.Name)
		}
		for short := range reductions(tidy(id)) {
			if len(short) > len(tidy(id)) {
				t.Fatalf("%q grew to %q", id, short)
			}
		}
	})
}
