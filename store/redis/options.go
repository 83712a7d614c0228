package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/contextguru/contextguru/store"
)

// Defaults of [Options].
const (
	DefaultPutTimeout      = 50 * time.Millisecond
	DefaultGetTimeout      = 250 * time.Millisecond
	DefaultDialTimeout     = time.Second
	DefaultPoolSize        = 32
	DefaultKnownEntries    = 100_000
	DefaultKnownBytes      = 32 << 20
	DefaultBreakerFailures = 3
	DefaultBreakerPause    = time.Second
)

// Secret is a string that prints as redacted, whatever prints it.
type Secret string

const redacted = "[redacted]"

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Options configures a [Store]. Only Addrs is mandatory.
type Options struct {
	// Addrs are host:port pairs, or one absolute path of a unix socket. With
	// SentinelMaster they are the sentinels, with Cluster the seed nodes.
	Addrs    []string
	Username string // ACL user; empty = the server's default user
	Password Secret
	DB       int // database number; not on a cluster

	SentinelMaster   string // name of the master the sentinels watch
	SentinelUsername string
	SentinelPassword Secret

	Cluster bool        // the server is a cluster
	TLS     *tls.Config // nil = plain TCP

	PoolSize    int           // connections per node; 0 = [DefaultPoolSize]
	DialTimeout time.Duration // bound on one attempt to connect; 0 = [DefaultDialTimeout]
	PutTimeout  time.Duration // deadline of PutAll, SetIfAbsent and Ping; 0 = [DefaultPutTimeout]
	GetTimeout  time.Duration // deadline of Get; 0 = [DefaultGetTimeout]
	TTL         time.Duration // sliding TTL of items without one; 0 = [store.DefaultTTL]

	Codec store.CodecOptions // maximum value size, encryption

	// KnownEntries and KnownBytes bound what the process remembers about keys it
	// has stored; a forgotten key costs one SET that finds it present.
	KnownEntries int   // 0 = [DefaultKnownEntries]
	KnownBytes   int64 // 0 = [DefaultKnownBytes]

	BreakerFailures int           // failures in a row that open the breaker; 0 = [DefaultBreakerFailures]
	BreakerPause    time.Duration // time until a probe is let through; 0 = [DefaultBreakerPause]

	// Logger hears when the breaker opens and closes; nil = nobody does.
	Logger *slog.Logger

	now func() time.Time // the clock that decides when to renew; nil = time.Now
}

// withDefaults returns a copy with every zero replaced.
func (o Options) withDefaults() Options {
	o.PoolSize = orDefault(o.PoolSize, DefaultPoolSize)
	o.DialTimeout = orDefault(o.DialTimeout, DefaultDialTimeout)
	o.PutTimeout = orDefault(o.PutTimeout, DefaultPutTimeout)
	o.GetTimeout = orDefault(o.GetTimeout, DefaultGetTimeout)
	o.TTL = orDefault(o.TTL, store.DefaultTTL)
	o.KnownEntries = orDefault(o.KnownEntries, DefaultKnownEntries)
	o.KnownBytes = orDefault(o.KnownBytes, DefaultKnownBytes)
	o.BreakerFailures = orDefault(o.BreakerFailures, DefaultBreakerFailures)
	o.BreakerPause = orDefault(o.BreakerPause, DefaultBreakerPause)
	if o.now == nil {
		o.now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Validate reports every fault of the options at once, each with the option's
// name, its value and what would be right.
func (o Options) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if len(o.Addrs) == 0 {
		fault("addrs: empty; give host:port or the absolute path of a unix socket")
	}
	for i, addr := range o.Addrs {
		if path.IsAbs(addr) {
			if len(o.Addrs) > 1 || o.Cluster || o.SentinelMaster != "" {
				fault("addrs[%d]: a unix socket (%s) works only as the one address of a single server", i, addr)
			}
			continue
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" || port == "" {
			fault("addrs[%d]: must be host:port or the absolute path of a unix socket, got %q", i, addr)
		}
	}
	switch {
	case o.Cluster && o.SentinelMaster != "":
		fault("cluster: a cluster has no sentinels; drop sentinel master %q or cluster", o.SentinelMaster)
	case len(o.Addrs) > 1 && !o.Cluster && o.SentinelMaster == "":
		fault("addrs: %d addresses need cluster or a sentinel master; a single server has one", len(o.Addrs))
	case o.Cluster && o.DB != 0:
		fault("db: a cluster has only database 0, got %d", o.DB)
	}
	if o.SentinelMaster == "" && (o.SentinelUsername != "" || o.SentinelPassword != "") {
		fault("sentinel master: missing, but sentinel credentials are set")
	}
	if o.Username != "" && o.Password == "" {
		fault("password: missing for user %q", o.Username)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"db", int64(o.DB)},
		{"pool size", int64(o.PoolSize)},
		{"known entries", int64(o.KnownEntries)},
		{"known bytes", o.KnownBytes},
		{"breaker failures", int64(o.BreakerFailures)},
	} {
		if n.value < 0 {
			fault("%s: must not be negative, got %d", n.name, n.value)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"dial timeout", o.DialTimeout},
		{"put timeout", o.PutTimeout},
		{"get timeout", o.GetTimeout},
		{"ttl", o.TTL},
		{"breaker pause", o.BreakerPause},
	} {
		if d.value != 0 && d.value < time.Millisecond {
			fault("%s: must be at least 1ms, got %v", d.name, d.value)
		}
	}
	return errors.Join(errs...)
}

// client builds the client for options with defaults.
func (o Options) client() goredis.UniversalClient {
	// The context's deadline ends every wait; the socket timeout is the second
	// line for the handshakes the client makes on its own account.
	socket := max(o.PutTimeout, o.GetTimeout)
	return goredis.NewUniversalClient(&goredis.UniversalOptions{
		Addrs: o.Addrs, Username: o.Username, Password: string(o.Password), DB: o.DB,
		MasterName: o.SentinelMaster, SentinelUsername: o.SentinelUsername, SentinelPassword: string(o.SentinelPassword),
		IsClusterMode: o.Cluster, TLSConfig: o.TLS,

		PoolSize: o.PoolSize, PoolTimeout: socket,
		// Everything here is a pipeline, so a second pool for pipelines would only
		// double the connections.
		PipelinePoolSize: -1,

		DialTimeout: o.DialTimeout, ReadTimeout: socket, WriteTimeout: socket,
		ContextTimeoutEnabled: true,
		// One attempt each: the caller's next request is the retry. With the
		// client's defaults a server that is down takes 1.7 s to say so.
		MaxRetries: -1, DialerRetries: 1,

		DisableIdentity: true, // CLIENT SETINFO: unknown before 7.2, refused to restricted users
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, // plain Redis and Valkey do not know them
		},
	})
}
