package chat

import (
	"fmt"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Finish implements codec.Codec.
func (s *Stream) Finish(o *codec.Out) {
	stop := "length"
	if s.theirs > 0 && scan.Valid(scan.Unquote(s.message.lastArgs())) {
		stop = "tool_calls"
	}
	s.finish(o, s.end, stop)
}

// finish sends the end; stop is the reason if the provider gave none.
func (s *Stream) finish(o *codec.Out, end []codec.Held, stop string) {
	if len(end) == 0 {
		o.Add("", s.chunk([]byte("{}"), `"`+stop+`"`, s.usage()))
	}
	for _, h := range end {
		if usage, _ := scan.Get(h.Data, "usage"); s.Round > 0 && !scan.IsNull(usage) {
			h.Data = scan.Set(h.Data, "usage", mergeUsage(usage, s.Total(), s.reasoning+s.thought))
		}
		o.AddHeld(h, h.Data)
	}
	o.Add("", []byte("[DONE]"))
}

// usage makes a usage object, if the provider has ever reported any.
func (s *Stream) usage() []byte {
	u := s.Last()
	if u == (round.Usage{}) {
		return nil
	}
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, s.Total(), prompt+s.Total())
}

// chunk makes a chunk of our own, with usage or without.
func (s *Stream) chunk(delta []byte, finish string, usage []byte) []byte {
	out := []byte("{")
	for _, m := range []struct {
		name  string
		value []byte
	}{
		{"id", s.names.id},
		{"object", []byte(`"chat.completion.chunk"`)},
		{"created", s.names.created},
		{"model", s.names.model},
		{"system_fingerprint", s.names.fingerprint},
		{"usage", usage},
	} {
		if m.value != nil {
			out = fmt.Appendf(out, `"%s":%s,`, m.name, m.value)
		}
	}
	return fmt.Appendf(out, `"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, delta, finish)
}

// Let implements codec.Codec.
func (s *Stream) Let(o *codec.Out) {
	for _, c := range s.Open {
		entry := whole(scan.Set(c.Start, "index", scan.Number(0, 0, int64(s.next)).New), c.Args)
		o.Add("", s.chunk(append(append([]byte(`{"tool_calls":[`), entry...), "]}"...), "null", nil))
		s.next++
	}
	end := s.before
	if s.OpenHere() {
		end = s.end
	}
	s.finish(o, end, "tool_calls")
}

// Error implements codec.Codec.
func (s *Stream) Error(o *codec.Out, reason string) {
	data := scan.Quote([]byte(`{"error":{"message":`), reason)
	o.Add("", append(data, `,"type":"server_error","param":null,"code":null}}`...))
}
