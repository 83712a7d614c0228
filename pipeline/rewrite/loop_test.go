package rewrite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// loopRig has a rewriter that answers calls itself.
func loopRig(t testing.TB, x rewrite.Expand, change func(*rewrite.Config)) *rig {
	t.Helper()
	x.Resolver = rewrite.ResolverLoop
	return newRig(t, func(c *rewrite.Config) {
		c.Expand = x
		if change != nil {
			change(c)
		}
	})
}

// aTool is a tool of the client's in each dialect, as far as it may matter.
func aTool(d wire.Dialect) string {
	switch d {
	case wire.OpenAIChat:
		return `{"type":"function","function":{"name":"f"}}`
	case wire.OpenAIResponses:
		return `{"type":"function","name":"f"}`
	case wire.BedrockConverse:
		return `{"toolSpec":{"name":"f"}}`
	default:
		return `{"name":"f"}`
	}
}

// declaring are the forms with tools behind the conversation, and with tools in front.
func declaring() []form {
	var out []form
	for _, f := range forms() {
		before, after := `"tools":[`, `]`
		switch f.dialect {
		case wire.Gemini:
			before, after = `"tools":[{"functionDeclarations":[`, `]}]`
		case wire.BedrockConverse:
			before, after = `"toolConfig":{"tools":[`, `]}`
		case wire.OpenAIResponses:
			after = `],"store":false`
		}
		member := before + aTool(f.dialect) + after
		plain := f
		plain.back = strings.Replace(f.back, `,"toolConfig":{"tools":[]}`, "", 1)
		plain.name += ", tools behind"
		plain.back = strings.TrimSuffix(plain.back, "}") + "," + member + " }"
		out = append(out, plain)
		plain.name = f.name + ", tools in front"
		plain.back = strings.Replace(f.back, `,"toolConfig":{"tools":[]}`, "", 1)
		plain.front = "{" + member + "," + strings.TrimPrefix(f.front, "{")
		out = append(out, plain)
	}
	return out
}

// with is a part of a body with the expand tool behind the client's.
func (f *form) with(part string) string {
	return strings.Replace(part, aTool(f.dialect), aTool(f.dialect)+","+tool.Definition(f.dialect), 1)
}

// TestLoopInEveryDialect takes a conversation through every dialect: the tool is
// behind the client's from the first request on, nothing that was sent changes,
// the request answers for its own markers, and without what was put in it is the
// client's. Neither a store that is down nor one that holds other values shows.
func TestLoopInEveryDialect(t *testing.T) {
	t.Parallel()
	for _, f := range declaring() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := loopRig(t, rewrite.Expand{}, nil)
			down := loopRig(t, rewrite.Expand{}, func(c *rewrite.Config) { _ = c.Store.Close() })
			earlier := f.with(f.front)
			for turns := range 4 {
				client := f.body(turns)
				req := rewrite.Request{Dialect: f.dialect, Body: client, Tenant: "t"}
				out, report := r.do(t, req)
				if report.Tool != tool.Injected || report.Gate != rewrite.GateOpen || report.Lossless != "" || report.Markers != turns ||
					report.StoreError != nil || report.ToolTokens != len(tool.Definition(f.dialect))+1 {
					t.Fatalf("report %+v", report)
				}
				if !json.Valid([]byte(out)) || !strings.HasPrefix(out, earlier) || !strings.HasSuffix(out, f.with(f.back)) {
					t.Fatalf("%s\ndoes not go on like\n%s", out, earlier)
				}
				earlier = strings.TrimSuffix(out, f.with(f.back))
				r.restores(t, f.dialect, string(client), strings.Replace(out, ","+tool.Definition(f.dialect), "", 1))
				r.answers(t, req)

				without, failed := down.do(t, req)
				if without != out || (failed.StoreError != nil) != (turns > 0) || failed.Markers != turns {
					t.Fatalf("without a store: %+v\n%s\nwant\n%s", failed, without, out)
				}
				req.Body = []byte(out)
				again, report := r.do(t, req)
				if report.Verdict != rewrite.Unchanged || report.Tool != tool.Present {
					t.Fatalf("rewritten again: %+v, %s", report, again)
				}
			}
		})
	}
}

