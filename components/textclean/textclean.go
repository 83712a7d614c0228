// Package textclean writes tool output as a terminal would have left it: without
// codes for colours, titles and the cursor, and without the older states of a
// line that was drawn over itself.
//
// It is lossless in the sense of what a terminal shows. Every line stays a line
// with the end it had, CR LF included, and shows the same text; colours are
// styling, so the plus of a diff and the word error stay and what coloured them
// goes. Lines are taken one by one: where a code moves the cursor to another
// line, nothing is drawn over, so that text on a screen that was painted in
// place stays.
//
// What is not certain stays as it is, line by line: a code that never ends, a
// cursor that goes where nobody can follow, an older state that reports an
// error, two texts between carriage returns that are not states of one thing.
// So do texts that are read for their bytes: files, texts with a NUL, and a
// diff that says with colours alone what was added and what was removed.
package textclean

import (
	"context"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/exact"
	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/components/internal/terminal"
	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to leave a text alone.
const (
	reasonPlain    pipeline.Reason = "no_terminal_codes"
	reasonBinary   pipeline.Reason = "binary"
	reasonFileRead pipeline.Reason = "file_read"
	reasonUnsure   pipeline.Reason = "no_certain_codes"
	reasonBlank    pipeline.Reason = "nothing_to_see"
	reasonColours  pipeline.Reason = "colours_are_the_diff"
)

// linesPerCheck is how often long work looks whether it is still wanted.
const linesPerCheck = 1 << 14

// Config is the settings of textclean.
type Config struct {
	// MinTokens is the least size of a tool output that is cleaned, in tokens.
	MinTokens int `json:"min_tokens"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error { return pipeline.AtLeast("min_tokens", c.MinTokens, 0) }

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.Define(pipeline.Meta{
		Name:    "textclean",
		Kind:    pipeline.KindReformat,
		Summary: "Takes out terminal codes and the states of a line that were drawn over, as a terminal would show it.",
	}, Config{MinTokens: 0}, func(c Config, _ pipeline.Deps) (pipeline.Component, error) {
		return inside.Lines(cleaner{c}), nil
	})
}

type cleaner struct{ Config }

// Rewrite implements pipeline.Component.
func (c cleaner) Rewrite(ctx context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
	switch {
	case s.Tokens < c.MinTokens:
		return pipeline.Decline(pipeline.ReasonBelowMinTokens), nil
	case !worthALook(s.Text):
		return pipeline.Decline(reasonPlain), nil
	case strings.IndexByte(s.Text, 0) >= 0:
		return pipeline.Decline(reasonBinary), nil
	case exact.ReadsFile(string(s.Tool), s.Args, s.Text):
		return pipeline.Decline(reasonFileRead), nil
	}
	text, err := clean(ctx, s.Text)
	switch {
	case err != nil:
		return pipeline.Edit{}, err
	case text == s.Text:
		return pipeline.Decline(reasonUnsure), nil
	case strings.TrimSpace(text) == "":
		return pipeline.Decline(reasonBlank), nil
	case coloursOnly(s.Text):
		return pipeline.Decline(reasonColours), nil
	}
	same := pipeline.Equivalence{Name: "the same text on every line, as a terminal shows it", Check: sameDrawing, Lines: true}
	return pipeline.Replace(text, same), nil
}

// worthALook reports whether a text has an escape, or a carriage return that
// does not end a line.
func worthALook(text string) bool {
	if strings.IndexByte(text, '\x1b') >= 0 {
		return true
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '\r')
		if i < 0 {
			return false
		}
		if at += i; at+1 < len(text) && text[at+1] != '\n' {
			return true
		}
	}
}

func clean(ctx context.Context, text string) (string, error) {
	// A text with bare carriage returns and nothing else may end its lines so.
	redraws := strings.IndexByte(text, '\n') >= 0
	var b strings.Builder
	b.Grow(len(text))
	n := 0
	for raw := range strings.Lines(text) {
		if n++; n%linesPerCheck == 1 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		line, found := strings.CutSuffix(raw, "\n")
		if found {
			line = strings.TrimSuffix(line, "\r")
		}
		b.WriteString(cleanLine(line, redraws))
		b.WriteString(raw[len(line):])
	}
	return b.String(), nil
}

// cleanLine returns a line, without its end, as it is drawn.
func cleanLine(line string, redraws bool) string {
	escapes, returns := strings.IndexByte(line, '\x1b') >= 0, strings.IndexByte(line, '\r') >= 0
	if !escapes && !returns || returns && !redraws {
		return line
	}
	var d drawing
	if !d.read(line) {
		return line
	}
	drawn := d.text()
	if (d.ends > 1 || d.gone || d.held) && errline.Is(line) && !errline.Is(drawn) {
		return line
	}
	return drawn
}

// coloursOnly reports whether a text is a diff that marks words: red and green
// are all that tells the removed from the added then. Elsewhere in a hunk these
// colours belong to lines that begin with a sign.
func coloursOnly(text string) bool {
	inHunk := false
	for line := range strings.Lines(text) {
		if !inHunk && !strings.Contains(line, "@@ ") || strings.IndexByte(line, '\x1b') < 0 {
			continue
		}
		plain, _ := terminal.Strip(line)
		switch {
		case strings.HasPrefix(plain, "@@ -"):
			inHunk = true
		case strings.HasPrefix(plain, "diff --git "):
			inHunk = false
		case inHunk && (strings.Contains(line, "31m") || strings.Contains(line, "32m")):
			if line[0] != '\x1b' || plain[0] != '+' && plain[0] != '-' {
				return true
			}
		}
	}
	return false
}
