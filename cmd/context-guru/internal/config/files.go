package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/contextguru/contextguru/pipeline/models"
)

// eachSecret calls f with every secret, which f may change, and its path.
func (c *Config) eachSecret(f func(s *Secret, path ...any)) {
	f(&c.Listen.Secret, "listen", "secret")
	f(&c.Store.EncryptionKey, "store", "encryption_key")
	f(&c.Store.Redis.Password, "store", "redis", "password")
	for _, name := range slices.Sorted(maps.Keys(c.Telemetry.OTLP.Headers)) {
		s := c.Telemetry.OTLP.Headers[name]
		f(&s, "telemetry", "otlp", "headers", name)
		c.Telemetry.OTLP.Headers[name] = s
	}
}

// files loads every secret the configuration names, also those of parts that
// are switched off: a missing file is found before it is needed.
func (l *loader) files() {
	l.c.eachSecret(func(s *Secret, path ...any) {
		if err := s.load(l.c.dir); err != nil {
			l.root.Report(unusable(s.File, err), "create the file or correct its name", append(path, "file")...)
		}
	})
}

// maxModelMap bounds a model map's file; LiteLLM's had 3.5 MB in 2026.
const maxModelMap = 32 << 20

// read returns the map of the file, nil if there is none.
func (m *Models) read(dir string) (*models.Map, error) {
	if m.File == "" {
		return nil, nil //nolint:nilnil // no file is no fault
	}
	data, err := readFile(resolve(dir, m.File), maxModelMap)
	if err != nil {
		return nil, err
	}
	if loaded, err := models.Parse(string(data)); err == nil {
		return loaded, nil
	}
	loaded, faults := models.Load(data) // single entries at fault are left out
	if loaded == nil {
		return nil, errors.Join(faults...)
	}
	if loaded.Len() == 0 {
		return nil, errors.New("names no model")
	}
	return loaded, nil
}

func unusable(file string, err error) string {
	return fmt.Sprintf("cannot be used (%v), got %q", err, file)
}

// keyBytes is the length of an AES-256 key.
const keyBytes = 32

// encryptionKey reads a key in one of the forms that tools write. The lengths
// tell them apart: 32 bytes as they are, 64 hexadecimal digits, 44 characters
// of base64. Raw bytes may end in what looks like a newline.
func encryptionKey(raw string) ([]byte, error) {
	if len(raw) == keyBytes {
		return []byte(raw), nil
	}
	text := trimNewline(raw)
	switch len(text) {
	case keyBytes:
		return []byte(text), nil
	case hex.EncodedLen(keyBytes):
		if key, err := hex.DecodeString(text); err == nil {
			return key, nil
		}
	case base64.StdEncoding.EncodedLen(keyBytes):
		if key, err := base64.StdEncoding.DecodeString(text); err == nil && len(key) == keyBytes {
			return key, nil
		}
	}
	return nil, fmt.Errorf("must hold a key of 32 bytes, as they are, in hexadecimal or in base64, got %d bytes", len(text))
}

// ServerTLS returns the TLS configuration of the gRPC port, nil when it is plain.
func (c *Config) ServerTLS() (*tls.Config, error) {
	t := c.Listen.TLS
	if t.CertFile == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	var errs [2]error
	conf.Certificates, errs[0] = keyPair(c.dir, t.CertFile, t.KeyFile)
	if t.ClientCAFile != "" {
		conf.ClientCAs, errs[1] = authorities(c.dir, "client_ca_file", t.ClientCAFile)
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return conf, nil
}

// RedisTLS returns the TLS configuration of the connections to Redis, nil when
// they are plain.
func (c *Config) RedisTLS() (*tls.Config, error) {
	t := c.Store.Redis.TLS
	if !t.Enabled {
		return nil, nil
	}
	conf := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	var errs [2]error
	if t.CertFile != "" {
		conf.Certificates, errs[0] = keyPair(c.dir, t.CertFile, t.KeyFile)
	}
	if t.CAFile != "" {
		conf.RootCAs, errs[1] = authorities(c.dir, "ca_file", t.CAFile)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return conf, nil
}

// fileError is a file at fault and the setting that names it.
type fileError struct {
	setting, file string
	err           error
}

func (e *fileError) Error() string { return fmt.Sprintf("%s %q: %v", e.setting, e.file, e.err) }

func (e *fileError) Unwrap() error { return e.err }

func keyPair(dir, certFile, keyFile string) ([]tls.Certificate, error) {
	certPEM, certErr := readPart(dir, "cert_file", certFile)
	keyPEM, keyErr := readPart(dir, "key_file", keyFile)
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		// The library's errors name the form at fault and no content.
		return nil, &fileError{"cert_file", certFile, fmt.Errorf("is no pair with key_file: %w", err)}
	}
	return []tls.Certificate{cert}, nil
}

func readPart(dir, setting, file string) ([]byte, error) {
	data, err := readSmall(resolve(dir, file))
	if err != nil {
		return nil, &fileError{setting, file, err}
	}
	return data, nil
}

func authorities(dir, setting, file string) (*x509.CertPool, error) {
	data, err := readPart(dir, setting, file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, &fileError{setting, file, errors.New("holds no PEM certificate")}
	}
	return pool, nil
}

// GatewayTLS returns who may sign the gateway's certificate, nil for the
// system's authorities, and what reads the certificate that we show, nil for
// none: it is read anew for every connection, as it is renewed at times.
func (c *Config) GatewayTLS() (*x509.CertPool, func() (*tls.Certificate, error), error) {
	t := &c.Expand.GatewayTLS
	var signers *x509.CertPool
	var err error
	if t.CAFile != "" {
		if signers, err = authorities(c.dir, "ca_file", t.CAFile); err != nil {
			return nil, nil, err
		}
	}
	if t.CertFile == "" {
		return signers, nil, nil
	}
	read := func() (*tls.Certificate, error) {
		pair, err := keyPair(c.dir, t.CertFile, t.KeyFile)
		if err != nil {
			return nil, err
		}
		return &pair[0], nil
	}
	if _, err := read(); err != nil {
		return nil, nil, err
	}
	return signers, read, nil
}
