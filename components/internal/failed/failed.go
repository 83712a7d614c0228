// Package failed keeps what went wrong readable.
//
// A failed result is left alone by whatever loses text, unless it is huge
// (pipeline.HugeErrorTokens); then every line of it that reports an error has to
// be in the view. A result failed when its client says so, or when the exit
// status that a client wrote around the output does.
package failed

import (
	"context"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/terminal"
	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// Guard returns a component that leaves failed results alone, or proves that
// their errors stay.
func Guard(c pipeline.Component) pipeline.Component { return guard{c} }

type guard struct{ pipeline.Component }

// Rewrite implements pipeline.Component.
func (g guard) Rewrite(ctx context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	edit, err := g.Component.Rewrite(ctx, v, s)
	if err != nil || !edit.Lossy() || !s.IsError && !wrapper.Unwrap(s.Text).Failed() {
		return edit, err
	}
	if s.Tokens < pipeline.HugeErrorTokens {
		return pipeline.Decline(pipeline.ReasonErrorResult), nil
	}
	return edit.Proving(Shown), nil
}

const (
	// maxHead is how much of a line with an error has to be readable, in bytes.
	maxHead = 160
	// maxSearches is how many lines are looked for inside of others; a view has
	// a handful of lines that were cut.
	maxSearches = 1000
)

// Shown returns an error unless every line of a text that reports an error can
// be read in a view: as it is, terminal codes and blanks aside, or the
// beginning of it where it is long. The lines of a log in a string of JSON are
// lines, too.
func Shown(text, view string) error {
	shown := map[string]bool{}
	for line := range pieces(view) {
		shown[line] = true
	}
	whole, searches := "", 0
	for line := range pieces(text) {
		if shown[line] || !errline.Is(line) {
			continue
		}
		if whole == "" {
			whole = plain(view)
		}
		head := line[:min(len(line), maxHead)]
		if searches++; searches > maxSearches || !strings.Contains(whole, head) {
			return fmt.Errorf("%.80q is missing", line)
		}
		shown[line] = true
	}
	return nil
}

// pieces yields the lines of a text, each the way plain writes it.
func pieces(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for raw := range strings.Lines(text) {
			for line := range strings.SplitSeq(raw, `\n`) {
				if line = plain(line); line != "" && !yield(line) {
					return
				}
			}
		}
	}
}

// plain is a text without terminal codes and blanks around it.
func plain(text string) string {
	if strings.IndexByte(text, '\x1b') >= 0 {
		text, _ = terminal.Strip(text)
	}
	return strings.TrimSpace(text)
}
