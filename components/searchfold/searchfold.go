// Package searchfold writes the path that many lines of a search or a listing
// begin with once, as a heading.
//
// What grep -rn, rg, find and their like print is mostly paths, the same ones
// over and over. Three folds take them out:
//
//	src/app/user.py:12:class User:        src/app/
//	src/app/user.py:40:    pass     =>     user.py:
//	src/app/group.py:3:import user        	12:class User:
//	                                      	40:    pass
//	                                       group.py:3:import user
//
// by file: a file's name is a heading that ends in a colon, its lines follow
// behind a tab; by directory: a directory is a heading that ends in a slash, and
// what is in it follows behind a blank; and, for the headings of ls -R,
//
//	/srv/data/project:                    /srv/data/project:
//	a  b                            =>    a  b
//	/srv/data/project/a:                  ./a:
//
// relative to the first one. A heading is what was taken off, so every line can
// be read by putting it back in front; lines that match no fold stay where and
// as they are. A line that mentions an error, and the message of a compiler,
// keeps its path among the others: components behind this one, and readers,
// pick such lines out.
//
// The inverse of each fold is in this package, written apart. A fold is adopted
// only if its inverse gives the client's text back byte for byte.
package searchfold

import (
	"context"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/components/internal/exact"
	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonNoPaths   pipeline.Reason = "no_paths"
	reasonBinary    pipeline.Reason = "binary"
	reasonDiff      pipeline.Reason = "diff"
	reasonFileRead  pipeline.Reason = "file_read"
	reasonNoRepeats pipeline.Reason = "no_repeated_paths"
	reasonAmbiguous pipeline.Reason = "ambiguous"
)

// Config is the settings of searchfold.
type Config struct {
	// MinTokens is the least size of a tool output that is folded, in tokens.
	MinTokens int `json:"min_tokens"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error { return pipeline.AtLeast("min_tokens", c.MinTokens, 0) }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "searchfold",
		Kind:    pipeline.KindReformat,
		Summary: "Writes the path or directory that many lines of a search or a listing begin with once, as a heading.",
	}, Config{MinTokens: 50}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return inside.Lines(folder{c}), nil
	})
}

type folder struct{ Config }

// Rewrite implements pipeline.Component.
func (f folder) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	if s.Tokens < f.MinTokens {
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	}
	if reason := unfit(&s); reason != "" {
		return pipeline.Decline(reason), nil
	}
	text, back, same := s.Text, inverse(nil), true
	var lines []line
	for _, f := range []fold{{foldPaths, unfoldPaths, false}, {foldListing, unfoldListing, true}} {
		if lines == nil {
			var err error
			if lines, err = read(ctx, text); err != nil {
				return pipeline.Edit{}, err
			}
		}
		folded := f.fold(lines, len(text))
		if folded == "" || len(folded) >= len(text) {
			continue
		}
		if f.back(folded) != text {
			return pipeline.Decline(reasonAmbiguous), nil
		}
		text, back, same = folded, back.behind(f.back), same && f.lines
		lines = nil
	}
	if back == nil {
		return pipeline.Decline(reasonNoRepeats), nil
	}
	return pipeline.Replace(text, pipeline.Equivalence{Name: "the same bytes when unfolded", Check: back.check, Lines: same}), nil
}

// fold is a way to fold a text, which returns nothing when there is nothing to
// fold, and the way back.
type fold struct {
	fold  func(lines []line, size int) string
	back  inverse
	lines bool // the lines keep their numbers
}

// unfit returns why a text is no search output, or nothing.
func unfit(s *pipeline.Segment) pipeline.Reason {
	switch {
	case !hasPaths(s.Text):
		return reasonNoPaths
	case strings.IndexByte(s.Text, 0) >= 0:
		return reasonBinary
	case exact.ReadsFile(string(s.Tool), s.Args, s.Text):
		return reasonFileRead
	case exact.IsDiff(s.Text):
		return reasonDiff
	default:
		return ""
	}
}

// hasPaths is a quick look for what every fold needs: a slash, or a colon and a
// digit.
func hasPaths(text string) bool {
	if strings.IndexByte(text, '/') >= 0 || strings.IndexByte(text, '\\') >= 0 {
		return true
	}
	for {
		i := strings.IndexByte(text, ':')
		if i < 0 || i+1 == len(text) {
			return false
		}
		if text = text[i+1:]; isDigit(text[0]) {
			return true
		}
	}
}

// inverse takes a folded text apart again.
type inverse func(folded string) string

// behind returns the inverse of a fold that another one follows.
func (back inverse) behind(next inverse) inverse {
	if back == nil {
		return next
	}
	return func(folded string) string { return back(next(folded)) }
}

// check is the claim of this component and its proof.
func (back inverse) check(before, after string) error {
	unfolded := back(after)
	if unfolded == before {
		return nil
	}
	at := 0
	for at < min(len(before), len(unfolded)) && before[at] == unfolded[at] {
		at++
	}
	return fmt.Errorf("unfolded, the text differs from byte %d on", at)
}
