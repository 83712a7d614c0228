package tool

import "github.com/contextguru/contextguru/pipeline/wire"

// State says whether the tool is in a request that goes out, or why it is not. It labels
// metrics.
type State string

// The states.
const (
	// Injected is a request that carries the tool: its model may call it.
	Injected State = "injected"
	// NoTools is a request whose model has nothing to call: it declares no tools,
	// and none are made for it.
	NoTools State = "no_tools"
	// Unclear is a request whose tools are not told from each other: they are
	// declared twice, as something that is no list, or in an older form.
	Unclear State = "unclear_tools"
	// Taken is a request with another tool of the same name.
	Taken State = "name_taken"
	// Present is a request that came with this very tool, byte for byte: somebody
	// in front has put it there and waits for its calls.
	Present State = "present"
)

// Place returns the patch that puts the tool behind the tools of a request, and
// Injected; or why there is none. With create the list is made where it is
// missing or empty.
func Place(d wire.Dialect, body []byte, tools wire.Tools, create bool) (wire.Patch, State) {
	definition := Definition(d)
	if named := tools.Expand; named.Len() > 0 {
		if string(body[named.Start:named.End]) == definition {
			return wire.Patch{}, Present
		}
		return wire.Patch{}, Taken
	}
	if tools.Form == wire.ToolsUnclear || definition == "" {
		return wire.Patch{}, Unclear
	}
	patch, ok := tools.Append(definition, create)
	if !ok {
		return wire.Patch{}, NoTools
	}
	return patch, Injected
}