// answers checks that the request answers for every marker it is sent with, and
// for no other.
func (r *rig) answers(t *testing.T, req rewrite.Request) {
	t.Helper()
	reply := r.Rewrite(t.Context(), req)
	sent := string(reply.Body)
	originals := reply.Originals
	reply.Release()
	r.Rewrite(t.Context(), rewrite.Request{Dialect: wire.OpenAIChat, Body: body("something else"), Tenant: "u"}).Release()

	resolver := expand.Resolver{Keys: r.keys, Originals: expand.Requested{Text: originals.Text}}
	before, after := parsed(t, req.Dialect, string(req.Body)), parsed(t, req.Dialect, sent)
	markers := 0
	for i := range after.Segments {
		text, _ := after.Original(i)
		want, _ := before.Original(i)
		for id := range r.keys.Markers(text) {
			markers++
			got, err := resolver.Resolve(t.Context(), []string{"t"}, id)
			if err != nil || got != want {
				t.Errorf("%s: %q, %v, want %q", id, got, err, want)
			}
		}
	}
	if originals.Len() != markers || (originals.Size() != 0) != (markers > 0) {
		t.Errorf("%d originals of %d bytes for %d markers", originals.Len(), originals.Size(), markers)
	}
	for _, id := range []string{r.keys.Mint("what nobody sent"), "x"} {
		if _, err := resolver.Resolve(t.Context(), []string{"t"}, id); !errors.Is(err, expand.ErrUnknown) {
			t.Errorf("%s: %v, want unknown", id, err)
		}
	}
}

// TestConflictInLoop checks that what the store holds under an id changes nothing.
func TestConflictInLoop(t *testing.T) {
	t.Parallel()
	r := loopRig(t, rewrite.Expand{}, nil)
	want, _ := r.do(t, rewrite.Request{Body: body(long()), Tenant: "t"})
	key := store.Key{Tenant: "u", Space: store.Originals, ID: r.keys.Mint(long())}
	if err := r.store.PutAll(t.Context(), []store.Item{{Key: key, Value: []byte("another text")}}); err != nil {
		t.Fatal(err)
	}
	got, report := r.do(t, rewrite.Request{Body: body(long()), Tenant: "u"})
	if got != want || report.Conflicts != 1 || report.Markers != 1 {
		t.Fatalf("report %+v\n%s\nwant\n%s", report, got, want)
	}
}

// chat is a chat request with one output, some more members, and a preamble of
// so many bytes.
func chat(preamble int, more string) []byte {
	return fmt.Appendf(nil, `{"model":"m",%s"messages":[{"role":"user","content":%q},%s`, more, strings.Repeat("x", preamble),
		strings.TrimPrefix(string(body(long())), `{"model":"m","messages":[`))
}

