package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// part is a piece of what a model said.
type part struct{ Kind, Text, Name, ID, Sealed string }

// transcript is what a client has read of one answer.
type transcript struct {
	ID, Model, Stop string
	Parts           []part
	In, Out         float64
	// Ended reports that the answer has its last event. Error is the error the
	// provider reported within it.
	Ended bool
	Error string
}

// object is a JSON object, read without knowing what it should hold.
type object map[string]any

func (o object) at(path ...string) object {
	for _, name := range path {
		next, _ := o[name].(map[string]any)
		o = next
	}
	return o
}

func (o object) list(name string) (list []object) {
	all, _ := o[name].([]any)
	for _, v := range all {
		entry, _ := v.(map[string]any)
		list = append(list, entry)
	}
	return list
}

func (o object) text(name string) string    { s, _ := o[name].(string); return s }
func (o object) number(name string) float64 { n, _ := o[name].(float64); return n }

// canonical is JSON in one spelling, and anything else as it is.
func canonical(v any) string {
	if text, ok := v.(string); ok {
		if json.Unmarshal([]byte(text), &v) != nil {
			return text
		}
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// reader reads the answers of one dialect as a strict client does: what no client
// takes is an error.
type reader struct {
	transcript
	open   bool // an item has begun and not ended
	seen   int  // events
	failed error
}

func (r *reader) bad(format string, args ...any) {
	if r.failed == nil {
		r.failed = fmt.Errorf(format, args...)
	}
}

func (r *reader) once(what *string, value string) {
	if value != "" && *what != "" && *what != value {
		r.bad("first %q, then %q", *what, value)
	}
	if value != "" {
		*what = value
	}
}

func (r *reader) add(p part) { r.Parts = append(r.Parts, p) }

// say joins texts, which come in any pieces.
func (r *reader) say(kind, text string) {
	if n := len(r.Parts); n > 0 && r.Parts[n-1].Kind == kind && r.Parts[n-1].Sealed == "" {
		r.Parts[n-1].Text += text
	} else if text != "" {
		r.add(part{Kind: kind, Text: text})
	}
}

func (r *reader) last(index float64) *part {
	if !r.open || len(r.Parts) == 0 || int(index) != len(r.Parts)-1 {
		r.bad("event for part %v of %d", index, len(r.Parts))
		return &part{}
	}
	return &r.Parts[len(r.Parts)-1]
}

// readAnswer reads a whole body. The error says what a client cannot read.
func readAnswer(dialect, contentType string, body []byte) (transcript, error) {
	r := &reader{}
	if strings.HasPrefix(contentType, "text/event-stream") {
		r.events(dialect, body)
	} else {
		r.whole(dialect, body)
	}
	for i := range r.Parts {
		if r.Parts[i].Kind == "call" {
			r.Parts[i].Text = canonical(r.Parts[i].Text)
		}
	}
	return r.transcript, r.failed
}

func (r *reader) events(dialect string, body []byte) {
	rest := strings.TrimLeft(string(body), "\n")
	for rest != "" {
		event, after, whole := strings.Cut(rest, "\n\n")
		rest = strings.TrimLeft(after, "\n") // blank lines are signs of life
		if !whole {
			r.bad("half an event: %q", event)
			return
		}
		name := ""
		var lines strings.Builder
		for line := range strings.SplitSeq(event, "\n") {
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				lines.WriteString(value)
			} else if value, ok := strings.CutPrefix(line, "event: "); ok {
				name = value
			} else if line != "" {
				r.bad("line %q", line)
			}
		}
		data := lines.String()
		if r.Ended {
			r.bad("event behind the last one: %q", event)
		}
		if data == "[DONE]" && dialect == "chat" {
			r.Ended = true
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(data), &o); err != nil {
			r.bad("%w in %q", err, event)
			return
		}
		if name != "" && name != o.text("type") {
			r.bad("event %q is named %q", o.text("type"), name)
		}
		r.event(dialect, o)
		r.seen++
	}
	if dialect == "gemini" {
		r.Ended = r.Stop != ""
	}
}

func (r *reader) event(dialect string, o object) {
	if o["error"] != nil || o.text("type") == "error" || o.text("type") == "response.failed" {
		r.Error = canonical(map[string]any(o))
		return
	}
	switch dialect {
	case "chat":
		r.chatEvent(o)
	case "anthropic":
		r.anthropicEvent(o)
	case "responses":
		r.responsesEvent(o)
	case "gemini":
		r.gemini(o)
	}
}

func (r *reader) whole(dialect string, body []byte) {
	if dialect == "gemini" && bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		var list []object
		if err := json.Unmarshal(body, &list); err != nil {
			r.failed = err
		}
		for _, o := range list {
			r.event(dialect, o)
		}
		r.Ended = r.Stop != ""
		return
	}
	var o object
	if r.failed = json.Unmarshal(body, &o); r.failed != nil {
		return
	}
	if e := o["error"]; e != nil {
		r.Error = canonical(e)
		return
	}
	r.Ended = true
	switch dialect {
	case "chat":
		r.ID, r.Model = o.text("id"), o.text("model")
		choice := o.list("choices")[0]
		r.Stop = choice.text("finish_reason")
		message := choice.at("message")
		r.say("text", message.text("content"))
		for _, call := range message.list("tool_calls") {
			r.add(part{Kind: "call", ID: call.text("id"), Name: call.at("function").text("name"), Text: call.at("function").text("arguments")})
		}
		r.In, r.Out = o.at("usage").number("prompt_tokens"), o.at("usage").number("completion_tokens")
	case "anthropic":
		r.ID, r.Model, r.Stop = o.text("id"), o.text("model"), o.text("stop_reason")
		for _, b := range o.list("content") {
			r.add(anthropicPart(b))
		}
		r.In, r.Out = o.at("usage").number("input_tokens"), o.at("usage").number("output_tokens")
	case "responses":
		r.responsesWhole(o)
	case "gemini":
		r.gemini(o)
	case "converse":
		r.Stop = o.text("stopReason")
		for _, b := range o.at("output", "message").list("content") {
			r.conversePart(b)
		}
		r.In, r.Out = o.at("usage").number("inputTokens"), o.at("usage").number("outputTokens")
	}
}

