package pipelinetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline"
)

// Conform puts a component with its default settings through everything that
// is asked of every component. It is called from the component's own package,
// or from the folder above, and reads the component's source for the comments
// on its settings. What a lossless component claims to keep is proved by the
// runner; same holds checks of the test's own that must agree.
func Conform(t *testing.T, spec pipeline.Spec, same ...func(before, after string) error) {
	t.Helper()
	ConformSpec(t, spec)
	t.Run("cancelled", func(t *testing.T) { t.Parallel(); conformCancelled(t, spec) })
	t.Run("concurrent", func(t *testing.T) { t.Parallel(); conformConcurrent(t, spec) })
	for name, text := range Hostile() {
		t.Run(name, func(t *testing.T) { t.Parallel(); conformText(t, spec, text, same) })
	}
}

// ConformSpec is the part of Conform about what a component says of itself and
// about its settings.
func ConformSpec(t *testing.T, spec pipeline.Spec) {
	t.Helper()
	t.Run("meta", func(t *testing.T) { t.Parallel(); conformMeta(t, spec) })
	t.Run("settings", func(t *testing.T) { t.Parallel(); conformSettings(t, spec) })
}

func conformMeta(t *testing.T, spec pipeline.Spec) {
	t.Helper()
	if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(spec.Name) {
		t.Errorf("name %q is not one lower-case word", spec.Name)
	}
	if spec.Kind != pipeline.KindReformat && spec.Kind != pipeline.KindOffload {
		t.Errorf("kind %q is none", spec.Kind)
	}
	if s := spec.Summary; !strings.HasSuffix(s, ".") || strings.Contains(s, "\n") || s != strings.TrimSpace(s) {
		t.Errorf("summary %q is not a sentence on one line", s)
	}
}

func conformSettings(t *testing.T, spec pipeline.Spec) {
	t.Helper()
	step, err := spec.Build(nil, pipeline.Deps{})
	if err != nil {
		t.Fatalf("the defaults are refused: %v", err)
	}
	again, err := spec.Build(func(into any) error { return json.Unmarshal(step.Config, into) }, pipeline.Deps{})
	if err != nil {
		t.Fatalf("the settings in force are refused when given back: %v", err)
	}
	if !bytes.Equal(step.Config, again.Config) {
		t.Errorf("the settings in force change when given back: %s, then %s", step.Config, again.Config)
	}
	for _, fault := range settingsFaults(spec.Defaults, sourceFolder(spec.Defaults)) {
		t.Error(fault)
	}
}

// conformCancelled wants a cancelled component to return ctx's error or to
// decide as ever, never something in between.
func conformCancelled(t *testing.T, spec pipeline.Spec) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := component(t, spec)
	for name, text := range Hostile() {
		s := pipeline.Segment{Turn: 1, Text: text, Tokens: Words{}.Count(text).N, Tool: []byte("bash"), Args: []byte("{}")}
		cut, err := c.Rewrite(ctx, pipeline.View{}, s)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v is not the context's", name, err)
			}
			continue
		}
		whole, err := c.Rewrite(t.Context(), pipeline.View{}, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !sameEdit(cut, whole) {
			t.Errorf("%s: decided otherwise when cancelled", name)
		}
	}
	p := pipeline.New(Settings(t, spec))
	if _, err := p.Run(ctx, Texts(strings.Repeat("some text\n", 5000))); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run returned %v", err)
	}
}

// conformConcurrent lets many goroutines ask one component about the same
// segments; the race detector judges the rest.
func conformConcurrent(t *testing.T, spec pipeline.Spec) {
	t.Helper()
	var texts []string
	for _, text := range Hostile() {
		if len(text) < 50_000 {
			texts = append(texts, text, text)
		}
	}
	transcript := Texts(texts...)
	settings := Settings(t, spec)
	settings.Memo = nil
	p := pipeline.New(settings)
	want := Run(t, p, transcript)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			result, err := p.Run(context.WithoutCancel(t.Context()), transcript)
			if err != nil {
				t.Error(err)
				return
			}
			if diff := DiffOutcomes(want, result.Outcomes); diff != "" {
				t.Errorf("decided differently next to others:\n%s", diff)
			}
			p.Release(result)
		})
	}
	group.Wait()
}

// conformText sends one text twice, in two turns, so that components that look
// back have something to see.
func conformText(t *testing.T, spec pipeline.Spec, text string, same []func(before, after string) error) {
	t.Helper()
	const huge = 1 << 20
	transcript := Texts(text, text)
	if len(text) > huge {
		transcript = Texts(text) // length is what it is about, and it takes its time
	}
	body := bytes.Clone(transcript.Body)
	settings := Settings(t, spec)
	p := pipeline.New(settings)
	outcomes := Run(t, p, transcript)

	settings.Memo = nil
	afresh := pipeline.New(settings)
	if diff := DiffOutcomes(outcomes, Run(t, afresh, transcript)); diff != "" {
		t.Errorf("decided differently the second time:\n%s", clip(diff))
	}
	CheckNeverWorse(t, transcript, outcomes, settings.Counter)
	CheckRestore(t, transcript, outcomes, settings.Markers, func(before, after string) error {
		var errs []error
		for _, check := range same {
			errs = append(errs, check(before, after))
		}
		return errors.Join(errs...)
	})
	CheckIdempotent(t, afresh, transcript, true)
	if len(text) <= huge {
		CheckIdempotent(t, afresh, transcript, false)
	}
	for i, o := range outcomes {
		if spec.Kind == pipeline.KindReformat && o.Lossy != nil {
			t.Errorf("segment %d: a lossless component lost something", i)
		}
	}
	// Texts that cannot stand in a request reach no component through the
	// runner, but a component must survive them all the same.
	s := pipeline.Segment{Turn: 1, Text: text, Tokens: settings.Counter.Count(text).N}
	if _, err := component(t, spec).Rewrite(t.Context(), pipeline.View{}, s); err != nil {
		t.Errorf("error: %v", err)
	}
	if !bytes.Equal(body, transcript.Body) {
		t.Error("the request's bytes were changed")
	}
}

func component(t *testing.T, spec pipeline.Spec) pipeline.Component {
	t.Helper()
	step, err := spec.Build(nil, pipeline.Deps{})
	if err != nil {
		t.Fatalf("the defaults are refused: %v", err)
	}
	return step.Component
}

// sameEdit compares all of an edit but the function that checks it.
func sameEdit(a, b pipeline.Edit) bool {
	return cmp.Equal(a, b, cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() != nil && p.Last().Type().Kind() == reflect.Func }, cmp.Ignore()))
}
