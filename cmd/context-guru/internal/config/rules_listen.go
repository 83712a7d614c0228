package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
)

func (l *loader) listen() {
	in := l.c.Listen
	if in.GRPC == "" && in.GRPCSocket == "" && l.sound("listen.grpc", "listen.grpc_socket") {
		l.fault(l.written("listen.grpc", "listen.grpc_socket"), `no gRPC listener, got "" for listen.grpc and listen.grpc_socket`,
			"set one of them: Envoy has to reach the service")
	}
	if in.GRPC != "" {
		if problem := address(in.GRPC); problem != "" {
			l.fault("listen.grpc", problem, "such as 127.0.0.1:9002, or :9002 for all interfaces")
		}
	}
	if in.HTTP != "" {
		if problem := address(in.HTTP); problem != "" {
			l.fault("listen.http", problem, "such as 127.0.0.1:9003, or :9003 for all interfaces")
		}
		if in.HTTP == in.GRPC && !strings.HasSuffix(in.HTTP, ":0") && l.sound("listen.grpc") {
			l.fault(l.written("listen.http", "listen.grpc"), fmt.Sprintf("listen.http and listen.grpc must differ, got %q for both", in.HTTP), "choose another port")
		}
	}
	if len(in.GRPCSocket) > maxSocketPath {
		l.fault("listen.grpc_socket", fmt.Sprintf("must have at most %d bytes, got %d", maxSocketPath, len(in.GRPCSocket)), "choose a shorter path")
	}
	l.sharedSecret()
	l.serverTLS()
}

// sharedSecret checks what travels as gRPC metadata, which is printable ASCII.
func (l *loader) sharedSecret() {
	s := l.c.Listen.Secret
	value := s.Value()
	switch {
	case value == "": // none, or reported already
	case len(value) < minSecretBytes:
		l.fault("listen.secret.file", fmt.Sprintf("must hold at least %d bytes, got %d in %q", minSecretBytes, len(value), s.File),
			"make one with: openssl rand -hex 32")
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		l.fault("listen.secret.file", fmt.Sprintf("must hold printable ASCII without blanks, got something else in %q", s.File),
			"it travels as a header; make one with: openssl rand -hex 32")
	}
}

func (l *loader) serverTLS() {
	t := l.c.Listen.TLS
	switch {
	case t.CertFile == "" && t.KeyFile == "" && t.ClientCAFile == "":
	case t.CertFile == "":
		l.fault("listen.tls.cert_file", `is missing, got ""`, "TLS needs cert_file and key_file")
	case t.KeyFile == "":
		l.fault("listen.tls.key_file", `is missing, got ""`, "TLS needs cert_file and key_file")
	default:
		_, err := l.c.ServerTLS()
		l.fileFault("listen.tls.", err)
	}
}

// fileFault reports the file of a TLS configuration that cannot be used.
func (l *loader) fileFault(prefix string, err error) {
	for _, err := range leaves(err) {
		if file, ok := errors.AsType[*fileError](err); ok {
			l.fault(prefix+file.setting, unusable(file.file, file.err), "correct the name or the file")
		}
	}
}

// keys loads the service keys. Every key is reported on; the ring is made when
// all of them are good.
func (l *loader) keys() {
	if len(l.c.Keys) == 0 {
		if l.c.Store.Type == StoreRedis {
			l.missing("keys", "store.type", "must be given with a redis store, got none",
				"make one with: openssl rand -hex 32 > k1.key, and write keys: [{id: k1, file: k1.key}]; replicas and restarts must agree on it")
		}
		return
	}
	keys := make([]pipeline.Key, 0, len(l.c.Keys))
	ids, contents := map[string]int{}, map[string]int{}
	for i, k := range l.c.Keys {
		report := func(setting, problem, cure string) { l.root.Report(problem, cure, "keys", i, setting) }
		if l.root.Faulted("keys", i) {
			continue
		}
		first, twice := ids[k.ID]
		switch {
		case !keyIDForm.MatchString(k.ID):
			report("id", fmt.Sprintf("must be 1 to 64 letters, digits, _ . or -, got %.60q", k.ID), "")
		case twice:
			report("id", fmt.Sprintf("must differ from keys[%d].id, got %q for both", first, k.ID), "")
		default:
			ids[k.ID] = i
		}
		if k.File == "" {
			report("file", `is missing, got ""`, "name the file that holds the key")
			continue
		}
		secret := Secret{File: k.File}
		if err := secret.load(l.c.dir); err != nil {
			report("file", unusable(k.File, err), "make one with: openssl rand -hex 32")
			continue
		}
		value := secret.Value()
		if first, twice := contents[value]; twice {
			report("file", fmt.Sprintf("must not hold the key of keys[%d], got it in %q", first, k.File), "make another key")
			continue
		}
		contents[value] = i
		if len(value) < pipeline.MinKeyBytes {
			report("file", fmt.Sprintf("must hold at least %d bytes, got %d in %q", pipeline.MinKeyBytes, len(value), k.File), "make one with: openssl rand -hex 32")
			continue
		}
		keys = append(keys, pipeline.Key{ID: k.ID, Secret: []byte(value)})
	}
	if len(keys) != len(l.c.Keys) || !l.sound("keys") {
		return
	}
	ring, err := pipeline.NewKeyring(keys...)
	if err != nil {
		l.fault("keys", err.Error(), "")
		return
	}
	l.c.ring = ring
}