// TestWhenTheToolIsPutIn is the table of all reasons.
func TestWhenTheToolIsPutIn(t *testing.T) {
	t.Parallel()
	const some = `"tools":[{"type":"function","function":{"name":"f"}}],`
	const ours = `"tools":[{"type":"function","function":{"name":"context_guru_expand"}}],`
	const always, never = rewrite.InjectAlways, rewrite.InjectNever
	responses := func(more string) []byte {
		return fmt.Appendf(nil, `{"model":"m","tools":[{"type":"function","name":"f"}],%s"input":[{"type":"function_call_output","call_id":"c","output":%q}]}`, more, long())
	}
	for _, c := range []struct {
		name     string
		inject   rewrite.Inject
		gate     int
		req      rewrite.Request
		state    tool.State
		open     rewrite.Gate
		lossless string
	}{
		{"open", 0, 100, rewrite.Request{Body: chat(400, some)}, tool.Injected, rewrite.GateOpen, ""},
		{"closed", 0, 101, rewrite.Request{Body: chat(400, some)}, rewrite.ToolGateClosed, rewrite.GateClosed, rewrite.LosslessGate},
		{"always", always, 101, rewrite.Request{Body: chat(400, some)}, tool.Injected, rewrite.GateOpen, ""},
		{"never", never, 0, rewrite.Request{Body: chat(400, some)}, rewrite.ToolNever, "", rewrite.LosslessNoTool},
		{"no tools", 0, 100, rewrite.Request{Body: chat(400, "")}, tool.NoTools, rewrite.GateOpen, ""},
		{"no tools, closed", 0, 101, rewrite.Request{Body: chat(400, "")}, rewrite.ToolGateClosed, rewrite.GateClosed, rewrite.LosslessGate},
		{"no tools, always", always, 0, rewrite.Request{Body: chat(400, "")}, tool.Injected, rewrite.GateOpen, ""},
		{"no tools, never", never, 0, rewrite.Request{Body: chat(400, "")}, rewrite.ToolNever, "", rewrite.LosslessNoTool},
		{"empty tools", 0, 0, rewrite.Request{Body: chat(400, `"tools":[],`)}, tool.NoTools, rewrite.GateOpen, ""},
		{"two lists", 0, 0, rewrite.Request{Body: chat(400, some+some)}, tool.Unclear, rewrite.GateOpen, rewrite.LosslessNoTool},
		{"no list", always, 0, rewrite.Request{Body: chat(400, `"tools":"auto",`)}, tool.Unclear, rewrite.GateOpen, rewrite.LosslessNoTool},
		{"name taken", 0, 0, rewrite.Request{Body: chat(400, ours)}, tool.Taken, rewrite.GateOpen, rewrite.LosslessNoTool},
		{"name taken, always", always, 0, rewrite.Request{Body: chat(400, ours)}, tool.Taken, rewrite.GateOpen, rewrite.LosslessNoTool},
		{"no choice", 0, 0, rewrite.Request{Body: chat(400, some+`"tool_choice":"none",`)}, tool.Injected, rewrite.GateOpen, ""},
		{"forced choice", 0, 0, rewrite.Request{Body: chat(400, some+`"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false,`)}, tool.Injected, rewrite.GateOpen, ""},
		{"asked", always, 0, rewrite.Request{Body: chat(400, some), LosslessOnly: true}, rewrite.ToolLosslessOnly, "", rewrite.LosslessAsked},
		{"no tenant", always, 0, rewrite.Request{Body: chat(400, some), Tenant: "-"}, rewrite.ToolLosslessOnly, "", rewrite.LosslessNoTenant},
		{"kept", always, 0, rewrite.Request{Dialect: wire.OpenAIResponses, Body: responses("")}, rewrite.ToolLosslessOnly, "", rewrite.LosslessKept},
		{"not kept", 0, 0, rewrite.Request{Dialect: wire.OpenAIResponses, Body: responses(`"store":false,`)}, tool.Injected, rewrite.GateOpen, ""},
		{"counted", 0, 0, rewrite.Request{Dialect: wire.OpenAIResponses, Body: responses(""), Aside: true}, tool.Injected, rewrite.GateOpen, ""},
		{"no room", 0, 0, rewrite.Request{Body: []byte(`{"model":"m",` + some + `"messages":[{"role":"user","content":"Begin."}]}`), Shed: true}, rewrite.ToolLosslessOnly, "", rewrite.LosslessShed},
		{"no room, going on", 0, 0, rewrite.Request{Body: chat(400, some), Shed: true}, tool.Injected, rewrite.GateOpen, ""},
		{"binary", always, 0, rewrite.Request{Body: chat(400, some), Binary: true}, rewrite.ToolLosslessOnly, "", rewrite.LosslessBinary},
		{"several answers", always, 0, rewrite.Request{Body: chat(400, some+`"n":2,`)}, rewrite.ToolLosslessOnly, "", rewrite.LosslessSeveral},
		{"one answer", 0, 0, rewrite.Request{Body: chat(400, some+`"n":1,`)}, tool.Injected, rewrite.GateOpen, ""},
		{"held", always, 0, rewrite.Request{Dialect: wire.OpenAIResponses, Body: responses(`"store":false,"previous_response_id":"r",`)}, rewrite.ToolLosslessOnly, "", rewrite.LosslessServerHeld},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := loopRig(t, rewrite.Expand{Inject: c.inject, GateTokens: c.gate}, nil)
			if c.req.Tenant == "" {
				c.req.Tenant = "t"
			}
			c.req.Tenant = strings.TrimPrefix(c.req.Tenant, "-")
			out, report := r.do(t, c.req)
			if report.Tool != c.state || report.Gate != c.open || report.Lossless != c.lossless {
				t.Errorf("tool %q, gate %q, lossless %q, want %q, %q, %q", report.Tool, report.Gate, report.Lossless, c.state, c.open, c.lossless)
			}
			dialect := c.req.Dialect
			if dialect == "" {
				dialect = wire.OpenAIChat
			}
			if has := strings.Contains(out, tool.Definition(dialect)); has != (c.state == tool.Injected) || has != (report.ToolTokens > 0) {
				t.Errorf("the tool is there: %v, costs %d", has, report.ToolTokens)
			}
			if marked := strings.Contains(out, "<<cg:"); strings.Count(out, "<<cg:ID>>") < strings.Count(out, "<<cg:") != (c.lossless == "") || report.Markers > 0 != (c.lossless == "") {
				t.Errorf("markers: %v, %d", marked, report.Markers)
			}
			if strings.Contains(out, "word  and") {
				t.Error("lossless edits are missing")
			}
		})
	}
}

