package pipelinetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

var output = regexp.MustCompile(`"role": *"tool", *"content": *("(?:[^"\\]|\\.)*")`)

// parse reads tool messages of one form; the laws do not care how.
func parse(body []byte) (*pipeline.Transcript, error) {
	t := &pipeline.Transcript{
		Body: body,
		Decode: func(value []byte) (string, bool) {
			text, err := jsontext.AppendUnquote(nil, value)
			return string(text), err == nil
		},
		Encode: func(_ []byte, text string) []byte {
			value, err := jsontext.AppendQuote(nil, text)
			if err != nil {
				panic(err)
			}
			return value
		},
	}
	for i, at := range output.FindAllSubmatchIndex(body, -1) {
		t.Segments = append(t.Segments, pipeline.Segment{Index: i, Turn: i + 1, Span: pipeline.Span{Start: at[2], End: at[3]}})
	}
	t.Turn = len(t.Segments)
	return t, nil
}

// rewriting runs a pipeline and splices its versions in.
func rewriting(t *testing.T, p func() *pipeline.Pipeline) func(context.Context, []byte) ([]byte, error) {
	t.Helper()
	return func(ctx context.Context, body []byte) ([]byte, error) {
		transcript, err := parse(body)
		if err != nil {
			return nil, err
		}
		result, err := p().Run(ctx, transcript)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		at := 0
		for i, o := range result.Outcomes {
			if v := o.Pick(true); v != nil {
				out.Write(body[at:transcript.Segments[i].Span.Start])
				out.Write(v.Value)
				at = transcript.Segments[i].Span.End
			}
		}
		out.Write(body[at:])
		return out.Bytes(), nil
	}
}

// conversation has four requests: a run of assistant messages counts once.
func conversation() []byte {
	return []byte(`{ "model": "m", "messages": [ {"role":"user","content":"do it"},
  {"role":"assistant","content":"first"}, {"role":"tool","content":"` + words(100) + `"},
  {"role":"assistant","content":"second"},{"role":"assistant","content":"third"} , {"role": "tool", "content": "` + words(50) + `"},
  {"role":"assistant","content":"fourth"}, {"role":"tool","content":"` + words(80) + `"} ] , "stream": true }`)
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"chat": {
			`{"messages":[{"role":"user"}, {"role":"assistant"},{"role":"assistant"} ,{"role":"tool"},{"role":"assistant"}],"n":1}`,
			[]string{`{"messages":[{"role":"user"}],"n":1}`, `{"messages":[{"role":"user"}, {"role":"assistant"},{"role":"assistant"} ,{"role":"tool"}],"n":1}`},
		},
		"responses": {
			`{"input":[{"role":"user"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"}]}`,
			[]string{`{"input":[{"role":"user"}]}`, `{"input":[{"role":"user"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"}]}`},
		},
		"gemini": {
			`{"contents":[{"role":"user"},{"role":"model"},{"role":"user"}]}`,
			[]string{`{"contents":[{"role":"user"}]}`, `{"contents":[{"role":"user"},{"role":"model"},{"role":"user"}]}`},
		},
		"one message": {`{"messages":[{"role":"user"}]}`, []string{`{"messages":[{"role":"user"}]}`}},
	} {
		got, err := pipelinetest.Requests([]byte(c.body))
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d requests, %v", name, len(got), err)
			continue
		}
		for i := range got {
			if string(got[i]) != c.want[i] {
				t.Errorf("%s: request %d is %s, want %s", name, i+1, got[i], c.want[i])
			}
		}
	}
	for _, body := range []string{`{}`, `[1]`, `{"messages":"x"}`, `{"messages":[}`, `{"messages":[{"role":"user"}`} {
		if _, err := pipelinetest.Requests([]byte(body)); err == nil {
			t.Errorf("%s has requests", body)
		}
	}
}

func TestLawsOfBodies(t *testing.T) {
	t.Parallel()
	requests, err := pipelinetest.Requests(conversation())
	if err != nil || len(requests) != 4 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	shared := pipeline.New(pipelinetest.Settings(t, offloading()))
	good := rewriting(t, func() *pipeline.Pipeline { return shared })
	calls := 0
	fickle := rewriting(t, func() *pipeline.Pipeline {
		calls++
		return pipeline.New(pipelinetest.Settings(t, replacing(func(string) string { return fmt.Sprint("call ", calls) })))
	})
	after := func(change func([]byte) []byte) func(context.Context, []byte) ([]byte, error) {
		return func(ctx context.Context, body []byte) ([]byte, error) {
			out, err := good(ctx, body)
			return change(out), err
		}
	}
	replace := func(from, to string) func([]byte) []byte {
		return func(body []byte) []byte { return bytes.Replace(body, []byte(from), []byte(to), 1) }
	}
	for name, c := range map[string]struct {
		rewrite                     func(context.Context, []byte) ([]byte, error)
		prefix, restore, idempotent string
	}{
		"good":           {good, "", "", ""},
		"fickle":         {fickle, "does not begin with", "not the same", ""},
		"other bytes":    {after(replace(`"do it"`, `"do  it"`)), "", "is not the client's request", ""},
		"other end":      {after(replace(` "stream"`, `"stream"`)), "", "is not the client's request", ""},
		"an output lost": {after(replace(`"tool"`, `"TOOL"`)), "", "3 outputs became 2", "rewritten again"},
		"other marker":   {after(replace("<<cg:", "<<cg:x")), "", "not the same", "rewritten again"},
	} {
		b := pipelinetest.Bodies{Parse: parse, Rewrite: c.rewrite}
		expect(t, name+", prefix", failure(t, func(tb testing.TB) {
			tb.Helper()
			b.CheckPrefix(tb, requests...)
		}), c.prefix)
		expect(t, name+", restore", failure(t, func(tb testing.TB) {
			tb.Helper()
			last := requests[len(requests)-1]
			out, err := c.rewrite(tb.Context(), last)
			if err != nil {
				tb.Fatal(err)
			}
			same := func(string, string) error { return errors.New("not the same") }
			if edited := b.CheckRestore(tb, pipelinetest.Keys(tb), same, last, out); edited != 3 {
				tb.Errorf("%d outputs edited", edited)
			}
		}), c.restore)
		expect(t, name+", again", failure(t, func(tb testing.TB) {
			tb.Helper()
			b.CheckIdempotent(tb, requests[len(requests)-1])
		}), c.idempotent)
	}
}

func TestCheckPrefixWantsAConversation(t *testing.T) {
	t.Parallel()
	b := pipelinetest.Bodies{Parse: parse, Rewrite: func(_ context.Context, body []byte) ([]byte, error) { return body, nil }}
	expect(t, "unrelated", failure(t, func(tb testing.TB) {
		tb.Helper()
		b.CheckPrefix(tb, []byte(`{"messages":[1,2]}`), []byte(`{"messages":[2,3]}`))
	}), "there is nothing to check")
	expect(t, "failing", failure(t, func(tb testing.TB) {
		tb.Helper()
		pipelinetest.Bodies{Parse: parse, Rewrite: func(context.Context, []byte) ([]byte, error) {
			return nil, context.DeadlineExceeded
		}}.CheckPrefix(tb, conversation())
	}), "rewrite request 1: context deadline exceeded")
}
