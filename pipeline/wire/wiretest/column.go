package wiretest

import (
	"fmt"
	"slices"
	"strings"
)

// Column is a way to send results: what stands around the turns of a
// conversation, and how one turn is written.
type Column struct {
	Name    string
	Path    string
	Dialect string
	Lists   bool // an output may have several texts, and others beside them
	Fails   bool // a failure can be said
	JSON    bool // an output is a JSON value, not a text
	Front   string
	Back    string
	turn    func(outputs []Output) string
}

// Body writes a conversation of these turns.
func (c *Column) Body(turns ...[]Output) string {
	var b strings.Builder
	b.WriteString(c.Front)
	for _, outputs := range turns {
		b.WriteString(c.turn(outputs))
	}
	b.WriteString(c.Back)
	return b.String()
}

// Columns lists the ways to send results.
func Columns() []Column {
	return slices.Concat(messageColumns(), responsesColumns(), geminiColumns(), converseColumns())
}

// each writes the calls in order of their ids, and the outputs.
func each(outputs []Output, call, result func(o *Output) string) (calls, results string) {
	var list []string
	for i := range outputs {
		list = append(list, result(&outputs[i]))
	}
	inOrder := slices.Clone(outputs)
	slices.SortFunc(inOrder, func(a, b Output) int { return strings.Compare(a.ID, b.ID) })
	var called []string
	for i := range inOrder {
		called = append(called, call(&inOrder[i]))
	}
	return strings.Join(called, ","), strings.Join(list, ",")
}

// vertex is how paths of Vertex AI begin.
const vertex = "/v1/projects/p/locations/l/publishers/"

func messageColumns() []Column {
	const (
		front       = `{"messages":[{"role":"user","content":"Go."}`
		back        = `],"system":"You are."}`
		withVersion = `{"anthropic_version":"bedrock-2023-05-31","messages":[{"role":"user","content":"Go."}`
		goOn        = `]},{"role":"user","content":"Go on."}` // the provider ran the tool, so its result ends no turn
		messages    = "anthropic.messages"
		platform    = "anthropic.platform"
	)
	plain := anthropicTurn("tool_use", "tool_result", `]},{"role":"user","content":[`, `]}`)
	mcp := anthropicTurn("mcp_tool_use", "mcp_tool_result", ",", goOn)
	return []Column{
		{Name: "chat", Path: "/v1/chat/completions", Dialect: "openai.chat", Lists: true, Front: front, Back: `],"model":"m"}`, turn: chatTurn},
		{Name: "messages", Path: "/v1/messages", Dialect: messages, Lists: true, Fails: true, Front: front, Back: back, turn: plain},
		{Name: "messages counted", Path: "/v1/messages/count_tokens", Dialect: messages, Lists: true, Fails: true, Front: front, Back: back, turn: plain},
		{Name: "messages mcp", Path: "/v1/messages", Dialect: messages, Lists: true, Fails: true, Front: front, Back: back, turn: mcp},
		{Name: "bedrock invoke", Path: "/model/m/invoke", Dialect: platform, Lists: true, Fails: true, Front: withVersion, Back: back, turn: plain},
		{Name: "bedrock invoke stream", Path: "/model/m/invoke-with-response-stream", Dialect: platform, Lists: true, Fails: true, Front: withVersion, Back: back, turn: plain},
		{Name: "vertex", Path: vertex + "anthropic/models/m:streamRawPredict", Dialect: platform, Lists: true, Fails: true, Front: front, Back: `],"anthropic_version":"vertex-2023-10-16"}`, turn: plain},
		{Name: "vertex counted", Path: vertex + "anthropic/models/count-tokens:rawPredict", Dialect: messages, Lists: true, Fails: true, Front: front, Back: `],"model":"m"}`, turn: plain},
	}
}

func chatTurn(outputs []Output) string {
	calls, results := each(outputs, func(o *Output) string {
		return fmt.Sprintf(`{"id":"%s","type":"function","function":{"name":"%s","arguments":%q}}`, o.ID, o.Tool, o.Args())
	}, func(o *Output) string {
		content := o.parts(`{"type":"text","text":%s}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`)
		return fmt.Sprintf(`{%s"role":"tool","tool_call_id":"%s","content": %s}`, o.more(), o.ID, content)
	})
	return `,{"role":"assistant","tool_calls":[` + calls + `]},` + results
}

