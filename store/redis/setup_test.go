package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/store/storetest"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{}, []string{"addrs: empty"}},
		{Options{Addrs: []string{"redis"}}, []string{`addrs[0]: must be host:port or the absolute path of a unix socket, got "redis"`}},
		{Options{Addrs: []string{"redis://h:1"}}, []string{"addrs[0]"}},
		{Options{Addrs: []string{":6379"}}, []string{"addrs[0]"}},
		{Options{Addrs: []string{"a:1", "/run/redis"}, Cluster: true}, []string{"addrs[1]: a unix socket"}},
		{Options{Addrs: []string{"a:1", "b:1"}}, []string{"2 addresses need cluster or a sentinel master"}},
		{Options{Addrs: []string{"a:1"}, Cluster: true, DB: 3}, []string{"db: a cluster has only database 0, got 3"}},
		{Options{Addrs: []string{"a:1"}, Cluster: true, SentinelMaster: "m"}, []string{`drop sentinel master "m" or cluster`}},
		{Options{Addrs: []string{"a:1"}, SentinelPassword: "hunter2"}, []string{"sentinel master: missing"}},
		{Options{Addrs: []string{"a:1"}, Username: "u"}, []string{`password: missing for user "u"`}},
		{
			Options{Addrs: []string{"a:1"}, DB: -1, PoolSize: -2, TTL: -3, PutTimeout: time.Microsecond, Codec: store.CodecOptions{}},
			[]string{"db: must not be negative, got -1", "pool size", "ttl: must be at least 1ms, got -3ns", "put timeout: must be at least 1ms, got 1µs"},
		},
	} {
		_, err := New(c.o)
		if err == nil {
			t.Errorf("New(%+v) succeeded", c.o)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("New(%+v): %v; want it to say %q", c.o, err, want)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
	if _, err := New(Options{Addrs: []string{"a:1"}, Codec: store.CodecOptions{EncryptionKeys: [][]byte{{1}}}}); err == nil {
		t.Error("a short encryption key was accepted")
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	o := Options{Password: "hunter2", SentinelPassword: "hunter2"}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", slog.Any("o", o), slog.Any("p", o.Password))
	for _, text := range []string{fmt.Sprint(o), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), fmt.Sprintf("%q", o.Password), log.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("shows the password: %s", text)
		}
	}
}

func TestKnownIsBounded(t *testing.T) {
	t.Parallel()
	start := time.Now()
	k := newKnown(3, 1<<20)
	hash := store.NewFingerprinter()
	mk := func(name, value string) *put {
		return &put{name: name, ttl: time.Hour, print: hash.Of(store.Item{Value: []byte(value)})}
	}
	has := func(name, value string) bool {
		p := mk(name, value)
		k.mark([]*put{p}, start)
		return p.mode != write
	}
	k.add([]*put{mk("a", "1"), mk("b", "2"), mk("c", "3")}, start)
	if !has("a", "1") || has("a", "2") || has("d", "1") {
		t.Fatal("knows the wrong things")
	}
	k.add([]*put{mk("d", "4")}, start)
	if has("b", "2") || !has("a", "1") || !has("c", "3") || !has("d", "4") {
		t.Error("the fourth key must push out the one used longest ago")
	}
	k.forget([]*put{mk("a", "1"), mk("zzz", "")})
	if n, size := k.size(); n != 2 || size != 2*(1+knownOverhead) {
		t.Errorf("after forgetting: %d keys, %d bytes", n, size)
	}
	k = newKnown(1<<20, 10*(knownOverhead+2))
	for i := range 100 {
		k.add([]*put{mk(fmt.Sprintf("%02d", i), "x")}, start)
	}
	if n, size := k.size(); n != 10 || size != 10*(knownOverhead+2) || !has("99", "x") || has("89", "x") {
		t.Errorf("bounded by bytes: %d keys, %d bytes", n, size)
	}
}

func hasWarning(ws []store.Warning, code string, serious bool) bool {
	return slices.ContainsFunc(ws, func(w store.Warning) bool { return w.Code == code && w.Serious == serious && w.Cure != "" })
}

