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
// that document. What stands around the document must be the same in both.
func SameJSON(before, after string) error {
	err := sameJSON(before, after, jsonLevels, nil)
	if err == nil {
		return nil
	}
	start, end := strings.IndexAny(before, "[{"), strings.LastIndexAny(before, "]}")+1
	if start < 0 || end < start || !strings.HasPrefix(after, before[:start]) || !strings.HasSuffix(after, before[end:]) || len(after) < start+len(before)-end {
		return err
	}
	return sameJSON(before[start:end], after[start:len(after)-(len(before)-end)], jsonLevels, nil)
}

// InStrings returns a check that two texts are the same under another, or one
// JSON document each whose strings are.
func InStrings(same func(before, after string) error) func(before, after string) error {
	return func(before, after string) error {
		err := same(before, after)
		if err != nil && sameJSON(before, after, jsonLevels, same) == nil {
			return nil
		}
		return err
	}
}

func sameJSON(before, after string, levels int, same func(before, after string) error) error {
	if !json.Valid([]byte(before)) || !json.Valid([]byte(after)) {
		return errors.New("one of them is not one JSON document")
	}
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
		if same != nil && same(s, r) == nil {
			continue
		}
		if err := sameJSON(s, r, levels-1, same); err != nil {
			return fmt.Errorf("in the string that ends at byte %d: %w", a.InputOffset(), err)
		}
	}
}

// The words ErrorLine goes by.
const errorWords = `(?:errors?|failed|failures?|exceptions?|panic|fatal|traceback)`

var (
	// A word begins behind a terminal code, too.
	harmful = regexp.MustCompile(`(?i)(?:^|[^A-Za-z_.$-]|\x1b\[[0-9;]*[A-Za-z])(` + errorWords + `)(?:$|[\s:!,;)\]"'=\x1b])`)
	// A count of none in front, or an empty value behind.
	countOfNone = regexp.MustCompile(`(?i)\b(?:0|no|zero|without)[ \t]+$`)
	emptyValue  = regexp.MustCompile(`(?i)^["']?[ \t]*[:=][ \t]*(?:0\b|(?:null|none|nil|false|\[\]|\{\}|"")\s*(?:$|[,;)\]}|]))`)
)

// ErrorLine reports whether a line plainly says that something went wrong. It
// is the judge of "no error line is lost", so it knows fewer words than a
// component should, and no component uses it.
func ErrorLine(line string) bool {
	for at := 0; ; {
		found := harmful.FindStringSubmatchIndex(line[at:])
		if found == nil {
			return false
		}
		start, end := at+found[2], at+found[3]
		// A look at the neighbourhood is enough, and keeps long lines quick.
		const near = 64
		before, after := line[max(0, start-near):start], line[end:min(len(line), end+near)]
		if !countOfNone.MatchString(before) && !emptyValue.MatchString(after) {
			return true
		}
		at = end
	}
}
