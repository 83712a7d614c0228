package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// fixed are the definitions for good: a change bills every conversation anew.
var fixed = map[wire.Dialect]string{
	wire.OpenAIChat:        `{"type":"function","function":{"name":"context_guru_expand","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex","parameters":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}}`,
	wire.OpenAIResponses:   `{"type":"function","name":"context_guru_expand","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex","parameters":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},"strict":false}`,
	wire.AnthropicMessages: `{"name":"context_guru_expand","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex","input_schema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`,
	wire.AnthropicPlatform: `{"name":"context_guru_expand","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex","input_schema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`,
	wire.Gemini:            `{"name":"context_guru_expand","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex","parameters":{"type":"OBJECT","properties":{"id":{"type":"STRING"}},"required":["id"]}}`,
	wire.BedrockConverse:   `{"toolSpec":{"name":"context_guru_expand","description":"If needed, read text omitted at <<cg:ID>>, lines ID:A-B or ID?regex","inputSchema":{"json":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}}}`,
}

func TestDefinitionIsFixed(t *testing.T) {
	t.Parallel()
	for dialect, want := range fixed {
		if got := tool.Definition(dialect); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", dialect, got, want)
		}
	}
	if got := tool.Definition("other"); got != "" {
		t.Errorf("an unknown dialect has the definition %s", got)
	}
}

func TestDefinitionCosts(t *testing.T) {
	t.Parallel()
	counter, err := tokens.New().For(tokens.Encoding{Name: tokens.O200kBase})
	if err != nil {
		t.Fatal(err)
	}
	for dialect := range fixed {
		n := counter.Count("," + tool.Definition(dialect))
		t.Logf("%s: %d", dialect, n.Tokens)
		if n.Tokens > tool.MaxTokens || n.Estimated {
			t.Errorf("%s costs %d tokens, at most %d are paid for", dialect, n.Tokens, tool.MaxTokens)
		}
	}
}

// Whatever the dialect wraps it in, there is one function of the name, with one
// argument, and the text explains what a marker is.
func TestDefinitionSaysTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for dialect := range fixed {
		var value map[string]any
		if err := json.Unmarshal([]byte(tool.Definition(dialect)), &value); err != nil {
			t.Fatalf("%s: %v", dialect, err)
		}
		for _, wrapper := range []string{"function", "toolSpec"} {
			if inner, ok := value[wrapper].(map[string]any); ok {
				value = inner
			}
		}
		var schema map[string]any
		for _, key := range []string{"parameters", "input_schema", "inputSchema"} {
			if s, ok := value[key].(map[string]any); ok {
				schema = s
			}
		}
		if inner, ok := schema["json"].(map[string]any); ok {
			schema = inner
		}
		required, _ := schema["required"].([]any)
		properties, _ := schema["properties"].(map[string]any)
		text, _ := value["description"].(string)
		if value["name"] != "context_guru_expand" || len(required) != 1 || required[0] != "id" || len(properties) != 1 ||
			!strings.Contains(text, "<<cg:ID>>") || !strings.HasPrefix(text, "If needed") {
			t.Errorf("%s: %s", dialect, tool.Definition(dialect))
		}
	}
}
