package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// generator writes conversations of every shape: keys in any order and any
// spelling, repeated keys, values of the wrong type, odd white space.
type generator struct {
	*rand.Rand
	odd int // one choice in so many is odd; 0 means none is
	ids int
}

func newGenerator(seed uint64, odd int) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 7)), odd: odd}
}

func (g *generator) oddly() bool { return g.odd > 0 && g.IntN(g.odd) == 0 }

func pick[T any](g *generator, choices ...T) T { return choices[g.IntN(len(choices))] }

type member struct{ key, value string }

// object writes members in any order.
func (g *generator) object(members ...member) string {
	if g.oddly() {
		members = append(members, pick(g, members...)) // a repeated key
	}
	if g.oddly() {
		members = append(members, member{"x_unknown", g.junk()}, member{"x_unknown", g.junk()})
	}
	if g.odd > 0 {
		g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		if g.oddly() {
			m.value = g.junk()
		}
		b.WriteString(g.space() + g.spell(m.key) + g.space() + ":" + g.space() + m.value + g.space())
	}
	b.WriteByte('}')
	return b.String()
}

func (g *generator) list(elements ...string) string {
	if g.oddly() {
		elements = append(elements, g.junk())
	}
	return "[" + g.space() + strings.Join(elements, g.space()+","+g.space()) + g.space() + "]"
}

func (g *generator) space() string {
	if g.oddly() {
		return pick(g, " ", "\n", "\t", "\r\n  ")
	}
	return ""
}

// spell writes a string, some characters as escapes.
func (g *generator) spell(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if g.oddly() && s[i] < 0x80 {
			fmt.Fprintf(&b, `\u%04X`, s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	b.WriteByte('"')
	return b.String()
}

// junk is any value.
func (g *generator) junk() string {
	return pick(g,
		"null", "true", "false", "0", "-0", "1.0", "1e5", "12345678901234567890123", `""`, `"text"`, `"tool"`, `"user"`,
		`"assistant"`, "[]", "{}", `[{}]`, `[null,1,"x"]`, `{"type":"text","text":"deep"}`, `[{"type":"text","text":"in a list"}]`,
		`{"a":{"a":[[["b"]]]}}`, `[{"type":"image","source":{"data":"AAAA"}}]`, `"\ud83d"`, `{"content":"nested","role":"tool"}`,
	)
}

func (g *generator) text() string {
	return pick(g,
		`"plain"`, `""`, `"two\nlines\r\n"`, `"caf\u00e9 \ud83d\ude00"`, `"raw é 😀"`, `"\u003cb\u003e &"`, `"a\/b"`, `"\u0000\u001b[1m"`,
		`"{\"a\":1,\"b\":[\"x\"]}"`, `"lone \ud800"`, "\"bad \xff\"", `"line\u2028sep"`, `"\\\\"`, `"\""`,
	)
}

func (g *generator) id() string {
	g.ids++
	return fmt.Sprintf("call_%d", g.ids/pick(g, 1, 1, 1, 2))
}

// body writes a request and is valid JSON always.
func (g *generator) body(d Dialect) []byte {
	switch d {
	case OpenAIResponses:
		return g.responses()
	case Gemini:
		return g.gemini()
	case BedrockConverse:
		return g.converse()
	}
	var messages []string
	open := []string{}
	for range g.IntN(12) {
		switch g.IntN(5) {
		case 0:
			messages = append(messages, g.object(member{"role", g.spell(pick(g, "user", "system", "developer"))}, member{"content", g.text()}))
		case 1, 2:
			message, ids := g.assistant(d)
			messages = append(messages, message)
			open = ids
		default:
			if d == OpenAIChat {
				messages = append(messages, g.toolMessages(open)...)
			} else {
				messages = append(messages, g.toolResults(open))
			}
		}
	}
	members := []member{
		{"model", `"some-model"`},
		{"stream", pick(g, "true", "false", "null", `"true"`)},
		{"messages", g.list(messages...)},
		{"tools", `[{"name":"messages","input_schema":{"messages":[{"role":"tool","content":"x"}]}}]`},
		{"system", g.text()},
	}
	if d == AnthropicPlatform {
		members = append(members, member{"anthropic_version", `"bedrock-2023-05-31"`})
	}
	return []byte(g.space() + g.object(members...) + g.space())
}

func (g *generator) assistant(d Dialect) (string, []string) {
	var calls, ids []string
	for range g.IntN(4) {
		id := g.id()
		ids = append(ids, id)
		tool := g.spell(pick(g, "read", "grep", "mcp/search"))
		switch {
		case d != OpenAIChat:
			kind := pick(g, "tool_use", "tool_use", "mcp_tool_use", "server_tool_use")
			calls = append(calls, g.object(member{"type", g.spell(kind)}, member{"id", g.spell(id)}, member{"name", tool}, member{"input", `{"path": "a.go", "n": 1.0}`}))
			if kind == "mcp_tool_use" {
				calls = append(calls, g.object(member{"type", g.spell("mcp_tool_result")}, member{"tool_use_id", g.spell(id)}, member{"content", g.content()}, member{"is_error", "false"}))
			}
		case g.IntN(4) == 0:
			calls = append(calls, g.object(member{"type", `"custom"`}, member{"id", g.spell(id)}, member{"custom", g.object(member{"name", tool}, member{"input", `"raw text"`})}))
		default:
			calls = append(calls, g.object(member{"type", `"function"`}, member{"id", g.spell(id)}, member{"function", g.object(member{"name", tool}, member{"arguments", `"{\"a\":1}"`})}))
		}
	}
	if d != OpenAIChat {
		calls = append(calls, g.object(member{"type", `"thinking"`}, member{"thinking", `"hm"`}, member{"signature", `"c2ln"`}))
		return g.object(member{"role", g.spell("assistant")}, member{"content", g.list(calls...)}), ids
	}
	if g.IntN(5) == 0 {
		call := g.object(member{"name", g.spell("legacy")}, member{"arguments", `"{}"`})
		return g.object(member{"role", g.spell("assistant")}, member{"content", "null"}, member{"function_call", call}), nil
	}
	return g.object(member{"role", g.spell("assistant")}, member{"content", pick(g, "null", `"Looking."`)}, member{"tool_calls", g.list(calls...)}), ids
}

func (g *generator) toolMessages(ids []string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, g.object(member{"role", g.spell("tool")}, member{"tool_call_id", g.spell(id)}, member{"content", g.content()}))
	}
	if len(ids) == 0 {
		out = append(out, g.object(member{"role", g.spell("function")}, member{"name", g.spell("legacy")}, member{"content", g.content()}))
	}
	return out
}