func TestInspectJudges(t *testing.T) {
	t.Parallel()
	healthy := "# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory:1000000\r\nmaxmemory_policy:noeviction\r\n" +
		"# Persistence\r\nrdb_last_save_time:1\r\naof_enabled:1\r\n# Replication\r\nrole:master\r\n# Cluster\r\ncluster_enabled:0\r\n"
	for _, c := range []struct {
		old, new, code string
		serious        bool
	}{
		{"", "", "", false},
		{"7.0.15", "6.0.20", "redis_too_old", true},
		{"noeviction", "allkeys-lru", "eviction_drops_live_values", true},
		{"noeviction", "volatile-ttl", "eviction_drops_live_values", true},
		{"maxmemory:1000000", "maxmemory:0", "no_memory_limit", false},
		{"role:master", "role:slave", "read_only_replica", true},
		{"cluster_enabled:0", "cluster_enabled:1", "cluster_not_declared", true},
		{"aof_enabled:1", "aof_enabled:0", "no_append_only_file", false},
		{healthy, "", "", false}, // a managed server that tells nothing
		{"7.0.15", "7.0.15-weird\r\nvalkey_version:8.1.0", "", false},
	} {
		got := parseInfo(strings.Replace(healthy, c.old, c.new, 1)).judge(false)
		switch {
		case c.code == "" && len(got) > 0:
			t.Errorf("%q: %v, want nothing", c.new, got)
		case c.code != "" && (len(got) != 1 || !hasWarning(got, c.code, c.serious)):
			t.Errorf("%q: %v, want %s", c.new, got, c.code)
		}
	}
}

func TestInspectOnRedis(t *testing.T) {
	t.Parallel()
	s := open(t, patient(Options{Addrs: []string{storetest.StartRedis(t).Socket}}))
	got, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !hasWarning(got, "no_memory_limit", false) || !hasWarning(got, "no_append_only_file", false) || len(got) != 2 {
		t.Errorf("a default server gives %v", got)
	}
}

func TestRestrictedUser(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t, storetest.WithArgs(
		"--user", "default", "off",
		"--user", "guru", "on", ">hunter2", "~cg:*", "-@all", "+get", "+getex", "+getrange", "+set", "+pexpire", "+touch", "+ping", "+info"))
	o := patient(Options{Addrs: []string{server.Socket}, Username: "guru", Password: "hunter2", BreakerPause: neverProbe})
	for name, err := range calls(t, open(t, o), o.PutTimeout) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Password = "wrong"
	s := open(t, o)
	got := calls(t, s, o.PutTimeout)
	wantUnavailable(t, got)
	if state := s.Stats().Breaker; state != "open" {
		t.Errorf("a server that lets nobody in leaves the breaker %s, want open", state)
	}
	for name, err := range got {
		if strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s shows the password: %v", name, err)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := selfSigned(t, dir)
	addr := storetest.FreeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	storetest.StartRedis(t, storetest.WithArgs("--tls-port", port, "--tls-auth-clients", "no",
		"--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem")))
	o := patient(Options{Addrs: []string{addr}, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	s, it := open(t, o), item("a", "alpha")
	mustPut(t, s, it)
	mustGet(t, s, it)
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12} // does not trust the certificate
	wantUnavailable(t, calls(t, open(t, o), o.PutTimeout))
}

