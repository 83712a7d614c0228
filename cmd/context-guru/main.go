// Command context-guru makes the tool outputs in LLM requests smaller, as an
// external processor of Envoy.
//
// main owns what a process owns: arguments, streams, signals and the exit code.
// Every subcommand is a row of [commands]; everything below takes what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
)

// version is the release.
var version = "dev" // set by the linker: -X main.version=...

// Exit codes.
const (
	exitOK    = 0
	exitFault = 1 // what was asked for could not be done, or found faults
	exitUsage = 2 // what was asked for is not understood
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// env is what a subcommand sees of the process.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// command is one subcommand.
type command struct {
	name    string
	usage   string // arguments, as shown in the usage
	summary string
	run     func(ctx context.Context, e env, args []string) int
}

// commands is the list of subcommands, in the order help shows them.
func commands() []command {
	return []command{
		{"serve", "[-config FILE] [-grpc ADDR] [-grpc-socket PATH] [-http ADDR] [-log-level LEVEL]", "run the service", serve},
		{"compress", "[-config FILE] [-path PATH] [-explain] < BODY", "rewrite one request body and print it", compress},
		{"replay", "[-config FILE] [-preset NAME] [-compare A,B] [-model NAMES] [-format FORM] [-diff] [-sample N] PATH...", "show what recorded conversations would have cost", replayCommand},
		{"check", "-config FILE [-print] [-offline]", "check a configuration and the store it names", check},
		{"version", "", "print the version", printVersion},
		{"help", "[COMMAND]", "explain a command", help},
	}
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := env{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}
	if len(args) == 0 {
		_, _ = io.WriteString(stderr, overview())
		return exitUsage
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c, ok := find(name)
	if !ok {
		e.complain("", "unknown command %q; %s", name, strict.Cure(name, commandNames()))
		_, _ = io.WriteString(stderr, "\n"+overview())
		return exitUsage
	}
	return c.run(ctx, e, args[1:])
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// overview is the usage of the whole.
func overview() string {
	var b strings.Builder
	b.WriteString("usage: context-guru COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-9s %s\n", c.name, c.summary)
	}
	b.WriteString("\ncontext-guru help COMMAND shows the flags of a command.\n")
	return b.String()
}

// complain writes one message to stderr, with the subcommand it comes from.
func (e env) complain(name, format string, args ...any) {
	if name != "" {
		name = " " + name
	}
	_, _ = fmt.Fprintf(e.stderr, "context-guru"+name+": "+format+"\n", args...)
}

// flags makes the flag set of a subcommand. Its output is its usage, where parse sends it.
func flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// parse reads a subcommand's flags, which take no arguments beside them. When
// done, the subcommand ends with the code.
func (e env) parse(fs *flag.FlagSet, args []string) (code int, done bool) {
	fs.Usage = func() {} // usage goes where it belongs, below
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(e.stdout, fs)
		return exitOK, true
	case err != nil:
		e.complain(fs.Name(), "%s", flagProblem(fs, err))
	case fs.NArg() > 0:
		e.complain(fs.Name(), "unexpected argument %q; flags come with a dash", fs.Arg(0))
	default:
		return exitOK, false
	}
	usage(e.stderr, fs)
	return exitUsage, true
}

// flagProblem words an error of package flag, with the flag that was meant.
func flagProblem(fs *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err.Error()
	}
	var known []string
	fs.VisitAll(func(f *flag.Flag) { known = append(known, "-"+f.Name) })
	return fmt.Sprintf("unknown flag -%s; %s", name, strict.Cure("-"+name, known))
}

// usage prints how a subcommand is called.
func usage(w io.Writer, fs *flag.FlagSet) {
	c, _ := find(fs.Name())
	_, _ = fmt.Fprintf(w, "usage: context-guru %s\n", strings.TrimSpace(c.name+" "+c.usage))
	if c.summary != "" {
		_, _ = fmt.Fprintf(w, "%s\n", c.summary)
	}
	fs.SetOutput(w)
	fs.PrintDefaults()
	if c.name == "replay" {
		_, _ = io.WriteString(w, replayDetails)
	}
}

func printVersion(_ context.Context, e env, args []string) int {
	if code, done := e.parse(flags("version"), args); done {
		return code
	}
	_, _ = fmt.Fprintf(e.stdout, "context-guru %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}

func help(ctx context.Context, e env, args []string) int {
	if len(args) == 0 || args[0] == "help" {
		_, _ = io.WriteString(e.stdout, overview())
		return exitOK
	}
	c, ok := find(args[0])
	if !ok {
		e.complain("help", "unknown command %q; %s", args[0], strict.Cure(args[0], commandNames()))
		return exitUsage
	}
	return c.run(ctx, e, []string{"-help"})
}

// loadConfig reads the configuration of a file, or the defaults when no file
// is given.
func (e env) loadConfig(file string) (*config.Config, error) {
	c, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	return c, c.Environment(e.getenv)
}

func loadConfig(file string) (*config.Config, error) {
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		return nil, fmt.Errorf("list of components: %w", err)
	}
	if file == "" {
		return config.Parse("defaults", nil, catalog)
	}
	return config.Load(file, catalog)
}