func anthropicTurn(use, result, between, after string) func([]Output) string {
	return func(outputs []Output) string {
		calls, results := each(outputs, func(o *Output) string {
			return fmt.Sprintf(`{"type":"%s","id":"%s","name":"%s","input":%s}`, use, o.ID, o.Tool, o.Args())
		}, func(o *Output) string {
			content := o.parts(`{"type":"text","text":%s}`, `{"type":"image","source":{"type":"base64","data":"AAAA"}}`)
			return fmt.Sprintf(`{%s"type":"%s","content": %s ,"tool_use_id":"%s"%s}`, o.more(), result, content, o.ID, o.status(`,"is_error":true`, ""))
		})
		return `,{"role":"assistant","content":[` + calls + between + results + after
	}
}

func responsesColumns() []Column {
	const (
		dialect  = "openai.responses"
		function = `{"type":"function_call","call_id":"%s","name":"%s","arguments":%q}`
		plain    = `"type":"function_call_output","call_id":"%s","output": %s ,"status":"%s"`
		front    = `{"model":"m","input":[{"role":"user","content":"Go."}`
		back     = `],"store":false}`
	)
	built := func(kind, args, result string) func([]Output) string {
		call := strings.NewReplacer("KIND", kind, "ARGS", args).Replace(`{"type":"KIND","call_id":"%[1]s","id":"i%[1]s","ARGS":%[3]s}`)
		return responsesTurn(call, result)
	}
	custom := responsesTurn(`{"type":"custom_tool_call","call_id":"%s","name":"%s","input":%q}`, `"status":"%[3]s","output":%[2]s,"call_id":"%[1]s","type":"custom_tool_call_output"`)
	shell := built("shell_call", "action", `"type":"shell_call_output","call_id":"%s","output":%s,"status":"%s"`)
	local := built("local_shell_call", "action", `"type":"local_shell_call_output","id":"i%s","output":%s,"status":"%s"`)
	patch := built("apply_patch_call", "operation", `"type":"apply_patch_call_output","call_id":"%s","output":%s,"status":"%s"`)
	return []Column{
		{Name: "responses", Path: "/v1/responses", Dialect: dialect, Lists: true, Front: front, Back: back, turn: responsesTurn(function, plain)},
		{Name: "responses counted", Path: "/v1/responses/input_tokens", Dialect: dialect, Lists: true, Front: front, Back: back, turn: responsesTurn(function, plain)},
		{Name: "responses custom", Path: "/v1/responses", Dialect: dialect, Lists: true, Front: front, Back: back, turn: custom},
		{Name: "responses shell", Path: "/v1/responses", Dialect: dialect, Lists: true, Fails: true, Front: front, Back: back, turn: shell},
		{Name: "responses local shell", Path: "/v1/responses", Dialect: dialect, Front: front, Back: back, turn: local},
		{Name: "responses patch", Path: "/v1/responses", Dialect: dialect, Fails: true, Front: front, Back: back, turn: patch},
		{Name: "responses mcp", Path: "/v1/responses", Dialect: dialect, Fails: true, Front: front, Back: back, turn: mcpCalls},
	}
}

func responsesTurn(call, result string) func([]Output) string {
	return func(outputs []Output) string {
		calls, results := each(outputs, func(o *Output) string {
			return fmt.Sprintf(call, o.ID, o.Tool, o.Args())
		}, func(o *Output) string {
			content := o.parts(`{"type":"input_text","text":%s}`, `{"type":"input_image","image_url":"data:image/png;base64,AAAA"}`)
			if strings.Contains(result, `"shell_call_output"`) {
				content = o.blocks(`{"stdout":%s,"outcome":{"type":"exit","exit_code":`+o.status("1", "0")+`}}`, "null")
			}
			return fmt.Sprintf(`{`+o.more()+result+`}`, o.ID, content, o.status("failed", "completed"))
		})
		return `,{"type":"reasoning","encrypted_content":"gAAA"},` + calls + "," + results
	}
}

