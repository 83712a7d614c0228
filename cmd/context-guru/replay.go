package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/plan"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
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
	config, preset, components string
	compare                    string
	resolver, gateMode         string
	horizon, gate              int
	dialects, models           string
	sample                     int
	diff                       bool
	format                     string
}

func (f *replayFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.config, "config", "", "configuration `FILE`; the defaults without one")
	fs.StringVar(&f.preset, "preset", "", "`NAME` of a preset in the place of the configured pipeline")
	fs.StringVar(&f.components, "components", "", "`LIST` of components in the place of the configured pipeline, separated by commas")
	fs.StringVar(&f.compare, "compare", "", "`SETUPS`, two or more, separated by commas, to show side by side; each is a preset, a configuration file, or components joined by +")
	fs.StringVar(&f.resolver, "resolver", "", "who resolves markers: none, external or `loop`; loop without -config, else what is configured")
	fs.IntVar(&f.horizon, "horizon-tokens", -1, "`TOKENS` of tool output between two horizons, in the place of what is configured; 0 makes every turn one")
	fs.StringVar(&f.gateMode, "gate", "", "`GATE` of markers and the tool that resolves them: open or closed for all conversations, in the place of what is configured")
	fs.IntVar(&f.gate, "gate-tokens", -1, "least `TOKENS` in front of the model's first message for a conversation to get the tool, in the place of what is configured")
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

// replayDetails explain the command behind its flags.
const replayDetails = `
PATH is a file, or a folder with everything below it:
  ID.FORMAT.json  a transcript: the last request of a conversation, as a client sent it. The requests
                  before it end in front of each message of the model. FORMAT is openai, responses,
                  anthropic, gemini or converse.
  NAME.jsonl      a capture: one request per line, in the order they were sent, conversations mixed.
                  A line is a body, or {"path": "/v1/messages", "body": {...}} with the request's path
                  (or "url", or "dialect" and "model"); "body_base64" in the place of "body" keeps
                  every byte.

Every conversation is replayed turn by turn by the code of the service, with a store in memory.
Bills are simulated: what a request begins with like an earlier one of its conversation is read from
the provider's cache, the rest is written to it; answers are not billed. The exit code is 1 when
anything happened that must not: an unplanned break of the prefix, a marker that does not lead back
to the client's text, a fact or an error line that cannot be read any more.

  context-guru replay logs/                                        what the defaults would do
  context-guru replay -config cg.yaml -diff logs/                  every edit of a configuration
  context-guru replay -compare off,balanced,auto logs/             presets side by side
  context-guru replay -compare cg.yaml,dedup+collapse logs/        a file and a list of components
  context-guru replay -compare off,auto -format markdown logs/     one table
  context-guru replay -gate closed -model gpt-5,gpt-4o logs/       without the tool; as other models
`

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
	case f.compare != "" && (f.config != "" || f.preset != "" || f.components != ""):
		return "-compare names setups of its own; leave -config, -preset and -components out"
	case f.preset != "" && f.components != "":
		return "-preset and -components are both a pipeline; leave one of them out"
	case f.compare != "" && !strings.Contains(f.compare, ","):
		return fmt.Sprintf("-compare takes two setups or more with commas between, got %.60q", f.compare)
	case f.compare != "" && f.diff:
		return "-diff shows the edits of one setup; leave -compare out"
	case f.diff && f.format == "markdown":
		return "-diff is in the forms text and json; markdown is one table"
	case f.models != "" && slices.Contains(strings.Split(f.models, ","), ""):
		return fmt.Sprintf("-model takes names with commas between, got %.60q", f.models)
	case min(f.horizon+1, f.gate+1, f.sample) < 0:
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
	if loaded := len(conversations); f.dialects != "" {
		wanted := strings.Split(f.dialects, ",")
		conversations = slices.DeleteFunc(conversations, func(c *capture.Conversation) bool { return !slices.Contains(wanted, string(c.Dialect)) })
		if len(conversations) == 0 && loaded > 0 {
			return false, fmt.Errorf("none of the %d conversations in %s is of -dialect %s", loaded, strings.Join(paths, ", "), f.dialects)
		}
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
	list := []setupName{{file: f.config, preset: f.preset, components: f.components}}
	if f.compare != "" {
		list = list[:0]
		for name := range strings.SplitSeq(f.compare, ",") {
			setup, err := namedSetup(name)
			if err != nil {
				return nil, err
			}
			list = append(list, setup)
		}
	}
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "replay", Secret: make([]byte, 32)})
	if err != nil {
		return nil, err
	}
	maker, err := plan.NewMaker(keys, nil) // both are replaced for every conversation
	if err != nil {
		return nil, err
	}
	var setups []replay.Setup
	for _, name := range list {
		setup, err := f.setup(maker, name)
		if err != nil {
			return nil, err
		}
		setups = append(setups, setup)
	}
	return setups, nil
}

