package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/pipeline"
)

// loadArchive writes the files of an archive and loads its cg.yaml.
func loadArchive(t *testing.T, name string) (*Config, string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	c, err := Load(filepath.Join(dir, "cg.yaml"), testCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyIsDefault(t *testing.T) {
	t.Parallel()
	want := Default()
	auto, _ := preset.Find(preset.Default)
	want.Pipeline = auto.Pipeline
	for _, data := range []string{"", "# a comment\n", "---\n", "{}", "\ufeff", "pipeline:\nlisten: ~\n"} {
		got, err := Parse("cg.yaml", []byte(data), testCatalog(t))
		if err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{}, Store{}, Secret{}), cmpopts.IgnoreFields(Config{}, "Components")); diff != "" {
			t.Errorf("%q differs from the defaults (-want +got):\n%s", data, diff)
		}
		if n := len(got.Steps()); n != 4 {
			t.Errorf("%q: %d steps, want 4", data, n)
		}
	}
}

func TestFullIsRead(t *testing.T) {
	t.Parallel()
	c, _ := loadArchive(t, "ok_full")
	for _, check := range []struct {
		what      string
		got, want any
	}{
		{"listen.grpc", c.Listen.GRPC, ":9002"},
		{"listen.grpc_socket", c.Listen.GRPCSocket, "/run/context-guru.sock"},
		{"listen.secret", c.Listen.Secret.Value(), "0123456789abcdef"},
		{"limits.body_bytes", c.Limits.BodyBytes, int64(1_000_000)},
		{"limits.deadline", c.Limits.Deadline.Std(), 900 * time.Millisecond},
		{"shutdown.grace", c.Shutdown.Grace.Std(), time.Duration(0)},
		{"tenant.default", c.Tenant.Default, "on"},
		{"key id", c.Keyring().ID(), "new"},
		{"encryption key", len(c.Store.Key()), 32},
		{"redis password", c.Store.Redis.Password.Value(), "hunter2"},
		{"redis addresses", len(c.Store.Redis.Addresses), 2},
		{"cache.horizon_tokens", c.Cache.HorizonTokens, Distance(16_000)},
		{"otlp header", c.Telemetry.OTLP.Headers["authorization"].Value(), "hunter2"},
		{"sample_ratio", c.Telemetry.SampleRatio, 0.0},
		{"lossy", c.Lossy(), true},
		{"expand.inject", c.Expand.Inject, InjectNever},
		{"expand.gate_tokens", c.Expand.GateTokens, 1000},
		{"steps", len(c.Steps()), 1},
		{"step", string(c.Steps()[0].Config), `{"max_tokens":2000,"head_lines":20,"tail_lines":20,"keep_names":0,"skip":[],"strict":false,"ratio":0,"marker_mode":"off"}`},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check.what, diff)
		}
	}
	original := "some text"
	if id := c.Keyring().Mint(original); !c.Keyring().Matches(id, original) {
		t.Error("the ring does not know its own id")
	}
}

// The defaults of a component belong to its Spec and must survive every load.
func TestDefaultsOfComponentsSurvive(t *testing.T) {
	t.Parallel()
	catalog := testCatalog(t)
	spec, _ := catalog.Find("collapse")
	before, err := json.Marshal(spec.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("components: {collapse: {skip: [x, y], max_tokens: 1}}\n")
	if _, err := Parse("cg.yaml", data, catalog); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(spec.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("loading changed the defaults (-before +after):\n%s", diff)
	}
}

// The dump names everything, hides secrets, and is the configuration: for
// ourselves and for a reader that shares no code with us.
func TestEffectiveLoadsAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ok_full", "ok_empty", "ok_nothing_below"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := loadArchive(t, name)
			dump, err := c.Effective()
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"hunter2", "0123456789abcdef", "000102"} {
				if strings.Contains(string(dump), secret) {
					t.Errorf("the dump shows a secret:\n%s", dump)
				}
			}
			if c.Listen.Secret.Set() != strings.Contains(string(dump), "file: secret.txt # [redacted]") {
				t.Errorf("the dump does not name the secret's file:\n%s", dump)
			}
			again, err := Parse(filepath.Join(dir, "dump.yaml"), dump, testCatalog(t))
			if err != nil {
				t.Fatalf("%v\n%s", err, dump)
			}
			opts := cmp.Options{cmpopts.IgnoreUnexported(Config{}), cmp.AllowUnexported(Store{}, Secret{})}
			if diff := cmp.Diff(c, again, opts); diff != "" {
				t.Errorf("the dump reads differently (-config +dump):\n%s", diff)
			}
			other := Default()
			if err := sigsyaml.UnmarshalStrict(dump, other); err != nil {
				t.Fatalf("%v\n%s", err, dump)
			}
			noKeys := cmpopts.IgnoreFields(Secret{}, "raw")
			if diff := cmp.Diff(c, other, opts, noKeys, cmpopts.IgnoreFields(Store{}, "key"), cmp.Transformer("json", compact)); diff != "" {
				t.Errorf("another reader sees another configuration (-config +reader):\n%s", diff)
			}
		})
	}
}

