// Package preset is the one table of ready-made pipelines.
//
// A preset names components in the order they run and may bring settings for
// them. It may name components that this version does not have: those are inert.
// To change what a preset does, change its row in [All] and nothing else.
package preset

import "slices"

// Default is the preset of a configuration that names none.
const Default = "auto"

// Preset is a ready-made pipeline.
type Preset struct {
	Name string
	// About says in a few words what it is for.
	About string
	// Pipeline names the components in the order they run.
	Pipeline []string
	// Components is YAML as it stands below components: in a configuration;
	// empty means every component's own defaults. A block that the operator
	// writes for a component replaces the block here.
	Components string
}

// All lists the presets. Their names and lists are fixed, so that what was
// chosen by name stays what it was; only auto is ours to tune.
func All() []Preset {
	return []Preset{
		{
			Name: Default, About: "the default: what saved most on recorded traffic of every kind",
			Pipeline: []string{"textclean", "format", "toon", "dedup", "searchfold", "smartcrush", "extract", "collapse", "linecap"},
			// Small windows with the names of what they hide, in the place of larger
			// ones without: on recorded sessions of coding agents twice as much of what
			// the outputs state stays readable, and more is saved. What decides again
			// about old outputs (mask, failed_run) is left out: behind these windows a
			// horizon bills more anew than it takes away.
			Components: `
collapse: {max_tokens: 400, head_lines: 5, tail_lines: 4, keep_names: 13}
`,
		},
		{Name: "off", About: "nothing is changed", Pipeline: []string{}},
		{Name: "safe", About: "lossless edits only", Pipeline: []string{"format", "cacheinject"}},
		{Name: "balanced", About: "little risk, for traffic with few tool calls", Pipeline: []string{"format", "dedup", "failed_run", "cmdfilter", "cacheinject"}},
		{
			Name: "aggressive", About: "balanced, and long outputs shortened",
			Pipeline: []string{"format", "dedup", "failed_run", "cmdfilter", "smartcrush", "extract", "cacheinject"},
		},
		{Name: "coding", About: "agents that read much source code", Pipeline: []string{"format", "skeleton", "cmdfilter", "cacheinject"}},
		{Name: "mcp", About: "tools that answer with long JSON", Pipeline: []string{"format", "smartcrush", "cacheinject"}},
		{Name: "agent", About: "long sessions of agents", Pipeline: []string{"format", "dedup", "failed_run", "mask", "extract", "cacheinject"}},
		{
			Name: "general", About: "all-round: agent with everything that costs nothing when it does not fire",
			Pipeline: []string{"format", "toon", "dedup", "failed_run", "cmdfilter", "mask", "extract", "collapse", "cacheinject"},
		},
		{Name: "summarize", About: "runs alone: restructures the whole transcript", Pipeline: []string{"summarize"}},
	}
}

// Find returns the preset of a name.
func Find(name string) (Preset, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// Names lists the presets in the order of the table.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Components lists every component that a preset names, and those that belong
// to the specification beside them, sorted. A pipeline may name them whether
// this version has them or not.
func Components() []string {
	names := []string{"extract_llm"} // in no preset: it calls a model
	for _, p := range All() {
		names = append(names, p.Pipeline...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