func (g *generator) toolResults(ids []string) string {
	blocks := []string{g.object(member{"type", `"text"`}, member{"text", g.text()})}
	for _, id := range append(ids, "unknown") {
		kind := pick(g, "tool_result", "tool_result", "tool_result", "mcp_tool_result", "web_search_tool_result", "code_execution_tool_result")
		blocks = append(blocks, g.object(
			member{"type", g.spell(kind)}, member{"tool_use_id", g.spell(id)}, member{"content", g.content()}, member{"is_error", pick(g, "true", "false", "null")},
		))
	}
	return g.object(member{"role", g.spell("user")}, member{"content", g.list(blocks...)})
}

// content is a tool's output: a string, or blocks.
func (g *generator) content() string {
	if g.IntN(2) == 0 {
		return g.text()
	}
	var parts []string
	for range g.IntN(4) {
		parts = append(parts, pick(g,
			g.object(member{"type", g.spell("text")}, member{"text", g.text()}),
			g.object(member{"type", g.spell("text")}, member{"text", g.text()}, member{"cache_control", `{"type":"ephemeral"}`}),
			`{"type":"image","source":{"type":"base64","data":"iVBORw0KGgo="}}`,
			`{"type":"search_result","content":[{"type":"text","text":"kept"}]}`,
			`{"type":"tool_reference","tool_name":"x"}`,
		))
	}
	return g.list(parts...)
}

func reasonOf(tb testing.TB, err error) string {
	tb.Helper()
	u, ok := errors.AsType[*UnreadableError](err)
	if !ok {
		tb.Fatalf("the error is a %T: %v", err, err)
	}
	return u.Reason
}

func TestParseAgreesWithOracle(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			const bodies = 2000
			segments, paired, failed, refusals := 0, 0, 0, 0
			for seed := range uint64(bodies) {
				body := newGenerator(seed, pick(newGenerator(seed, 0), 0, 0, 12, 40, 200)).body(d)
				checkOracle(t, d, body)
				got, err := NewParser(Limits{}).Parse(d, body)
				if err != nil {
					refusals++
					continue
				}
				for _, s := range got.Segments {
					segments++
					if len(s.Tool) > 0 && len(s.Args) > 0 {
						paired++
					}
					if s.IsError {
						failed++
					}
				}
			}
			t.Logf("%d segments, %d paired, %d failed, %d refusals", segments, paired, failed, refusals)
			// A generator that makes nothing to find would prove nothing.
			if segments < 2*bodies || paired < bodies/2 || refusals < 20 || refusals > bodies/2 || d != OpenAIChat && failed < bodies/4 {
				t.Errorf("%d bodies gave %d segments, %d paired, %d failed, and %d refusals", bodies, segments, paired, failed, refusals)
			}
		})
	}
}

// TestParserKeepsNothing reads bodies with one parser, each twice in turn with
// others, and compares with a fresh parser.
func TestParserKeepsNothing(t *testing.T) {
	t.Parallel()
	warm := NewParser(Limits{})
	for seed := range uint64(500) {
		d := pick(newGenerator(seed, 0), dialects...)
		body := newGenerator(seed, 30).body(d)
		want, wantErr := NewParser(Limits{}).Parse(d, body)
		got, err := warm.Parse(d, bytes.Clone(body))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("warm parser: %v, fresh parser: %v", err, wantErr)
		}
		if err != nil {
			continue
		}
		if a, b := fmt.Sprintf("%+v %v %s %v", foundIn(got), got.Turn, got.Model, got.ServerHeld), fmt.Sprintf("%+v %v %s %v", foundIn(want), want.Turn, want.Model, want.ServerHeld); a != b {
			t.Fatalf("warm parser: %s\nfresh parser: %s", a, b)
		}
		if seed%7 == 0 {
			warm.Release()
		}
	}
}
