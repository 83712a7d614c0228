// Package config is the one YAML file of the service: its shape, its defaults,
// its rules, and the secrets it refers to.
//
// [Load] either returns a configuration that can be run or an error that lists
// every fault of the file with its place and its cure. A loaded configuration
// is immutable. Relative file names in it are relative to the file itself.
package config

import (
	"encoding/json"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/models"
)

// Config is the whole configuration.
type Config struct {
	Listen   Listen   `json:"listen"`
	Limits   Limits   `json:"limits"`
	Shutdown Shutdown `json:"shutdown"`
	Envoy    Envoy    `json:"envoy"`
	// Mode says whether requests are rewritten or only measured.
	Mode    Mode    `json:"mode"`
	Observe Observe `json:"observe"`
	Tenant  Tenant  `json:"tenant"`
	Request Request `json:"request"`
	Keys    []Key   `json:"keys"`
	Store   Store   `json:"store"`
	Expand  Expand  `json:"expand"`

	// Preset names a ready-made pipeline, with the settings that belong to it.
	Preset string `json:"preset"`
	// Pipeline names the components in the order they run. Written, it replaces
	// the preset's list.
	Pipeline []string `json:"pipeline"`
	// Components holds the settings of every component that is in the pipeline
	// or was configured, with every default written out. A block that is written
	// replaces the preset's whole block.
	Components map[string]json.RawMessage `json:"components"`
	// Tools except the outputs of some tools.
	Tools pipeline.ToolRules `json:"tools"`
	// AllowIrreversible permits components to lose text for good.
	AllowIrreversible bool `json:"allow_irreversible"`

	Cache     Cache     `json:"cache"`
	Models    Models    `json:"models"`
	Memo      Memo      `json:"memo"`
	Telemetry Telemetry `json:"telemetry"`

	line    Line
	presets map[string]Line // by name, without the one in force
	ring    *pipeline.Keyring
	dir     string
	// written is the file itself, key by key.
	written map[string]json.RawMessage
	// windows is the model map of models.file.
	windows *models.Map
}

// Listen is where the service listens.
type Listen struct {
	// GRPC is the TCP address of ext_proc and gRPC health; empty turns it off.
	GRPC string `json:"grpc"`
	// GRPCSocket is the path of a unix socket for the same; empty turns it off.
	GRPCSocket string `json:"grpc_socket"`
	// HTTP is the address of health, metrics, statistics and expand; empty turns it off.
	HTTP string `json:"http"`
	// Secret is what the gRPC peer has to send as x-context-guru-secret.
	Secret Secret `json:"secret"`
	// TLS protects the gRPC TCP port.
	TLS ServerTLS `json:"tls"`
}

// ServerTLS names the files of a TLS server.
type ServerTLS struct {
	CertFile string `json:"cert_file"`
	KeyFile  string `json:"key_file"`
	// ClientCAFile makes client certificates mandatory and names who may sign them.
	ClientCAFile string `json:"client_ca_file"`
}

// Limits bound what one request and all of them together may cost.
type Limits struct {
	// BodyBytes caps a request body, before and after it is rewritten.
	BodyBytes int64 `json:"body_bytes"`
	// InFlightBytes caps the bodies held at once.
	InFlightBytes int64 `json:"in_flight_bytes"`
	// Segments caps the tool outputs of one request.
	Segments int `json:"segments"`
	// Deadline is the wall-clock safety net of one request.
	Deadline Duration `json:"deadline"`
}

// Shutdown says how to stop.
type Shutdown struct {
	// Drain is how long exchanges are still taken after health says NOT_SERVING:
	// what Envoy's health checks need to notice.
	Drain Duration `json:"drain"`
	// Grace bounds the wait for what is in flight, behind the drain time.
	Grace Duration `json:"grace"`
}

// Envoy repeats what the service has to know of Envoy's configuration.
type Envoy struct {
	// MessageTimeout is Envoy's message_timeout.
	MessageTimeout Duration `json:"message_timeout"`
	// BufferLimitBytes is the route's request_body_buffer_limit.
	BufferLimitBytes int64 `json:"buffer_limit_bytes"`
	// SoleExtProc says that no other ext_proc filter stands behind ours.
	SoleExtProc bool `json:"sole_ext_proc"`
	// Version is Envoy's version, empty to learn it from the requests.
	Version string `json:"version"`
}

// Tenant says whose requests are whose.
type Tenant struct {
	// Header is set by the gateway from an identity it has verified. Empty means
	// that the caller's credential is the tenant.
	Header string `json:"header"`
	// Default is the tenant of requests that name none; empty means none.
	Default string `json:"default"`
}

// Observe bounds what mode observe may cost.
type Observe struct {
	// MaxQueue is how many bodies may wait to be measured; more are not.
	MaxQueue int `json:"max_queue"`
	// Workers is how many are measured at once. One measures in the order of
	// arrival, so that an output counts as new in the request that brought it.
	Workers int `json:"workers"`
}

// Request says what a request may ask for.
type Request struct {
	// PresetHeader obeys x-context-guru-preset. The hop in front of the service
	// must then set that header itself or take it from its clients.
	PresetHeader bool `json:"preset_header"`
}

// Key is one service key: the content of its file is the secret.
type Key struct {
	ID   string `json:"id"`
	File string `json:"file"`
}

