package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// TestGateIsPure writes the beginning of one conversation in every way a client
// may write it, with and without tools, and at every turn. The gate sees the same
// size each time: 400 bytes of the system's and 100 of the user's.
func TestGateIsPure(t *testing.T) {
	t.Parallel()
	system, user := strings.Repeat("s", 400), strings.Repeat("u", 100)
	const mark = `"cache_control":{"type":"ephemeral"}`
	block := func(text, more string) string { return fmt.Sprintf(`[{"type":"text","text":%q%s}]`, text, more) }
	anthropic := func(system, user, rest string) string {
		return fmt.Sprintf(`{"tools":[{"name":"f"}],"system":%s,"messages":[{"role":"user","content":%s}%s]}`, system, user, rest)
	}
	const turn = `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a long result"}]},{"role":"user","content":"and more of it"}`
	quoted := func(s string) string { return fmt.Sprintf("%q", s) }
	bodies := map[wire.Dialect][]string{
		wire.AnthropicMessages: {
			anthropic(quoted(system), quoted(user), ""),
			anthropic(block(system, ""), block(user, ""), ""),
			anthropic(block(system, ","+mark), block(user, ","+mark), ""),
			anthropic(block(system, ""), block(user, ","+mark), turn),
			anthropic(quoted(system), quoted(user), turn+turn),
			anthropic(fmt.Sprintf(`[{"type":"text","text":%q},{"type":"text","text":%q,%s}]`, system[:100], system[100:], mark), quoted(user), turn),
			strings.Replace(anthropic(quoted(system), quoted(user), turn), `"tools":[{"name":"f"}],`, "", 1),
			fmt.Sprintf(`{"messages":[{"role":"user","content":%q}%s],"tools":[{"name":"f","description":"a tool","input_schema":{}}],"system":%q}`, user, turn, system),
			anthropic(quoted(system), `"\u0075`+user[1:]+`"`, ""),
		},
		wire.OpenAIChat: {
			fmt.Sprintf(`{"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`, system, user),
			fmt.Sprintf(`{"messages":[{"role":"system","content":%s},{"role":"user","content":%s}],"tools":[{"type":"function","function":{"name":"f"}}]}`, block(system, ""), block(user, ","+mark)),
			fmt.Sprintf(`{"messages":[{"content":%q,"role":"developer"},{"role":"user","content":%q},{"role":"assistant","content":"x"},{"role":"tool","content":"y"},{"role":"user","content":"z"}]}`, system, user),
		},
		wire.OpenAIResponses: {
			fmt.Sprintf(`{"store":false,"instructions":%q,"input":%q}`, system, user),
			fmt.Sprintf(`{"store":false,"instructions":%q,"input":[{"role":"user","content":[{"type":"input_text","text":%q}]}],"tools":[{"type":"function","name":"f"}]}`, system, user),
			fmt.Sprintf(`{"store":false,"input":[{"type":"message","role":"developer","content":%q},{"role":"user","content":%q},{"type":"reasoning"},{"type":"function_call","call_id":"c"},{"type":"function_call_output","call_id":"c","output":"x"},{"role":"user","content":"summarize"}]}`, system, user),
		},
		wire.Gemini: {
			fmt.Sprintf(`{"systemInstruction":{"parts":[{"text":%q}]},"contents":[{"role":"user","parts":[{"text":%q}]}]}`, system, user),
			fmt.Sprintf(`{"contents":[{"parts":{"text":%q}},{"role":"model","parts":[{"text":"x"}]},{"role":"user","parts":[{"text":"y"}]}],"system_instruction":{"parts":{"text":%q}},"tools":[{"functionDeclarations":[{"name":"f"}]}]}`, user, system),
		},
		wire.BedrockConverse: {
			fmt.Sprintf(`{"system":[{"text":%q}],"messages":[{"role":"user","content":[{"text":%q}]}]}`, system, user),
			fmt.Sprintf(`{"messages":[{"role":"user","content":[{"text":%q},{"cachePoint":{"type":"default"}}]},{"role":"assistant","content":[{"text":"x"}]},{"role":"user","content":[{"text":"y"}]}],"system":[{"text":%q},{"cachePoint":{"type":"default"}}],"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}}`, user, system),
		},
	}
	bodies[wire.AnthropicPlatform] = nil
	for _, body := range bodies[wire.AnthropicMessages] {
		bodies[wire.AnthropicPlatform] = append(bodies[wire.AnthropicPlatform], strings.Replace(body, "{", `{"anthropic_version":"v",`, 1))
	}
	for dialect, list := range bodies {
		for _, gate := range []int{125, 126} {
			r := loopRig(t, rewrite.Expand{GateTokens: gate}, nil)
			want := rewrite.GateOpen
			if gate > 125 {
				want = rewrite.GateClosed
			}
			for _, body := range list {
				out, report := r.do(t, rewrite.Request{Dialect: dialect, Body: []byte(body), Tenant: "t"})
				if report.Preamble != 125 || report.Gate != want {
					t.Errorf("%s: %d tokens, gate %q, want 125, %s:\n%s", dialect, report.Preamble, report.Gate, want, body)
				}
				hasTools := strings.Contains(body, `"f"`) && strings.Contains(body, `"tools"`)
				if strings.Contains(out, tool.Name) != (hasTools && want == rewrite.GateOpen) {
					t.Errorf("%s, gate %s:\n%s\nbecame\n%s", dialect, want, body, out)
				}
			}
		}
	}
}
