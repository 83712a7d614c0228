package laws_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// plot is a made-up conversation before it is written in a dialect.
type plot struct {
	model  string
	system string
	turns  []plotTurn
	// quirky clients move cache directives and write one message as a string in
	// one request and as a block in the next.
	quirky bool
	// plain conversations can be written in both dialects so that the outputs
	// are the same: no failed calls.
	plain    bool
	look     look
	trailing bool // it ends with an assistant's message, as a prefill
}

// look is how a client's encoder writes bodies.
type look struct {
	comma, colon string
	roleLast     bool
	how          spelling
	extra        string // members nobody knows, each with a comma behind
}

type plotTurn struct {
	say, ask string // strings, already as JSON; ask may be empty
	split    bool   // the assistant's message comes in two
	remote   string // what a tool at the provider printed, where a dialect has that
	results  []plotResult
}

type plotResult struct {
	id, tool, args string
	leaves         []string // JSON strings
	asString       bool     // the only leaf is the content itself
	failed, image  bool
	// twice repeats a member that decides, so that nobody knows what is meant.
	twice bool
}

// plot makes a conversation up.
func (w *writer) plot() plot {
	p := plot{
		model:  pick(w, "gpt-4o", "gpt-4o", "claude-sonnet-4-5", "gpt-4-0613"),
		quirky: w.chance(40), plain: w.chance(50), trailing: w.chance(10),
		look: look{
			comma: pick(w, ",", ",", ", ", ",\n  "), colon: pick(w, ":", ":", ": "), roleLast: w.chance(20), how: pick(w, spellings...),
			extra: pick(w, "", "", `"x":{"n":12345678901234567890123,"n":1.0},`, `"name":"größe \/ \u00e9",`),
		},
	}
	p.system = w.spell(w.words(30), p.look.how)
	var earlier []plotResult
	for n := range 3 + w.IntN(6) {
		t := plotTurn{say: w.spell(w.words(4), p.look.how), split: w.chance(15)}
		if w.chance(40) {
			t.ask = w.spell(w.words(6), p.look.how)
		}
		if !p.plain && w.chance(10) {
			t.remote = w.spell(w.output(), p.look.how)
		}
		for i := range w.IntN(4) {
			r := w.result(&p, fmt.Sprintf("call_%d_%d", n, i), earlier)
			t.results = append(t.results, r)
			earlier = append(earlier, r)
		}
		p.turns = append(p.turns, t)
	}
	return p
}

func (w *writer) result(p *plot, id string, earlier []plotResult) plotResult {
	r := plotResult{
		id: id, tool: pick(w, "bash", "bash", "run_tests", "read_file", "search", "mcp__gw__context_guru_expand", "context_guru_expand"),
		args:     pick(w, `{"command":"make test"}`, `{"command":"go test ./..."}`, `{"command":"cat main.go"}`, `{"command":"cat build.log"}`, `{"path":"a/b.go"}`, `{}`),
		asString: w.chance(60), failed: !p.plain && w.chance(10), image: w.chance(10), twice: !p.plain && w.chance(3),
	}
	if w.chance(3) { // it printed nothing, as an empty list
		r.asString = false
		return r
	}
	if len(earlier) > 0 && w.chance(25) { // the same again
		old := earlier[w.IntN(len(earlier))]
		r.leaves, r.asString, r.tool, r.args = old.leaves, old.asString, old.tool, old.args
		if w.chance(30) {
			r.leaves = w.respelled(r.leaves)
		}
		return r
	}
	n := 1
	if !r.asString {
		n = 1 + w.IntN(3)
	}
	for range n {
		leaf := w.spell(w.output(), p.look.how)
		if w.chance(4) {
			leaf = leaf[:len(leaf)-1] + pick(w, `\ud83d"`, `\ude00"`, "\xff\"", `\ud83d\u0041"`) // no exact text
		}
		r.leaves = append(r.leaves, leaf)
	}
	return r
}

