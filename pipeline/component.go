package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// Component decides about one segment. It must be a pure function of the
// segment and the view, safe for concurrent use, and bounded by the length of
// the segment's text; long work checks ctx and returns its error.
type Component interface {
	Rewrite(ctx context.Context, v View, s Segment) (Edit, error)
}

// Recogniser is implemented by components that look for earlier outputs which
// say the same in another wrapping. Gist returns what of a client's text counts,
// and must be a pure function of it. A pipeline asks its first such component.
type Recogniser interface{ Gist(text string) string }

// Kind says what a component may do.
type Kind string

// The kinds of the specification.
const (
	// KindReformat is lossless: it may only Replace.
	KindReformat Kind = "reformat"
	// KindOffload is lossy and recoverable: it may Offload or Replace.
	KindOffload Kind = "offload"
)

// Scope says what a component looks at, which decides how its results are
// remembered.
type Scope uint8

const (
	// ScopeSegment components look at their segment only; their View is empty.
	ScopeSegment Scope = iota
	// ScopeTranscript components look at the transcript up to their segment's turn.
	ScopeTranscript
)

// Meta describes a component.
type Meta struct {
	// Name is the component's name in configuration, metrics and reports.
	Name string
	Kind Kind
	// Scope defaults to ScopeSegment. Horizon components need none.
	Scope Scope
	// When defaults to FirstSight.
	When When
	// Fallback components are asked about segments that have a view of another
	// component, too, and may put a much smaller one in its place.
	Fallback bool
	// Summary is one sentence for the generated reference.
	Summary string
}

// Deps is what a component may be given beside its own settings.
type Deps struct {
	// Log is for events at build time; nothing is logged per segment.
	Log *slog.Logger
	// AllowIrreversible permits marker_mode off.
	AllowIrreversible bool
}

// Spec is a component's entry in the catalog: its description, its default
// settings and how it is built. Specs are made by Define.
type Spec struct {
	Meta
	// Defaults is the settings struct with every default filled in. It must
	// not be changed.
	Defaults any
	build    func(decode func(into any) error, deps Deps) (Step, error)
}

// Step is a component that is ready to run.
type Step struct {
	Meta
	// Component decides about segments, Request about requests; one of them is nil.
	Component Component
	Request   RequestComponent
	// Config is the settings in force, as JSON with every default written out.
	Config []byte
}

// Validator is implemented by settings whose values have rules beyond their
// types. The error joins one *FieldError per fault.
type Validator interface{ Validate() error }

// Irreversible is implemented by settings that can ask for an edit that keeps
// no original.
type Irreversible interface{ Irreversible() bool }

// Scoped is implemented by settings that make a component look further than its
// Meta says.
type Scoped interface{ Looks() Scope }

// Timed is implemented by settings that say when their component decides, in the
// place of its Meta.
type Timed interface{ Sight() When }

// FieldError is a fault in one field of a component's settings.
type FieldError struct {
	// Field is the key as written in configuration.
	Field string
	// Problem says the rule and the value that broke it.
	Problem string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// AtLeast returns a *FieldError when value is less than least, else nil.
func AtLeast(field string, value, least int) error {
	if value >= least {
		return nil
	}
	return &FieldError{Field: field, Problem: fmt.Sprintf("must be at least %d, got %d", least, value)}
}

// Define makes a component's Spec. C is a flat struct whose json tags are the
// configuration keys; defaults is its value when nothing is configured. Define
// owns the order default, decode, validate, build, so no component repeats it.
func Define[C any](meta Meta, defaults C, build func(C, Deps) (Component, error)) Spec {
	return define(meta, defaults, func(c C, deps Deps, into *Step) (err error) {
		into.Component, err = build(c, deps)
		return err
	})
}

// DefineRequest is Define for a component that decides about requests. Its Scope
// and When mean nothing.
func DefineRequest[C any](meta Meta, defaults C, build func(C, Deps) (RequestComponent, error)) Spec {
	return define(meta, defaults, func(c C, deps Deps, into *Step) (err error) {
		into.Request, err = build(c, deps)
		return err
	})
}

func define[C any](meta Meta, defaults C, build func(C, Deps, *Step) error) Spec {
	return Spec{
		Meta:     meta,
		Defaults: defaults,
		build: func(decode func(into any) error, deps Deps) (Step, error) {
			settings := defaults
			if decode != nil {
				if err := decode(&settings); err != nil {
					return Step{}, err
				}
			}
			if err := validate(settings, deps); err != nil {
				return Step{}, err
			}
			step := Step{Meta: meta}
			if err := build(settings, deps, &step); err != nil {
				return Step{}, err
			}
			config, err := json.Marshal(settings)
			if err != nil {
				return Step{}, fmt.Errorf("write settings of %s: %w", meta.Name, err)
			}
			step.Config = config
			if s, ok := any(settings).(Timed); ok {
				step.When = s.Sight()
			}
			if s, ok := any(settings).(Scoped); ok {
				step.Scope = max(step.Scope, s.Looks())
			}
			return step, nil
		},
	}
}

func validate(settings any, deps Deps) error {
	var errs []error
	if v, ok := settings.(Validator); ok {
		errs = append(errs, v.Validate())
	}
	if i, ok := settings.(Irreversible); ok && i.Irreversible() && !deps.AllowIrreversible {
		errs = append(errs, &FieldError{
			Field:   "marker_mode",
			Problem: "off loses text for good; set allow_irreversible: true at the top level to accept that",
		})
	}
	return errors.Join(errs...)
}

// Build makes the component ready to run. decode fills the given pointer from
// the configuration and may be nil for defaults.
func (s Spec) Build(decode func(into any) error, deps Deps) (Step, error) {
	if s.build == nil {
		return Step{}, fmt.Errorf("component %q was not made by Define", s.Name)
	}
	return s.build(decode, deps)
}

// Catalog finds components by name. It is a value: tests make their own.
type Catalog struct {
	specs []Spec
	named map[string]int
}

// NewCatalog refuses nameless and repeated components.
func NewCatalog(specs []Spec) (Catalog, error) {
	c := Catalog{specs: specs, named: make(map[string]int, len(specs))}
	for i, s := range specs {
		if s.Name == "" {
			return Catalog{}, fmt.Errorf("component %d has no name", i)
		}
		if _, taken := c.named[s.Name]; taken {
			return Catalog{}, fmt.Errorf("component %q is listed twice", s.Name)
		}
		c.named[s.Name] = i
	}
	return c, nil
}

// Find returns the component of a name.
func (c Catalog) Find(name string) (Spec, bool) {
	i, ok := c.named[name]
	if !ok {
		return Spec{}, false
	}
	return c.specs[i], true
}

// Names lists the components in catalog order.
func (c Catalog) Names() []string {
	names := make([]string, len(c.specs))
	for i, s := range c.specs {
		names[i] = s.Name
	}
	return names
}
