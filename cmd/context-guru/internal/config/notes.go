package config

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/pipeline"
)

// Notes lists what is allowed but rarely meant, each with its consequence.
func (c *Config) Notes() []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }

	if reachable(c.Listen.GRPC) && !c.Listen.Secret.Set() && c.Listen.TLS.ClientCAFile == "" {
		note("listen.grpc: %s accepts any peer; set listen.secret.file or listen.tls.client_ca_file unless the network keeps others out", c.Listen.GRPC)
	}
	if c.Mode == ModeObserve {
		note("mode: observe, so requests go out as they came, and figures say what would have become of them")
	}
	if len(c.Keys) == 0 {
		note("keys: none is given, so every start makes a new one; markers and tenants of the last start are lost with it")
	}
	if c.Store.Type == StoreMemory && len(c.Store.Redis.Addresses) > 0 {
		note("store.redis: not used while store.type is memory")
	}
	if len(c.Pipeline) == 0 {
		note("pipeline: empty, every request passes through unchanged")
	}
	for _, name := range c.line.Inert {
		note("pipeline: %s is not part of this version and does nothing", name)
	}
	for _, name := range c.line.replaced {
		note("components.%s: replaces all that preset %s sets for it; of that, write out what is to stay: %s", name, c.Preset, settingsOf(c.Preset, name))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Components)) {
		if !slices.Contains(c.Pipeline, name) {
			note("components.%s: not used, the pipeline does not list it", name)
		}
	}
	if lossy := c.lossyComponents(); len(lossy) > 0 && !c.Lossy() {
		note("expand.resolver: none, so %s may make lossless edits only", strings.Join(lossy, ", "))
	}
	if c.Expand.Inject == InjectAlways && c.Expand.Resolver != ResolverLoop {
		note("expand.inject: always, but the expand tool is only put into requests by resolver loop, and this is %s", c.Expand.Resolver)
	}
	if late := c.horizonComponents(); len(late) > 0 && c.Lossy() && c.Cache.HorizonTokens == 0 {
		note("cache.horizon_tokens: 0, so %s may change old outputs in every turn, and the provider bills everything behind them anew", strings.Join(late, ", "))
	}
	if c.AllowIrreversible {
		note("allow_irreversible: components whose marker_mode is off lose text for good")
	}
	return notes
}

func (c *Config) lossyComponents() []string {
	var names []string
	for _, s := range c.line.Steps {
		if s.Kind == pipeline.KindOffload {
			names = append(names, s.Name)
		}
	}
	return names
}

func (c *Config) horizonComponents() []string {
	var names []string
	for _, s := range c.line.Steps {
		if s.When == pipeline.AtHorizon {
			names = append(names, s.Name)
		}
	}
	return names
}

// reachable reports whether an address can be reached from other machines.
func reachable(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// settingsOf returns what a preset sets for a component, as it stands there.
func settingsOf(name, component string) string {
	p, _ := preset.Find(name)
	for line := range strings.Lines(p.Components) {
		if block, ok := strings.CutPrefix(line, component+":"); ok {
			return strings.TrimSpace(block)
		}
	}
	return ""
}