func (r *reader) conversePart(b object) {
	switch use := b.at("toolUse"); {
	case use != nil:
		r.add(part{Kind: "call", ID: use.text("toolUseId"), Name: use.text("name"), Text: canonical(use["input"])})
	case b["reasoningContent"] != nil:
		text := b.at("reasoningContent", "reasoningText")
		r.add(part{Kind: "thinking", Text: text.text("text"), Sealed: text.text("signature")})
	default:
		r.add(part{Kind: "text", Text: b.text("text")})
	}
}

func (r *reader) chatEvent(o object) {
	r.once(&r.ID, o.text("id"))
	r.once(&r.Model, o.text("model"))
	if u := o.at("usage"); u != nil {
		r.In, r.Out = u.number("prompt_tokens"), u.number("completion_tokens")
	}
	for _, choice := range o.list("choices") {
		if r.Stop != "" {
			r.bad("a choice behind its end")
		}
		delta := choice.at("delta")
		if (delta["role"] != nil) != (r.seen == 0) {
			r.bad("event %d: role %v", r.seen, delta["role"])
		}
		r.say("text", delta.text("content"))
		for _, call := range delta.list("tool_calls") {
			r.chatCall(call)
		}
		r.Stop = choice.text("finish_reason")
	}
}

func (r *reader) chatCall(call object) {
	if call["index"] == nil {
		r.bad("a call without index")
	}
	calls := 0
	for _, p := range r.Parts {
		if p.Kind == "call" {
			calls++
		}
	}
	if id := call.text("id"); id != "" {
		if int(call.number("index")) != calls {
			r.bad("call %v begins behind %d", call["index"], calls)
		}
		r.add(part{Kind: "call", ID: id, Name: call.at("function").text("name")})
	} else if int(call.number("index")) != calls-1 {
		r.bad("a piece of call %v behind %d", call["index"], calls)
		return
	}
	r.Parts[len(r.Parts)-1].Text += call.at("function").text("arguments")
}

func anthropicPart(b object) part {
	switch b.text("type") {
	case "tool_use":
		return part{Kind: "call", ID: b.text("id"), Name: b.text("name"), Text: canonical(b["input"])}
	case "thinking":
		return part{Kind: "thinking", Text: b.text("thinking"), Sealed: b.text("signature")}
	default:
		return part{Kind: b.text("type"), Text: b.text("text")}
	}
}

