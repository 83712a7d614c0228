package wire

import (
	"fmt"
	"strings"
)

// The generator for the dialects whose requests are no list of messages.

func (g *generator) member(key, text string) member { return member{key, g.spell(text)} }

// sometimes returns the members or none.
func (g *generator) sometimes(one int, members ...member) []member {
	if g.IntN(one) == 0 {
		return members
	}
	return nil
}

func (g *generator) with(base []member, more ...member) string {
	return g.object(append(base, more...)...)
}

func (g *generator) responses() []byte {
	var items, open []string
	for range g.IntN(14) {
		switch g.IntN(6) {
		case 0:
			items = append(items, g.with(g.sometimes(2, g.member("type", "message")), g.member("role", pick(g, "user", "developer", "assistant")), member{"content", g.text()}))
		case 1, 2:
			calls, ids := g.calls()
			items, open = append(items, calls...), ids
		default:
			for _, id := range open {
				items = append(items, g.outputItem(id))
			}
			if g.IntN(8) == 0 {
				items = append(items, g.outputItem("unknown"))
			}
		}
	}
	input := g.list(items...)
	if g.IntN(40) == 0 {
		input = g.text()
	}
	members := []member{{"model", `"some-model"`}, {"input", input}, {"tools", `[{"type":"function","name":"input"}]`}, {"stream", "true"}}
	members = append(members, g.sometimes(6, member{"previous_response_id", pick(g, `"resp_1"`, "null")})...)
	members = append(members, g.sometimes(6, member{"conversation", pick(g, `"conv_1"`, `{"id":"conv_1"}`, "null")})...)
	return []byte(g.space() + g.object(members...) + g.space())
}

// calls writes what the model made in one turn.
func (g *generator) calls() (items, ids []string) {
	if g.IntN(2) == 0 {
		items = append(items, g.object(g.member("type", "reasoning"), member{"summary", "[]"}, member{"encrypted_content", `"c2ln"`}))
	}
	for range g.IntN(4) {
		id := g.id()
		ids = append(ids, id)
		callID, tool := g.member("call_id", id), g.member("name", pick(g, "read", "grep", "mcp/search"))
		shell := member{"action", `{"type":"exec","command":["ls", "-l"]}`}
		items = append(items, pick(g,
			g.object(g.member("type", "function_call"), callID, tool, member{"arguments", `"{\"a\":1}"`}, g.member("id", "fc_"+id)),
			g.object(g.member("type", "function_call"), callID, tool, member{"arguments", `"{}"`}),
			g.object(g.member("type", "custom_tool_call"), callID, tool, member{"input", `"*** Begin"`}),
			g.object(g.member("type", "local_shell_call"), callID, g.member("id", "item_"+id), shell),
			g.object(g.member("type", "shell_call"), callID, shell),
			g.object(g.member("type", "apply_patch_call"), callID, member{"operation", `{"type":"update_file","path":"a.go"}`}),
			g.object(g.member("type", "mcp_call"), g.member("id", id), tool, member{"arguments", `"{}"`}, member{"output", g.text()}, member{"error", pick(g, "null", `"no"`, `""`)}),
		))
	}
	return append(items, pick(g,
		g.object(g.member("type", "web_search_call"), g.member("id", "ws_1"), g.member("status", "completed")),
		g.object(g.member("role", "assistant"), member{"content", `[{"type":"output_text","text":"Looking."}]`}),
		g.object(g.member("type", "item_reference"), g.member("id", "msg_1")),
		g.object(g.member("type", pick(g, "a_later_call", "a_later_output")), member{"output", g.text()}),
	)), ids
}

func (g *generator) outputItem(id string) string {
	callID := g.member("call_id", id)
	if g.IntN(10) == 0 {
		callID = g.member("id", "item_"+id)
	}
	kind := pick(g, "function_call_output", "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output",
		"apply_patch_call_output", "computer_call_output", "mcp_approval_response")
	return g.object(g.member("type", kind), callID, member{"output", g.output(kind)}, g.member("status", pick(g, "completed", "failed")))
}

func (g *generator) output(kind string) string {
	if g.IntN(12) == 0 {
		kind = "shell_call_output"
	}
	if kind == "shell_call_output" {
		var ran []string
		for range g.IntN(3) {
			outcome := pick(g, `{"type":"exit","exit_code":0}`, `{"exit_code":2,"type":"exit"}`, `{"type":"timeout"}`, `null`)
			ran = append(ran, g.object(member{"stdout", g.text()}, member{"stderr", g.text()}, member{"outcome", outcome}))
		}
		return g.list(ran...)
	}
	if g.IntN(2) == 0 {
		return g.text()
	}
	var parts []string
	for range g.IntN(4) {
		parts = append(parts, pick(g,
			g.object(g.member("type", "input_text"), member{"text", g.text()}),
			g.object(g.member("type", "output_text"), member{"text", g.text()}, member{"annotations", "[]"}),
			`{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","text":"no"}`,
			`{"type":"input_file","file_data":"JVBERi0="}`,
		))
	}
	return g.list(parts...)
}