// compact makes equal JSON equal whatever its spacing and order of keys.
func compact(raw json.RawMessage) any {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	return v
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		data string
		want []string // prefixes, in order
	}{
		{"", []string{"keys: none is given", "expand.resolver: none, so dedup, smartcrush, extract, collapse, linecap may"}},
		{"pipeline: [format]\n", []string{"keys: none is given"}},
		{"pipeline: [collapse, format]\nexpand: {resolver: external}\ncomponents: {format: {}, collapse: {max_tokens: 1, head_lines: 1, tail_lines: 1, keep_names: 1}}\n", []string{"keys: none"}},
		{"expand: {resolver: external}\ncomponents: {collapse: {head_lines: 9}, dedup: {}}\n", []string{"keys: none", "components.collapse: replaces all that preset auto sets for it; of that, write out what is to stay: {max_tokens: 400, "}},
		{"expand: {resolver: external}\npipeline: [collapse]\ncomponents: {collapse: {}}\n", []string{"keys: none", "components.collapse: replaces all that preset auto"}},
		{"expand: {resolver: external}\nlisten: {grpc: ':9002'}\n", []string{"listen.grpc: :9002 accepts any peer", "keys: none"}},
		{"expand: {resolver: external}\nlisten: {grpc: '10.0.0.1:9002'}\n", []string{"listen.grpc: 10.0.0.1:9002 accepts", "keys: none"}},
		{"expand: {resolver: external}\nlisten: {grpc: '[::1]:9002'}\n", []string{"keys: none"}},
		{"expand: {resolver: external, inject: always}\n", []string{"keys: none", "expand.inject: always, but"}},
		{
			"pipeline: []\ncomponents: {dedup: {}}\nstore: {redis: {addresses: ['a:1']}}\nallow_irreversible: true\n",
			[]string{"keys: none", "store.redis: not used", "pipeline: empty", "components.dedup: not used", "allow_irreversible"},
		},
	} {
		c := parsed(t, tc.data, realCatalog(t))
		got := c.Notes()
		if len(got) != len(tc.want) {
			t.Errorf("%q: notes %q, want %q", tc.data, got, tc.want)
			continue
		}
		for i, prefix := range tc.want {
			if !strings.HasPrefix(got[i], prefix) {
				t.Errorf("%q: note %q, want prefix %q", tc.data, got[i], prefix)
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Inject{"": InjectNever, "auto": InjectAuto, "always": InjectAlways, "never": InjectNever} {
		c := parsed(t, "expand: {inject: never}\n", realCatalog(t))
		err := c.Environment(func(name string) string {
			if name == "INJECT_EXPAND" {
				return value
			}
			return "x"
		})
		if err != nil || c.Expand.Inject != want {
			t.Errorf("%q: %q, %v, want %q", value, c.Expand.Inject, err, want)
		}
	}
	c := parsed(t, "", realCatalog(t))
	const fault = `environment variable INJECT_EXPAND must be auto, always or never, got "yes"`
	if err := c.Environment(func(string) string { return "yes" }); err == nil || err.Error() != fault || c.Expand.Inject != InjectAuto {
		t.Errorf("%v, want %s", err, fault)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certPEM, keyPEM := certificate(t)
	_, otherKey := certificate(t)
	write(t, filepath.Join(dir, "cert.pem"), certPEM)
	write(t, filepath.Join(dir, "key.pem"), keyPEM)
	write(t, filepath.Join(dir, "other.pem"), otherKey)
	parse := func(data string) (*Config, error) {
		return Parse(filepath.Join(dir, "cg.yaml"), []byte(data), testCatalog(t))
	}

	c, err := parse("listen: {tls: {cert_file: cert.pem, key_file: key.pem, client_ca_file: cert.pem}}\ntenant: {header: x-team}\n" +
		"store: {redis: {tls: {enabled: true, ca_file: cert.pem, cert_file: cert.pem, key_file: key.pem, server_name: r}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	server, err := c.ServerTLS()
	if err != nil || len(server.Certificates) != 1 || server.ClientCAs == nil || server.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Errorf("server: %v, %+v", err, server)
	}
	client, err := c.RedisTLS()
	if err != nil || len(client.Certificates) != 1 || client.RootCAs == nil || client.ServerName != "r" {
		t.Errorf("redis: %v, %+v", err, client)
	}
	plainConf, err := parse("")
	if err != nil {
		t.Fatal(err)
	}
	if server, err := plainConf.ServerTLS(); server != nil || err != nil {
		t.Errorf("no TLS configured: %v, %v", server, err)
	}

	_, err = parse("listen: {tls: {cert_file: no1.pem, key_file: no2.pem, client_ca_file: no3.pem}}\n")
	if got := faultPaths(err); !cmp.Equal(got, []string{"listen.tls.cert_file", "listen.tls.key_file", "listen.tls.client_ca_file"}) {
		t.Errorf("missing files: %v: %v", got, err)
	}
	_, err = parse("listen: {tls: {cert_file: cert.pem, key_file: other.pem}}\n")
	if got := faultPaths(err); !cmp.Equal(got, []string{"listen.tls.cert_file"}) || !strings.Contains(err.Error(), "no pair") {
		t.Errorf("foreign key: %v", err)
	}
}

func faultPaths(err error) []string {
	var paths []string
	if faults, ok := errors.AsType[*strict.Error](err); ok {
		for _, f := range faults.Faults {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// certificate makes a certificate that signs itself.
func certificate(t *testing.T) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func TestLoadSaysWhichFile(t *testing.T) {
	t.Parallel()
	_, err := Load(filepath.Join(t.TempDir(), "nowhere.yaml"), pipeline.Catalog{})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("error %v", err)
	}
	_, err = Load(t.TempDir(), pipeline.Catalog{})
	if err == nil {
		t.Error("a directory was read as a configuration")
	}
}

func TestDurationForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"24h": "24h", "36h0m0s": "36h", "90m": "1h30m", "1h0m5s": "1h0m5s", "60s": "1m", "0s": "0s", "500ms": "500ms", "10h10m0s": "10h10m", "20m": "20m",
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var back Duration
		if err := back.UnmarshalText([]byte(d.String())); err != nil || back != d || d.String() != want {
			t.Errorf("%s prints %s (read back %v, %v), want %s", text, d, back, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "cg.yaml" {
				f.Add(file.Data)
			}
		}
	}
	for _, seed := range []string{"[[[[[[", "a: &a [*a, *a]", "{? {? {}}}", "\x00", "!!map", "components: {collapse: !!str}", "keys: [{}, ~, *x]", "pipeline: [~]", "store: {redis: {addresses: [~, '', ':']}}"} {
		f.Add([]byte(seed))
	}
	catalog := testCatalog(f)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(filepath.Join(dir, "cg.yaml"), data, catalog)
		var faults *strict.Error
		switch {
		case err == nil:
			dump, err := c.Effective()
			if err != nil {
				t.Fatalf("no dump of %q: %v", data, err)
			}
			again, err := Parse(filepath.Join(dir, "cg.yaml"), dump, catalog)
			if err != nil {
				t.Fatalf("dump of %q is refused: %v\n%s", data, err, dump)
			}
			opts := cmp.Options{cmpopts.IgnoreUnexported(Config{}, Store{}, Secret{})}
			if diff := cmp.Diff(c, again, opts); diff != "" {
				t.Fatalf("dump of %q reads differently:\n%s", data, diff)
			}
		case !errors.As(err, &faults):
			t.Fatalf("error without faults for %q: %v", data, err)
		case strings.Contains(err.Error(), "cannot be read"):
			t.Fatalf("panic for %q: %v", data, err)
		default:
			lines := 1 // YAML knows more line ends than \n
			for _, r := range string(data) {
				if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
					lines++
				}
			}
			for _, fault := range faults.Faults {
				if fault.Line > lines+1 || fault.Problem == "" {
					t.Errorf("fault %+v for %d lines", fault, lines)
				}
			}
		}
	})
}
