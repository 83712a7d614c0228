package config

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/contextguru/contextguru/pipeline"
)

// Duration is a time span written as in 500ms, 30s or 24h.
type Duration time.Duration

// Std returns the standard library's form.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the shortest exact form: 24h rather than 24h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the duration as text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the duration; it must not be negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("must be %s, got %.60q", d.Wants(), text)
	}
	*d = Duration(v)
	return nil
}

// Wants names the form of a duration.
func (d *Duration) Wants() string { return "a duration such as 500ms, 30s or 24h" }

// Distance is a number of tokens, or below 1 a fraction of the model's window.
type Distance float64

// Validate refuses what is neither.
func (d Distance) Validate() error {
	switch f := float64(d); {
	case !(f >= 0): // true for NaN as well
		return fmt.Errorf("must be at least 0, got %v", f)
	case f >= 1 && f != math.Trunc(f), f > math.MaxInt32:
		return fmt.Errorf("must be a whole number of tokens, or a fraction of the model's window below 1, got %v", f)
	default:
		return nil
	}
}

// Tokens is the distance for a model of a window; 0 is a window that is not
// known, for which a fraction is the default distance.
func (d Distance) Tokens(window int) int {
	if d <= 0 || d >= 1 {
		return int(d)
	}
	if window <= 0 {
		return pipeline.DefaultHorizonTokens
	}
	return pipeline.Fraction(float64(d), window)
}

// Mode says what is done with requests.
type Mode string

// The modes.
const (
	// ModeSync rewrites them.
	ModeSync Mode = "sync"
	// ModeObserve lets them pass and measures what would have become of them.
	ModeObserve Mode = "observe"
)

// Validate refuses an unknown mode.
func (m Mode) Validate() error {
	switch m {
	case ModeSync, ModeObserve:
		return nil
	default:
		return fmt.Errorf("must be sync or observe, got %.60q", string(m))
	}
}

// StoreType names a kind of store.
type StoreType string

// The stores.
const (
	StoreMemory StoreType = "memory"
	StoreRedis  StoreType = "redis"
)

// Validate refuses an unknown store.
func (t StoreType) Validate() error {
	switch t {
	case StoreMemory, StoreRedis:
		return nil
	default:
		return fmt.Errorf("must be memory or redis, got %.60q", string(t))
	}
}

// Resolver says who resolves markers.
type Resolver string

// The resolvers.
const (
	// ResolverNone is nobody: only lossless edits are made.
	ResolverNone Resolver = "none"
	// ResolverExternal is somebody outside: the client, an MCP server, GET on the expand path.
	ResolverExternal Resolver = "external"
	// ResolverLoop is the service itself, inside the response.
	ResolverLoop Resolver = "loop"
)

// Validate refuses an unknown resolver.
func (r Resolver) Validate() error {
	switch r {
	case ResolverNone, ResolverExternal, ResolverLoop:
		return nil
	default:
		return fmt.Errorf("must be loop, external or none, got %.60q", string(r))
	}
}

// Inject says when the expand tool is put into requests.
type Inject string

// The ways to inject.
const (
	// InjectAuto is where the client declares tools and the gate is open.
	InjectAuto Inject = "auto"
	// InjectAlways is everywhere.
	InjectAlways Inject = "always"
	// InjectNever is nowhere.
	InjectNever Inject = "never"
)

// Validate refuses an unknown way.
func (i Inject) Validate() error {
	switch i {
	case InjectAuto, InjectAlways, InjectNever:
		return nil
	default:
		return fmt.Errorf("must be auto, always or never, got %.60q", string(i))
	}
}

// injectVariable replaces expand.inject.
const injectVariable = "INJECT_EXPAND"

// Environment lets environment variables replace what the file says.
// INJECT_EXPAND is expand.inject.
func (c *Config) Environment(getenv func(string) string) error {
	value := Inject(getenv(injectVariable))
	if value == "" {
		return nil
	}
	if err := value.Validate(); err != nil {
		return fmt.Errorf("environment variable %s %w", injectVariable, err)
	}
	c.Expand.Inject = value
	return nil
}