func mcpCalls(outputs []Output) string {
	_, results := each(outputs, func(*Output) string { return "" }, func(o *Output) string {
		return fmt.Sprintf(`{%s"type":"mcp_call","id":"%s","name":"%s","arguments":%q,"output":%s,"error":%s}`,
			o.more(), o.ID, o.Tool, o.Args(), o.Texts[0], o.status(`"boom"`, "null"))
	})
	return "," + results + `,{"role":"user","content":"Go on."}`
}

func geminiColumns() []Column {
	const (
		dialect = "gemini"
		front   = `{"contents":[{"role":"user","parts":[{"text":"Go."}]}`
		back    = `]}`
	)
	named, nameless := geminiTurn("functionCall", "functionResponse", `"id":"%s",`), geminiTurn("functionCall", "functionResponse", "")
	column := func(name, path, front, back string, turn func([]Output) string) Column {
		return Column{Name: name, Path: path, Dialect: dialect, Lists: true, Fails: true, Front: front, Back: back, turn: turn}
	}
	return []Column{
		column("gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", front, back, named),
		column("gemini without ids", vertex+"google/models/m:generateContent", front, back, nameless),
		column("gemini with underscores", "/v1beta/models/m:generateContent", front, back, geminiTurn("function_call", "function_response", "")),
		column("gemini wrapped", "/v1internal:generateContent", `{"model":"m","request":`+front, back+`}`, named),
		column("gemini counted", "/v1beta/models/m:countTokens", `{"generateContentRequest":`+front, back+`}`, named),
	}
}

func geminiTurn(call, response, id string) func([]Output) string {
	return func(outputs []Output) string {
		name := func(o *Output) string {
			if id == "" {
				return ""
			}
			return fmt.Sprintf(id, o.ID)
		}
		calls, results := each(outputs, func(o *Output) string {
			return fmt.Sprintf(`{"%s":{%s"name":"%s","args":%s},"thoughtSignature":"c2ln"}`, call, name(o), o.Tool, o.Args())
		}, func(o *Output) string {
			content := `"output": ` + o.Texts[0]
			switch {
			case o.Failed && len(o.Texts) == 1:
				content = `"error":` + o.Texts[0]
			case len(o.Texts) > 1 || o.List:
				content = `"content":` + o.blocks(`{"type":1,"text":%s}`, `{"type":2,"data":[[["AAAA"]]]}`)
			}
			return fmt.Sprintf(`{%s"%s":{%s%s"name":"%s","response":{%s}}}`, o.more(), response, o.more(), name(o), o.Tool, content)
		})
		return `,{"role":"model","parts":[` + calls + `]},{"role":"user","parts":[` + results + `]}`
	}
}

func converseColumns() []Column {
	const (
		dialect = "bedrock.converse"
		front   = `{"messages":[{"role":"user","content":[{"text":"Go."}]}`
		back    = `]}`
	)
	column := func(name, path, front, back, part string) Column {
		return Column{
			Name: name, Path: path, Dialect: dialect, Lists: true, Fails: true, JSON: strings.Contains(part, `"json"`),
			Front: front, Back: back, turn: converseTurn(part),
		}
	}
	return []Column{
		column("converse", "/model/m/converse", front, back, `{"text":%s}`),
		column("converse json", "/model/m/converse-stream", front, back, `{"json":{"output":%s}}`),
		column("converse counted", "/model/m/count-tokens", `{"input":{"converse":`+front, back+`}}`, `{"text":%s}`),
	}
}

func converseTurn(part string) func([]Output) string {
	return func(outputs []Output) string {
		calls, results := each(outputs, func(o *Output) string {
			return fmt.Sprintf(`{"toolUse":{"toolUseId":"%s","name":"%s","input":%s}}`, o.ID, o.Tool, o.Args())
		}, func(o *Output) string {
			content := o.blocks(part, `{"image":{"format":"png","source":{"bytes":"AAAA"}}}`)
			return fmt.Sprintf(`{"toolResult":{%s"toolUseId":"%s","content":%s,"status":"%s"}}`, o.more(), o.ID, content, o.status("error", "success"))
		})
		return `,{"role":"assistant","content":[` + calls + `]},{"role":"user","content":[` + results + `,{"cachePoint":{"type":"default"}}]}`
	}
}
