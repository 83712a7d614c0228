package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// hiddenRig is a rewriter with a keeper, on a store that others may share.
func hiddenRig(t *testing.T, shared store.Store, change func(*rewrite.Config)) (*rig, *hidden.Keeper) {
	t.Helper()
	var keeper *hidden.Keeper
	r := loopRig(t, rewrite.Expand{}, func(c *rewrite.Config) {
		if shared != nil {
			c.Store = shared
		}
		keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k", Secret: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		if keeper, err = hidden.New(hidden.Config{Store: c.Store, Keys: keys}); err != nil {
			t.Fatal(err)
		}
		c.Hidden = keeper
		if change != nil {
			change(c)
		}
	})
	return r, keeper
}

// said is how a dialect writes what a model said, and what a client answers.
type said struct {
	dialect     wire.Dialect
	front, back string
	call        string // of a shell, number %[1]d, and its output %[2]q
	hidden      string // the model's turn that the client sees a part of
	visible     string // that and its next turn, as the client sees them
	last        string // the next turn
	lastResult  string
	leak        string // a call of the expand tool with the id %[1]s, and what a client makes of it
}

func saids() []said {
	return []said{
		{
			dialect: wire.OpenAIChat, front: `{"messages":[{"role":"user","content":"Go."}`, back: `],"tools":[{"type":"function","function":{"name":"sh"}}]}`,
			call:       `,{"role":"assistant","tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":%[2]q}`,
			hidden:     `{"role":"assistant","content":"Hm. ","tool_calls":[{"id":"x","type":"function","function":{"name":"context_guru_expand","arguments":"{}"}}]}`,
			visible:    `{"role":"assistant","content":"Hm. So.","tool_calls":[{"id":"c9","type":"function","function":{"name":"sh","arguments":"{}"}}]}`,
			last:       `{"role":"assistant","content":"So.","tool_calls":[{"id":"c9","type":"function","function":{"name":"sh","arguments":"{}"}}]}`,
			lastResult: `{"role":"tool","tool_call_id":"c9","content":%q}`,
			leak:       `,{"role":"assistant","tool_calls":[{"id":"l","type":"function","function":{"name":"context_guru_expand","arguments":"{\"id\":\"%[1]s\"}"}}]},{"role":"tool","tool_call_id":"l","content":"unsupported call"}`,
		},
		{
			dialect: wire.AnthropicMessages, front: `{"tools":[{"name":"sh"}],"messages":[{"role":"user","content":"Go."}`, back: `],"model":"m"}`,
			call:       `,{"role":"assistant","content":[{"type":"tool_use","id":"c%[1]d","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":%[2]q}]}`,
			hidden:     `{"role":"assistant","content":[{"type":"text","text":"Hm. "},{"type":"tool_use","id":"x","name":"context_guru_expand","input":{}}]}`,
			visible:    `{"role":"assistant","content":[{"type":"text","text":"Hm. "},{"type":"text","text":"So."},{"type":"tool_use","id":"c9","name":"sh","input":{}}]}`,
			last:       `{"role":"assistant","content":[{"type":"text","text":"So."},{"type":"tool_use","id":"c9","name":"sh","input":{}}]}`,
			lastResult: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c9","content":%q}]}`,
			leak:       `,{"role":"assistant","content":[{"type":"tool_use","id":"l","name":"context_guru_expand","input":{"id":"%[1]s"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"l","is_error":true,"content":"no such tool"}]}`,
		},
	}
}

