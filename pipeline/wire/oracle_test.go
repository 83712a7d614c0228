package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline"
)

// The oracle reads a body the slow way: encoding/json's tokens make a tree with
// offsets, and plain recursion over the tree answers what Parse must answer. It
// shares no code with the parser.

// node is a JSON value.
type node struct {
	kind       byte // { [ " or 0 for the scalars
	start, end int
	text       string
	keys       []string
	kids       []*node
}

func treeOf(body []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	return grow(dec, body)
}

func grow(dec *json.Decoder, body []byte) (*node, error) {
	start := int(dec.InputOffset())
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	for strings.IndexByte(" \t\r\n,:", body[start]) >= 0 {
		start++
	}
	n := &node{start: start, end: int(dec.InputOffset())}
	switch v := token.(type) {
	case string:
		n.kind, n.text = '"', v
	case json.Delim:
		n.kind = byte(v)
		for dec.More() {
			if v == '{' {
				key, err := dec.Token()
				if err != nil {
					return nil, err
				}
				text, _ := key.(string)
				n.keys = append(n.keys, text)
			}
			kid, err := grow(dec, body)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
		if _, err := dec.Token(); err != nil {
			return nil, err
		}
		n.end = int(dec.InputOffset())
	}
	return n, nil
}

// get returns the last member of a name, or an empty node.
func (n *node) get(name string) *node {
	if n.kind == '{' {
		for i, key := range slices.Backward(n.keys) {
			if key == name {
				return n.kids[i]
			}
		}
	}
	return &node{}
}

func (n *node) has(name string) bool { return n.kind == '{' && slices.Contains(n.keys, name) }

// all returns every member of a name.
func (n *node) all(name string) (out []*node) {
	for i, key := range n.keys {
		if key == name {
			out = append(out, n.kids[i])
		}
	}
	return out
}

func (n *node) is(text string) bool { return n.kind == '"' && n.text == text }

// repeats reports whether one of the names comes twice.
func (n *node) repeats(names ...string) bool {
	for _, name := range names {
		count := 0
		for _, key := range n.keys {
			if key == name {
				count++
			}
		}
		if count > 1 {
			return true
		}
	}
	return false
}

// list returns the elements that are objects.
func (n *node) list() []*node {
	if n.kind != '[' {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(n.kids), func(kid *node) bool { return kid.kind != '{' })
}

// found is a segment as the tests compare it.
type found struct {
	Turn       int
	Start, End int
	Tool, Args string
	IsError    bool
}

func foundIn(t *pipeline.Transcript) []found {
	var out []found
	for i := range t.Segments {
		s := &t.Segments[i]
		out = append(out, found{s.Turn, s.Span.Start, s.Span.End, string(s.Tool), string(s.Args), s.IsError})
	}
	return out
}

type knownCall struct {
	id, legacy, name, args string
	answered               bool // only of Gemini
}

// oracle is the state of one reading.
type oracle struct {
	body     []byte
	calls    []knownCall
	segments []found
	turn     int
	before   bool // the message before was the assistant's
	held     bool
	reason   string
}

var blockNames = []string{"type", "text", "content", "tool_use_id", "id", "name", "input", "is_error"}

// consult returns what Parse must find, or the reason to refuse.
func consult(d Dialect, body []byte) *oracle {
	o := &oracle{body: body}
	if !json.Valid(body) {
		o.reason = "invalid"
		return o
	}
	root, err := treeOf(body)
	switch {
	case err != nil:
		o.reason = "invalid"
		return o
	case root.kind != '{':
		o.reason = NotAnObject
		return o
	}
	switch d {
	case OpenAIResponses:
		o.responses(root)
	case Gemini:
		o.gemini(root)
	case BedrockConverse:
		o.converse(root)
	default:
		o.messages(d, root)
	}
	return o
}

// messages reads the request of Chat Completions or of Anthropic's API.
func (o *oracle) messages(d Dialect, root *node) {
	switch {
	case root.repeats("messages", "model", "stream"):
		o.reason = AmbiguousKeys
	case root.get("messages").kind != '[':
		o.reason = NoMessages
	case d == AnthropicPlatform && !root.has("anthropic_version"):
		o.reason = NoAnthropicVersion
	}
	if o.reason != "" {
		return
	}
	if d != OpenAIChat {
		for _, thread := range root.all("thread") {
			o.held = o.held || o.given(thread, "previous_message_id")
		}
	}
	for _, m := range root.get("messages").kids {
		role := m.get("role").text
		if m.repeats("role") {
			role = ""
		}
		o.spoke(role == "assistant")
		switch {
		case m.kind != '{', m.repeats("role", "content", "tool_call_id", "tool_calls", "function_call", "name"):
		case d == OpenAIChat:
			o.chat(m, role)
		default:
			o.anthropic(m, role)
		}
	}
}

func (o *oracle) spoke(assistant bool) {
	if assistant && !o.before {
		o.turn++
	}
	o.before = assistant
}

// given reports whether a member is there and not null.
func (o *oracle) given(n *node, names ...string) bool {
	for _, name := range names {
		if slices.ContainsFunc(n.all(name), func(kid *node) bool { return o.raw(kid) != "null" }) {
			return true
		}
	}
	return false
}

func (o *oracle) raw(n *node) string { return string(o.body[n.start:n.end]) }

func (o *oracle) chat(m *node, role string) {
	switch role {
	case "assistant":
		for _, c := range m.get("tool_calls").list() {
			f := c.get("function")
			if c.has("custom") {
				f = c.get("custom")
			}
			ambiguous := c.repeats("id", "type", "function", "custom") || c.has("function") && c.has("custom")
			o.call(f, c.get("id").text, "", ambiguous)
		}
		f := m.get("function_call")
		o.call(f, "", f.get("name").text, false)
	case "tool":
		o.answer(m.get("content"), m.get("name").text, false, func(c knownCall) bool {
			return c.id != "" && c.id == m.get("tool_call_id").text
		})
	case "function":
		o.answer(m.get("content"), m.get("name").text, false, func(c knownCall) bool {
			return c.legacy != "" && c.legacy == m.get("name").text
		})
	}
}

func (o *oracle) call(f *node, id, legacy string, ambiguous bool) {
	ambiguous = ambiguous || f.repeats("name", "arguments", "input") || f.has("arguments") && f.has("input")
	if ambiguous || id == "" && legacy == "" {
		return
	}
	args := f.get("arguments")
	if f.has("input") {
		args = f.get("input")
	}
	o.calls = append(o.calls, knownCall{id: id, legacy: legacy, name: f.get("name").text, args: o.raw(args)})
}

func (o *oracle) anthropic(m *node, role string) {
	blocks := slices.DeleteFunc(m.get("content").list(), func(b *node) bool { return b.repeats(blockNames...) })
	if role == "assistant" {
		for _, b := range blocks {
			if id := b.get("id").text; id != "" && (b.get("type").is("tool_use") || b.get("type").is("mcp_tool_use")) {
				o.calls = append(o.calls, knownCall{id: id, name: b.get("name").text, args: o.raw(b.get("input"))})
			}
		}
	}
	for _, b := range blocks {
		remote := b.get("type").is("mcp_tool_result")
		local := b.get("type").is("tool_result")
		if role == "user" && (local || remote) || role == "assistant" && remote {
			o.answer(b.get("content"), "", o.raw(b.get("is_error")) == "true", func(c knownCall) bool {
				return c.id == b.get("tool_use_id").text
			})
		}
	}
}

func (o *oracle) answer(content *node, name string, isError bool, match func(knownCall) bool) {
	args := ""
	for _, c := range slices.Backward(o.calls) {
		if match(c) {
			name, args = c.name, c.args
			break
		}
	}
	leaves := []*node{content}
	if content.kind == '[' {
		leaves = nil
		for _, part := range content.list() {
			if part.get("type").is("text") && !part.repeats(blockNames...) {
				leaves = append(leaves, part.get("text"))
			}
		}
	}
	for _, leaf := range leaves {
		if leaf.kind == '"' {
			o.segments = append(o.segments, found{o.turn, leaf.start, leaf.end, name, args, isError})
		}
	}
}

// checkOracle compares Parse with the oracle.
func checkOracle(tb testing.TB, d Dialect, body []byte) {
	tb.Helper()
	o := consult(d, body)
	want := o.segments
	got, err := NewParser(Limits{}).Parse(d, body)
	reason := ""
	if err != nil {
		reason = reasonOf(tb, err)
	}
	switch {
	case o.reason == "invalid":
		if err == nil {
			tb.Fatalf("Parse read invalid JSON: %q", clip(body))
		}
		return
	case reason != o.reason:
		tb.Fatalf("Parse says %q, the oracle %q: %s", reason, o.reason, clip(body))
	case o.reason != "":
		return
	}
	have := foundIn(got)
	if bytes.Contains(body, []byte("\ufffd")) || !validText(body) {
		// encoding/json makes U+FFFD of what has no exact text, so names and
		// ids compare differently there.
		for _, list := range [][]found{have, want} {
			for i := range list {
				list[i].Tool, list[i].Args = "", ""
			}
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		tb.Fatalf("segments (-oracle +Parse):\n%s\nof %s", diff, clip(body))
	}
	if got.Turn != o.turn || got.ServerHeld != o.held {
		tb.Fatalf("Parse counts %d turns, held %v, the oracle %d, %v: %s", got.Turn, got.ServerHeld, o.turn, o.held, clip(body))
	}
}

// validText reports whether every string of a body has an exact text.
func validText(body []byte) bool {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return false
	}
	out, err := json.Marshal(v)
	return err == nil && !bytes.Contains(out, []byte(`\ufffd`)) && !bytes.Contains(out, []byte("\ufffd"))
}

func clip(body []byte) string {
	if len(body) > 2000 {
		return fmt.Sprintf("%s… (%d bytes)", body[:2000], len(body))
	}
	return string(body)
}
