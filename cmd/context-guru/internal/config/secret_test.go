package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

const plain = "hunter2-hunter2-hunter2"

func loaded(t *testing.T) Secret {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(plain+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Secret{File: "s"}
	if err := s.load(dir); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSecretPrintsRedacted(t *testing.T) {
	t.Parallel()
	s := loaded(t)
	if s.Value() != plain {
		t.Fatalf("value is %q, want the file without its newline", s.Value())
	}
	type holder struct {
		Exported Secret
		hidden   Secret // fmt cannot call methods on it
		Pointer  *Secret
		List     []Secret
		Map      map[string]Secret
	}
	h := holder{s, s, &s, []Secret{s}, map[string]Secret{"k": s}}

	var outputs []string
	for _, value := range []any{s, &s, h, &h, []any{h}, fmt.Errorf("wrapped: %v", s)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			outputs = append(outputs, fmt.Sprintf(verb, value))
		}
	}
	asJSON, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	asSigs, err := sigsyaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, l := range []*slog.Logger{slog.New(slog.NewTextHandler(&log, nil)), slog.New(slog.NewJSONHandler(&log, nil))} {
		l.Info("start", "secret", s, "pointer", &s, "holder", h)
	}
	outputs = append(outputs, string(asJSON), string(asYAML), string(asSigs), log.String())
	hex := fmt.Sprintf("%x", plain)
	for _, out := range outputs {
		if strings.Contains(out, plain) || strings.Contains(strings.ToLower(out), hex) || strings.Contains(out, "104 117 110") {
			t.Errorf("the secret shows in %s", out)
		}
	}
	for _, out := range []string{outputs[0], outputs[1], outputs[2], string(asJSON), string(asYAML), log.String()} {
		if !strings.Contains(out, redacted) {
			t.Errorf("nothing says that a secret is redacted in %s", out)
		}
	}
	if got := fmt.Sprint(Secret{}); got != unset {
		t.Errorf("no secret prints %q, want %q", got, unset)
	}
}

func TestSecretLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range []struct {
		name, content, want, fault string
	}{
		{"plain", "abc", "abc", ""},
		{"newline", "abc\n", "abc", ""},
		{"crlf", "abc\r\n", "abc", ""},
		{"one newline only", "abc\n\n", "abc\n", ""},
		{"blanks stay", " abc ", " abc ", ""},
		{"carriage return stays", "abc\r", "abc\r", ""},
		{"binary", "\x00\xff\n", "\x00\xff", ""},
		{"empty", "", "", "is empty"},
		{"only a newline", "\n", "", "is empty"},
		{"large", strings.Repeat("x", maxSecretBytes+1), "", "is larger than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := strings.ReplaceAll(tc.name, " ", "-")
			if err := os.WriteFile(filepath.Join(dir, file), []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			s := Secret{File: file}
			err := s.load(dir)
			if got := fmt.Sprint(err); tc.fault != "" && got != tc.fault || tc.fault == "" && err != nil {
				t.Fatalf("error %v, want %q", err, tc.fault)
			}
			if tc.fault == "" && s.Value() != tc.want {
				t.Errorf("value %q, want %q", s.Value(), tc.want)
			}
		})
	}
}

func TestEncryptionKeyForms(t *testing.T) {
	t.Parallel()
	key := "0123456789abcdef0123456789abcde\n" // raw bytes may end in a newline
	for _, tc := range []struct{ name, raw, want string }{
		{"raw", key, key},
		{"raw and newline", key[:31] + "f\n", key[:31] + "f"},
		{"hex", fmt.Sprintf("%x\n", key), key},
		{"upper hex", fmt.Sprintf("%X", key), key},
		{"base64", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZQo=\n", key},
		{"short", "0123456789", ""},
		{"no hex", strings.Repeat("g", 64), ""},
		{"no base64", strings.Repeat("!", 44), ""},
		{"base64 of 31", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZQ==", ""},
	} {
		got, err := encryptionKey(tc.raw)
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), tc.raw) {
			t.Errorf("%s: the error repeats the key: %v", tc.name, err)
		}
	}
}