func (g *generator) gemini() []byte {
	var contents, open []string
	for range g.IntN(12) {
		switch g.IntN(5) {
		case 0:
			contents = append(contents, g.with(g.sometimes(2, g.member("role", pick(g, "user", "USER"))), member{"parts", pick(g, `[{"text":"Go."}]`, `{"text":"Go."}`)}))
		case 1, 2:
			parts := []string{`{"text":"Looking.","thought":true,"thoughtSignature":"c2ln"}`}
			open = nil
			for range g.IntN(4) {
				id := g.id()
				tool := pick(g, "read", "grep")
				open = append(open, id, tool)
				call := g.with(g.sometimes(2, g.member("id", id)), g.member("name", tool), member{"args", `{"path": "a.go", "n": 1.0}`})
				parts = append(parts, g.object(member{pick(g, "functionCall", "functionCall", "function_call"), call}, g.member("thoughtSignature", "c2ln")))
			}
			contents = append(contents, g.object(g.member("role", pick(g, "model", "model", "model", "MODEL")), member{"parts", g.list(parts...)}))
		default:
			parts := []string{`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"no"}}`}
			for i := 0; i < len(open); i += 2 {
				response := g.with(g.sometimes(2, g.member("id", open[i])), g.member("name", open[i+1]), member{"response", g.response()})
				parts = append(parts, g.object(member{pick(g, "functionResponse", "functionResponse", "function_response"), response}))
			}
			g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			contents = append(contents, g.object(g.member("role", pick(g, "user", "function")), member{"parts", g.list(parts...)}))
		}
	}
	members := append(g.sometimes(8, member{pick(g, "cachedContent", "cached_content"), pick(g, `"cachedContents/1"`, "null")}),
		member{"contents", g.list(contents...)}, member{"systemInstruction", `{"parts":[{"text":"You are."}]}`}, member{"tools", `[{"functionDeclarations":[{"name":"contents"}]}]`})
	body := g.object(members...)
	if g.IntN(6) == 0 {
		wrap := pick(g, "request", "generateContentRequest", "generate_content_request")
		body = g.object(member{"model", `"models/some-model"`}, member{wrap, body})
	}
	return []byte(g.space() + body + g.space())
}

func (g *generator) response() string {
	return pick(g,
		g.object(member{"output", g.text()}),
		g.object(member{"result", g.text()}, member{"error", pick(g, "null", `""`, "false", "{}", `"no"`)}),
		g.object(member{"error", g.text()}),
		g.object(member{"content", g.list(g.object(g.member("type", "text"), member{"text", g.text()}), `{"type":"image","n":1}`)}, member{"isError", pick(g, "true", "false")}),
		g.object(member{"a", fmt.Sprintf(`[[[%s,[%s]],%s],%s]`, g.text(), g.text(), g.text(), g.text())}),
		g.object(member{"rows", `[` + rows(g.IntN(2)*299) + `0]`}, member{"last", g.text()}),
	)
}

// rows writes so many short strings.
func rows(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `"r%d",`, i)
	}
	return out.String()
}

func (g *generator) converse() []byte {
	var messages, open []string
	for range g.IntN(12) {
		switch g.IntN(5) {
		case 0:
			messages = append(messages, g.object(g.member("role", "user"), member{"content", `[{"text":"Go."},{"cachePoint":{"type":"default"}}]`}))
		case 1, 2:
			blocks := []string{`{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}}`, `{"text":"Looking."}`}
			open = nil
			for range g.IntN(4) {
				id := g.id()
				open = append(open, id)
				use := g.object(g.member("toolUseId", id), g.member("name", pick(g, "read", "grep")), member{"input", `{"path": "a.go", "n": 1.0}`})
				blocks = append(blocks, g.object(member{"toolUse", use}))
			}
			messages = append(messages, g.object(g.member("role", "assistant"), member{"content", g.list(blocks...)}))
		default:
			blocks := []string{`{"cachePoint":{"type":"default"}}`, `{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}`}
			for _, id := range append(open, "unknown") {
				var content []string
				for range g.IntN(4) {
					content = append(content, pick(g,
						g.object(member{"text", g.text()}),
						g.object(member{"json", pick(g, `{"a": [1.0, "caf\u00e9"], "b":{ } }`, `[ {"x":"\/"}, 1e5 ]`, `"text"`, `{"a":"lone \ud800"}`, "{\"a\":\"bad \xff\"}")}),
						g.object(member{"json", `{"a":1}`}, member{"x", "1"}),
						`{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}`,
					))
				}
				result := g.object(g.member("toolUseId", id), member{"content", g.list(content...)}, g.member("status", pick(g, "success", "error")))
				blocks = append(blocks, g.object(member{"toolResult", result}))
			}
			messages = append(messages, g.object(g.member("role", pick(g, "user", "user", "user", "assistant")), member{"content", g.list(blocks...)}))
		}
	}
	body := g.object(member{"system", `[{"text":"You are."}]`}, member{"messages", g.list(messages...)}, member{"toolConfig", `{"tools":[{"toolSpec":{"name":"messages"}}]}`})
	if g.IntN(8) == 0 {
		body = g.object(member{"input", g.object(member{"converse", body})})
	}
	return []byte(g.space() + body + g.space())
}
