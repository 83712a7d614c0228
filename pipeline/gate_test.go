package pipeline_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestTriggerAllows(t *testing.T) {
	t.Parallel()
	size := func(tokens, messages, window int) pipeline.RequestSize {
		return pipeline.RequestSize{Tokens: tokens, Messages: messages, Window: window}
	}
	for _, c := range []struct {
		name    string
		trigger pipeline.Trigger
		output  int
		floor   int
		request pipeline.RequestSize
		want    bool
	}{
		{"nothing asked", pipeline.Trigger{}, 1, 0, size(1, 1, 0), true},
		{"below the floor", pipeline.Trigger{}, 99, 100, size(99, 1, 0), false},
		{"at the floor", pipeline.Trigger{}, 100, 100, size(100, 1, 0), true},
		{"own floor is higher", pipeline.Trigger{MinOutputTokens: 200}, 150, 100, size(150, 1, 0), false},
		{"request too small", pipeline.Trigger{MinRequestTokens: 500}, 100, 0, size(499, 9, 0), false},
		{"request large enough", pipeline.Trigger{MinRequestTokens: 500}, 100, 0, size(500, 9, 0), true},
		{"too few messages", pipeline.Trigger{MinMessages: 5}, 100, 0, size(500, 4, 0), false},
		{"enough messages", pipeline.Trigger{MinMessages: 5}, 100, 0, size(500, 5, 0), true},
		{"fraction of the request", pipeline.Trigger{MinRequestFrac: .5}, 10, 0, size(499, 1, 1000), false},
		{"fraction reached", pipeline.Trigger{MinRequestFrac: .5}, 10, 0, size(500, 1, 1000), true},
		{"fraction is rounded up", pipeline.Trigger{MinOutputFrac: .1}, 100, 0, size(100, 1, 1001), false},
		{"unknown window", pipeline.Trigger{MinRequestFrac: .5, MinOutputFrac: .9}, 1, 0, size(1, 1, 0), true},
		{"the larger of both counts", pipeline.Trigger{MinRequestTokens: 800, MinRequestFrac: .5}, 1, 0, size(600, 1, 1000), false},
		{"huge in a small request", pipeline.Trigger{MinRequestTokens: 9000, HugeOutputFrac: .3}, 300, 0, size(300, 1, 1000), true},
		{"not huge", pipeline.Trigger{MinRequestTokens: 9000, HugeOutputFrac: .3}, 299, 0, size(299, 1, 1000), false},
		{"huge but below the floor", pipeline.Trigger{HugeOutputFrac: .1}, 150, 200, size(150, 1, 1000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.trigger.Allows(pipeline.Segment{Tokens: c.output, Request: c.request}, c.floor); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTriggerValidate(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]pipeline.Trigger{
		"tokens": {MinRequestTokens: -1}, "messages": {MinMessages: -1}, "output": {MinOutputTokens: -1},
		"above one": {MinRequestFrac: 1.1}, "negative": {MinOutputFrac: -.1}, "not a number": {HugeOutputFrac: math.NaN()},
	} {
		if bad.Validate() == nil {
			t.Errorf("%s: %+v is accepted", name, bad)
		}
	}
	if err := (pipeline.Trigger{MinRequestFrac: 1, MinMessages: 3}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestTriggersLookAtTheRequestAsItWas checks that a trigger on the request's
// size is judged as of each output: what was small when it was new stays as it
// is however long the conversation gets, with a memo and without one.
func TestTriggersLookAtTheRequestAsItWas(t *testing.T) {
	t.Parallel()
	trigger := pipeline.Trigger{MinRequestTokens: 5}
	step := pipeline.Step{
		Meta: pipeline.Meta{Name: "gated", Kind: pipeline.KindOffload, Scope: trigger.Scope()},
		Component: rewriteFunc(func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
			if !trigger.Allows(s, 0) {
				return pipeline.Decline(pipeline.ReasonTrigger), nil
			}
			return pipeline.Offload(pipeline.Loss{}), nil
		}),
	}
	for name, memo := range map[string]*pipeline.Memo{"memo": pipeline.NewMemo(0), "no memo": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pipeline.New(pipeline.Settings{
				Steps: []pipeline.Step{step}, Markers: pipelinetest.Keys(t), Lossy: true, Counter: pipelinetest.Words{}, Memo: memo,
			})
			turn := func(text string) []pipelinetest.Output { return []pipelinetest.Output{{Text: text}} }
			turns := [][]pipelinetest.Output{turn("one two three"), turn("one two three four"), turn("one two three")}
			for n := 1; n <= len(turns); n++ {
				for i, o := range pipelinetest.Run(t, p, pipelinetest.Transcript(turns[:n]...)) {
					if got, want := o.Acts[0].Reason != pipeline.ReasonTrigger, i > 0; got != want {
						t.Errorf("%d turns, output %d: triggered %v, want %v", n, i, got, want)
					}
				}
			}
		})
	}
}

func TestToolGlob(t *testing.T) {
	t.Parallel()
	for glob, names := range map[pipeline.ToolGlob]struct{ yes, no []string }{
		"read_*": {
			[]string{"read_file", "read_", "mcp__disk__read_file", "disk.read_file", "disk/read_file", "disk:read_file", "a.b/c__read_x", "read_file__x", "read_disk.get"},
			[]string{"read", "Read_file", "xread_file", "mcp__read__file", ""},
		},
		"mcp__disk__*": {[]string{"mcp__disk__get", "mcp__disk__", "mcp__disk__a/b.c"}, []string{"mcp__disk", "disk__get", "mcp__disk2__get", "x_mcp__disk__get"}},
		"disk/*":       {[]string{"disk/get", "disk/a/b"}, []string{"disk.get", "x/disk/get", "disk"}},
		"*":            {[]string{"", "a", "a/b", "a__", strings.Repeat("x", 5000)}, nil},
		"*/get":        {[]string{"disk/get", "a/b/get"}, []string{"get", "disk.get"}},
		"get":          {[]string{"get", "a__get", "a.get", "a/get", "a:get", "a___get"}, []string{"a_get", "get.a", "a-get", "get__", ""}},
		"g?t[0-9]":     {[]string{"get1", "x.göt2"}, []string{"get", "geet1", "g/.t1"}},
		"[^a-c]x":      {[]string{"dx", "a__dx"}, []string{"ax", "x"}},
		`\[!a]`:        {[]string{"[!a]"}, []string{"b", "a"}},
		`a\*`:          {[]string{"a*"}, []string{"ab"}},
	} {
		if err := glob.Validate(); err != nil {
			t.Errorf("%s: %v", glob, err)
		}
		for _, name := range names.yes {
			if !glob.Names(name) {
				t.Errorf("%s does not name %.40q", glob, name)
			}
		}
		for _, name := range names.no {
			if glob.Names(name) {
				t.Errorf("%s names %q", glob, name)
			}
		}
	}
	for _, glob := range []pipeline.ToolGlob{"", "[a", `a\`, "x[", "*[b-a", "[!a]b", "x[!a-c]"} {
		if glob.Validate() == nil {
			t.Errorf("%q is taken for a glob", glob)
		}
	}
}

// Rules that decide otherwise make another pipeline.
func TestRulesForToolsAreInTheDigest(t *testing.T) {
	t.Parallel()
	seen := map[pipeline.Digest]int{}
	for i, rules := range []pipeline.ToolRules{
		{},
		{Exclude: []pipeline.ToolGlob{"a"}},
		{LosslessOnly: []pipeline.ToolGlob{"a"}},
		{Exclude: []pipeline.ToolGlob{"a", "b"}},
		{Exclude: []pipeline.ToolGlob{"a"}, LosslessOnly: []pipeline.ToolGlob{"b"}},
		{Exclude: []pipeline.ToolGlob{"ab"}},
	} {
		d := pipeline.New(pipeline.Settings{Counter: pipelinetest.Words{}, Tools: rules}).Digest()
		if other, taken := seen[d]; taken {
			t.Errorf("rules %d and %d have one digest", other, i)
		}
		seen[d] = i
	}
}
