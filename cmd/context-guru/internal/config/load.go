package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/pipeline"
)

// Load reads the configuration in a file. See [Parse].
func Load(path string, catalog pipeline.Catalog) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	// One byte more than is read is enough to see that it is too large.
	data, err := io.ReadAll(io.LimitReader(f, strict.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data, catalog)
}

// Parse reads a configuration of the given name: the name stands in the faults,
// and files the configuration refers to are found relative to its directory.
// The error is a [*strict.Error] with every fault. Empty data is the default
// configuration.
func Parse(name string, data []byte, catalog pipeline.Catalog) (c *Config, err error) {
	// A file must never end the process, whatever this code overlooked.
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, &strict.Error{File: name, Faults: []strict.Fault{{Problem: fmt.Sprintf("cannot be read: panic: %v", p)}}}
		}
	}()
	doc, err := strict.Parse(name, data)
	if err != nil {
		return nil, err
	}
	c = Default()
	c.dir = filepath.Dir(name)
	l := loader{c: c, root: doc.Root(), catalog: catalog}
	l.root.Decode(c)
	l.files()
	l.listen()
	l.limits()
	l.tenant()
	l.keys()
	l.store()
	l.redis()
	l.expand()
	l.telemetry()
	l.models()
	l.components()
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// loader applies the rules that need more than one value or more than its type.
type loader struct {
	c       *Config
	root    strict.Block
	catalog pipeline.Catalog
}

// fault reports a fault of the value at a dotted path, unless the value in
// force there is not the one that was written: then the reason is reported already.
func (l *loader) fault(path, problem, cure string) {
	if l.sound(path) {
		l.root.Report(problem, cure, steps(path)...)
	}
}

// missing is fault for a value that has to be given because of another one.
func (l *loader) missing(path, because, problem, cure string) {
	if l.sound(path, because) {
		near, _ := l.root.Find(steps(because)...)
		l.root.ReportNear(near, problem, cure, steps(path)...)
	}
}

// sound reports whether the values at the paths are the ones that were written,
// or defaults.
func (l *loader) sound(paths ...string) bool {
	for _, p := range paths {
		if l.root.Faulted(steps(p)...) {
			return false
		}
	}
	return true
}

func steps(path string) []any {
	var out []any
	for key := range strings.SplitSeq(path, ".") {
		out = append(out, key)
	}
	return out
}

// components builds the pipeline, and every configured component beside it:
// settings that wait for their turn are checked as well.
func (l *loader) components() {
	configured, _ := l.root.Find("components")
	built := make(map[string]pipeline.Step)
	for _, name := range configured.Keys() {
		spec, known := l.catalog.Find(name)
		if !known {
			delete(l.c.Components, name)
			// The name is at fault, not the settings below it.
			configured.ReportKey("unknown component", strict.Cure(name, l.catalog.Names()), name)
			continue
		}
		block, _ := configured.Find(name)
		built[name] = l.build(spec, block, block)
	}
	seen := make(map[string]int, len(l.c.Pipeline))
	for i, name := range l.c.Pipeline {
		if l.root.Faulted("pipeline", i) {
			continue
		}
		if first, twice := seen[name]; twice {
			l.root.Report(fmt.Sprintf("%s is listed twice, first at pipeline[%d]", name, first), "remove one of them", "pipeline", i)
			continue
		}
		seen[name] = i
		step, done := built[name]
		if !done {
			spec, known := l.catalog.Find(name)
			if !known {
				l.root.Report(fmt.Sprintf("unknown component, got %.60q", name), strict.Cure(name, l.catalog.Names()), "pipeline", i)
				continue
			}
			// Defaults can be at fault where a setting has no good one.
			block, _ := l.root.Find("components", name)
			entry, _ := l.root.Find("pipeline", i)
			step = l.build(spec, block, entry)
		}
		l.c.steps = append(l.c.steps, step)
	}
}

// build makes a component from its block. Faults of values that are not
// written are reported near another block.
func (l *loader) build(spec pipeline.Spec, block, near strict.Block) pipeline.Step {
	decode := func(into any) error {
		block.Decode(into)
		return nil // faults are in the document; the fields at fault keep their defaults
	}
	deps := pipeline.Deps{Log: slog.New(slog.DiscardHandler), AllowIrreversible: l.c.AllowIrreversible}
	step, err := buildStep(spec, decode, deps)
	for _, err := range leaves(err) {
		var field *pipeline.FieldError
		switch {
		case !errors.As(err, &field):
			block.ReportNear(near, err.Error(), "")
		case !block.Faulted(steps(field.Field)...):
			block.ReportNear(near, field.Problem, "", steps(field.Field)...)
		}
	}
	l.c.Components[spec.Name] = step.Config
	return step
}

// buildStep turns a panic of a component's own code into an error.
func buildStep(spec pipeline.Spec, decode func(into any) error, deps pipeline.Deps) (step pipeline.Step, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be built: panic: %v", p)
		}
	}()
	return spec.Build(decode, deps)
}

// leaves takes joined errors apart.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, leaves(e)...)
	}
	return out
}
