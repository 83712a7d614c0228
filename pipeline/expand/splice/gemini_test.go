package splice_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// gemini speaks in server-sent events, or in arrays.
type gemini struct{ array bool }

func (gemini) dialect() wire.Dialect { return wire.Gemini }

func (gemini) keeps(b block) bool { return b.kind != "redacted" }

// object is the JSON object of a call's arguments.
func object(b block) string {
	switch {
	case b.text == "":
		return "{}"
	case !json.Valid([]byte(b.text)):
		return `{"INVALID_JSON":` + quote(b.text) + `}`
	}
	return b.text
}

func (gemini) stopOf(a answer) string {
	if a.stop == "" || a.stop == "calls" {
		return "STOP"
	}
	return a.stop
}

func (p gemini) parts(a answer) (parts []string) {
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			for _, x := range pieces(b.text) {
				parts = append(parts, `{"text":`+quote(x)+`}`)
			}
		case "think":
			parts = append(parts, fmt.Sprintf(`{"text":%s,"thought":true,"thoughtSignature":%q}`, quote(b.text), b.id))
		case "call":
			parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":%q,"name":%q,"args":%s}}`, b.id, b.name, object(b)))
		}
	}
	return parts
}

func (p gemini) chunk(a answer, parts []string, finish bool) string {
	stop := ""
	if finish {
		stop = fmt.Sprintf(`"finishReason":%q,`, p.stopOf(a))
	}
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"},%s"index":0}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m","responseId":%q}`,
		strings.Join(parts, ","), stop, a.in, a.out, a.in+a.out, a.id)
}

func (p gemini) body(a answer) string { return p.chunk(a, p.parts(a), true) }

// stream puts two parts into a chunk; the last ones come with the reason to stop.
func (p gemini) stream(a answer) (list []string) {
	parts := p.parts(a)
	for ; len(parts) > 2; parts = parts[2:] {
		list = append(list, p.chunk(a, parts[:2], false))
	}
	list = append(list, p.chunk(a, parts, true))
	for i := range list {
		switch {
		case !p.array:
			list[i] = "data: " + list[i] + "\r\n\r\n"
		case i == 0:
			list[i] = "[" + list[i]
		default:
			list[i] = "\n,\r\n" + list[i]
		}
	}
	if p.array {
		list = append(list, "\n]\n")
	}
	return list
}

type geminiChunk struct {
	Candidates []struct {
		Content *struct {
			Role  string
			Parts []struct {
				Text, ThoughtSignature string
				Thought                bool
				FunctionCall           *struct {
					ID, Name string
					Args     json.RawMessage
				}
			}
		}
		FinishReason string
		Index        int
	}
	UsageMetadata            struct{ PromptTokenCount, CandidatesTokenCount, TotalTokenCount int }
	ModelVersion, ResponseID string
	Error                    *struct{ Status string }
}

// add reads a chunk behind others.
func (c geminiChunk) add(tb testing.TB, s *said) {
	tb.Helper()
	if c.Error != nil {
		s.Failed = c.Error.Status
		return
	}
	if s.ID == "" {
		s.ID, s.Model = c.ResponseID, c.ModelVersion
	}
	if s.Stop != "" || c.ResponseID != s.ID || c.ModelVersion != s.Model || len(c.Candidates) != 1 || c.Candidates[0].Content == nil {
		tb.Errorf("behind %+v: %+v", s, c)
		return
	}
	s.In, s.Out = c.UsageMetadata.PromptTokenCount, c.UsageMetadata.CandidatesTokenCount
	s.Stop = c.Candidates[0].FinishReason
	for _, p := range c.Candidates[0].Content.Parts {
		n := len(s.Blocks) - 1
		switch {
		case p.FunctionCall != nil:
			s.Blocks = append(s.Blocks, call(p.FunctionCall.ID, p.FunctionCall.Name, string(p.FunctionCall.Args)))
		case p.Thought:
			s.Blocks = append(s.Blocks, block{kind: "think", text: p.Text, id: p.ThoughtSignature})
		case p.Text == "":
		case n >= 0 && s.Blocks[n].kind == "text":
			s.Blocks[n].text += p.Text
		default:
			s.Blocks = append(s.Blocks, text(p.Text))
		}
	}
}

func (p gemini) read(tb testing.TB, stream string) (s said) {
	tb.Helper()
	if p.array {
		var list []geminiChunk
		if err := json.Unmarshal([]byte(stream), &list); err != nil {
			tb.Errorf("%v: %s", err, stream)
		}
		for _, c := range list {
			c.add(tb, &s)
		}
	} else {
		_, data := eventsOf(tb, stream)
		for _, d := range data {
			var c geminiChunk
			if err := json.Unmarshal([]byte(d), &c); err != nil {
				tb.Errorf("%v: %s", err, d)
			}
			c.add(tb, &s)
		}
	}
	if s.Stop == "" && s.Failed == "" {
		tb.Errorf("no end:\n%s", stream)
	}
	return s
}

func (gemini) readBody(tb testing.TB, body string) (s said) {
	tb.Helper()
	var c geminiChunk
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		tb.Errorf("%v: %s", err, body)
	}
	c.add(tb, &s)
	return s
}

// converse has no streams that are spliced.
type converse struct{}

func (converse) dialect() wire.Dialect { return wire.BedrockConverse }

func (converse) keeps(block) bool { return true }

func (converse) stream(answer) []string { return nil }

func (converse) read(testing.TB, string) said { return said{} }

func (converse) body(a answer) string {
	stop := "end_turn"
	if a.stop == "calls" || a.stop == "" && a.calls() {
		stop = "tool_use"
	}
	var list []string
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			list = append(list, `{"text":`+quote(b.text)+`}`)
		case "think":
			list = append(list, fmt.Sprintf(`{"reasoningContent":{"reasoningText":{"text":%s,"signature":%q}}}`, quote(b.text), b.id))
		case "redacted":
			list = append(list, fmt.Sprintf(`{"reasoningContent":{"redactedContent":%q}}`, b.id))
		case "call":
			list = append(list, fmt.Sprintf(`{"toolUse":{"toolUseId":%q,"name":%q,"input":%s}}`, b.id, b.name, object(b)))
		}
	}
	return fmt.Sprintf(`{"metrics":{"latencyMs":1},"output":{"message":{"content":[%s],"role":"assistant"}},"stopReason":%q,"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}}`,
		strings.Join(list, ","), stop, a.in, a.out, a.in+a.out)
}

