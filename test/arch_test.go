// Package test checks the repository as a whole: who imports whom, how large things may grow, and what has to be documented.
//
// The rules are plain functions over sources and package lists (arch_rules_test.go, arch_imports_test.go), so that each is also
// shown to fail on a few lines that break it (arch_cases_test.go).
package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository seen from this folder, where go test runs.
const root = ".."

func TestSourcesKeepTheRules(t *testing.T) {
	t.Parallel()
	files, faults := parse(readTree(t, root))
	if len(files) < 10 {
		t.Fatalf("%d Go files below %s: this test looks in the wrong place", len(files), root)
	}
	for name, rule := range sourceRules() {
		for _, fault := range rule(files) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

func TestImportsPointInward(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	if len(packages) < 3 {
		t.Fatalf("go list names %d packages: this test looks in the wrong place", len(packages))
	}
	for _, fault := range checkImports(packages) {
		t.Error(fault)
	}
}

func TestTopLevelIsClosed(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	ignore, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range checkTopLevel(names, string(ignore)) {
		t.Error(fault)
	}
}

// readTree returns every text file that people write, test data excepted: it may hold anything.
func readTree(t *testing.T, dir string) []source {
	t.Helper()
	var sources []source
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a file another process removed while we walked
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "testdata"}, base):
			return fs.SkipDir
		case entry.IsDir() || !handWritten(name):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		sources = append(sources, source{path: name, text: string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

func handWritten(name string) bool {
	switch base := path.Base(name); {
	case base == "Makefile", base == "Dockerfile", strings.HasPrefix(name, ".ci/"):
		return true
	default:
		return slices.Contains([]string{".go", ".md", ".mod", ".sh", ".tpl", ".yaml", ".yml"}, path.Ext(base))
	}
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	// -e: a package that does not build is for the compiler to report; its imports count all the same.
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...")
	list.Dir = root
	var complaint bytes.Buffer
	list.Stderr = &complaint
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaint.String())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, one)
	}
}
