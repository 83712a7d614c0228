package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/models"
)

// wheel writes a package that holds one file.
func wheel(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.whl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const text = `{"z":{"mode":"chat","litellm_provider":"p","max_input_tokens":9,"input_cost_per_token":3e-06},"odd":1,"a":{"mode":"chat","max_input_tokens":8}}`

func TestWritesTheMapOfAWheel(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "snapshot.tsv")
	var messages strings.Builder
	if err := run(t.Context(), []string{"-wheel", wheel(t, document, text), "-out", out}, &messages); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := `# context-guru models 1
# from litellm ` + version + `, ` + document + `, sha256 2447f1ca2542d6f0750ae71a1bd7ec61fd9bca750682cec603712699bfb38ce9
# name, provider, window, output limit, US dollars per million tokens: input, output, cache read, 5 minute write, 1 hour write
a		8
z	p	9	-	3
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if messages.String() != "left out: model \"odd\": want an object, got number\n" {
		t.Errorf("messages: %s", &messages)
	}
	// The file is of the pinned version now: nothing is read or written, until forced.
	if err := run(t.Context(), []string{"-wheel", "missing.whl", "-out", out}, &messages); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"-wheel", "missing.whl", "-out", out, "-force"}, &messages); err == nil {
		t.Error("a missing wheel, and no error")
	}
}

func TestRefusesWheelsWithoutAMap(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain.whl")
	if err := os.WriteFile(plain, []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{
		"no zip file": plain, "another file": wheel(t, "other.json", text), "no JSON": wheel(t, document, "{"),
	} {
		out := filepath.Join(t.TempDir(), "snapshot.tsv")
		if err := run(t.Context(), []string{"-wheel", path, "-out", out}, &strings.Builder{}); err == nil {
			t.Errorf("%s: no error", what)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a file was written", what)
		}
	}
}

// TestSnapshotIsOfThePinnedVersion is why a new version needs go generate.
func TestSnapshotIsOfThePinnedVersion(t *testing.T) {
	t.Parallel()
	if got, want := models.SnapshotSource(), distribution+" "+version; got != want {
		t.Errorf("the snapshot is from %q, %q is pinned: run go generate ./pipeline/models", got, want)
	}
}
