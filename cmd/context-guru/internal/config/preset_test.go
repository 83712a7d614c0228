package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/preset"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/strict"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
)

func realCatalog(t *testing.T) pipeline.Catalog {
	t.Helper()
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// TestSettingsOfTheLoop checks that what decides about the tool is among the
// settings that another replica can read, whatever it was said by.
func TestSettingsOfTheLoop(t *testing.T) {
	t.Parallel()
	c := parsed(t, "expand: {gateway_url: 'http://gw:1', gate_tokens: 7}\n", realCatalog(t))
	if err := c.Environment(func(string) string { return "always" }); err != nil {
		t.Fatal(err)
	}
	data, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromSettings(data, realCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	if x := got.Expand; x.Resolver != ResolverLoop || x.Inject != InjectAlways || x.GateTokens != 7 || x.GatewayURL != "" {
		t.Errorf("read back: %+v", x)
	}
}

func parsed(t *testing.T, data string, catalog pipeline.Catalog) *Config {
	t.Helper()
	c, err := Parse("cg.yaml", []byte(data), catalog)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return c
}

// planned are the components of the specification that are not built yet. One
// that is has to leave this list.
func planned() []string {
	return []string{"cmdfilter", "extract_llm", "summarize"}
}

// Every preset can be chosen, runs what its row says, and says once of each
// component that it does nothing.
func TestPresets(t *testing.T) {
	t.Parallel()
	catalog := realCatalog(t)
	for _, p := range preset.All() {
		c := parsed(t, "preset: "+p.Name+"\n", catalog)
		if diff := cmp.Diff(p.Pipeline, c.Pipeline); diff != "" {
			t.Errorf("%s (-row +pipeline):\n%s", p.Name, diff)
		}
		line, ok := c.Line(p.Name)
		if got := together(line, p.Pipeline); !ok || !slices.Equal(got, p.Pipeline) {
			t.Errorf("%s runs %q, %v", p.Name, got, ok)
		}
		for _, name := range line.Inert {
			said := 0
			for _, n := range c.Notes() {
				said += strings.Count(n, name)
			}
			if said != 1 || !slices.Contains(planned(), name) {
				t.Errorf("%s: %s is inert and named %d times in %q", p.Name, name, said, c.Notes())
			}
		}
		// The same when a request asks for it.
		asked, ok := parsed(t, "pipeline: [toon]\n", catalog).Line(p.Name)
		if p.Name != preset.Default && (!ok || !cmp.Equal(names(asked), names(line))) {
			t.Errorf("%s: asked for, it runs %q, %v", p.Name, names(asked), ok)
		}
	}
	for _, name := range planned() {
		if _, built := catalog.Find(name); built {
			t.Errorf("%s is built: take it off the list of planned components", name)
		}
		c := parsed(t, "pipeline: [format, "+name+"]\ncomponents: {"+name+": {any: [1]}}\n", catalog)
		if got := c.line.Inert; !slices.Equal(got, []string{name}) || len(c.Steps()) != 1 {
			t.Errorf("%s: inert %q, %d steps", name, got, len(c.Steps()))
		}
	}
}

// together lists a line in the order of a list.
func together(line Line, order []string) []string {
	all := append(names(line), line.Inert...)
	slices.SortFunc(all, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	if all == nil {
		return []string{}
	}
	return all
}

func names(line Line) []string {
	var out []string
	for _, s := range line.Steps {
		out = append(out, s.Name)
	}
	return out
}

// The lists of the specification's presets, which must never change.
func TestPresetListsAreFixed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"off": "", "safe": "format cacheinject", "balanced": "format dedup failed_run cmdfilter cacheinject",
		"aggressive": "format dedup failed_run cmdfilter smartcrush extract cacheinject",
		"coding":     "format skeleton cmdfilter cacheinject", "mcp": "format smartcrush cacheinject",
		"agent":   "format dedup failed_run mask extract cacheinject",
		"general": "format toon dedup failed_run cmdfilter mask extract collapse cacheinject", "summarize": "summarize",
	} {
		p, ok := preset.Find(name)
		if got := strings.Join(p.Pipeline, " "); !ok || got != want || p.Components != "" {
			t.Errorf("%s is %q with %q, want %q", name, got, p.Components, want)
		}
	}
	if p, ok := preset.Find(preset.Default); !ok || len(preset.All()) != 10 || !slices.Contains(preset.Names(), p.Name) {
		t.Errorf("presets %q", preset.Names())
	}
}

// What is written wins over the preset, list by list and block by block.
func TestPresetIsReplaced(t *testing.T) {
	t.Parallel()
	catalog := testCatalog(t)
	config := func(c *Config, preset, name string) string {
		line, _ := c.Line(preset)
		for _, s := range line.Steps {
			if s.Name == name {
				return string(s.Config)
			}
		}
		return ""
	}
	c := parsed(t, "preset: general\npipeline: [extract]\ncomponents: {extract: {min_tokens: 7}, dedup: {}}\n", catalog)
	for _, check := range []struct{ preset, runs, extract string }{
		{"", "extract", `{"min_tokens":7}`},
		{"general", "extract", `{"min_tokens":7}`}, // the one in force is as it was written
		{"agent", "format dedup extract", `{"min_tokens":7}`},
		{"agent2", "extract", `{"min_tokens":7}`},
		{"off", "", ""},
	} {
		line, ok := c.Line(check.preset)
		if got := strings.Join(names(line), " "); got != check.runs || ok != (check.preset != "agent2") {
			t.Errorf("%q runs %q, %v, want %q", check.preset, got, ok, check.runs)
		}
		if got := config(c, check.preset, "extract"); got != check.extract {
			t.Errorf("%q: extract %s, want %s", check.preset, got, check.extract)
		}
	}
	if diff := cmp.Diff([]string{"extract"}, c.Pipeline); diff != "" {
		t.Error(diff)
	}
}

// A preset's own settings count until the operator writes the block.
func TestPresetBringsSettings(t *testing.T) {
	t.Parallel()
	catalog := testCatalog(t)
	p := preset.Preset{Name: "own", Pipeline: []string{"collapse", "format"}, Components: "collapse: {max_tokens: 3000, head_lines: 40}\n"}
	build := func(data string, inForce bool) (Line, *Config, error) {
		c, err := Parse("cg.yaml", []byte(data), catalog)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := strict.Parse("cg.yaml", []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		l := loader{c: c, root: doc.Root(), catalog: catalog}
		line := l.lines().preset(p, inForce)
		return line, c, doc.Err()
	}
	for data, want := range map[string]string{
		"{}": `{"max_tokens":3000,"head_lines":40,"tail_lines":20,"keep_names":0,"skip":["read","view"],"strict":false,"ratio":0,"marker_mode":"full"}`,
		"components: {collapse: {max_tokens: 5}}": `{"max_tokens":5,"head_lines":20,"tail_lines":20,"keep_names":0,"skip":["read","view"],"strict":false,"ratio":0,"marker_mode":"full"}`,
	} {
		line, c, err := build(data, true)
		if err != nil || len(line.Steps) != 2 || string(line.Steps[0].Config) != want {
			t.Errorf("%s: %v, %s, want %s", data, err, line.Steps[0].Config, want)
		}
		if got := string(c.Components["collapse"]); got != want {
			t.Errorf("%s: the configuration in force has %s, want %s", data, got, want)
		}
	}
	p.Components = "collapse: {max_tokens: 0}\nformat: {min: 3}\n"
	_, _, err := build("{}", false)
	if err == nil || !strings.Contains(err.Error(), "preset own") || !strings.Contains(err.Error(), "max_tokens") || !strings.Contains(err.Error(), "min_tokens") {
		t.Errorf("a preset with faults: %v", err)
	}
}
