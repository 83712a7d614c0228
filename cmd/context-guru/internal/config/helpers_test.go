package config

import (
	"context"
	"errors"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

// Settings of the test catalog. They cover what real components use: numbers,
// text, booleans, lists, a named type with a rule, a rule of the whole.
type collapseSettings struct {
	MaxTokens  int                 `json:"max_tokens"`
	HeadLines  int                 `json:"head_lines"`
	TailLines  int                 `json:"tail_lines"`
	KeepNames  int                 `json:"keep_names"`
	Skip       []string            `json:"skip"`
	Strict     bool                `json:"strict"`
	Ratio      float64             `json:"ratio"`
	MarkerMode pipeline.MarkerMode `json:"marker_mode"`
}

func (c collapseSettings) Validate() error {
	var mode error
	if err := c.MarkerMode.Validate(); err != nil {
		mode = &pipeline.FieldError{Field: "marker_mode", Problem: err.Error()}
	}
	return errors.Join(
		pipeline.AtLeast("max_tokens", c.MaxTokens, 1),
		errors.Join(pipeline.AtLeast("head_lines", c.HeadLines, 0), pipeline.AtLeast("tail_lines", c.TailLines, 0)),
		mode,
	)
}

func (c collapseSettings) Irreversible() bool { return c.MarkerMode == pipeline.MarkerOff }

type plainSettings struct {
	MinTokens int `json:"min_tokens"`
}

// needySettings have no default that is valid.
type needySettings struct {
	Required int `json:"required"`
}

func (n needySettings) Validate() error { return pipeline.AtLeast("required", n.Required, 1) }

type inert struct{}

func (inert) Rewrite(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
	return pipeline.Decline("inert"), nil
}

func testCatalog(tb testing.TB) pipeline.Catalog {
	tb.Helper()
	plain := func(name string, kind pipeline.Kind) pipeline.Spec {
		return pipeline.Define(pipeline.Meta{Name: name, Kind: kind}, plainSettings{MinTokens: 50},
			func(plainSettings, pipeline.Deps) (pipeline.Component, error) { return inert{}, nil })
	}
	collapse := pipeline.Define(pipeline.Meta{Name: "collapse", Kind: pipeline.KindOffload},
		collapseSettings{MaxTokens: 2000, HeadLines: 20, TailLines: 20, Skip: []string{"read", "view"}, MarkerMode: pipeline.MarkerFull},
		func(c collapseSettings, _ pipeline.Deps) (pipeline.Component, error) {
			switch c.MaxTokens {
			case 666:
				return nil, errors.New("this component never builds")
			case 667:
				panic("this component is broken")
			}
			return inert{}, nil
		})
	needy := pipeline.Define(pipeline.Meta{Name: "needy", Kind: pipeline.KindReformat}, needySettings{},
		func(needySettings, pipeline.Deps) (pipeline.Component, error) { return inert{}, nil })
	catalog, err := pipeline.NewCatalog([]pipeline.Spec{
		plain("format", pipeline.KindReformat), plain("dedup", pipeline.KindReformat), plain("extract", pipeline.KindOffload), collapse, needy,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return catalog
}