// selfSigned writes a certificate for 127.0.0.1 and its key, and returns who trusts it.
func selfSigned(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

// TestCluster runs on two masters that share the slots.
func TestCluster(t *testing.T) {
	t.Parallel()
	var nodes []*storetest.Server
	var admins []*goredis.Client
	for i, slots := range [][2]int{{0, 8191}, {8192, 16383}} {
		_, bus, err := net.SplitHostPort(storetest.FreeAddr(t))
		if err != nil {
			t.Fatal(err)
		}
		node := storetest.StartRedis(t, storetest.WithTCP(), storetest.WithArgs("--cluster-enabled", "yes", "--cluster-port", bus))
		c := goredis.NewClient(&goredis.Options{Addr: node.Addr})
		t.Cleanup(func() { _ = c.Close() })
		if err := c.ClusterAddSlotsRange(t.Context(), slots[0], slots[1]).Err(); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(node.Addr)
			if err := admins[0].Do(t.Context(), "cluster", "meet", host, port, bus).Err(); err != nil {
				t.Fatal(err)
			}
		}
		nodes, admins = append(nodes, node), append(admins, c)
	}
	for _, c := range admins {
		storetest.Eventually(t, 30*time.Second, "cluster is formed", func() bool {
			text, err := c.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(text, "cluster_state:ok") && strings.Contains(text, "cluster_known_nodes:2")
		})
	}

	s := open(t, patient(Options{Addrs: []string{nodes[0].Addr}, Cluster: true}))
	var all []store.Item
	for i := range 40 {
		for _, it := range batch(5, 1500) {
			it.Key.Tenant = fmt.Sprint("tenant", i)
			all = append(all, it)
		}
	}
	for i := range 20 { // without a tenant they are spread over the nodes
		key := store.Key{Space: store.Generations, ID: fmt.Sprint("gen", i)}
		all = append(all, store.Item{Key: key, Value: []byte("config")})
	}
	mustPut(t, s, all...)
	mustPut(t, s, all...)
	for _, it := range all {
		mustGet(t, s, it)
	}
	if _, won, err := s.SetIfAbsent(t.Context(), item("new", "new")); err != nil || !won {
		t.Errorf("SetIfAbsent: won %v, %v", won, err)
	}
	for i, c := range admins {
		if n, err := c.DBSize(t.Context()).Result(); err != nil || n < 10 {
			t.Errorf("node %d holds %d of %d keys, %v", i, n, len(all), err)
		}
	}
	if ws, err := s.Inspect(t.Context()); err != nil || hasWarning(ws, "cluster_not_declared", true) {
		t.Errorf("Inspect: %v, %v", ws, err)
	}
	single := open(t, patient(Options{Addrs: []string{nodes[0].Addr}}))
	if ws, err := single.Inspect(t.Context()); err != nil || !hasWarning(ws, "cluster_not_declared", true) {
		t.Errorf("Inspect without cluster: %v, %v", ws, err)
	}
}

// TestSentinelFailover: the master dies, a sentinel promotes the replica, the
// store follows without being told.
func TestSentinelFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes seconds")
	}
	t.Parallel()
	master := storetest.StartRedis(t, storetest.WithTCP())
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	replica := storetest.StartRedis(t, storetest.WithTCP(), storetest.WithArgs("--replicaof", host, port, "--repl-diskless-sync-delay", "0"))
	sentinel := storetest.StartRedis(t, storetest.AsSentinel("main", master), storetest.WithArgs(
		"--sentinel", "down-after-milliseconds", "main", "300", "--sentinel", "failover-timeout", "main", "5000"))

	s := open(t, patient(Options{Addrs: []string{sentinel.Addr}, SentinelMaster: "main", BreakerPause: time.Millisecond}))
	items := batch(10, 1500)
	mustPut(t, s, items...)
	sc := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel.Addr})
	t.Cleanup(func() { _ = sc.Close() })
	storetest.Eventually(t, 30*time.Second, "the sentinel knows a synced replica", func() bool {
		rs, err := sc.Replicas(t.Context(), "main").Result()
		return err == nil && len(rs) == 1 && rs[0]["master-link-status"] == "ok" && rs[0]["flags"] == "slave"
	})
	master.Kill()
	storetest.Eventually(t, 60*time.Second, "a put after the failover", func() bool { return s.PutAll(t.Context(), items) == nil })
	for _, it := range items {
		mustGet(t, s, it)
	}
	c := goredis.NewClient(&goredis.Options{Addr: replica.Addr})
	t.Cleanup(func() { _ = c.Close() })
	if n, err := c.DBSize(t.Context()).Result(); err != nil || n != int64(len(items)) {
		t.Errorf("the promoted replica holds %d keys, %v", n, err)
	}
}
