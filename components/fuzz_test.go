package components_test

import (
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// roomy counts every text without a marker as large, so that floors and
// thresholds keep no component from a short text.
type roomy struct{ pipelinetest.Words }

func (r roomy) Count(text string) pipeline.Count {
	n := r.Words.Count(text).N
	return pipeline.Count{N: 100 * n}
}

// Whatever the text and however often it is sent: nobody fails, and the laws
// hold for each component and for all of them together.
func FuzzLaws(f *testing.F) {
	for _, text := range pipelinetest.Hostile() {
		if len(text) < 3_000 {
			f.Add(text)
		}
	}
	f.Add("10%\r20%\r\n\x1b[31merror\x1b[0m\n\n\n\n⠋\n")
	f.Add("{ \"a\": \"{ \\\"b\\\": [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 ] }\" }")
	f.Fuzz(func(t *testing.T, text string) {
		sets := [][]pipeline.Spec{inOrder(t)}
		for _, spec := range components.All() {
			sets = append(sets, []pipeline.Spec{spec})
		}
		transcript := pipelinetest.Texts(text, "other", text)
		for _, specs := range sets {
			settings := pipelinetest.Settings(t, specs...)
			settings.Counter = roomy{}
			for _, lossy := range []bool{false, true} {
				settings.Lossy = lossy
				p := pipeline.New(settings)
				outcomes := pipelinetest.Run(t, p, transcript)
				pipelinetest.CheckNeverWorse(t, transcript, outcomes, roomy{})
				pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), sameText)
				pipelinetest.CheckIdempotent(t, p, transcript, lossy)
			}
		}
	})
}
