package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

const (
	redacted = "[redacted]"
	unset    = "[unset]"

	// maxSecretBytes bounds a secret's file: a large one is not a secret but a
	// wrong name.
	maxSecretBytes = 64 << 10
)

// Secret is a value kept in a file and named by it. Whatever prints it prints
// [redacted]; only Value gives it away.
type Secret struct {
	// File is where the value is read from; empty means that there is none.
	File string `json:"file"`

	// raw is the whole file. It is behind a pointer because fmt prints the address of a pointer it
	// finds inside a value, even where it cannot call the methods below.
	raw *string
}

// Set reports whether there is a secret.
func (s Secret) Set() bool { return s.File != "" }

// Value is the secret itself: the content of its file without one newline at
// the end, which editors add.
func (s Secret) Value() string {
	if s.raw == nil {
		return ""
	}
	return trimNewline(*s.raw)
}

// String hides the secret.
func (s Secret) String() string {
	if s.Set() {
		return redacted
	}
	return unset
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// Format hides the secret from every verb of fmt.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	_, _ = io.WriteString(f, text)
}

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML hides the secret.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Hidden keeps a secret that was written where its file belongs out of the faults.
func (s *Secret) Hidden() string {
	return "write the secret to a file and name it here: {file: PATH}"
}

// load reads the file.
func (s *Secret) load(dir string) error {
	if !s.Set() {
		return nil
	}
	data, err := readSmall(resolve(dir, s.File))
	if err != nil {
		return err
	}
	text := string(data)
	s.raw = &text
	if s.Value() == "" {
		return errors.New("is empty")
	}
	return nil
}

func trimNewline(s string) string {
	s, found := strings.CutSuffix(s, "\n")
	if found {
		s = strings.TrimSuffix(s, "\r")
	}
	return s
}

// resolve makes a file name relative to the configuration's directory.
func resolve(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// readSmall reads the file of a secret.
func readSmall(name string) ([]byte, error) { return readFile(name, maxSecretBytes) }

// readFile reads a regular file of bounded size. The errors do not repeat the
// name; it stands in the fault already.
func readFile(name string, most int) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, bare(err)
	case len(data) > most:
		return nil, fmt.Errorf("is larger than %d bytes", most)
	}
	return data, nil
}

// bare strips operation and name from a file error.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
