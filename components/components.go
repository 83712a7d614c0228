// Package components is the one list of what a pipeline can be made of.
//
// A component is a package of its own below this folder and exports Spec and
// Config, nothing else. A new one costs its folder and one line here.
package components

import (
	"github.com/contextguru/contextguru/components/cacheinject"
	"github.com/contextguru/contextguru/components/collapse"
	"github.com/contextguru/contextguru/components/dedup"
	"github.com/contextguru/contextguru/components/extract"
	failedrun "github.com/contextguru/contextguru/components/failed_run"
	"github.com/contextguru/contextguru/components/format"
	"github.com/contextguru/contextguru/components/linecap"
	"github.com/contextguru/contextguru/components/mask"
	"github.com/contextguru/contextguru/components/searchfold"
	"github.com/contextguru/contextguru/components/skeleton"
	"github.com/contextguru/contextguru/components/smartcrush"
	"github.com/contextguru/contextguru/components/textclean"
	"github.com/contextguru/contextguru/components/toon"
	"github.com/contextguru/contextguru/pipeline"
)

// All returns every component there is, in alphabetical order.
func All() []pipeline.Spec {
	return []pipeline.Spec{
		cacheinject.Spec(),
		collapse.Spec(),
		dedup.Spec(),
		extract.Spec(),
		failedrun.Spec(),
		format.Spec(),
		linecap.Spec(),
		mask.Spec(),
		searchfold.Spec(),
		skeleton.Spec(),
		smartcrush.Spec(),
		textclean.Spec(),
		toon.Spec(),
	}
}