func (r *reader) anthropicEvent(o object) {
	kind := o.text("type")
	if (kind == "message_start") != (r.seen == 0) {
		r.bad("event %d is %s", r.seen, kind)
	}
	switch kind {
	case "message_start":
		m := o.at("message")
		r.ID, r.Model, r.In = m.text("id"), m.text("model"), m.at("usage").number("input_tokens")
	case "content_block_start":
		if int(o.number("index")) != len(r.Parts) || r.open {
			r.bad("block %v begins behind %d, open %v", o["index"], len(r.Parts), r.open)
		}
		r.add(anthropicPart(o.at("content_block")))
		if p := &r.Parts[len(r.Parts)-1]; p.Kind == "call" {
			p.Text = ""
		}
		r.open = true
	case "content_block_delta":
		p, d := r.last(o.number("index")), o.at("delta")
		p.Text += d.text("text") + d.text("thinking") + d.text("partial_json")
		p.Sealed += d.text("signature")
	case "content_block_stop":
		r.last(o.number("index"))
		r.open = false
	case "message_delta":
		if r.Stop != "" || r.open {
			r.bad("a second or early end")
		}
		r.Stop, r.Out = o.at("delta").text("stop_reason"), o.at("usage").number("output_tokens")
		if in := o.at("usage"); in["input_tokens"] != nil {
			r.In = in.number("input_tokens")
		}
	case "message_stop":
		r.Ended = true
	}
}

func responsesPart(item object) part {
	switch item.text("type") {
	case "function_call":
		return part{Kind: "call", ID: item.text("call_id"), Name: item.text("name"), Text: item.text("arguments")}
	case "reasoning":
		return part{Kind: "thinking", Sealed: item.text("encrypted_content")}
	default:
		var text strings.Builder
		for _, c := range item.list("content") {
			text.WriteString(c.text("text"))
		}
		return part{Kind: "text", Text: text.String()}
	}
}

func (r *reader) responsesEvent(o object) {
	kind := o.text("type")
	if int(o.number("sequence_number")) != r.seen || (kind == "response.created") != (r.seen == 0) {
		r.bad("event %d is %s number %v", r.seen, kind, o["sequence_number"])
	}
	switch kind {
	case "response.created":
		r.ID = o.at("response").text("id")
	case "response.output_item.added":
		if int(o.number("output_index")) != len(r.Parts) || r.open {
			r.bad("item %v begins behind %d", o["output_index"], len(r.Parts))
		}
		r.add(responsesPart(o.at("item")))
		r.open = true
	case "response.output_text.delta", "response.function_call_arguments.delta":
		r.last(o.number("output_index")).Text += o.text("delta")
	case "response.output_item.done":
		p, whole := r.last(o.number("output_index")), responsesPart(o.at("item"))
		if p.Text != whole.Text {
			r.bad("the pieces are %q, the item %q", p.Text, whole.Text)
		}
		r.open = false
	case "response.completed", "response.incomplete":
		streamed := r.Parts
		r.Parts = nil
		r.responsesWhole(o.at("response"))
		if fmt.Sprint(streamed) != fmt.Sprint(r.Parts) {
			r.bad("streamed %v, in the end %v", streamed, r.Parts)
		}
		r.Ended = true
	}
}

func (r *reader) responsesWhole(o object) {
	r.once(&r.ID, o.text("id"))
	r.Model, r.Stop = o.text("model"), o.text("status")
	ids := map[string]bool{}
	for _, item := range o.list("output") {
		if ids[item.text("id")] {
			r.bad("two items %s", item.text("id"))
		}
		ids[item.text("id")] = true
		r.add(responsesPart(item))
	}
	r.In, r.Out = o.at("usage").number("input_tokens"), o.at("usage").number("output_tokens")
}

func (r *reader) gemini(o object) {
	r.once(&r.ID, o.text("responseId"))
	r.once(&r.Model, o.text("modelVersion"))
	r.In, r.Out = o.at("usageMetadata").number("promptTokenCount"), o.at("usageMetadata").number("candidatesTokenCount")
	for _, candidate := range o.list("candidates") {
		if r.Stop != "" {
			r.bad("a candidate behind its end")
		}
		for _, p := range candidate.at("content").list("parts") {
			call := p.at("functionCall")
			switch {
			case call != nil:
				r.add(part{Kind: "call", Name: call.text("name"), Text: canonical(call["args"]), Sealed: p.text("thoughtSignature")})
			case p["thought"] == true:
				r.say("thinking", p.text("text"))
			default:
				r.say("text", p.text("text"))
			}
		}
		r.Stop = candidate.text("finishReason")
	}
	r.Ended = r.Stop != ""
}

// errHalf says that a client would take half an answer for a whole one.
var errHalf = errors.New("half an answer")