// Store is where originals are kept.
type Store struct {
	Type StoreType `json:"type"`
	// TTL slides: a value nobody touched for so long is gone.
	TTL Duration `json:"ttl"`
	// EncryptionKey encrypts stored values: 32 bytes, raw, as 64 hexadecimal
	// digits or as base64.
	EncryptionKey Secret `json:"encryption_key"`
	Memory        Memory `json:"memory"`
	Redis         Redis  `json:"redis"`

	key []byte
}

// Memory bounds the store in this process.
type Memory struct {
	Bytes   int64 `json:"bytes"`
	Entries int   `json:"entries"`
}

// Redis is the store shared by replicas.
type Redis struct {
	// Addresses are host:port pairs, or the path of one unix socket.
	Addresses []string `json:"addresses"`
	Cluster   bool     `json:"cluster"`
	// MasterName makes the addresses sentinels and names the master they watch.
	MasterName string   `json:"master_name"`
	Username   string   `json:"username"`
	Password   Secret   `json:"password"`
	DB         int      `json:"db"`
	Timeout    Duration `json:"timeout"`
	TLS        RedisTLS `json:"tls"`
}

// RedisTLS is the TLS of the connections to Redis.
type RedisTLS struct {
	Enabled bool `json:"enabled"`
	// CAFile replaces the system's certificate authorities.
	CAFile     string `json:"ca_file"`
	CertFile   string `json:"cert_file"`
	KeyFile    string `json:"key_file"`
	ServerName string `json:"server_name"`
}

// Expand says who resolves markers.
type Expand struct {
	Resolver Resolver `json:"resolver"`
	// Path is the reserved path answered through Envoy; empty turns it off.
	Path string `json:"path"`
	// Inject says when the service that answers calls itself puts the tool into
	// requests.
	Inject Inject `json:"inject"`
	// GateTokens is how much a conversation has to begin with, in front of the
	// model's first message and without tools, to get the tool and markers.
	GateTokens int `json:"gate_tokens"`
	// GatewayURL is the gateway's own listener, scheme, host and port: where the
	// requests go that continue an answer. loop needs it.
	GatewayURL string     `json:"gateway_url"`
	GatewayTLS GatewayTLS `json:"gateway_tls"`
	// GatewayHTTP2 speaks HTTP/2 to an http:// URL without asking.
	GatewayHTTP2 bool `json:"gateway_http2"`
	// Rounds and Calls bound what one answer may take.
	Rounds int `json:"rounds"`
	Calls  int `json:"calls"`
	// WindowBytes is how much of an original the model reads at once.
	WindowBytes int64 `json:"window_bytes"`
	// Timeout bounds the time of one answer, from the first call on.
	Timeout Duration `json:"timeout"`
	// KeepAlive is the time between two blank lines for a client that waits.
	KeepAlive Duration `json:"keep_alive"`
	// HeldBytes caps what one answer may hold in memory.
	HeldBytes int64 `json:"held_bytes"`
	// InFlightBytes caps the requests kept while their answers are read, all together.
	InFlightBytes int64 `json:"in_flight_bytes"`
}

// GatewayTLS is the TLS of the connections to the gateway's listener.
type GatewayTLS struct {
	// CAFile replaces the system's certificate authorities.
	CAFile     string `json:"ca_file"`
	CertFile   string `json:"cert_file"`
	KeyFile    string `json:"key_file"`
	ServerName string `json:"server_name"`
}

// Cache says how to spare the provider's prompt cache.
type Cache struct {
	// HorizonTokens is how much tool output lies between two points at which old
	// outputs are decided about; 0 makes every turn one.
	HorizonTokens Distance `json:"horizon_tokens"`
}

// Models says where the windows and prices of models come from. Without a URL
// and a file they are those in the binary.
type Models struct {
	// File holds a model map, in LiteLLM's form or in that of the snapshot.
	File string `json:"file"`
	// URL is where newer maps are fetched from; empty means never.
	URL string `json:"url"`
	// Refresh is the time between two fetches.
	Refresh Duration `json:"refresh"`
}

// Memo bounds the memory of decisions.
type Memo struct {
	Bytes int64 `json:"bytes"`
}

// Telemetry says where spans and metrics go.
type Telemetry struct {
	ServiceName string  `json:"service_name"`
	OTLP        OTLP    `json:"otlp"`
	SampleRatio float64 `json:"sample_ratio"`
}

// OTLP is the receiver of spans and metrics.
type OTLP struct {
	// Endpoint is host:port or a URL; empty exports nothing.
	Endpoint string `json:"endpoint"`
	// Insecure turns TLS off for an endpoint without a scheme.
	Insecure bool `json:"insecure"`
	// Headers are sent with every export. Most of them are credentials, so
	// each is the content of a file.
	Headers map[string]Secret `json:"headers"`
}

// Steps returns the components of the pipeline in order, ready to run.
func (c *Config) Steps() []pipeline.Step { return c.line.Steps }

// Keyring returns the service keys, nil when none is configured.
func (c *Config) Keyring() *pipeline.Keyring { return c.ring }

// Lossy reports whether somebody can resolve a marker.
func (c *Config) Lossy() bool { return c.Expand.Resolver != ResolverNone }

// Hints reports whether markers say how they are resolved. Where the model has a
// tool for that, the tool's description says it once.
func (c *Config) Hints() bool { return c.Expand.Resolver == ResolverExternal }

// ModelMap returns the model map to begin with: the file's, or the one in the
// binary.
func (c *Config) ModelMap() (*models.Map, error) {
	if c.windows != nil {
		return c.windows, nil
	}
	return models.Snapshot()
}

// Key returns the 32 bytes values are encrypted with, nil for no encryption.
func (s *Store) Key() []byte { return s.key }
