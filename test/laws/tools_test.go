package laws_test

import (
	"fmt"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

func someTools() pipeline.ToolRules {
	return pipeline.ToolRules{Exclude: []pipeline.ToolGlob{"read_*"}, LosslessOnly: []pipeline.ToolGlob{"bash"}}
}

// TestRulesForTools holds every component, at first sight and at horizons, to
// the rules: a tool that is excluded has its outputs sent as they came, one that
// is lossless only has no marker in them, and of both the report knows why.
// Where all tools are lossless only, what is sent is what is sent without anybody
// to resolve a marker.
func TestRulesForTools(t *testing.T) {
	t.Parallel()
	all := []pipeline.ToolGlob{"*"}
	made := func(p parts) *replica {
		s := newSubject(t, p)
		t.Cleanup(func() { _ = s.close() })
		return s.start(usualMemo)
	}
	with := func(rules pipeline.ToolRules) parts {
		return parts{steps: steps(t, eager()), horizon: 1500, tools: rules}
	}
	some, none := made(with(someTools())), made(with(pipeline.ToolRules{Exclude: all, LosslessOnly: all}))
	lossless := made(with(pipeline.ToolRules{LosslessOnly: all}))
	unresolved := made(parts{steps: steps(t, eager()), horizon: 1500, lossless: true})
	told := map[string]int{}
	for n := range uint64(*plots) {
		p := newWriter(n).plot()
		for _, d := range []wire.Dialect{wire.OpenAIChat, wire.AnthropicMessages} {
			for _, body := range p.write(d) {
				q := request{dialect: d, body: body, tenant: tenant}
				if sent, _ := none.rewrite(q); string(sent) != string(body) {
					t.Fatalf("%d: all tools are excluded, and it was changed", n)
				}
				a, _ := lossless.rewrite(q)
				b, _ := unresolved.rewrite(q)
				if string(a) != string(b) {
					t.Fatalf("%d: all tools are lossless only, and not as without a resolver: %s", n, parting(string(b), string(a)))
				}
				_, report := some.rewrite(q)
				heldTo(t, report, told)
			}
		}
	}
	for _, want := range []string{"read_file tool_excluded", "bash sent", "bash tool_lossless_only", "bash tool_lossless_only at a horizon", "search marked"} {
		if told[want] == 0 {
			t.Errorf("nothing was %s: %v", want, told)
		}
	}
}

// heldTo checks the outputs of one request, and notes what was seen of them.
func heldTo(t *testing.T, r *rewrite.Report, told map[string]int) {
	t.Helper()
	late := map[string]bool{"mask": true, "failed_run": true}
	for _, x := range r.Explained {
		o := x.Outcome
		if o.Reason == pipeline.ReasonToolExcluded {
			told[x.Tool+" tool_excluded"]++
		}
		switch {
		case x.Tool == "read_file" && (x.Text != "" || len(o.Acts) > 0 || o.Reason == ""):
			t.Errorf("an excluded output was changed: %+v", o)
		case x.Tool == "bash" && o.Lossy != nil:
			t.Errorf("a lossless output has the marker %s", o.Lossy.ID)
		case o.Lossy != nil:
			told[x.Tool+" marked"]++
		case x.Text != "":
			told[x.Tool+" sent"]++
		}
		for _, act := range o.Acts {
			if act.Reason == pipeline.ReasonToolLossless {
				told[fmt.Sprint(x.Tool, " ", act.Reason)]++
				if late[act.Component] {
					told[fmt.Sprint(x.Tool, " ", act.Reason, " at a horizon")]++
				}
			}
		}
	}
}
