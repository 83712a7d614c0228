package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/store"
)

// checkTimeout bounds what check waits for a store: far longer than a request
// would, so that a slow start of a connection is no fault.
const checkTimeout = 5 * time.Second

// check says whether a configuration can be run, and what it amounts to.
func check(ctx context.Context, e env, args []string) int {
	fs := flags("check")
	file := fs.String("config", "", "the `FILE` to check")
	dump := fs.Bool("print", false, "print the configuration in force, as YAML without secrets")
	offline := fs.Bool("offline", false, "do not connect to the store")
	if code, done := e.parse(fs, args); done {
		return code
	}
	if *file == "" {
		e.complain("check", "-config is missing")
		usage(e.stderr, fs)
		return exitUsage
	}
	c, err := e.loadConfig(*file)
	if err != nil {
		_, _ = fmt.Fprintln(e.stderr, err)
		return exitFault
	}
	var warnings []store.Warning
	if c.Store.Type == config.StoreRedis && !*offline {
		if warnings, err = askStore(ctx, c); err != nil {
			_, _ = fmt.Fprintf(e.stderr, "%s: store: %v; start the server or correct store.redis, or use -offline to check the file alone\n", *file, err)
			return exitFault
		}
	}
	// The dump is for another program, so nothing is mixed into it.
	remarks := e.stdout
	if *dump {
		remarks = e.stderr
		text, err := c.Effective()
		if err != nil {
			e.complain("check", "%v", err)
			return exitFault
		}
		_, _ = e.stdout.Write(text)
	} else {
		_, _ = fmt.Fprintf(e.stdout, "%s: ok\n", *file)
		summarize(e.stdout, c)
	}
	for _, w := range warnings {
		kind := "note"
		if w.Serious {
			kind = "warning"
		}
		_, _ = fmt.Fprintf(remarks, "%s: store: %s\n", kind, w)
	}
	for _, n := range c.Notes() {
		_, _ = fmt.Fprintf(remarks, "note: %s\n", n)
	}
	return exitOK
}

// askStore connects to the configured store once.
func askStore(ctx context.Context, c *config.Config) ([]store.Warning, error) {
	patient := *c
	patient.Store.Redis.Timeout = config.Duration(checkTimeout)
	s, err := openStore(&patient, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := s.Ping(ctx); err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", strings.Join(c.Store.Redis.Addresses, ", "), err)
	}
	inspector, ok := s.(store.Inspector)
	if !ok {
		return nil, nil
	}
	return inspector.Inspect(ctx)
}

// summarize prints the settings an operator looks for first.
func summarize(w io.Writer, c *config.Config) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name string, parts ...string) {
		said := slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", name, strings.Join(said, ", "))
	}
	row("listen", prefixed("grpc ", c.Listen.GRPC), prefixed("grpc unix ", c.Listen.GRPCSocket), prefixed("http ", c.Listen.HTTP))
	row("peer", peer(c))
	row("tenant", tenant(c))
	row("keys", keyNames(c))
	row("store", storeSummary(c)...)
	if c.Lossy() {
		row("expand", string(c.Expand.Resolver), prefixed("through Envoy at ", c.Expand.Path), answering(c))
	} else {
		row("expand", "nobody resolves markers: lossless edits only")
	}
	row("mode", string(c.Mode))
	row("preset", c.Preset, replaced(c))
	row("pipeline", pipelineSummary(c)...)
	row("limits", "body "+size(c.Limits.BodyBytes), "in flight "+size(c.Limits.InFlightBytes),
		fmt.Sprintf("%d tool outputs", c.Limits.Segments), "deadline "+c.Limits.Deadline.String())
	row("envoy", prefixed("version ", c.Envoy.Version), "message timeout "+c.Envoy.MessageTimeout.String(), "buffer limit "+size(c.Envoy.BufferLimitBytes))
	row("telemetry", c.Telemetry.ServiceName, prefixed("OTLP to ", c.Telemetry.OTLP.Endpoint))
	_ = t.Flush() // stdout is gone: nobody reads this
}

// answering says how the model's calls are answered.
func answering(c *config.Config) string {
	x := &c.Expand
	if x.Resolver != config.ResolverLoop {
		return ""
	}
	said := fmt.Sprintf("answers go on through %s, tool %s", x.GatewayURL, x.Inject)
	if x.Inject == config.InjectAuto { // the others know no gate
		said += fmt.Sprintf(" from %d tokens on", x.GateTokens)
	}
	return said
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func peer(c *config.Config) string {
	var proofs []string
	if c.Listen.TLS.ClientCAFile != "" {
		proofs = append(proofs, "client certificate")
	}
	if c.Listen.Secret.Set() {
		proofs = append(proofs, "shared secret")
	}
	if len(proofs) == 0 {
		return "anybody who can connect"
	}
	return strings.Join(proofs, " and ")
}

func tenant(c *config.Config) string {
	who := "the caller's credential"
	if c.Tenant.Header != "" {
		who = "header " + c.Tenant.Header
	}
	if c.Tenant.Default == "" {
		return who + "; without it lossless edits only"
	}
	return who + ", else " + c.Tenant.Default
}

// replaced says whether the preset's own list is in force.
func replaced(c *config.Config) string {
	if p, _ := preset.Find(c.Preset); slices.Equal(p.Pipeline, c.Pipeline) {
		return ""
	}
	return "its list replaced by pipeline"
}

// pipelineSummary lists the components in order, and which of them do nothing.
func pipelineSummary(c *config.Config) []string {
	line, _ := c.Line("")
	var names []string
	for _, name := range c.Pipeline {
		if slices.Contains(line.Inert, name) {
			name += " (inert)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return []string{"empty"}
	}
	return names
}

func keyNames(c *config.Config) string {
	if len(c.Keys) == 0 {
		return "made at every start"
	}
	var names []string
	for _, k := range c.Keys {
		names = append(names, k.ID)
	}
	return strings.Join(names, ", ")
}

func storeSummary(c *config.Config) []string {
	s := &c.Store
	parts := []string{"memory of " + size(s.Memory.Bytes), fmt.Sprintf("%d entries", s.Memory.Entries)}
	if s.Type == config.StoreRedis {
		form := "redis "
		switch {
		case s.Redis.Cluster:
			form = "redis cluster "
		case s.Redis.MasterName != "":
			form = "redis " + s.Redis.MasterName + " behind sentinels "
		}
		parts = []string{form + strings.Join(s.Redis.Addresses, " "), "put within " + s.Redis.Timeout.String()}
	}
	parts = append(parts, "ttl "+s.TTL.String())
	if s.EncryptionKey.Set() {
		parts = append(parts, "encrypted")
	}
	return parts
}

// size renders bytes in the largest unit that is exact.
func size(n int64) string {
	unit := "bytes"
	for _, larger := range []string{"KiB", "MiB", "GiB"} {
		if n < 1024 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, larger
	}
	return fmt.Sprintf("%d %s", n, unit)
}
