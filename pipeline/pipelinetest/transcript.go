package pipelinetest

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
)

// Output is one tool output of a test conversation.
type Output struct {
	// Tool is the name of the call; empty means "bash".
	Tool string
	// Args are the call's raw JSON arguments; empty means {}.
	Args string
	// Text is the decoded output.
	Text string
	// Raw is the output's JSON value as the client wrote it, for spellings
	// that quoting Text would not give. It replaces Text.
	Raw string
	// IsError marks the output as a failure.
	IsError bool
}

// Transcript makes a transcript of turns of tool outputs. Its body is a JSON
// array of calls, and its Decode is JSON's own unquoting.
func Transcript(turns ...[]Output) *pipeline.Transcript {
	t := &pipeline.Transcript{Dialect: "test", Model: "test", Decode: decode, Encode: encode, Turn: len(turns), Messages: 1 + 2*len(turns)}
	var body bytes.Buffer
	type span struct{ start, end int }
	var tools, args []span
	write := func(parts ...string) span {
		start := body.Len()
		for _, part := range parts {
			body.WriteString(part)
		}
		return span{start, body.Len()}
	}
	body.WriteByte('[')
	for turn, outputs := range turns {
		for _, o := range outputs {
			if body.Len() > 1 {
				body.WriteByte(',')
			}
			write(`{"tool":"`)
			tools = append(tools, write(orElse(o.Tool, "bash")))
			write(`","args":`)
			args = append(args, write(orElse(o.Args, "{}")))
			write(`,"output":`)
			value := write(orElse(o.Raw, quote(o.Text)))
			write("}")
			t.Segments = append(t.Segments, pipeline.Segment{
				Index: len(t.Segments), Turn: turn + 1, IsError: o.IsError,
				Span: pipeline.Span{Start: value.start, End: value.end},
			})
		}
	}
	body.WriteByte(']')
	t.Body = body.Bytes()
	for i := range t.Segments {
		s := &t.Segments[i]
		s.Tool, s.Args = t.Body[tools[i].start:tools[i].end], t.Body[args[i].start:args[i].end]
	}
	return t
}

// Texts makes a transcript with one output per turn.
func Texts(texts ...string) *pipeline.Transcript {
	turns := make([][]Output, len(texts))
	for i, text := range texts {
		turns[i] = []Output{{Text: text}}
	}
	return Transcript(turns...)
}

// Cut returns the transcript as it was when a turn was the newest one.
func Cut(t *pipeline.Transcript, turn int) *pipeline.Transcript {
	cut := *t
	cut.Turn = turn
	for i := range t.Segments {
		if t.Segments[i].Turn > turn {
			cut.Segments = t.Segments[:i:i]
			break
		}
	}
	return &cut
}

// Rewritten returns the transcript that the provider would see.
func Rewritten(t *pipeline.Transcript, outcomes []*pipeline.Outcome, lossy bool) *pipeline.Transcript {
	turns := make([][]Output, t.Turn)
	for i := range t.Segments {
		s := &t.Segments[i]
		o := Output{Tool: string(s.Tool), Args: string(s.Args), Raw: string(t.Value(s)), IsError: s.IsError}
		if v := outcomes[i].Pick(lossy); v != nil {
			o.Raw, o.Text = "", v.Text
		}
		turns[s.Turn-1] = append(turns[s.Turn-1], o)
	}
	return Transcript(turns...)
}

// Keys returns the keyring of the tests; its ids never change, so that golden
// files can hold them.
func Keys(tb testing.TB) *pipeline.Keyring {
	tb.Helper()
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "test", Secret: []byte("known to every test of this module")})
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

// Settings returns settings with the given components at their defaults,
// markers and hints allowed, a counter and a memo. Change them at will before
// pipeline.New.
func Settings(tb testing.TB, specs ...pipeline.Spec) pipeline.Settings {
	tb.Helper()
	s := pipeline.Settings{Markers: Keys(tb), Lossy: true, Hints: true, Counter: Words{}, Memo: pipeline.NewMemo(0)}
	for _, spec := range specs {
		step, err := spec.Build(nil, pipeline.Deps{})
		if err != nil {
			tb.Fatalf("build %s with its defaults: %v", spec.Name, err)
		}
		s.Steps = append(s.Steps, step)
	}
	return s
}

func decode(value []byte) (string, bool) {
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}

// quote writes a text as a JSON string. A text that is not valid UTF-8 keeps
// its bytes, as a broken client would send it.
func quote(text string) string {
	if utf8.ValidString(text) {
		quoted, err := jsontext.AppendQuote(nil, text)
		if err == nil {
			return string(quoted)
		}
	}
	var b bytes.Buffer
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			const hex = "0123456789abcdef"
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// encode is Decode's counterpart.
func encode(_ []byte, text string) []byte {
	value, err := json.Marshal(text)
	if err != nil {
		return nil // a string always has a JSON form
	}
	return value
}
