package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const envoyFile = "../envoy/envoy.yaml"

// TestEnvoyFileKeepsItsPromises checks the settings whose loss would show only under load or attack.
func TestEnvoyFileKeepsItsPromises(t *testing.T) {
	t.Parallel()
	text := readEnvoyFile(t)
	for _, fault := range checkEnvoyFile(t, text) {
		t.Error(fault)
	}
	for _, c := range []struct{ old, new, want string }{
		{"request_body_mode: NONE", "request_body_mode: BUFFERED", "request_body_mode"},
		{"response_body_mode: NONE", "response_body_mode: STREAMED", "response_body_mode"},
		{"response_header_mode: SEND", "response_header_mode: SKIP", "response_header_mode"},
		{"allow_mode_override: true", "allow_mode_override: false", "allow_mode_override"},
		{"failure_mode_allow: true", "failure_mode_allow: false", "failure_mode_allow"},
		{"request_body_buffer_limit: 67108864", "request_body_buffer_limit: 1048576", "request_body_buffer_limit"},
		{"max_requests: 100000 }\n    # gRPC", "max_requests: 1024 }\n    # gRPC", "max_requests"},
		{"version.minor_number", "version.patch", "minor_number"},
		{"request_attributes:", "response_attributes:", "request_attributes"},
		{"%ENVIRONMENT(CONTEXT_GURU_SECRET)%", "%CEL(request.path)%", "CEL"},
		{"address: 127.0.0.1, port_value: 9901", "address: 0.0.0.0, port_value: 9901", "admin"},
	} {
		if strings.Count(text, c.old) != 1 {
			t.Errorf("the file has %d times %q, this test needs it once", strings.Count(text, c.old), c.old)
			continue
		}
		wantFaults(t, checkEnvoyFile(t, strings.Replace(text, c.old, c.new, 1)), c.want)
	}
}

// TestEnvoyAcceptsItsFile asks the real binary, also with every optional block switched on.
func TestEnvoyAcceptsItsFile(t *testing.T) {
	t.Parallel()
	envoy := findEnvoy(t)
	for name, text := range map[string]string{"as it is": readEnvoyFile(t), "with its options": withOptions(readEnvoyFile(t))} {
		file := filepath.Join(t.TempDir(), "envoy.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), envoy, "--mode", "validate", "-l", "warning", "-c", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
		if strings.Contains(strings.ToLower(string(said)), "deprecated") {
			t.Errorf("%s: a field is deprecated\n%s", name, said)
		}
	}
}

// checkEnvoyFile reports the settings that differ from what the service relies on.
func checkEnvoyFile(t *testing.T, text string) (faults []string) {
	t.Helper()
	var config any
	if err := yaml.UnmarshalStrict([]byte(withOptions(text)), &config); err != nil {
		t.Fatalf("%s with its options: %v", envoyFile, err)
	}
	expect := func(key string, want ...any) {
		got := find(config, key)
		if len(got) != len(want) {
			faults = append(faults, key+" is not set once for each place it belongs to")
			return
		}
		for i := range want {
			if got[i] != want[i] {
				faults = append(faults, key+" has a value the service cannot work with")
			}
		}
	}
	expect("request_header_mode", "SEND")
	expect("response_header_mode", "SEND")
	expect("request_body_mode", "NONE")
	expect("response_body_mode", "NONE")
	expect("allow_mode_override", true)
	expect("failure_mode_allow", true)
	expect("request_body_buffer_limit", float64(64<<20)) // twice the service's own limit, so that a rewritten body fits as well
	expect("max_requests", float64(100_000), float64(100_000))
	const minor = "xds.node.user_agent_build_version.version.minor_number"
	for _, attributes := range find(config, "request_attributes") {
		if list, ok := attributes.([]any); !ok || !slices.Contains(list, any(minor)) {
			faults = append(faults, "request_attributes lacks "+minor+", by which the service knows Envoy's version")
		}
	}
	for _, metadata := range find(config, "initial_metadata") {
		for _, value := range find(metadata, "value") {
			if strings.Contains(value.(string), "%CEL(") {
				faults = append(faults, "CEL in initial_metadata aborts Envoy")
			}
		}
	}
	if len(find(config, "request_attributes")) == 0 {
		faults = append(faults, "request_attributes are missing")
	}
	for _, admin := range find(config, "admin") {
		if address := find(admin, "address"); address[len(address)-1] != "127.0.0.1" {
			faults = append(faults, "the admin port must be on loopback")
		}
	}
	return faults
}

// find returns the values of a key anywhere below node, outer ones first.
func find(node any, key string) (values []any) {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			values = append(values, find(child, key)...)
		}
	case map[string]any:
		if value, ok := node[key]; ok {
			values = append(values, value)
		}
		for _, child := range node {
			values = append(values, find(child, key)...)
		}
	}
	return values
}

func readEnvoyFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(envoyFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withOptions switches the optional blocks on.
func withOptions(text string) string {
	return regexp.MustCompile(`(?m)^( *)#\|`).ReplaceAllString(text, "$1")
}

func findEnvoy(t *testing.T) string {
	t.Helper()
	version := os.Getenv("ENVOY_VERSION")
	if version == "" {
		version = "1.40.0"
	}
	for _, candidate := range []string{os.Getenv("ENVOY_BIN"), filepath.Join(root, ".cache", "envoy", version, "envoy"), "envoy"} {
		if candidate == "" {
			continue
		}
		found, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		if found, err = filepath.Abs(found); err == nil {
			return found
		}
	}
	if os.Getenv("REQUIRE_E2E") == "1" {
		t.Fatal("there is no Envoy: run make deps, or set ENVOY_BIN")
	}
	t.Skip("there is no Envoy: run make deps, or set ENVOY_BIN")
	return ""
}
