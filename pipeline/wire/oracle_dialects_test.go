package wire

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// What the oracle knows of the dialects whose requests are no list of messages.

// exact returns the text of a string, or the empty one when it has none.
func (o *oracle) exact(n *node) string {
	raw := o.body[n.start:n.end]
	if n.kind != '"' || !utf8.Valid(raw) {
		return ""
	}
	written := regexp.MustCompile(`(?i)\\ufffd`).FindAll(bytes.ReplaceAll(raw, []byte(`\\`), nil), -1)
	if strings.Count(n.text, "\ufffd") != bytes.Count(raw, []byte("\ufffd"))+len(written) {
		return ""
	}
	return n.text
}

func (o *oracle) responses(root *node) {
	input := root.get("input")
	switch {
	case root.repeats("input", "model", "stream"):
		o.reason = AmbiguousKeys
	case input.kind != '[' && input.kind != '"':
		o.reason = NoMessages
	}
	if o.reason != "" {
		return
	}
	o.held = o.given(root, "previous_response_id", "conversation")
	for _, it := range input.kids {
		o.item(it)
	}
}

func (o *oracle) item(it *node) {
	kind := o.exact(it.get("type"))
	untyped := it.get("type").kind != '"' || it.get("type").text == ""
	certain := it.kind == '{' && !it.repeats("type", "role")
	reference := certain && (kind == "item_reference" || untyped && !it.has("role") && o.exact(it.get("id")) != "")
	made := reference
	switch {
	case !certain || reference:
	case untyped, kind == "message":
		made = it.get("role").is("assistant")
	default:
		made = !strings.HasSuffix(kind, "_output") && !strings.HasSuffix(kind, "_response")
	}
	o.spoke(made)
	o.held = o.held || reference
	if it.kind != '{' || it.repeats("type", "role", "call_id", "id", "name", "arguments", "input", "action", "operation", "output", "status", "error") {
		return
	}
	call := func(id, name, args string) {
		if id != "" {
			o.calls = append(o.calls, knownCall{id: id, name: name, args: o.raw(it.get(args))})
		}
	}
	id, callID, name := o.exact(it.get("id")), o.exact(it.get("call_id")), it.get("name").text
	whole, failed := []*node{it.get("output")}, it.get("status").is("failed")
	switch kind {
	case "function_call":
		call(callID, name, "arguments")
	case "custom_tool_call":
		call(callID, name, "input")
	case "local_shell_call":
		call(id, "local_shell", "action")
		call(callID, "local_shell", "action")
	case "shell_call":
		call(callID, "shell", "action")
	case "apply_patch_call":
		call(callID, "apply_patch", "operation")
	case "function_call_output", "custom_tool_call_output":
		o.put(callID, false, append(whole, parts(it.get("output"))...)...)
	case "local_shell_call_output":
		if callID == "" {
			callID = id
		}
		o.put(callID, false, whole...)
	case "apply_patch_call_output":
		o.put(callID, failed, whole...)
	case "shell_call_output":
		o.put(callID, false, whole...)
		for _, ran := range it.get("output").list() {
			o.ran(callID, ran)
		}
	case "mcp_call":
		fault := o.raw(it.get("error"))
		o.calls = append(o.calls, knownCall{id: "\x00", name: name, args: o.raw(it.get("arguments"))})
		o.put("\x00", failed || fault != "" && fault != "null" && fault != `""`, whole...)
		o.calls = o.calls[:len(o.calls)-1]
	}
}

var partNames = []string{"type", "text", "stdout", "stderr", "outcome"}

// parts returns the texts of text parts.
func parts(output *node) (out []*node) {
	for _, part := range output.list() {
		kind := part.get("type")
		if !part.repeats(partNames...) && (kind.is("input_text") || kind.is("output_text") || kind.is("text")) {
			out = append(out, part.get("text"))
		}
	}
	return out
}

// ran adds what one command printed.
func (o *oracle) ran(callID string, ran *node) {
	if ran.repeats(partNames...) {
		return
	}
	failed := false
	for _, code := range ran.get("outcome").all("exit_code") {
		failed = failed || o.raw(code) != "0" && o.raw(code) != "null"
	}
	for _, kind := range ran.get("outcome").all("type") {
		failed = failed || kind.is("timeout")
	}
	for i, key := range ran.keys {
		if key == "stdout" || key == "stderr" {
			o.put(callID, failed, ran.kids[i])
		}
	}
}

// put adds those leaves that are strings, as answers of a call.
func (o *oracle) put(callID string, failed bool, leaves ...*node) {
	for _, leaf := range leaves {
		if leaf.kind == '"' {
			o.answer(leaf, "", failed, func(c knownCall) bool { return c.id != "" && c.id == callID })
		}
	}
}

