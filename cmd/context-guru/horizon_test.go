package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
)

// The distance of horizons reaches the pipeline: it decides whether an old
// output of a short conversation is masked.
func TestHorizonTokensReachThePipeline(t *testing.T) {
	t.Parallel()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	body.WriteString(`{"model":"gpt-5","messages":[{"role":"user","content":"go"}`)
	for i := range 6 {
		fmt.Fprintf(&body, `,{"role":"assistant","tool_calls":[{"id":"a%d","type":"function","function":{"name":"sh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a%d","content":%q}`,
			i, i, strings.Repeat(fmt.Sprintln("a line of output", i), 50))
	}
	body.WriteString(`]}`)
	for distance, want := range map[string]int{"32000": 0, "1500": 2, "0": 3} {
		c, err := config.Parse("cg.yaml", []byte("pipeline: [mask]\nexpand: {resolver: external}\ncache: {horizon_tokens: "+distance+"}\n"), catalog)
		if err != nil {
			t.Fatal(err)
		}
		var out, notes strings.Builder
		err = compressBody(t.Context(), compressInput{config: c, path: "/v1/chat/completions", in: strings.NewReader(body.String()), out: &out, notes: &notes})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "[older tool output masked"); got != want {
			t.Errorf("distance %s: %d outputs are masked, want %d", distance, got, want)
		}
	}
}
