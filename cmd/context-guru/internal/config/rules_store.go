package config

import (
	"fmt"
	"path"
	"time"
)

// Bounds of store.ttl. Longer ones overflow the expiry arithmetic of servers.
const (
	minTTL = time.Second
	maxTTL = 366 * 24 * time.Hour
)

func (l *loader) store() {
	s := &l.c.Store
	if ttl := s.TTL.Std(); ttl < minTTL || ttl > maxTTL {
		l.fault("store.ttl", fmt.Sprintf("must be between 1s and 8784h (366 days), got %v", s.TTL), "")
	}
	l.atLeast("store.memory.bytes", s.Memory.Bytes, 1)
	l.atLeast("store.memory.entries", int64(s.Memory.Entries), 1)
	if raw := s.EncryptionKey.raw; raw != nil && l.sound("store.encryption_key") {
		key, err := encryptionKey(*raw)
		if err != nil {
			l.fault("store.encryption_key.file", err.Error()+fmt.Sprintf(" in %q", s.EncryptionKey.File), "make one with: openssl rand -hex 32")
		}
		s.key = key
	}
}

func (l *loader) redis() {
	r := l.c.Store.Redis
	l.redisAddresses()
	l.redisTLS()
	l.atLeast("store.redis.db", int64(r.DB), 0)
	if r.Cluster && r.DB > 0 {
		l.fault("store.redis.db", fmt.Sprintf("must be 0 with cluster, got %d", r.DB), "a cluster has one database")
	}
	if r.Cluster && r.MasterName != "" {
		l.fault("store.redis.master_name", fmt.Sprintf("must be empty with cluster, got %.60q", r.MasterName), "a cluster has no sentinels; remove master_name or cluster")
	}
	if r.Username != "" && !r.Password.Set() {
		l.fault("store.redis.username", fmt.Sprintf("needs a password, got %.60q without one", r.Username), "set store.redis.password.file")
	}
	if r.Timeout == 0 {
		l.fault("store.redis.timeout", "must be longer than 0s, got 0s", "")
	}
	if r.Timeout >= l.c.Limits.Deadline && l.sound("limits.deadline") {
		l.fault(l.written("store.redis.timeout", "limits.deadline"),
			fmt.Sprintf("store.redis.timeout must be shorter than limits.deadline, got %v and %v", r.Timeout, l.c.Limits.Deadline),
			"a request waits that long for the store; 50ms is the default")
	}
}

func (l *loader) redisAddresses() {
	r := l.c.Store.Redis
	if len(r.Addresses) == 0 && l.c.Store.Type == StoreRedis {
		l.missing("store.redis.addresses", "store.type", "must be given with a redis store, got none", `write ["host:6379"]`)
	}
	if len(r.Addresses) > 1 && !r.Cluster && r.MasterName == "" {
		l.fault("store.redis.addresses", fmt.Sprintf("must be one address of a single server, got %d", len(r.Addresses)),
			"set cluster: true, or master_name when they are sentinels")
	}
	for i, a := range r.Addresses {
		if l.root.Faulted("store", "redis", "addresses", i) {
			continue
		}
		report := func(problem, cure string) { l.root.Report(problem, cure, "store", "redis", "addresses", i) }
		if path.IsAbs(a) {
			if len(r.Addresses) > 1 || r.Cluster || r.MasterName != "" {
				report(fmt.Sprintf("must be host:port, got the unix socket %.60q", a), "a socket is the one address of a single server")
			}
			continue
		}
		if problem := address(a); problem != "" {
			report(problem, "user, password, database and TLS have settings of their own")
		}
	}
}

func (l *loader) redisTLS() {
	t := l.c.Store.Redis.TLS
	if !t.Enabled {
		for _, s := range []struct{ setting, value string }{
			{"ca_file", t.CAFile}, {"cert_file", t.CertFile}, {"key_file", t.KeyFile}, {"server_name", t.ServerName},
		} {
			if s.value != "" {
				l.fault("store.redis.tls."+s.setting, fmt.Sprintf("has no effect while TLS is off, got %.60q", s.value), "set store.redis.tls.enabled: true")
			}
		}
		return
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		l.fault(l.written("store.redis.tls.cert_file", "store.redis.tls.key_file"),
			fmt.Sprintf("cert_file and key_file must be given together, got %.60q and %.60q", t.CertFile, t.KeyFile), "")
		return
	}
	_, err := l.c.RedisTLS()
	l.fileFault("store.redis.tls.", err)
}