func (o *oracle) gemini(root *node) {
	objects := []*node{root}
	for _, name := range []string{"request", "generateContentRequest", "generate_content_request"} {
		objects = append(objects, slices.DeleteFunc(root.all(name), func(n *node) bool { return n.kind != '{' })...)
	}
	var lists []*node
	for _, object := range objects {
		lists = append(lists, object.all("contents")...)
		if object.repeats("contents", "model") {
			o.reason = AmbiguousKeys
		}
		o.held = o.held || o.given(object, "cachedContent", "cached_content")
	}
	switch {
	case o.reason != "", len(lists) > 1, root.repeats("request"),
		len(root.all("generateContentRequest"))+len(root.all("generate_content_request")) > 1:
		o.reason = AmbiguousKeys
		return
	case len(lists) == 0, lists[0].kind != '[' && lists[0].kind != '{':
		o.reason = NoMessages
		return
	}
	contents := lists[0].kids
	if lists[0].kind == '{' {
		contents = lists
	}
	run := 0 // where the calls of the last run of model contents begin
	for _, c := range contents {
		role := strings.ToLower(c.get("role").text)
		if c.repeats("role") {
			role = "?"
		}
		if role == "model" && !o.before {
			run = len(o.calls)
		}
		o.spoke(role == "model")
		if c.kind != '{' || c.repeats("role", "parts") {
			continue
		}
		parts := c.get("parts").list()
		if c.get("parts").kind == '{' {
			parts = []*node{c.get("parts")}
		}
		for _, part := range parts {
			var call, response []*node
			call = append(part.all("functionCall"), part.all("function_call")...)
			response = append(part.all("functionResponse"), part.all("function_response")...)
			switch {
			case len(call)+len(response) != 1:
			case len(call) == 1 && role == "model" && call[0].kind == '{' && !call[0].repeats("id", "name", "args"):
				f := call[0]
				o.calls = append(o.calls, knownCall{id: o.exact(f.get("id")), name: f.get("name").text, args: o.raw(f.get("args"))})
			case len(response) == 1 && o.answers(c, role) && !response[0].repeats("id", "name", "response"):
				o.responded(response[0], run)
			}
		}
	}
}

// answers reports whether a role is one that results come from.
func (o *oracle) answers(c *node, role string) bool {
	return role == "user" || role == "function" || role == "tool" || !c.has("role") || o.raw(c.get("role")) == "null"
}

func (o *oracle) responded(response *node, run int) {
	leaves, failed := texts(response.get("response"), 0), false
	if len(leaves) == 0 {
		return
	}
	for i, key := range response.get("response").keys {
		switch value := o.raw(response.get("response").kids[i]); key {
		case "error":
			failed = failed || value != "null" && value != "false" && value != `""`
		case "isError", "is_error":
			failed = failed || value == "true"
		}
	}
	id, name, args := o.exact(response.get("id")), response.get("name").text, ""
	for i := len(o.calls) - 1; i >= 0 && id != ""; i-- {
		if o.calls[i].id == id {
			name, args, o.calls[i].answered = o.calls[i].name, o.calls[i].args, true
			break
		}
	}
	for i := run; i < len(o.calls) && id == "" && name != ""; i++ {
		if c := &o.calls[i]; !c.answered && c.name == name {
			args, c.answered = c.args, true
			break
		}
	}
	for _, leaf := range leaves[:min(len(leaves), 256)] {
		o.segments = append(o.segments, found{o.turn, leaf.start, leaf.end, name, args, failed})
	}
}

// texts returns the strings in a response, depth steps into it.
func texts(n *node, depth int) (out []*node) {
	switch {
	case n.kind == '"' && depth > 0:
		return []*node{n}
	case depth == 4, n.kind != '{' && (n.kind != '[' || depth == 0):
		return nil
	}
	for _, kid := range n.kids {
		out = append(out, texts(kid, depth+1)...)
	}
	return out
}

func (o *oracle) converse(root *node) {
	lists, ambiguous := root.all("messages"), root.repeats("messages", "input")
	for _, input := range root.all("input") {
		ambiguous = ambiguous || input.repeats("converse")
		for _, inner := range input.all("converse") {
			lists = append(lists, inner.all("messages")...)
		}
	}
	switch {
	case ambiguous, len(lists) > 1:
		o.reason = AmbiguousKeys
		return
	case len(lists) == 0, lists[0].kind != '[':
		o.reason = NoMessages
		return
	}
	for _, m := range lists[0].kids {
		role := m.get("role").text
		if m.repeats("role") {
			role = ""
		}
		o.spoke(role == "assistant")
		if m.kind != '{' || m.repeats("role", "content", "tool_call_id", "tool_calls", "function_call", "name") {
			continue
		}
		for _, block := range m.get("content").list() {
			use, result := block.get("toolUse"), block.get("toolResult")
			switch {
			case block.repeats("toolUse", "toolResult"), block.has("toolUse") && block.has("toolResult"):
			case role == "assistant" && !use.repeats("toolUseId", "name", "input") && use.get("toolUseId").text != "":
				o.calls = append(o.calls, knownCall{id: use.get("toolUseId").text, name: use.get("name").text, args: o.raw(use.get("input"))})
			case role == "user" && !result.repeats("toolUseId", "status", "content"):
				o.converseResult(result)
			}
		}
	}
}

func (o *oracle) converseResult(result *node) {
	for _, block := range result.get("content").list() {
		text, raw := block.all("text"), block.all("json")
		usable := len(text) == 1 && text[0].kind == '"' || len(raw) == 1 && (raw[0].kind == '{' || raw[0].kind == '[')
		if len(text)+len(raw) != 1 || !usable {
			continue
		}
		name, args := "", ""
		for _, c := range slices.Backward(o.calls) {
			if c.id == result.get("toolUseId").text {
				name, args = c.name, c.args
				break
			}
		}
		o.segments = append(o.segments, found{o.turn, block.start, block.end, name, args, result.get("status").is("error")})
	}
}

// blockText returns the text of a segment's value, read the slow way.
func blockText(value []byte) (string, bool) {
	if value[0] == '"' {
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	}
	block, err := treeOf(value)
	if err != nil {
		return "", false
	}
	if raw := block.get("json"); raw.end > 0 {
		return string(value[raw.start:raw.end]), true
	}
	return block.get("text").text, block.get("text").kind == '"'
}
