package config

import (
	"fmt"
	"io"
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
func Parse(name string, data []byte, catalog pipeline.Catalog) (*Config, error) {
	return parse(name, data, catalog, false)
}

// parse also reads settings, which leave out what is a process's own.
func parse(name string, data []byte, catalog pipeline.Catalog, settings bool) (c *Config, err error) {
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
	l := loader{c: c, root: doc.Root(), catalog: catalog, settings: settings}
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
	l.root.Decode(&c.written) // nothing is at fault any more
	return c, nil
}

// loader applies the rules that need more than one value or more than its type.
type loader struct {
	c       *Config
	root    strict.Block
	catalog pipeline.Catalog
	// settings says that how originals are read back is left out.
	settings bool
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
