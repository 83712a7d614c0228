package pipeline_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

// settings has a rule and a mode that loses text for good.
type settings struct {
	Least int                 `json:"least"`
	Mode  pipeline.MarkerMode `json:"marker_mode"`
}

func (s settings) Validate() error {
	var mode error
	if err := s.Mode.Validate(); err != nil {
		mode = &pipeline.FieldError{Field: "marker_mode", Problem: err.Error()}
	}
	return errors.Join(pipeline.AtLeast("least", s.Least, 1), mode)
}

func (s settings) Irreversible() bool { return s.Mode == pipeline.MarkerOff }

func settled(built *settings) pipeline.Spec {
	return pipeline.Define(pipeline.Meta{Name: "settled", Kind: pipeline.KindOffload}, settings{Least: 5, Mode: pipeline.MarkerFull},
		func(s settings, _ pipeline.Deps) (pipeline.Component, error) {
			*built = s
			return rewrite(nil), nil
		})
}

func decoding(text string) func(any) error {
	return func(into any) error { return json.Unmarshal([]byte(text), into) }
}

func TestDefineFillsDefaultsAndReportsWhatIsInForce(t *testing.T) {
	t.Parallel()
	var built settings
	for text, want := range map[string]string{
		`{}`:                                   `{"least":5,"marker_mode":"full"}`,
		`{"least":7}`:                          `{"least":7,"marker_mode":"full"}`,
		`{"marker_mode":"summary"}`:            `{"least":5,"marker_mode":"summary"}`,
		`{"least":1,"marker_mode":"summary"} `: `{"least":1,"marker_mode":"summary"}`,
	} {
		s := settled(&built)
		step, err := s.Build(decoding(text), pipeline.Deps{})
		if err != nil || string(step.Config) != want || step.Name != "settled" {
			t.Errorf("%s: %s, %v", text, step.Config, err)
		}
		if s.Defaults != (settings{Least: 5, Mode: pipeline.MarkerFull}) {
			t.Errorf("%s changed the defaults to %v", text, s.Defaults)
		}
	}
	if _, err := settled(&built).Build(nil, pipeline.Deps{}); err != nil || built.Least != 5 {
		t.Errorf("without a decoder: %v, %v", built, err)
	}
}

func TestDefineReportsEveryFault(t *testing.T) {
	t.Parallel()
	var built settings
	for text, want := range map[string]string{
		`{"least":0}`:                       "least must be at least 1, got 0",
		`{"marker_mode":"none"}`:            `marker_mode must be full, summary or off, got "none"`,
		`{"least":-1,"marker_mode":"none"}`: "least must be at least 1, got -1\n" + `marker_mode must be full, summary or off, got "none"`,
		`{"marker_mode":"off"}`:             "marker_mode off loses text for good; set allow_irreversible: true at the top level to accept that",
		`{"least":0,"marker_mode":"off"}`:   "least must be at least 1, got 0\nmarker_mode off loses text for good; set allow_irreversible: true at the top level to accept that",
		`{"least":"x"}`:                     "json: cannot unmarshal string into Go struct field settings.least of type int",
	} {
		_, err := settled(&built).Build(decoding(text), pipeline.Deps{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
		var field *pipeline.FieldError
		if text != `{"least":"x"}` && !errors.As(err, &field) {
			t.Errorf("%s: no field is named", text)
		}
	}
	if _, err := settled(&built).Build(decoding(`{"marker_mode":"off"}`), pipeline.Deps{AllowIrreversible: true}); err != nil || built.Mode != pipeline.MarkerOff {
		t.Errorf("off is refused although it is allowed: %v", err)
	}
}

func TestBuildNeedsDefine(t *testing.T) {
	t.Parallel()
	if _, err := (pipeline.Spec{Meta: pipeline.Meta{Name: "bare"}}).Build(nil, pipeline.Deps{}); err == nil {
		t.Error("a spec that Define did not make was built")
	}
	refuses := pipeline.Define(pipeline.Meta{Name: "refuses"}, noSettings{},
		func(noSettings, pipeline.Deps) (pipeline.Component, error) { return nil, errors.New("no grammar") })
	if _, err := refuses.Build(nil, pipeline.Deps{}); err == nil || err.Error() != "no grammar" {
		t.Errorf("error %v", err)
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	named := func(names ...string) (specs []pipeline.Spec) {
		for _, name := range names {
			specs = append(specs, pipeline.Spec{Meta: pipeline.Meta{Name: name}})
		}
		return specs
	}
	c, err := pipeline.NewCatalog(named("b", "a"))
	if err != nil || !slices.Equal(c.Names(), []string{"b", "a"}) {
		t.Errorf("names %v, error %v", c.Names(), err)
	}
	if s, ok := c.Find("a"); !ok || s.Name != "a" {
		t.Errorf("found %v, %v", s.Name, ok)
	}
	if _, ok := c.Find("c"); ok {
		t.Error("found what is not there")
	}
	for want, specs := range map[string][]pipeline.Spec{
		"component 1 has no name":       named("a", ""),
		`component "a" is listed twice`: named("a", "b", "a"),
	} {
		if _, err := pipeline.NewCatalog(specs); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
