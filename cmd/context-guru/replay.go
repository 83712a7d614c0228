package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/capture"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/report"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/tokens"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// replayFlags are what `replay` was asked for.
type replayFlags struct {
	config, components, compare string
	resolver, gateMode          string
	horizon, gate, tool         int
	dialects, models            string
	sample                      int
	diff                        bool
	format                      string
}

// expandToolTokens is the size of the definition of the tool that reads an
// original back, in tokens of o200k, in its longest form.
const expandToolTokens = 60

func (f *replayFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.config, "config", "", "configuration `FILE`; the defaults without one")
	fs.StringVar(&f.components, "components", "", "`LIST` of components in the place of the configured pipeline, separated by commas; off for no component")
	fs.StringVar(&f.compare, "compare", "", "`SETUPS`, two or more, separated by commas, to show side by side; each is a configuration file, off, or components joined by +")
	fs.StringVar(&f.resolver, "resolver", "", "who resolves markers: none, external or `loop`; loop without -config, else what is configured")
	fs.IntVar(&f.horizon, "horizon-tokens", -1, "`TOKENS` of tool output between two horizons, in the place of what is configured; 0 makes every turn one")
	fs.StringVar(&f.gateMode, "gate", "", "`GATE` of markers and the tool: open or closed for all conversations; by -gate-tokens without one")
	fs.IntVar(&f.gate, "gate-tokens", 0, "least `TOKENS` in front of the model's first message for a conversation to get markers")
	fs.IntVar(&f.tool, "expand-tool-tokens", expandToolTokens, "`TOKENS` of the definition of the tool that resolves markers, billed with every request that may carry one")
	fs.StringVar(&f.dialects, "dialect", "", "replay only these, a `LIST` of "+dialectNames())
	fs.StringVar(&f.models, "model", "", "`NAMES` of models to price every request as, separated by commas; without them as its own model, and those of OpenAI with reads at 0.5x and 0.1x")
	fs.IntVar(&f.sample, "sample", 0, "replay at most `N` conversations per folder and API, spread evenly; 0 for all")
	fs.BoolVar(&f.diff, "diff", false, "show each edit before and after, shortened")
	fs.StringVar(&f.format, "format", "text", "`FORM` of the report: text, json or markdown, which is one table")
}

func dialects() []wire.Dialect {
	return []wire.Dialect{
		wire.OpenAIChat, wire.OpenAIResponses, wire.AnthropicMessages, wire.AnthropicPlatform, wire.Gemini, wire.BedrockConverse,
	}
}

func dialectNames() string {
	var names []string
	for _, d := range dialects() {
		names = append(names, string(d))
	}
	return strings.Join(names, ", ")
}

// replayCommand shows what would have come of recorded conversations.
func replayCommand(ctx context.Context, e env, args []string) int {
	fs := flags("replay")
	var f replayFlags
	f.register(fs)
	flagged, paths := splitPaths(fs, args)
	if code, done := e.parse(fs, flagged); done {
		return code
	}
	if problem := f.problem(paths); problem != "" {
		e.complain("replay", "%s", problem)
		return exitUsage
	}
	sound, err := f.replay(ctx, e, paths)
	if err != nil {
		if _, ok := errors.AsType[*strict.Error](err); ok {
			_, _ = fmt.Fprintln(e.stderr, err)
		} else {
			e.complain("replay", "%v", err)
		}
		return exitFault
	}
	if !sound {
		e.complain("replay", "there are unplanned prefix breaks, failed restores or lost facts; the lines that begin with FAILED say where")
		return exitFault
	}
	return exitOK
}

// splitPaths takes the files and folders from between the flags.
func splitPaths(fs *flag.FlagSet, args []string) (flagged, paths []string) {
	for i := 0; i < len(args); i++ {
		name, _, valued := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			paths = append(paths, args[i])
			continue
		}
		flagged = append(flagged, args[i])
		known := fs.Lookup(name)
		if known == nil || valued || i+1 == len(args) {
			continue
		}
		if b, ok := known.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			continue
		}
		i++
		flagged = append(flagged, args[i])
	}
	return flagged, paths
}

// problem says what is wrong with the flags, or nothing.
func (f *replayFlags) problem(paths []string) string {
	switch {
	case len(paths) == 0:
		return "no conversations given; name files or folders with ID.FORMAT.json or NAME.jsonl in them"
	case !slices.Contains([]string{"text", "json", "markdown"}, f.format):
		return fmt.Sprintf("-format must be text, json or markdown, got %.60q", f.format)
	case f.compare != "" && (f.config != "" || f.components != ""):
		return "-compare names setups of its own; leave -config and -components out"
	case f.compare != "" && !strings.Contains(f.compare, ","):
		return fmt.Sprintf("-compare takes two setups or more with commas between, got %.60q", f.compare)
	case f.compare != "" && f.diff:
		return "-diff shows the edits of one setup; leave -compare out"
	case min(f.horizon+1, f.gate, f.tool, f.sample) < 0:
		return "numbers must be at least 0"
	case !slices.Contains([]string{"", "open", "closed"}, f.gateMode):
		return fmt.Sprintf("-gate must be open or closed, got %.60q", f.gateMode)
	case !slices.Contains([]string{"", "none", "external", "loop"}, f.resolver):
		return fmt.Sprintf("-resolver must be none, external or loop, got %.60q", f.resolver)
	}
	for name := range strings.SplitSeq(f.dialects, ",") {
		if f.dialects != "" && !slices.Contains(dialects(), wire.Dialect(name)) {
			return fmt.Sprintf("-dialect %.60q is unknown; the names are %s", name, dialectNames())
		}
	}
	return ""
}

