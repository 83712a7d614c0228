//go:build !cgo || notreesitter

package skeleton_test

import (
	"testing"

	"github.com/contextguru/contextguru/components/skeleton"
	"github.com/contextguru/contextguru/pipeline"
)

func TestWithoutAParserNothingIsTouched(t *testing.T) {
	t.Parallel()
	step, err := skeleton.Spec().Build(nil, pipeline.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	edit, err := step.Component.Rewrite(t.Context(), pipeline.View{}, pipeline.Segment{Text: "```go\npackage a\n```", Tokens: 1000})
	if err != nil || edit.Lossy() {
		t.Errorf("%+v, %v", edit, err)
	}
}
