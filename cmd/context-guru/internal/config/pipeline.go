package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/pipeline"
)

// Line is a pipeline that is ready to run.
type Line struct {
	// Steps are the components in order.
	Steps []pipeline.Step
	// Inert names the components of the pipeline that this version does not have.
	Inert []string
	// replaced names the components of which the preset sets more than the
	// operator's blocks, which take the place of it all.
	replaced []string
}

// Line returns the pipeline of a preset. The empty name and that of the preset
// in force are the pipeline in force. Every other preset has its own list, with
// the settings the operator wrote. Of a name that is no preset it returns the
// pipeline in force, and false.
func (c *Config) Line(name string) (Line, bool) {
	if name == "" || name == c.Preset {
		return c.line, true
	}
	if line, ok := c.presets[name]; ok {
		return line, true
	}
	return c.line, false
}

// lines builds the pipelines of the configuration.
type lines struct {
	*loader

	configured map[string]pipeline.Step // from the operator's blocks
	plain      map[string]pipeline.Step // from no block at all
	inert      map[string]bool          // components that this version does not have
}

// lines builds the components that the operator configured.
func (l *loader) lines() *lines {
	b := &lines{loader: l, configured: map[string]pipeline.Step{}, plain: map[string]pipeline.Step{}, inert: map[string]bool{}}
	for _, name := range preset.Components() {
		if _, here := l.catalog.Find(name); !here {
			b.inert[name] = true
		}
	}
	b.blocks()
	return b
}

// components builds the pipeline, every preset a request may ask for, and every
// configured component beside them: settings that wait for their turn are
// checked as well.
func (l *loader) components() {
	b := l.lines()
	p, known := preset.Find(l.c.Preset)
	if !known {
		l.fault("preset", fmt.Sprintf("unknown preset, got %.60q", l.c.Preset), strict.Cure(l.c.Preset, preset.Names()))
	}
	if l.c.Pipeline == nil {
		l.c.line = b.preset(p, true)
		l.c.Pipeline = p.Pipeline
	} else {
		l.c.line = b.written(p)
	}
	l.c.presets = map[string]Line{}
	for _, p := range preset.All() {
		if p.Name != l.c.Preset {
			l.c.presets[p.Name] = b.preset(p, false)
		}
	}
}

// blocks builds the components that the operator configured.
func (b *lines) blocks() {
	blocks, _ := b.root.Find("components")
	for _, name := range blocks.Keys() {
		spec, known := b.catalog.Find(name)
		switch {
		case known:
			block, _ := blocks.Find(name)
			step := b.build(spec, block, block)
			b.configured[name] = step
			b.c.Components[name] = step.Config
		case !b.inert[name]:
			delete(b.c.Components, name)
			// The name is at fault, not the settings below it.
			blocks.ReportKey("unknown component", b.cure(name), name)
		}
	}
}

// cure names the component that was meant. Those that this version does not
// have are not worth listing, but one of them can be the one that was meant.
func (b *lines) cure(name string) string {
	all := append(b.catalog.Names(), slices.Sorted(maps.Keys(b.inert))...)
	if best := strict.Closest(name, all); best != "" {
		return strict.Cure(name, []string{best})
	}
	return strict.Cure(name, b.catalog.Names())
}

// preset builds the pipeline of a preset. The settings of the one in force are
// part of the configuration.
func (b *lines) preset(p preset.Preset, inForce bool) Line {
	settings, err := strict.Parse("preset "+p.Name, []byte(p.Components))
	if err != nil {
		b.root.Report(err.Error(), "")
		return Line{}
	}
	near, _ := b.root.Find("preset")
	var line Line
	for _, name := range p.Pipeline {
		if b.inert[name] {
			line.Inert = append(line.Inert, name)
			continue
		}
		step := b.step(name, settings, near)
		if inForce {
			b.c.Components[name] = step.Config
		}
		line.add(b, step, settings)
	}
	if err := settings.Err(); err != nil {
		b.root.Report(err.Error(), "")
	}
	return line
}

// add puts a component into the line of a preset with these settings.
func (l *Line) add(b *lines, step pipeline.Step, settings *strict.Document) {
	if block, set := settings.Root().Find(step.Name); set {
		own, written := b.root.Find("components", step.Name)
		missing := func(key string) bool { return !slices.Contains(own.Keys(), key) }
		if written && slices.ContainsFunc(block.Keys(), missing) {
			l.replaced = append(l.replaced, step.Name)
		}
	}
	l.Steps = append(l.Steps, step)
}

// written builds the pipeline that the operator wrote.
func (b *lines) written(p preset.Preset) Line {
	settings, err := strict.Parse("preset "+p.Name, []byte(p.Components))
	if err != nil {
		b.root.Report(err.Error(), "")
		return Line{}
	}
	var line Line
	seen := make(map[string]int, len(b.c.Pipeline))
	for i, name := range b.c.Pipeline {
		if b.root.Faulted("pipeline", i) {
			continue
		}
		if first, twice := seen[name]; twice {
			b.root.Report(fmt.Sprintf("%s is listed twice, first at pipeline[%d]", name, first), "remove one of them", "pipeline", i)
			continue
		}
		seen[name] = i
		_, known := b.catalog.Find(name)
		switch {
		case known:
			entry, _ := b.root.Find("pipeline", i)
			step := b.step(name, settings, entry)
			b.c.Components[name] = step.Config
			line.add(b, step, settings)
		case b.inert[name]:
			line.Inert = append(line.Inert, name)
		default:
			b.root.Report(fmt.Sprintf("unknown component, got %.60q", name), b.cure(name), "pipeline", i)
		}
	}
	return line
}

// step returns a component as the operator configured it, or else as the
// preset does, or else with its defaults.
func (b *lines) step(name string, settings *strict.Document, near strict.Block) pipeline.Step {
	if step, done := b.configured[name]; done {
		return step
	}
	spec, _ := b.catalog.Find(name)
	if block, ok := settings.Root().Find(name); ok {
		return b.build(spec, block, block)
	}
	step, done := b.plain[name]
	if !done {
		// Defaults can be at fault where a setting has no good one.
		block, _ := b.root.Find("components", name)
		step = b.build(spec, block, near)
		b.plain[name] = step
	}
	return step
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