// setupName is a configuration, and a pipeline in the place of its own; any of
// them may be missing.
type setupName struct{ file, preset, components string }

// namedSetup tells what a name of -compare stands for.
func namedSetup(name string) (setupName, error) {
	if _, known := preset.Find(name); known {
		return setupName{preset: name}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return setupName{file: name}, nil
	}
	if name == "" || strings.ContainsAny(name, "./\\") {
		return setupName{}, fmt.Errorf("-compare names %.200q, which is no file, no preset (%s) and no components joined by +", name, strings.Join(preset.Names(), ", "))
	}
	return setupName{components: strings.ReplaceAll(name, "+", ",")}, nil
}

func (n setupName) String() string {
	return cmp.Or(strings.Join(slices.DeleteFunc([]string{n.file, n.preset, n.components}, func(s string) bool { return s == "" }), " "), "defaults")
}

// setup makes one configuration.
func (f *replayFlags) setup(maker *plan.Maker, name setupName) (replay.Setup, error) {
	c, err := loadConfig(name.file)
	if err == nil && (name.preset != "" || name.components != "") {
		c, err = otherPipeline(name)
	}
	if err != nil {
		return replay.Setup{}, err
	}
	switch {
	case f.resolver != "":
		c.Expand.Resolver = config.Resolver(f.resolver)
	case name.file == "":
		c.Expand.Resolver = config.ResolverLoop
	}
	if f.horizon >= 0 {
		c.Cache.HorizonTokens = config.Distance(f.horizon)
	}
	windows, err := c.ModelMap()
	if err != nil {
		return replay.Setup{}, err
	}
	line, _ := c.Line("")
	var names []string
	for i := range line.Steps {
		names = append(names, line.Steps[i].Name)
	}
	setup := replay.Setup{
		Name: name.String(), Components: names, Expand: plan.Expand(c), LosslessOnly: f.gateMode == "closed",
		MemoBytes: c.Memo.Bytes, MaxBody: int(c.Limits.BodyBytes), Limits: wire.Limits{Segments: c.Limits.Segments},
		Pipelines: func(keys *pipeline.Keyring, memo *pipeline.Memo) (replay.Choose, error) {
			return maker.With(keys, memo).New(c, windows).Choose, nil
		},
	}
	switch {
	case f.gate >= 0:
		setup.Expand.GateTokens = f.gate
	case f.gateMode == "open":
		setup.Expand.GateTokens = 0
	}
	return setup, nil
}

// otherPipeline reads a configuration that is sound with another pipeline in the
// place of its own.
func otherPipeline(name setupName) (*config.Config, error) {
	document := map[string]any{}
	if name.file != "" {
		data, err := os.ReadFile(name.file)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		if err := yaml.Unmarshal(data, &document); err != nil {
			return nil, fmt.Errorf("read configuration %s: %w", name.file, err)
		}
	}
	delete(document, "pipeline")
	if name.preset != "" {
		document["preset"] = name.preset
	} else {
		document["pipeline"] = strings.Split(name.components, ",")
	}
	data, err := yaml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		return nil, fmt.Errorf("list of components: %w", err)
	}
	c, err := config.Parse(name.String(), data, catalog)
	if fault, ok := errors.AsType[*strict.Error](err); ok {
		// Nobody wrote the lines of this document.
		for i := range fault.Faults {
			fault.Faults[i].Line, fault.Faults[i].Column = 0, 0
		}
	}
	return c, err
}
