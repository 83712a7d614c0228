package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// agentBody makes a request of about size bytes as a coding agent sends it:
// tool definitions, then calls and their outputs in turn.
func agentBody(tb testing.TB, d Dialect, size int) []byte {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	var b bytes.Buffer
	b.WriteString(`{"model":"some-model-1","stream":true,"max_tokens":32000,"tools":[`)
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":%s,"input_schema":{"type":"object","properties":{"path":{"type":"string","description":"Where."},"limit":{"type":"integer","minimum":0}},"required":["path"],"additionalProperties":false}}`,
			i, quote(tb, toolText(rng, 300)))
	}
	list := map[Dialect]string{OpenAIResponses: "input", Gemini: "contents"}[d]
	fmt.Fprintf(&b, `],"%s":[{"role":"user","content":"Make the tests pass."}`, cmp.Or(list, "messages"))
	var outputs [64][]byte
	for i := range outputs {
		outputs[i] = quote(tb, toolText(rng, min(size/8, 200+rng.IntN(8000))))
	}
	for i := 0; b.Len() < size; i++ {
		id, output := "call_"+strconv.Itoa(i), outputs[i%len(outputs)]
		switch d {
		case OpenAIChat:
			fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"%s","type":"function","function":{"name":"tool_%d","arguments":"{\"path\":\"a/b.go\",\"limit\":%d}"}}]}`, id, i%20, i)
			fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"%s","content":%s}`, id, output)
		case OpenAIResponses:
			fmt.Fprintf(&b, `,{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"gAAAAABo"},{"type":"function_call","call_id":"%s","name":"tool_%d","arguments":"{\"path\":\"a/b.go\",\"limit\":%d}"}`, i, id, i%20, i)
			fmt.Fprintf(&b, `,{"type":"function_call_output","call_id":"%s","output":%s}`, id, output)
		case Gemini:
			fmt.Fprintf(&b, `,{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"id":"%s","name":"tool_%d","args":{"path":"a/b.go","limit":%d}},"thoughtSignature":"c2ln"}]}`, id, i%20, i)
			fmt.Fprintf(&b, `,{"role":"user","parts":[{"functionResponse":{"id":"%s","name":"tool_%d","response":{"output":%s}}}]}`, id, i%20, output)
		case BedrockConverse:
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"text":"Looking."},{"toolUse":{"toolUseId":"%s","name":"tool_%d","input":{"path":"a/b.go","limit":%d}}}]}`, id, i%20, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"toolResult":{"toolUseId":"%s","content":[{"text":%s}],"status":"success"}}]}`, id, output)
		default:
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"%s","name":"tool_%d","input":{"path":"a/b.go","limit":%d}}]}`, id, i%20, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":%s}]}`, id, output)
		}
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// toolText makes lines as tools print them: code, paths, JSON, some letters
// beyond ASCII.
func toolText(rng *rand.Rand, size int) string {
	words := []string{"func", "return", "err", "nil", "context", "pipeline", "segment", "if", "range", "the", "value", "offset", "0x1f", "2024-05-01", "config"}
	var b bytes.Buffer
	for b.Len() < size {
		switch rng.IntN(10) {
		case 0:
			fmt.Fprintf(&b, "{\"path\":\"src/%s.go\",\"line\":%d,\"ok\":true}\n", words[rng.IntN(len(words))], rng.IntN(999))
		case 1:
			b.WriteString("--- FAIL: TestÜmlaut → 42 ≠ 43 (0.00s)\n")
		default:
			b.WriteString("\t\t"[:rng.IntN(3)])
			for range 4 + rng.IntN(8) {
				b.WriteString(words[rng.IntN(len(words))])
				b.WriteByte(' ')
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func quote(tb testing.TB, s string) []byte {
	tb.Helper()
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

var benchSizes = []struct {
	name string
	size int
}{{"20KB", 20 << 10}, {"200KB", 200 << 10}, {"2MB", 2 << 20}, {"20MB", 20 << 20}}

// BenchmarkParse sets the walk beside the floor: jsontext skipping the body.
func BenchmarkParse(b *testing.B) {
	for _, d := range dialects {
		for _, s := range benchSizes {
			if d == AnthropicPlatform {
				continue // the same bodies
			}
			body := agentBody(b, d, s.size)
			b.Run(fmt.Sprintf("%s/%s/parse", d, s.name), func(b *testing.B) {
				p := NewParser(Limits{})
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Parse(d, body); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%s/skip", d, s.name), func(b *testing.B) {
				benchmarkRead(b, body, func(dec *jsontext.Decoder) error { return dec.SkipValue() })
			})
			b.Run(fmt.Sprintf("%s/%s/read", d, s.name), func(b *testing.B) {
				benchmarkRead(b, body, func(dec *jsontext.Decoder) error {
					_, err := dec.ReadValue()
					return err
				})
			})
		}
	}
}

func benchmarkRead(b *testing.B, body []byte, read func(*jsontext.Decoder) error) {
	b.Helper()
	var dec jsontext.Decoder
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		dec.Reset(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if err := read(&dec); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSplice halves every segment.
func BenchmarkSplice(b *testing.B) {
	for _, s := range benchSizes {
		body := agentBody(b, OpenAIChat, s.size)
		t, err := NewParser(Limits{}).Parse(OpenAIChat, body)
		if err != nil {
			b.Fatal(err)
		}
		patches := make([]Patch, 0, len(t.Segments))
		for i := range t.Segments {
			text, ok := t.Original(i)
			if !ok {
				b.Fatal("a segment has no text")
			}
			half := bytes.ToValidUTF8([]byte(text[:len(text)/2]), nil)
			patches = append(patches, Patch{Span: t.Segments[i].Span, Text: string(half)})
		}
		for _, buffer := range []struct {
			name string
			dst  []byte
		}{{"new", nil}, {"pooled", make([]byte, 0, 2*len(body))}} {
			b.Run(s.name+"/"+buffer.name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Splice(buffer.dst, body, patches); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