// The request behind an exchange starts with the exchange's last request, its
// outputs edited as ever, on another replica too.
func TestHiddenRoundsComeBack(t *testing.T) {
	t.Parallel()
	for _, s := range saids() {
		r, keeper := hiddenRig(t, nil, nil)
		conversation := s.front + fmt.Sprintf(s.call, 1, long())
		reply := r.Rewrite(t.Context(), rewrite.Request{Dialect: s.dialect, Body: []byte(conversation + s.back), Tenant: "t"})
		defer reply.Release()
		if reply.Place == nil || reply.Report.Markers != 1 {
			t.Fatalf("%+v", reply.Report)
		}
		if o := reply.Originals; o.Component(r.keys.Mint(long())) != "head" || o.Component("x") != "" || o.Tokens("four") != 4 {
			t.Errorf("%s: hidden by %q", s.dialect, o.Component(r.keys.Mint(long())))
		}
		first := &round.Turn{Assistant: []byte(s.hidden)}
		results := []round.Result{{Call: round.Call{ID: "x"}, Text: "the  original"}}
		exchange, err := turns.Exchange(nil, s.dialect, first.Assistant, results)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := turns.Continue(nil, s.dialect, reply.Body, exchange, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = keeper.Record(t.Context(), hidden.Exchange{
			Dialect: s.dialect, Tenants: []string{"t"}, Place: *reply.Place,
			Hidden: []hidden.Round{{Turn: first, Results: results}}, Last: &round.Turn{Assistant: []byte(s.last)},
		})
		if err != nil {
			t.Fatal(err)
		}
		next := []byte(conversation + "," + s.visible + "," + fmt.Sprintf(s.lastResult, "9"+long()) + s.back)
		other, _ := hiddenRig(t, r.store, nil)
		for _, on := range []*rig{r, other} {
			out, report := on.do(t, rewrite.Request{Dialect: s.dialect, Body: next, Tenant: "t"})
			end := strings.LastIndex(string(sent), s.back[:1])
			if s.back[0] == ']' && s.dialect == wire.OpenAIChat {
				end = strings.LastIndex(string(sent), `],"tools"`)
			}
			if !strings.HasPrefix(out, string(sent)[:end]+",") || report.Restored != 1 || report.Markers != 2 || report.Turn != 2 {
				t.Errorf("%s: %+v\n%s\ndoes not start like\n%s", s.dialect, report, out, sent)
			}
		}
		// Without the tool, and where it would not fit, the visible answer goes out.
		toolless := strings.Replace(strings.Replace(string(next), `"tools":[{"name":"sh"}],`, "", 1), `,"tools":[{"type":"function","function":{"name":"sh"}}]`, "", 1)
		if out, report := r.do(t, rewrite.Request{Dialect: s.dialect, Body: []byte(toolless), Tenant: "t"}); report.Restored != 0 || strings.Contains(out, "the  original") {
			t.Errorf("%s, without tools: %+v", s.dialect, report)
		}
		plain, _ := other.do(t, rewrite.Request{Dialect: s.dialect, Body: next, Tenant: "u"})
		tight, _ := hiddenRig(t, r.store, func(c *rewrite.Config) { c.MaxBody = len(plain) })
		if out, report := tight.do(t, rewrite.Request{Dialect: s.dialect, Body: next, Tenant: "t"}); out != plain || report.Restored != 0 || report.Verdict != rewrite.Rewritten {
			t.Errorf("%s, without room: %+v\n%s", s.dialect, report, out)
		}
	}
}

// A call that leaked is answered out of the request, in each request the same way.
func TestLeaksHeal(t *testing.T) {
	t.Parallel()
	for _, s := range saids() {
		r, _ := hiddenRig(t, nil, nil)
		conversation := s.front + fmt.Sprintf(s.call, 1, long())
		id := r.keys.Mint(long())
		leaked := conversation + fmt.Sprintf(s.leak, id+":1-1")
		out, report := r.do(t, rewrite.Request{Dialect: s.dialect, Body: []byte(leaked + s.back), Tenant: "t"})
		if report.Healed != 1 || !strings.Contains(out, `"head  of it\n`) || strings.Contains(out, "is_error") {
			t.Errorf("%s: %+v\n%s", s.dialect, report, out)
		}
		later, _ := r.do(t, rewrite.Request{Dialect: s.dialect, Body: []byte(leaked + fmt.Sprintf(s.call, 2, long()+"2") + s.back), Tenant: "t"})
		if end := strings.LastIndex(out, s.back[:2]); !strings.HasPrefix(later, out[:end]) {
			t.Errorf("%s: healed otherwise later\n%s\n%s", s.dialect, out, later)
		}
		unknown := conversation + fmt.Sprintf(s.leak, r.keys.Mint("another")) + s.back
		if _, report := r.do(t, rewrite.Request{Dialect: s.dialect, Body: []byte(unknown), Tenant: "t"}); report.Healed != 0 {
			t.Errorf("%s: healed what nobody knows", s.dialect)
		}
	}
}
