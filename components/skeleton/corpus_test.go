//go:build cgo && !notreesitter

package skeleton_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/contextguru/contextguru/components/internal/syntax"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// Sources as they are written, where there are some: each becomes a skeleton or
// says why not, and most do.
func TestRealSources(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CONTEXT_GURU_DATA")
	if root == "" {
		t.Skip("CONTEXT_GURU_DATA names no folder with data")
	}
	files, acted, before, after := 0, 0, 0, 0
	err := filepath.WalkDir(filepath.Join(root, "tool-outputs"), func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || syntax.OfFile(name) == "" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read := pipelinetest.Output{Tool: "Read", Args: `{"file_path":"` + filepath.Base(name) + `"}`, Text: string(text)}
		again := read
		again.Text += "\n// later"
		o := run(t, `{}`, read, again, pipelinetest.Output{Text: "ok"})[0]
		files++
		before += o.Original.N
		if o.Lossy == nil {
			t.Logf("%s: %s", name, o.Acts[0].Reason)
			after += o.Original.N
			return nil
		}
		acted++
		after += o.Lossy.Tokens
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if acted*4 < files*3 {
		t.Errorf("only %d of %d files are skeletons", acted, files)
	}
	t.Logf("%d of %d files are skeletons, %d tokens became %d", acted, files, before, after)
}
