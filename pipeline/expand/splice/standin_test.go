package splice_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/test/fakellm"
)

// The stand-in provider writes what providers write, and another hand made it.
func TestStandIn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		p          speaker
		path, body string
		json       bool
	}{
		{anthropic{}, "/v1/messages", `{"model":"m","stream":true}`, false},
		{anthropic{}, "/v1/messages", `{"model":"m"}`, true},
		{chat{}, "/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, false},
		{chat{}, "/v1/chat/completions", `{"model":"m"}`, true},
		{responses{}, "/v1/responses", `{"model":"m","stream":true,"tools":[{"name":"read_file"},{"name":"` + tool + `"}]}`, false},
		{responses{}, "/v1/responses", `{"model":"m","tools":[{"name":"` + tool + `"},{"name":"read_file"}]}`, true},
		{gemini{}, "/v1beta/models/m:streamGenerateContent?alt=sse", `{}`, false},
		{gemini{array: true}, "/v1beta/models/m:streamGenerateContent", `{}`, false},
		{gemini{}, "/v1beta/models/m:generateContent", `{}`, true},
		{converse{}, "/model/m/converse", `{}`, true},
	} {
		fake := fakellm.New(fakellm.WithScript(
			fakellm.Turn{ID: "one", Blocks: []fakellm.Block{
				fakellm.Thinking("hm", "c2ln"), fakellm.Text("let me see how that one went "), fakellm.ToolID("o1", tool, `{"id":"x"}`),
			}, Usage: &fakellm.Usage{Input: 10, Output: 5}},
			fakellm.Turn{ID: "two", Blocks: []fakellm.Block{fakellm.Text("it went well"), fakellm.ToolID("t1", "read_file", `{"path":"a"}`)}, Usage: &fakellm.Usage{Input: 20, Output: 6}},
		))
		server := httptest.NewServer(fake)
		var rounds [][]string
		var form splice.Form
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			var ok bool
			if form, ok = splice.FormOf(resp.Header.Get("Content-Type")); !ok || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s", tc.path, resp.StatusCode, b)
			}
			rounds = append(rounds, sized([]string{string(b)}, func() int { return 40 }))
		}
		server.Close()
		x := run(t, splice.Config{Dialect: tc.p.dialect(), Form: form}, rounds)
		read := tc.p.read
		if tc.json {
			read = tc.p.readBody
		}
		have := read(t, x.out.String())
		want := said{ID: "one", Model: "m", Stop: have.Stop, In: 20, Out: 11}
		var said strings.Builder
		var kept []block
		for _, b := range have.Blocks { // where the pieces of a text end is each API's own business
			if b.kind == "text" {
				said.WriteString(b.text)
			} else {
				kept = append(kept, b)
			}
		}
		if tc.p == (converse{}) {
			want.ID, want.Model = "", ""
		}
		want.Blocks = have.Blocks
		if diff := cmp.Diff(want, have, cmp.AllowUnexported(block{})); diff != "" || said.String() != "let me see how that one went it went well" ||
			len(kept) == 0 || kept[len(kept)-1] != call("t1", "read_file", `{"path":"a"}`) || strings.Contains(x.out.String(), tool) {
			t.Errorf("%T %s: %q %v\n%s\n%s", tc.p, tc.path, said.String(), kept, diff, x.out.String())
		}
		if think := tc.p.dialect() != wire.OpenAIChat; think != (len(kept) == 2) || len(x.turns) != 2 || think != (len(x.turns[0].Signatures) == 1) {
			t.Errorf("%T %s: %v, %d turns", tc.p, tc.path, kept, len(x.turns))
		}
	}
}
