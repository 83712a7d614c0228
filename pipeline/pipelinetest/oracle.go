package pipelinetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// jsonLevels is how many strings deep SameJSON looks for JSON inside JSON:
// more than any component descends.
const jsonLevels = 12

// SameJSON checks that two texts are one JSON document each with the same
// values in the same order, where a string that holds a document counts as
// that document.
func SameJSON(before, after string) error { return sameJSON(before, after, jsonLevels) }

func sameJSON(before, after string, levels int) error {
	a, b := json.NewDecoder(strings.NewReader(before)), json.NewDecoder(strings.NewReader(after))
	a.UseNumber()
	b.UseNumber()
	for {
		x, errX := a.Token()
		y, errY := b.Token()
		switch {
		case errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF):
			return nil
		case errX != nil || errY != nil:
			return fmt.Errorf("after bytes %d and %d: %w", a.InputOffset(), b.InputOffset(), errors.Join(errX, errY))
		case x == y:
			continue
		}
		s, isString := x.(string)
		r, alsoString := y.(string)
		if !isString || !alsoString || levels == 0 {
			return fmt.Errorf("at bytes %d and %d: %v became %v", a.InputOffset(), b.InputOffset(), x, y)
		}
		if err := sameJSON(s, r, levels-1); err != nil {
			return fmt.Errorf("in the string that ends at byte %d: %w", a.InputOffset(), err)
		}
	}
}

// The words ErrorLine goes by, and the forms in which they mean nothing.
const errorWords = `(?:errors?|failed|failures?|exceptions?|panic|fatal|traceback)`

//nolint:gochecknoglobals // compiled once, never changed
var (
	harmless = regexp.MustCompile(`(?i)\b(?:0|no|zero|without)[ \t]+` + errorWords + `\b` +
		`|\b` + errorWords + `["']?[ \t]*[:=][ \t]*(?:0|null|none|nil|false|no)\b`)
	harmful = regexp.MustCompile(`(?i)(?:^|[^A-Za-z_.$-])` + errorWords + `(?:$|[ \t:!,;)\]])`)
)

// ErrorLine reports whether a line plainly says that something went wrong. It
// is the judge of "no error line is lost", so it knows fewer words than a
// component should, and no component uses it.
func ErrorLine(line string) bool {
	return harmful.MatchString(harmless.ReplaceAllString(line, ""))
}