// respelled writes strings in other ways, those without exact text excepted.
func (w *writer) respelled(leaves []string) []string {
	out := slices.Clone(leaves)
	for i, leaf := range out {
		if text, ok := exactText([]byte(leaf)); ok {
			out[i] = w.spell(text, pick(w, spellings...))
		}
	}
	return out
}

// respell returns the conversation as another client would write it down.
func (w *writer) respell(p plot) plot {
	p.look.comma, p.look.colon = pick(w, ",", ", "), pick(w, ":", ": ")
	p.turns = slices.Clone(p.turns)
	for i := range p.turns {
		p.turns[i].results = slices.Clone(p.turns[i].results)
		for j := range p.turns[i].results {
			r := &p.turns[i].results[j]
			r.leaves = w.respelled(r.leaves)
		}
	}
	return p
}

// message is one message, written with or without a cache directive.
type message struct {
	assistant bool
	write     func(marked bool) string
}

// members writes an object in the client's look.
func (l look) members(role string, rest ...string) string {
	first := fmt.Sprintf(`"role"%s"%s"`, l.colon, role)
	all := append([]string{first}, rest...)
	if l.roleLast {
		all = append(rest, first)
	}
	return l.object(all...)
}

func (l look) object(members ...string) string { return "{" + strings.Join(members, l.comma) + "}" }

func (l look) list(items ...string) string { return "[" + strings.Join(items, l.comma) + "]" }

func (l look) member(name, value string) string { return `"` + name + `"` + l.colon + value }

const directive = `{"type":"ephemeral"}`

// text is a content: a string, or a block where a directive has to go.
func (l look) text(raw string, marked bool) string {
	if !marked {
		return raw
	}
	return l.list(l.block(raw, true))
}

func (l look) block(raw string, marked bool) string {
	members := []string{l.member("type", `"text"`), l.member("text", raw)}
	if marked {
		members = append(members, l.member("cache_control", directive))
	}
	return l.object(members...)
}

// content is the content of a result.
func (l look) content(r *plotResult, image string, marked bool) string {
	if r.asString {
		return l.text(r.leaves[0], marked)
	}
	var parts []string
	for i, leaf := range r.leaves {
		if r.image && i == 1 {
			parts = append(parts, image)
		}
		parts = append(parts, l.block(leaf, marked && i == len(r.leaves)-1))
	}
	return l.list(parts...)
}

// write renders the requests of a conversation in a dialect.
func (p *plot) write(d wire.Dialect) [][]byte {
	var messages []message
	if d == wire.OpenAIChat {
		messages = p.chat()
	} else {
		messages = p.anthropic()
	}
	if p.trailing {
		messages = append(messages, message{assistant: true, write: func(bool) string {
			return p.look.members("assistant", p.look.member("content", `"And"`))
		}})
	}
	var requests [][]byte
	for n := 1; n <= len(messages); n++ {
		if n < len(messages) && (!messages[n].assistant || messages[n-1].assistant) {
			continue
		}
		requests = append(requests, p.body(d, messages[:n]))
	}
	return requests
}

func (p *plot) body(d wire.Dialect, messages []message) []byte {
	written := make([]string, len(messages))
	for i, m := range messages {
		// The client puts directives on its own last two messages.
		written[i] = m.write(p.quirky && i >= len(messages)-2)
	}
	l := p.look
	members := []string{l.member("model", `"`+p.model+`"`)}
	tools := "[]"
	if d == wire.AnthropicMessages {
		tools = l.list(l.object(l.member("name", `"bash"`), l.member("input_schema", "{}")))
		members = append(members, l.member("max_tokens", "1024"), l.member("system", l.list(l.block(p.system, p.quirky))))
	}
	members = append(members, l.extra+l.member("messages", l.list(written...)), l.member("stream", "true"), l.member("tools", tools))
	return []byte(l.object(members...) + "\n")
}
