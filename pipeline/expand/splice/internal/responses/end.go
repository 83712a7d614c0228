package responses

import (
	"fmt"

	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Finish implements codec.Codec.
func (s *Stream) Finish(o *codec.Out) {
	status := "incomplete"
	if s.theirs > 0 && len(s.open) == 0 {
		status = "completed"
	}
	if s.end.Data == nil {
		s.closeMessage(o)
	}
	s.finish(o, s.end, status)
}

// closeMessage ends a message that the client has half of.
func (s *Stream) closeMessage(o *codec.Out) {
	for _, it := range s.open {
		if it.mine >= 0 || !scan.Is(scan.Path(it.start, "type"), "message") {
			continue
		}
		part := append(append([]byte(`[{"type":"output_text","annotations":[],"text":"`), it.text...), `"}]`...)
		whole := scan.Set(scan.Set(it.start, "content", part), "status", []byte(`"incomplete"`))
		s.visible = append(s.visible, whole)
		s.add(o, "response.output_item.done", fmt.Appendf(nil, `"output_index":%d,"item":%s`, it.down, whole))
	}
}

// add sends an event of our own.
func (s *Stream) add(o *codec.Out, typ string, members []byte) {
	o.Add(typ, fmt.Appendf(nil, `{"type":"%s","sequence_number":%d,%s}`, typ, s.seq, members))
	s.seq++
}

// finish sends the last event; status is that of the response if the provider
// gave none.
func (s *Stream) finish(o *codec.Out, end codec.Held, status string) {
	output := scan.Join(nil, s.visible)
	if end.Data == nil {
		response := s.first
		if response == nil {
			response = []byte(`{"object":"response"}`)
		}
		response = scan.Set(response, "status", scan.Quote(nil, status))
		if status == "incomplete" {
			response = scan.Set(response, "incomplete_details", []byte(`{"reason":"max_output_tokens"}`))
		}
		response = scan.Set(response, "output", output)
		s.add(o, "response."+status, append([]byte(`"response":`), scan.Set(response, "usage", s.usage())...))
		return
	}
	response, at := scan.Get(end.Data, "response")
	clean := scan.Set(without(response, s.Tool), "output", output)
	if s.Round > 0 {
		if usage := scan.Path(clean, "usage"); !scan.IsNull(usage) {
			clean = scan.Set(clean, "usage", mergeUsage(usage, s.Total(), s.tokens.before+s.tokens.now))
		}
		clean = named(clean, s.first)
	}
	data := scan.Apply(nil, end.Data, scan.Edit{Start: at, End: at + len(response), New: clean})
	if scan.Path(data, "sequence_number") != nil {
		data = scan.Set(data, "sequence_number", scan.Number(0, 0, s.seq).New)
	}
	o.AddHeld(end, data)
}

// usage makes a usage object.
func (s *Stream) usage() []byte {
	u := s.Last()
	input := u.Input + u.CacheRead + u.CacheWrite
	return fmt.Appendf(nil, `{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		input, u.CacheRead, s.Total(), s.tokens.before+s.tokens.now, input+s.Total())
}

// Let implements codec.Codec.
func (s *Stream) Let(o *codec.Out) {
	s.closeMessage(o)
	for _, c := range s.Open {
		id := scan.Path(c.Start, "id")
		if id == nil {
			id = []byte(`""`)
		}
		whole := withArgs(c.Start, c.Args)
		if scan.Path(whole, "status") != nil {
			whole = scan.Set(whole, "status", []byte(`"completed"`))
		}
		s.add(o, "response.output_item.added", fmt.Appendf(nil, `"output_index":%d,"item":%s`, s.next, c.Start))
		s.add(o, "response.function_call_arguments.delta",
			fmt.Appendf(nil, `"item_id":%s,"output_index":%d,"delta":"%s"`, id, s.next, c.Args))
		s.add(o, "response.function_call_arguments.done",
			fmt.Appendf(nil, `"item_id":%s,"output_index":%d,"arguments":"%s"`, id, s.next, c.Args))
		s.add(o, "response.output_item.done", fmt.Appendf(nil, `"output_index":%d,"item":%s`, s.next, whole))
		s.visible = append(s.visible, whole)
		s.next++
	}
	end := s.before
	if s.OpenHere() {
		end = s.end
	}
	s.finish(o, end, "completed")
}

// Error implements codec.Codec.
func (s *Stream) Error(o *codec.Out, reason string) {
	data := scan.Quote([]byte(`"code":"server_error","message":`), reason)
	s.add(o, "error", append(data, `,"param":null`...))
}
