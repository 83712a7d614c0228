package extproc

import (
	"slices"
	"strings"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc/metadata"
)

// What a request and its route may ask for.
const (
	// BypassHeader, true, lets a request go out byte for byte. Any client may
	// send it: it asks for less, not for more.
	BypassHeader = "x-context-guru-bypass" //nolint:gosec // the name of a header, no secret
	// PresetHeader names the request's preset, and so does the gRPC metadata
	// of the same name. Metadata comes from Envoy's configuration and is always
	// heard; the header only where the hop in front of us keeps it from clients.
	PresetHeader = "x-context-guru-preset"
	// ownPrefix begins the names of all headers of ours.
	ownPrefix = "x-context-guru-"
)

// bypassed reports whether a request asks to be left alone.
func (h head) bypassed() bool {
	for _, v := range h {
		if v.GetKey() == BypassHeader && strings.EqualFold(strings.TrimSpace(value(v)), "true") {
			return true
		}
	}
	return false
}

// strip removes the headers that are meant for us, so that no provider sees
// them; nil when there is none.
func (h head) strip() *extprocv3.CommonResponse {
	var names []string
	for _, v := range h {
		if name := v.GetKey(); strings.HasPrefix(name, ownPrefix) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return &extprocv3.CommonResponse{HeaderMutation: &extprocv3.HeaderMutation{RemoveHeaders: names}}
}

// Where a preset was asked for.
const (
	askedByHeader = "header"
	askedByRoute  = "route"
)

// asked returns the preset the request is to get, or the empty string for the
// one that is configured. The header counts more than the route. A name that is
// no preset counts for nothing: it may be a client's.
func (e *exchange) asked() string {
	name, by := "", ""
	if e.s.c.PresetHeader {
		// Joined, so that a client cannot put its own in front of the gateway's.
		name, by = strings.TrimSpace(e.headers.all(PresetHeader)), askedByHeader
	}
	if name == "" {
		name, by = e.routed(), askedByRoute
	}
	if name == "" {
		return ""
	}
	if e.s.c.Preset == nil || !e.s.c.Preset(name) {
		e.s.telemetry.unknownPresets.Add(e.ctx, 1, metric.WithAttributes(attribute.String("by", by)))
		e.s.warnings.once("preset "+by, "preset_unknown", "by", by, "effect", "such requests get the configured preset", "cure", "context-guru check lists the presets")
		return ""
	}
	return name
}

// routed returns the preset that the route's configuration names. Envoy writes
// a dash for a value that it has not got.
func (e *exchange) routed() string {
	md, _ := metadata.FromIncomingContext(e.ctx)
	values := md.Get(PresetHeader)
	if len(values) == 0 {
		return ""
	}
	name := strings.TrimSpace(values[len(values)-1])
	if name == "-" {
		return ""
	}
	return name
}
