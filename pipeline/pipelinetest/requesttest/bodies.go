package requesttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// Body makes up a request: of any dialect, with contents as strings and as blocks,
// blocks of every kind, marks of the client now and then, and texts that talk about marks.
func Body(rnd *rand.Rand) (wire.Dialect, []byte) {
	dialects := []wire.Dialect{wire.AnthropicMessages, wire.AnthropicPlatform, wire.BedrockConverse, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini}
	d := dialects[rnd.IntN(len(dialects))]
	return d, Conversation(rnd, d, rnd.IntN(12), rnd.IntN(3) == 0)
}

// Conversation makes up a request of a dialect with a number of turns.
func Conversation(rnd *rand.Rand, d wire.Dialect, turns int, marked bool) []byte {
	m := maker{rnd: rnd, marked: marked, converse: d == wire.BedrockConverse}
	switch d {
	case wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini:
		return m.foreign(d, turns)
	}
	var messages []string
	messages = append(messages, m.user(0))
	for turn := range turns {
		messages = append(messages, m.assistant(turn), m.user(turn+1))
	}
	if rnd.IntN(8) == 0 {
		messages = append(messages, m.message("assistant", `"Certainly:"`))
	}
	members := []string{`"messages":[` + strings.Join(messages, ",") + `]`}
	if d == wire.AnthropicPlatform {
		members = append(members, `"anthropic_version":"x"`)
	}
	if rnd.IntN(4) > 0 {
		members = append(members, m.tools())
	}
	switch rnd.IntN(4) {
	case 0:
		if !m.converse {
			members = append(members, `"system":"You are \"cache_control\"."`)
		}
	case 1:
		members = append(members, `"system":`+m.list(m.text("You are an agent."), m.text(" ")))
	case 2:
		members = append(members, `"system":`+m.list(m.text("You are an agent.")))
	}
	if marked && !m.converse && rnd.IntN(6) == 0 {
		members = append(members, `"cache_control":{"type":"ephemeral"}`)
	}
	rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	body := []byte("{" + strings.Join(members, ",") + "}")
	if rnd.IntN(4) == 0 {
		var out bytes.Buffer
		if json.Indent(&out, body, "", " ") == nil {
			return out.Bytes()
		}
	}
	return body
}

type maker struct {
	rnd      *rand.Rand
	marked   bool
	converse bool
}

func (m *maker) message(role, content string) string {
	if m.rnd.IntN(3) == 0 {
		return `{"content":` + content + `,"role":"` + role + `"}`
	}
	return `{"role":"` + role + `","content":` + content + `}`
}

// list joins blocks. Where marks are blocks, one may come behind each.
func (m *maker) list(blocks ...string) string {
	if m.converse && m.marked && m.rnd.IntN(5) == 0 {
		blocks = append(blocks, `{"cachePoint":{"type":"default"}}`)
	}
	return "[" + strings.Join(blocks, ",") + "]"
}