func (converse) readBody(tb testing.TB, body string) (s said) {
	tb.Helper()
	var v struct {
		Output struct {
			Message struct {
				Content []struct {
					Text             *string
					ReasoningContent *struct {
						ReasoningText   *struct{ Text, Signature string }
						RedactedContent string
					}
					ToolUse *struct {
						ToolUseID, Name string
						Input           json.RawMessage
					}
				}
			}
		}
		StopReason string
		Usage      struct{ InputTokens, OutputTokens, TotalTokens int }
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Usage.TotalTokens != v.Usage.InputTokens+v.Usage.OutputTokens {
		tb.Errorf("%v: %s", err, body)
	}
	s = said{Stop: v.StopReason, In: v.Usage.InputTokens, Out: v.Usage.OutputTokens}
	for _, b := range v.Output.Message.Content {
		switch {
		case b.Text != nil:
			s.Blocks = append(s.Blocks, text(*b.Text))
		case b.ToolUse != nil:
			s.Blocks = append(s.Blocks, call(b.ToolUse.ToolUseID, b.ToolUse.Name, string(b.ToolUse.Input)))
		case b.ReasoningContent.ReasoningText != nil:
			s.Blocks = append(s.Blocks, block{kind: "think", text: b.ReasoningContent.ReasoningText.Text, id: b.ReasoningContent.ReasoningText.Signature})
		default:
			s.Blocks = append(s.Blocks, redacted(b.ReasoningContent.RedactedContent))
		}
	}
	return s
}
