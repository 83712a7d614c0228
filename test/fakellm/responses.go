package fakellm

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// responses is the form of OpenAI Responses. Member names, their order and the
// order of events follow what the API sends.
type responses struct{}

func (responses) idHeader() string { return "X-Request-Id" }

func (responses) id(a *answer) string {
	if a.turn.ID != "" {
		return a.turn.ID
	}
	return fmt.Sprintf("resp_%048d", a.seq)
}

// object makes the response as it is at some point: with a status and the items
// that are done.
func (d responses) object(a *answer, status string, output []jsontext.Value) (members, error) {
	tools := a.head.tools
	if tools == nil {
		tools = jsontext.Value("[]")
	}
	if output == nil {
		output = []jsontext.Value{}
	}
	items, err := encode(output)
	if err != nil {
		return nil, err
	}
	null := jsontext.Value("null")
	m := members{
		{"id", quote(d.id(a))},
		{"object", quote("response")},
		{"created_at", fmt.Appendf(nil, "%d", epoch+a.seq)},
		{"status", quote(status)},
		{"error", null},
		{"incomplete_details", null},
		{"model", quote(a.model)},
		{"output", items},
		{"parallel_tool_calls", jsontext.Value("true")},
		{"previous_response_id", null},
		{"store", jsontext.Value("false")},
		{"tool_choice", quote("auto")},
		{"tools", tools},
		{"usage", null},
		{"metadata", jsontext.Value("{}")},
	}
	if status == "incomplete" {
		m.set("incomplete_details", jsontext.Value(`{"reason":"max_output_tokens"}`))
	}
	if status != "in_progress" {
		u := a.usage
		input := u.Input + u.CacheRead + u.CacheWrite
		m.set("usage", fmt.Appendf(nil, `{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
			`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`, input, u.CacheRead, u.Output, input+u.Output))
	}
	return m, nil
}

// status is that of the whole answer.
func (responses) status(a *answer) string {
	switch a.turn.Stop {
	case "max_tokens", "length", "incomplete":
		return "incomplete"
	default:
		return "completed"
	}
}

// item makes an output item, when it is added and when it is done.
func (responses) item(a *answer, i int, b Block, done bool) members {
	status, id := "in_progress", fmt.Sprintf("%043d%05d", a.seq, i)
	if done {
		status = "completed"
	}
	switch {
	case b.Tool != "":
		args := ""
		if done {
			args = string(b.Args)
		}
		return members{
			{"id", quote("fc_" + id)},
			{"type", quote("function_call")},
			{"status", quote(status)},
			{"arguments", quote(args)},
			{"call_id", quote(callID(a, 0, i, b))},
			{"name", quote(b.Tool)},
		}
	case b.Thinking != "":
		sealed := b.Signature
		if sealed == "" {
			sealed = base64.StdEncoding.EncodeToString([]byte(b.Thinking))
		}
		return members{
			{"id", quote("rs_" + id)},
			{"type", quote("reasoning")},
			{"encrypted_content", quote(sealed)},
			{"summary", jsontext.Value("[]")},
		}
	}
	content := jsontext.Value("[]")
	if done {
		content = fmt.Appendf(nil, `[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}]`, quote(b.Text))
	}
	return members{
		{"id", quote("msg_" + id)},
		{"type", quote("message")},
		{"status", quote(status)},
		{"content", content},
		{"role", quote("assistant")},
	}
}

// responsesEvents collects events and numbers them.
type responsesEvents struct {
	list []event
	err  error
}

func (e *responsesEvents) add(typ string, m members) {
	all := append(members{{"type", quote(typ)}, {"sequence_number", fmt.Appendf(nil, "%d", len(e.list))}}, m...)
	data, err := encode(all)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.list = append(e.list, event{typ, data})
}

// value encodes a member's value.
func (e *responsesEvents) value(m members, err error) jsontext.Value {
	if err == nil {
		var v []byte
		if v, err = encode(m); err == nil {
			return v
		}
	}
	if e.err == nil {
		e.err = err
	}
	return jsontext.Value("null")
}

func (d responses) events(a *answer) ([]event, error) {
	var (
		e    responsesEvents
		done []jsontext.Value
	)
	begun := members{{"response", e.value(d.object(a, "in_progress", nil))}}
	e.add("response.created", begun)
	e.add("response.in_progress", begun)
	for i, b := range a.choices[0] {
		index := member{"output_index", fmt.Appendf(nil, "%d", i)}
		item := jsontext.Value(b.Raw)
		if b.Raw != nil {
			e.add("response.output_item.added", members{index, {"item", item}})
		} else {
			added := d.item(a, i, b, false)
			e.add("response.output_item.added", members{index, {"item", e.value(added, nil)}})
			d.grow(&e, a, b, member{"item_id", added[0].value}, index)
			item = e.value(d.item(a, i, b, true), nil)
		}
		e.add("response.output_item.done", members{index, {"item", item}})
		done = append(done, item)
	}
	status := d.status(a)
	e.add("response."+status, members{{"response", e.value(d.object(a, status, done))}})
	return e.list, e.err
}

// grow sends what an item is made of, piece by piece.
func (responses) grow(e *responsesEvents, a *answer, b Block, id, index member) {
	part := member{"content_index", jsontext.Value("0")}
	switch {
	case b.Tool != "":
		for _, p := range pieces(string(b.Args), a.turn.DeltaRunes) {
			e.add("response.function_call_arguments.delta", members{id, index, {"delta", quote(p)}})
		}
		e.add("response.function_call_arguments.done", members{id, index, {"arguments", quote(string(b.Args))}})
	case b.Thinking != "":
	default:
		text := func(s string) jsontext.Value {
			return fmt.Appendf(nil, `{"type":"output_text","annotations":[],"logprobs":[],"text":%s}`, quote(s))
		}
		e.add("response.content_part.added", members{id, index, part, {"part", text("")}})
		for _, p := range pieces(b.Text, a.turn.DeltaRunes) {
			e.add("response.output_text.delta", members{id, index, part, {"delta", quote(p)}, {"logprobs", jsontext.Value("[]")}})
		}
		e.add("response.output_text.done", members{id, index, part, {"text", quote(b.Text)}, {"logprobs", jsontext.Value("[]")}})
		e.add("response.content_part.done", members{id, index, part, {"part", text(b.Text)}})
	}
}

func (d responses) body(a *answer) ([]byte, error) {
	var output []jsontext.Value
	for i, b := range a.choices[0] {
		if b.Raw != nil {
			output = append(output, b.Raw)
			continue
		}
		item, err := encode(d.item(a, i, b, true))
		if err != nil {
			return nil, err
		}
		output = append(output, item)
	}
	m, err := d.object(a, d.status(a), output)
	if err != nil {
		return nil, err
	}
	return encode(m)
}

func (responses) failure(status int, e *ErrorBody, seq int) ([]byte, error) {
	return openai{}.failure(status, e, seq)
}

func (responses) failureEvent(status int, e *ErrorBody) (event, error) {
	v := openai{}.object(status, e)
	code := "server_error"
	if v.Error.Code != nil {
		code = *v.Error.Code
	} else if status < http.StatusInternalServerError {
		code = v.Error.Type
	}
	data, err := encode(members{
		{"type", quote("error")},
		{"sequence_number", jsontext.Value("0")},
		{"code", quote(code)},
		{"message", quote(v.Error.Message)},
		{"param", jsontext.Value("null")},
	})
	return event{"error", data}, err
}

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// members is a JSON object that keeps the order of its members.
type members []member

func (m *members) set(name string, value jsontext.Value) {
	for i := range *m {
		if (*m)[i].name == name {
			(*m)[i].value = value
			return
		}
	}
	*m = append(*m, member{name, value})
}

// merge sets the members of an object.
func (m *members) merge(object jsontext.Value) error {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return fmt.Errorf("raw block: %w", err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return fmt.Errorf("raw block: %w", err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return fmt.Errorf("raw block: %s: %w", key, err)
		}
		m.set(key, value.Clone())
	}
	return nil
}

// MarshalJSONTo writes the members in order.
func (m members) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, x := range m {
		if err := enc.WriteToken(jsontext.String(x.name)); err != nil {
			return err
		}
		if err := enc.WriteValue(x.value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