// block writes a block. Where marks are members, one may be among them.
func (m *maker) block(members ...string) string {
	if !m.converse && m.marked && m.rnd.IntN(8) == 0 {
		mark := []string{`"cache_control":{"type":"ephemeral"}`, `"cache_control" : {"ttl":"1h","type":"ephemeral"}`, `"cache\u005fcontrol":{"type":"ephemeral"}`}
		members = append(members, mark[m.rnd.IntN(len(mark))])
	}
	m.rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

func (m *maker) text(text string) string {
	quoted, _ := json.Marshal(text)
	if m.converse {
		return `{"text":` + string(quoted) + `}`
	}
	return m.block(`"type":"text"`, `"text":`+string(quoted))
}

func (m *maker) words() string {
	words := []string{"set \"cache_control\": {} here", "\n\t ", "", "cachePoint", "naïve 😀", "say \"cache_control", "\u001b[31mred"}
	return words[m.rnd.IntN(len(words))]
}

func (m *maker) assistant(turn int) string {
	if m.converse {
		return m.message("assistant", m.list(m.text("Let me see."), fmt.Sprintf(`{"toolUse":{"toolUseId":"c%d","name":"f","input":{"cachePoint":{},"cache_control":1}}}`, turn)))
	}
	if m.rnd.IntN(6) == 0 {
		return m.message("assistant", `"Let me see."`)
	}
	return m.message("assistant", m.list(`{"type":"thinking","thinking":"hm","signature":"s"}`, m.text("Let me see."),
		fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"f","input":{"cache_control":{"type":"ephemeral"}}}`, turn)))
}

func (m *maker) user(turn int) string {
	if m.rnd.IntN(4) == 0 && !m.converse {
		quoted, _ := json.Marshal(m.words() + "x")
		return m.message("user", string(quoted))
	}
	var blocks []string
	for range 1 + m.rnd.IntN(3) {
		blocks = append(blocks, m.result(turn-1))
	}
	if m.rnd.IntN(3) == 0 {
		blocks = append(blocks, m.text(m.words()))
	}
	if m.rnd.IntN(6) == 0 && !m.converse {
		blocks = append(blocks, m.block(`"type":"image"`, `"source":{"type":"base64","media_type":"image/png","data":"AA"}`))
	}
	if m.rnd.IntN(8) == 0 && !m.converse {
		blocks = append(blocks, m.block(`"type":"document"`, `"source":{"type":"content","content":[`+m.text("a page")+`]}`))
	}
	if m.rnd.IntN(8) == 0 && !m.converse {
		blocks = append(blocks, `{"type":"something_new","x":1}`)
	}
	return m.message("user", m.list(blocks...))
}

func (m *maker) result(turn int) string {
	if m.converse {
		return fmt.Sprintf(`{"toolResult":{"toolUseId":"c%d","content":%s}}`, turn, "["+m.text(m.words())+`,{"json":{"cachePoint":{}}}]`)
	}
	id := fmt.Sprintf(`"tool_use_id":"c%d"`, turn)
	quoted, _ := json.Marshal(m.words())
	switch m.rnd.IntN(4) {
	case 0:
		return m.block(`"type":"tool_result"`, id)
	case 1:
		return m.block(`"type":"tool_result"`, id, `"content":`+string(quoted))
	default:
		return m.block(`"type":"tool_result"`, id, `"content":[`+m.text(m.words()+"x")+`]`)
	}
}

func (m *maker) tools() string {
	if m.converse {
		return `"toolConfig":{"tools":` + m.list(`{"toolSpec":{"name":"f","inputSchema":{"json":{"properties":{"cachePoint":{}}}}}}`) + `}`
	}
	tools := []string{m.block(`"name":"f"`, `"input_schema":{"type":"object","properties":{"cache_control":{"type":"string"}}}`)}
	if m.rnd.IntN(3) == 0 {
		tools = append(tools, `{"name":"g","defer_loading":true,"input_schema":{}}`)
	}
	return `"tools":[` + strings.Join(tools, ",") + `]`
}

// foreign is a request to a provider that does not go by marks.
func (m *maker) foreign(d wire.Dialect, turns int) []byte {
	var b strings.Builder
	switch d {
	case wire.OpenAIChat:
		b.WriteString(`{"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Go."}]}`)
		for i := range turns {
			fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":[{"type":"text","text":"x"}]}`, i, i)
		}
	case wire.OpenAIResponses:
		b.WriteString(`{"input":[{"role":"user","content":[{"type":"input_text","text":"Go."}]}`)
		for i := range turns {
			fmt.Fprintf(&b, `,{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":"x"}`, i, i)
		}
	default:
		b.WriteString(`{"contents":[{"role":"user","parts":[{"text":"Go."}]}`)
		for range turns {
			b.WriteString(`,{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}`)
		}
	}
	b.WriteString("]}")
	return []byte(b.String())
}