// TestNoToolWithoutMarkers checks that pipelines that leave no markers do not cost a tool.
func TestNoToolWithoutMarkers(t *testing.T) {
	t.Parallel()
	r := loopRig(t, rewrite.Expand{Inject: rewrite.InjectAlways}, func(c *rewrite.Config) {
		before := c.Pipeline(t.Context(), rewrite.Choice{})
		keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		p := pipeline.New(pipeline.Settings{Steps: before.Steps()[:1], Markers: keys, Lossy: true, Counter: letters{}})
		c.Pipeline = func(context.Context, rewrite.Choice) *pipeline.Pipeline { return p }
	})
	out, report := r.do(t, rewrite.Request{Tenant: "t", Body: chat(400, `"tools":[{"type":"function","function":{"name":"f"}}],`)})
	if strings.Contains(out, tool.Name) || report.Tool != rewrite.ToolNoMarkers || report.Lossless != "" || report.Verdict != rewrite.Rewritten {
		t.Errorf("report %+v\n%s", report, out)
	}
}

// TestNoToolWithoutLoop checks that others than the loop see nothing of it.
func TestNoToolWithoutLoop(t *testing.T) {
	t.Parallel()
	for resolver, want := range map[rewrite.Resolver]string{rewrite.ResolverExternal: "", rewrite.ResolverNone: rewrite.LosslessNoResolver} {
		r := newRig(t, func(c *rewrite.Config) { c.Expand = rewrite.Expand{Resolver: resolver, Inject: rewrite.InjectAlways} })
		reply := r.Rewrite(t.Context(), rewrite.Request{Dialect: wire.OpenAIChat, Tenant: "t", Body: chat(400, `"tools":[{"type":"function","function":{"name":"f"}}],`)})
		report := reply.Report
		if strings.Contains(string(reply.Body), tool.Name) || report.Tool != "" || report.Gate != "" || report.Lossless != want || reply.Originals != nil {
			t.Errorf("report %+v", report)
		}
		reply.Release()
	}
}

// TestPassedThroughHasNoTool checks that a report never claims a tool that did
// not go out.
func TestPassedThroughHasNoTool(t *testing.T) {
	t.Parallel()
	const some = `"tools":[{"type":"function","function":{"name":"f"}}],`
	r := loopRig(t, rewrite.Expand{}, func(c *rewrite.Config) { c.MaxBody = 10 })
	out, report := r.do(t, rewrite.Request{Body: chat(0, some), Tenant: "t"})
	if out != "" || report.Verdict != rewrite.PassThrough || report.Tool != "" || report.ToolTokens != 0 {
		t.Errorf("%+v, %s", report, out)
	}
}
