package stack

import (
	"time"

	"github.com/contextguru/contextguru/test/fakellm"
)

type options struct {
	config       string
	binary       string
	race         bool
	replicas     int
	extProc      []string // addresses given instead of replicas
	pinned       bool
	socket       bool
	secret       string
	redis        *RedisOptions
	otlp         bool
	loop         bool
	llm          []fakellm.Option
	edits        []Edit
	envoyEnv     []string
	envoyArgs    []string
	concurrency  int
	serviceEnv   []string
	startTimeout time.Duration
}

// startTimeout bounds the start of everything but the build: long enough for a
// machine that is busy with other tests.
const startTimeout = 60 * time.Second

// Option chooses what a stack consists of.
type Option func(*options)

func gather(opts []Option) *options {
	o := &options{replicas: 1, concurrency: defaultConcurrency, startTimeout: startTimeout}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// WithConfig gives the service its configuration as YAML. Addresses, service
// keys, the Redis server's address and the telemetry endpoint are added where it
// does not mention them.
func WithConfig(yaml string) Option { return func(o *options) { o.config = yaml } }

// WithReplicas starts n services, between which Envoy balances.
func WithReplicas(n int) Option { return func(o *options) { o.replicas = n } }

// WithPinnedReplicas starts n services and lets [Call.Replica] choose one.
// Calls that choose none are balanced.
func WithPinnedReplicas(n int) Option {
	return func(o *options) { o.replicas, o.pinned = n, true }
}

// WithExtProc starts no service: Envoy calls external processors of the
// caller's at these addresses, each host:port or the path of a unix socket.
func WithExtProc(addresses ...string) Option {
	return func(o *options) { o.replicas, o.extProc = 0, addresses }
}

// WithSocket makes services and Envoy meet on unix sockets.
func WithSocket() Option { return func(o *options) { o.socket = true } }

// WithSecret makes the services demand a shared secret and Envoy send it, in the
// way the shipped configuration describes.
func WithSecret(secret string) Option {
	return func(o *options) {
		o.secret = secret
		o.envoyEnv = append(o.envoyEnv, "CONTEXT_GURU_SECRET="+secret)
		o.edits = append(o.edits, InitialMetadata("x-context-guru-secret", "%ENVIRONMENT(CONTEXT_GURU_SECRET)%"))
	}
}

// WithRedis starts a Redis server and makes it the services' store.
func WithRedis(redis RedisOptions) Option { return func(o *options) { o.redis = &redis } }

// WithOTLP starts a receiver and makes the services export to it several times a second.
func WithOTLP() Option {
	return func(o *options) {
		o.otlp = true
		o.serviceEnv = append(o.serviceEnv, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=200")
	}
}

// WithLoop makes the services answer the model's calls themselves: they are told
// where Envoy listens.
func WithLoop() Option { return func(o *options) { o.loop = true } }

// WithLLM configures the provider.
func WithLLM(opts ...fakellm.Option) Option {
	return func(o *options) { o.llm = append(o.llm, opts...) }
}

// WithEnvoy changes Envoy's configuration.
func WithEnvoy(edits ...Edit) Option {
	return func(o *options) { o.edits = append(o.edits, edits...) }
}

// WithEnvoyArgs adds command line arguments of Envoy, such as
// --component-log-level ext_proc:trace.
func WithEnvoyArgs(args ...string) Option {
	return func(o *options) { o.envoyArgs = append(o.envoyArgs, args...) }
}

// WithConcurrency sets Envoy's number of workers; the default is 2.
func WithConcurrency(n int) Option { return func(o *options) { o.concurrency = n } }

// WithServiceEnv adds environment variables, as NAME=value, to the services.
func WithServiceEnv(env ...string) Option {
	return func(o *options) { o.serviceEnv = append(o.serviceEnv, env...) }
}

// WithRace runs services built with the race detector. A race makes them exit
// with a status that [Stack.Close] reports.
func WithRace() Option { return func(o *options) { o.race = true } }

// WithBinary runs another program as the service.
func WithBinary(path string) Option { return func(o *options) { o.binary = path } }
