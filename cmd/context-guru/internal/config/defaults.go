package config

import (
	"encoding/json"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// Default returns the configuration of an empty file, before its components
// are built.
func Default() *Config {
	return &Config{
		Listen: Listen{GRPC: "127.0.0.1:9002", HTTP: "127.0.0.1:9003"},
		Limits: Limits{
			BodyBytes:     32 << 20,
			InFlightBytes: 512 << 20,
			Segments:      20_000,
			Deadline:      Duration(4 * time.Second),
		},
		Shutdown: Shutdown{Drain: Duration(5 * time.Second), Grace: Duration(30 * time.Second)},
		Envoy: Envoy{
			MessageTimeout:   Duration(5 * time.Second),
			BufferLimitBytes: 64 << 20,
		},
		Mode:    ModeSync,
		Observe: Observe{MaxQueue: 256, Workers: 1},
		Keys:    []Key{},
		Store: Store{
			Type:   StoreMemory,
			TTL:    Duration(24 * time.Hour),
			Memory: Memory{Bytes: 256 << 20, Entries: 100_000},
			Redis:  Redis{Addresses: []string{}, Timeout: Duration(50 * time.Millisecond)},
		},
		Expand: Expand{
			Resolver: ResolverNone, Path: "/context-guru/expand", Inject: InjectAuto, GateTokens: rewrite.DefaultGateTokens,
			Rounds: loop.DefaultRounds, Calls: loop.DefaultCalls, WindowBytes: expand.DefaultWindow,
			Timeout: Duration(loop.DefaultTime), KeepAlive: Duration(loop.DefaultKeepAlive), HeldBytes: splice.DefaultHeld, InFlightBytes: 1 << 30,
		},
		Preset:     preset.Default,
		Components: map[string]json.RawMessage{},
		Tools:      pipeline.ToolRules{Exclude: []pipeline.ToolGlob{}, LosslessOnly: []pipeline.ToolGlob{}},
		Cache:      Cache{HorizonTokens: pipeline.DefaultHorizonTokens},
		Models:     Models{Refresh: Duration(models.DefaultRefreshInterval)},
		Memo:       Memo{Bytes: 64 << 20},
		Telemetry: Telemetry{
			ServiceName: "context-guru",
			OTLP:        OTLP{Headers: map[string]Secret{}},
			SampleRatio: 1,
		},
	}
}
