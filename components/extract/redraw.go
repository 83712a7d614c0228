package extract

import (
	"strings"

	"github.com/contextguru/contextguru/components/internal/terminal"
)

// lastDrawn returns what stays visible of a line that was drawn over itself,
// and how often it was. It returns false when the parts are not states of one
// and the same thing: lines that end in a bare carriage return, say.
func lastDrawn(text string) (last string, redraws int, ok bool) {
	for part := range strings.SplitSeq(text, "\r") {
		if isBlank(part) {
			continue
		}
		if last != "" {
			if !terminal.DrawsOver(last, part) {
				return text, 0, false
			}
			redraws++
		}
		last = part
	}
	return last, redraws, true
}
