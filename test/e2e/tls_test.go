package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// authority signs the certificates of one test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", true)
	return a
}

// file is the path of a certificate (.crt) or key (.key) by its owner's name.
func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issue makes a certificate and writes it and its key into the folder.
func (a *authority) issue(name string, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: isCA, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if isCA {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// envoyTLS makes Envoy speak TLS to the service, with the client certificate of
// a name where one is given.
func envoyTLS(trusted *authority, own *authority, name string) stack.Edit {
	client := ""
	if name != "" {
		client = fmt.Sprintf("tls_certificates: [{certificate_chain: {filename: %q}, private_key: {filename: %q}}]", own.file(name+".crt"), own.file(name+".key"))
	}
	return stack.Set(stack.ClusterPath("context_guru").Then("transport_socket"), stack.YAML(fmt.Sprintf(`
name: envoy.transport_sockets.tls
typed_config:
  "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
  sni: service
  common_tls_context:
    alpn_protocols: [h2]
    validation_context: { trusted_ca: { filename: %q } }
    %s
`, trusted.file("ca.crt"), client)))
}

// TestMutualTLS: with certificates on both sides exchanges are served; an Envoy
// without one, or with one of another authority, is not, and clients do not notice.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ours, other := newAuthority(t), newAuthority(t)
	ours.issue("service", false)
	ours.issue("envoy", false)
	other.issue("envoy", false)
	config := external + fmt.Sprintf("listen: {tls: {cert_file: %q, key_file: %q, client_ca_file: %q}}\n",
		ours.file("service.crt"), ours.file("service.key"), ours.file("ca.crt"))
	for name, c := range map[string]struct {
		edit   stack.Edit
		served bool
	}{
		"right certificate":                   {envoyTLS(ours, ours, "envoy"), true},
		"no certificate":                      {envoyTLS(ours, ours, ""), false},
		"certificate of another authority":    {envoyTLS(ours, other, "envoy"), false},
		"service of an authority not trusted": {envoyTLS(other, ours, "envoy"), false},
		"no TLS at all":                       {func(*stack.Config) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stack.New(t, stack.WithConfig(config), stack.WithEnvoy(c.edit))
			for _, d := range []chat.Dialect{chat.OpenAI, chat.Anthropic} {
				call := stack.Call{Path: d.Path(), Body: question(t, d, records(0, 120))}
				if c.served {
					served(t, name, s, call)
				} else {
					unharmed(t, name, s, call)
				}
			}
			if n := metric(t, s, "contextguru_exchanges_total"); (n == 2) != c.served {
				t.Errorf("the service read %v bodies", n)
			}
		})
	}
}

// TestRefusedPeerFailsClosed: where Envoy is told to refuse what the service
// fails on, a wrong secret shows at once.
func TestRefusedPeerFailsClosed(t *testing.T) {
	t.Parallel()
	const secret = "open-sesame-open-sesame"
	s := stack.New(t, stack.WithConfig(external), stack.WithSecret(secret),
		stack.WithEnvoy(stack.FailClosed(), stack.InitialMetadata("x-context-guru-secret", secret+"!")))
	refused(t, "wrong secret", s, stack.Call{Path: chatPath, Body: question(t, chat.OpenAI, records(0, 120))}, 500)
	// Originals are not given out to it either.
	if reply := do(t, s, stack.Call{Path: "/context-guru/expand?id=x"}); reply.Status != 500 {
		t.Errorf("expand: status %d", reply.Status)
	}
}
