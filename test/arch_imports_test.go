package test

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const module = "github.com/contextguru/contextguru"

// listed is what go list tells about one package.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// importRule says what of this module the packages of one pattern may import. The first rule whose pattern matches decides.
// Patterns are paths below the module; * is one folder, and /... at the end includes everything below.
type importRule struct {
	packages string
	may      []string
	because  string
}

// importTable is the one list of who may import whom. depguard in .golangci.yml repeats it for editors, one import at a time.
func importTable() []importRule {
	const modelOnly = "it needs the model only"
	everywhere := []string{"..."}
	return []importRule{
		{"pipeline", nil, "the model is what everything else is built on, so it knows none of it"},
		{"pipeline/wire/...", []string{"pipeline", "pipeline/wire/..."}, "wire turns bytes into the model and back; " + modelOnly},
		{
			"pipeline/expand/...",
			[]string{"pipeline", "pipeline/wire/...", "pipeline/tokens/...", "pipeline/expand/...", "store"},
			"the expand loop is transport-neutral; it needs the model, the codecs and the store's interface",
		},
		{
			"pipeline/rewrite/...",
			[]string{"pipeline", "pipeline/wire/...", "pipeline/tokens/...", "pipeline/rewrite/...", "pipeline/expand/...", "store"},
			"it takes a body through the product without a transport; it needs the model, the codecs, the request side of the expand loop and the store's interface",
		},
		{
			"pipeline/generation/...",
			[]string{"pipeline", "store"},
			"it tells conversations apart and asks the store; what a generation is made of is its caller's",
		},
		{
			"pipeline/tokens/...",
			[]string{"pipeline", "pipeline/tokens/...", "pipeline/models/..."},
			"counting stands on its own, so that everything may use it",
		},
		{
			"pipeline/models/...",
			[]string{"pipeline", "pipeline/tokens/...", "pipeline/models/..."},
			"prices and windows stand on their own, so that everything may use them",
		},
		{"pipeline/pipelinetest/...", []string{"pipeline/...", "store"}, "it tests components, so it cannot need one"},
		{"pipeline/...", []string{"pipeline"}, modelOnly},
		{"components", []string{"pipeline", "components/*"}, "the list of components names them and nothing else"},
		{"components/internal/...", []string{"pipeline", "components/internal/..."}, "shared parts know no component"},
		{"components/dsl/...", []string{"pipeline", "components/dsl/...", "components/internal/..."}, "the filter engine knows no component"},
		{
			"components/cmdfilter/...",
			[]string{"pipeline", "components/cmdfilter/...", "components/dsl/...", "components/internal/..."},
			"of all components it alone runs filters",
		},
		{
			"components/*/...",
			[]string{"pipeline", "components/internal/..."},
			"a component sees the model only; it never learns of another component, of the store or of Envoy",
		},
		{"store", nil, "the store keeps bytes for whoever asks"},
		{"store/...", []string{"store/..."}, "a backend knows the store's interface only; health is returned, never pushed"},
		{
			"extproc/...",
			[]string{"pipeline", "pipeline/wire/...", "pipeline/expand/...", "pipeline/rewrite/...", "store", "extproc/..."},
			"which backend and which components there are is the command's choice",
		},
		{"cmd/...", everywhere, ""},
		{"test/...", everywhere, ""},
	}
}

// outsideRule keeps a foreign module to the packages of some patterns, indirect imports included.
type outsideRule struct {
	foreign string
	only    []string
	because string
}

func outsideTable() []outsideRule {
	return []outsideRule{
		{
			"github.com/envoyproxy/go-control-plane",
			[]string{"extproc/...", "cmd/...", "test/..."},
			"Envoy's types stay in extproc, so that no protocol state leaks into the model",
		},
		{"google.golang.org/grpc", []string{"extproc/...", "cmd/...", "test/..."}, "the transport stays in extproc"},
		{"go.opentelemetry.io/otel/sdk", []string{"cmd/...", "test/..."}, "a library takes a meter and a tracer; the command decides where they lead"},
		{"go.opentelemetry.io/otel/exporters", []string{"cmd/...", "test/..."}, "only the command chooses exporters"},
		{"go.opentelemetry.io/contrib/exporters", []string{"cmd/...", "test/..."}, "only the command chooses exporters"},
		{"github.com/smacker/go-tree-sitter", []string{"components/internal/syntax", "components", "components/skeleton", "cmd/...", "test/..."}, "the parser is behind one package, which a build without cgo does without"},
		{"github.com/redis/go-redis", []string{"store/*/...", "cmd/...", "test/..."}, "Redis is one backend behind the store's interface"},
	}
}

// checkImports reports the imports that break one of the two tables.
func checkImports(packages []listed) []string {
	var faults []string
	for _, p := range packages {
		own := strings.TrimPrefix(p.ImportPath, module+"/")
		rules := importTable()
		at := slices.IndexFunc(rules, func(r importRule) bool { return matches(r.packages, own) })
		if at < 0 {
			faults = append(faults, own+": no rule says what this package may import; add one to importTable")
			continue
		}
		for _, imported := range p.Imports {
			theirs, ours := strings.CutPrefix(imported, module+"/")
			if ours && !matchesAny(rules[at].may, theirs) && !sameComponent(own, theirs) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", own, theirs, rules[at].because))
			}
		}
		for _, rule := range outsideTable() {
			for _, dep := range p.Deps {
				if (dep == rule.foreign || strings.HasPrefix(dep, rule.foreign+"/")) && !matchesAny(rule.only, own) {
					faults = append(faults, fmt.Sprintf("%s depends on %s: %s", own, dep, rule.because))
					break
				}
			}
		}
	}
	return faults
}

// sameComponent reports whether both paths lie in the folder of one component: what is below a component is its own.
func sameComponent(a, b string) bool {
	first, second := strings.SplitN(a, "/", 3), strings.SplitN(b, "/", 3)
	return len(first) > 1 && len(second) > 1 && first[0] == "components" && second[0] == "components" && first[1] == second[1]
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

func matches(pattern, name string) bool {
	prefix, below := strings.CutSuffix("/"+pattern, "/...")
	if below {
		depth, parts := strings.Count(prefix, "/"), strings.Split("/"+name, "/")
		if len(parts) <= depth {
			return false
		}
		name = strings.Join(parts[1:depth+1], "/")
	}
	ok, err := path.Match(strings.TrimPrefix(prefix, "/"), name)
	return ok && err == nil
}