// replay does what was asked for and reports whether nothing happened that must
// not.
func (f *replayFlags) replay(ctx context.Context, e env, paths []string) (sound bool, err error) {
	setups, err := f.setups()
	if err != nil {
		return false, err
	}
	conversations, notes, err := capture.Load(paths...)
	if err != nil {
		return false, err
	}
	tellNotes(e, notes)
	if f.dialects != "" {
		wanted := strings.Split(f.dialects, ",")
		conversations = slices.DeleteFunc(conversations, func(c *capture.Conversation) bool { return !slices.Contains(wanted, string(c.Dialect)) })
	}
	conversations = capture.Sample(conversations, f.sample)
	if len(conversations) == 0 {
		return false, fmt.Errorf("there is no conversation in %s", strings.Join(paths, ", "))
	}
	known, err := models.Snapshot()
	if err != nil {
		return false, err
	}
	progress := newProgress(e, len(setups)*len(conversations))
	defer progress.stop()
	options := replay.Options{Counters: tokens.New(), Prices: prices(known, f.models), Diff: f.diff, Replayed: progress.step}
	var reports []*report.Report
	sound = true
	for _, setup := range setups {
		setup.Window = func(model string) int { found, _ := known.Find(model); return found.Window }
		r, err := replay.Run(ctx, options, setup, conversations)
		if err != nil {
			return false, err
		}
		sound = sound && r.Sound()
		reports = append(reports, r)
	}
	progress.stop()
	return sound, f.print(e.stdout, reports)
}

// notesShown bounds the files and lines that are named one by one.
const notesShown = 10

func tellNotes(e env, notes []string) {
	for _, note := range notes[:min(len(notes), notesShown)] {
		e.complain("replay", "%s", note)
	}
	if more := len(notes) - notesShown; more > 0 {
		e.complain("replay", "and %d more", more)
	}
}

func (f *replayFlags) print(w io.Writer, reports []*report.Report) error {
	switch {
	case f.format == "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{"reports": reports}); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return nil
	case f.format == "markdown":
		return report.WriteMarkdown(w, reports)
	case len(reports) > 1:
		return report.WriteComparison(w, reports)
	default:
		return report.WriteText(w, reports[0])
	}
}

// setups are the configurations to replay with.
func (f *replayFlags) setups() ([]replay.Setup, error) {
	if f.compare == "" {
		setup, err := f.setup(f.config, f.components)
		return []replay.Setup{setup}, err
	}
	var setups []replay.Setup
	for name := range strings.SplitSeq(f.compare, ",") {
		file, list := "", strings.ReplaceAll(name, "+", ",")
		if _, err := os.Stat(name); err == nil {
			file, list = name, ""
		}
		setup, err := f.setup(file, list)
		if err != nil {
			return nil, err
		}
		setups = append(setups, setup)
	}
	return setups, nil
}

// setup makes one configuration of a file and a list of components in the place
// of its own, either of which may be missing.
func (f *replayFlags) setup(file, list string) (replay.Setup, error) {
	c, err := loadConfig(file)
	if err != nil {
		return replay.Setup{}, err
	}
	resolver := f.resolver
	if resolver == "" && file == "" {
		resolver = "loop"
	}
	setup := replay.Setup{
		Name: "defaults", Steps: c.Steps(), Lossy: c.Lossy(), Hints: true,
		HorizonTokens: c.Cache.HorizonTokens, ToolTokens: f.tool, GateTokens: f.gate,
		MemoBytes: c.Memo.Bytes, MaxBody: int(c.Limits.BodyBytes), Limits: wire.Limits{Segments: c.Limits.Segments},
	}
	if f.horizon >= 0 {
		setup.HorizonTokens = f.horizon
	}
	switch f.gateMode {
	case "open":
		setup.Gate = replay.GateOpen
	case "closed":
		setup.Gate = replay.GateClosed
	}
	if file != "" {
		setup.Name = file
	}
	if resolver != "" {
		// Inside the loop the tool's own description says what a marker is.
		setup.Lossy, setup.Hints = resolver != "none", resolver == "external"
	}
	if list != "" {
		setup.Name = list
		if setup.Steps, err = stepsOf(c, list); err != nil {
			return replay.Setup{}, err
		}
	}
	return setup, nil
}

// stepsOf builds the components of a list, with the settings of a configuration.
func stepsOf(c *config.Config, list string) ([]pipeline.Step, error) {
	if list == "none" || list == "off" {
		return nil, nil
	}
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		return nil, fmt.Errorf("list of components: %w", err)
	}
	var steps []pipeline.Step
	for name := range strings.SplitSeq(list, ",") {
		spec, ok := catalog.Find(name)
		if !ok {
			return nil, fmt.Errorf("unknown component %.60q; %s", name, strict.Cure(name, catalog.Names()))
		}
		step, err := spec.Build(decoder(c.Components[name]), pipeline.Deps{AllowIrreversible: c.AllowIrreversible})
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", name, err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// decoder reads the settings of a component that a configuration has written out.
func decoder(settings json.RawMessage) func(into any) error {
	if settings == nil {
		return nil
	}
	return func(into any) error { return json.Unmarshal(settings, into) }
}
