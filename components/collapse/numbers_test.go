package collapse

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// Where a component in front wrote the text in other lines, numbers would lead
// a reader of the original to something else.
func TestNoNumbersForOthersLines(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 900 {
		fmt.Fprintf(&text, "row %d of a table\n", i)
		if i%300 == 150 {
			fmt.Fprintf(&text, "error in row %d\n", i)
		}
	}
	rewritten := func(same pipeline.Equivalence) pipeline.Spec {
		return pipeline.Define(pipeline.Meta{Name: "rewrite", Kind: pipeline.KindReformat}, struct{}{}, func(struct{}, pipeline.Deps) (pipeline.Component, error) {
			return replacer{pipeline.Replace(text.String(), same)}, nil
		})
	}
	agreed := func(string, string) error { return nil }
	for name, c := range map[string]struct {
		same pipeline.Equivalence
		want string
	}{
		"other lines": {pipeline.Equivalence{Check: agreed}, "row 19 of a table\n... (131 lines omitted) <<cg:ID>> [full output: call context_guru_expand]\nerror in row 150\n... (300 lines omitted)\nerror"},
		"same lines":  {pipeline.Equivalence{Check: agreed, Lines: true}, "row 19 of a table\n... (131 lines omitted) <<cg:ID>> [full output: call context_guru_expand] lines 21-151\nerror in row 150\n... (300 lines omitted) lines 153-452\nerror"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := text.String() + strings.Repeat(" and more", 900)
			o := pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, rewritten(c.same), Spec())), pipelinetest.Texts(client))[0]
			if o.Lossy == nil {
				t.Fatalf("not cut: %+v", o.Acts)
			}
			view := strings.ReplaceAll(o.Lossy.Text, o.Lossy.ID, "ID")
			if !strings.Contains(view, c.want) {
				t.Errorf("got %s\nwant %s", view, c.want)
			}
		})
	}
}

type replacer struct{ edit pipeline.Edit }

func (r replacer) Rewrite(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
	return r.edit, nil
}
