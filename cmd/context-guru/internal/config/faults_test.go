package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted faults in testdata")

// TestFaults loads cg.yaml of every archive, beside the archive's other files,
// and compares the whole error with the archive's file "want". An empty want
// is a configuration without fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			want := -1
			for i, f := range archive.Files {
				if f.Name == "want" {
					want = i
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want < 0 {
				t.Fatal("the archive has no file named want")
			}
			got := ""
			if _, err := Load(filepath.Join(dir, "cg.yaml"), testCatalog(t)); err != nil {
				got = strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "") + "\n"
			}
			if *update {
				archive.Files[want].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[want].Data), got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
