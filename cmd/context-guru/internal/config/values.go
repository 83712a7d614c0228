package config

import (
	"fmt"
	"strings"
	"time"
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
	// resolverLoop is the service itself, inside the response.
	resolverLoop Resolver = "loop"
)

// Validate refuses an unknown resolver.
func (r Resolver) Validate() error {
	switch r {
	case ResolverNone, ResolverExternal:
		return nil
	case resolverLoop:
		return fmt.Errorf("must be none or external, got %q: this version does not answer the model's calls itself; "+
			"use external when the client, an MCP server or GET on the expand path resolves markers, none for lossless edits only", string(r))
	default:
		return fmt.Errorf("must be none or external, got %.60q", string(r))
	}
}
