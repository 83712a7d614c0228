package laws_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// stringsDeep is how far the judge follows documents in strings of documents.
const stringsDeep = 16

// sameDocuments is the claim of an edit without a marker: both texts are one
// JSON document, made of the same literals in the same order, each written in
// the same bytes. A string that holds an object or an array may be written
// differently if both of its texts are the same in this sense.
func sameDocuments(before, after string) error {
	return sameTokens([]byte(before), []byte(after), stringsDeep)
}

func sameTokens(before, after []byte, levels int) error {
	if !json.Valid(before) || !json.Valid(after) {
		return errors.New("not a JSON document each")
	}
	a, b := scan(before), scan(after)
	for {
		x, errX := a.next()
		y, errY := b.next()
		switch {
		case errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF):
			return nil
		case errX != nil || errY != nil:
			return fmt.Errorf("behind bytes %d and %d: %w", a.end, b.end, errors.Join(errX, errY))
		case bytes.Equal(x.raw, y.raw):
			continue
		case x.name || levels == 0 || !x.isString() || !y.isString():
			return fmt.Errorf("at %s: %.60s became %.60s", a.path(), x.raw, y.raw)
		}
		inX, okX := exactText(x.raw)
		inY, okY := exactText(y.raw)
		if open := strings.TrimLeft(inX, " \t\r\n"); !okX || !okY || open == "" || open[0] != '{' && open[0] != '[' {
			return fmt.Errorf("at %s: the string %.60s became %.60s", a.path(), x.raw, y.raw)
		}
		if err := sameTokens([]byte(inX), []byte(inY), levels-1); err != nil {
			return fmt.Errorf("in the string at %s: %w", a.path(), err)
		}
	}
}

// A note in a view says which lines of the client's text it stands for.
var (
	rangeNote   = regexp.MustCompile(`^\.\.\. \((\d+) lines? omitted\)(?: <<cg:[a-z2-7]{20}>>(?: \[full output: [^\]]*\])?)?(?: lines? (\d+)(?:-(\d+))?)?(, .*)?\r?\n?$`)
	pointerNote = regexp.MustCompile(`^\[identical to an earlier tool output\] <<cg:[a-z2-7]{20}>>$`)
	leftOutNote = regexp.MustCompile(`^\.\.\. \(left out: .*\) <<cg:[a-z2-7]{20}>>`)
	namesNote   = regexp.MustCompile(`^\.\.\. names in there(?:, the shorter ones)?: (.*?)\r?\n?$`)
	repeatNote  = regexp.MustCompile(`^\.\.\. \(previous (?:(\d+) lines|line) x(\d+)\)\r?\n?$`)
	// Redraws are parts of lines.
	leftOutCounts = regexp.MustCompile(`(\d+) (repeated|blank|progress) lines?`)
	codes         = regexp.MustCompile(`\x1b\[[0-?]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)
)

// gap is a range of lines a note stands for, both ends included; 0 where the
// note has no numbers.
type gap struct{ first, last int }

// gaps reads the notes of a view. Lines the client's own text has are no notes.
func gaps(client string, view []string) map[int]gap {
	own := map[string]bool{}
	found := map[int]gap{}
	for i, line := range view {
		m := rangeNote.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if len(own) == 0 {
			for l := range strings.Lines(client) {
				own[l] = true
			}
		}
		if own[line] {
			continue
		}
		first, last := number(m[2]), number(m[2])
		if m[3] != "" {
			last = number(m[3])
		}
		if m[2] == "" || last-first+1 == number(m[1]) {
			found[i] = gap{first, last}
		}
	}
	return found
}

// viewCovers checks a view that names what it leaves out by line: apart from
// the lines in its notes it is the client's text, line by line.
func viewCovers(client, sent string) error {
	lines, view := splitLines(client), splitLines(sent)
	notes := gaps(client, view)
	at := 0
	for i, line := range view {
		if g, is := notes[i]; is {
			if g.first != at+1 || g.last > len(lines) || g.last < g.first {
				return fmt.Errorf("the note %.80q stands where line %d of %d should be", line, at+1, len(lines))
			}
			at = g.last
			continue
		}
		if m := namesNote.FindStringSubmatch(line); m != nil && i > 0 && notes[i-1] != (gap{}) && (at >= len(lines) || lines[at] != line) {
			for name := range strings.FieldsSeq(m[1]) {
				if !strings.Contains(client, name) {
					return fmt.Errorf("it names %q, which is not in the text", name)
				}
			}
			continue
		}
		if at >= len(lines) || !sameLine(line, lines[at]) {
			return fmt.Errorf("%.80q stands where line %d of %d should be", line, at+1, len(lines))
		}
		at++
	}
	if at != len(lines) {
		return fmt.Errorf("it ends at line %d of %d", at, len(lines))
	}
	return nil
}

// sameLine compares lines without their ends, as they are or as a terminal
// shows them.
func sameLine(a, b string) bool {
	a, b = strings.TrimRight(a, "\r\n"), strings.TrimRight(b, "\r\n")
	return a == b || show(a) == show(b)
}

// tableCovers checks a view whose notes have no numbers: it must be of a
// document that was written in other lines, and where the document says that
// something went wrong, the view or a note says so, too.
func tableCovers(client, sent string) error {
	tokens, err := flatten(client)
	if err != nil {
		return fmt.Errorf("notes without numbers, although the lines are the client's: %w", err)
	}
	admits := strings.Contains(sent, "of them report") || strings.Contains(sent, "which reports")
	for _, token := range tokens {
		text, isString := strings.CutPrefix(token, "s")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) // as TOON writes it
		if isString && !admits && pipelinetest.ErrorLine(text) && !strings.Contains(sent, text) && !strings.Contains(sent, quoted) {
			return fmt.Errorf("missing in silence: %.160q", text)
		}
	}
	return nil
}

func splitLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

// errorsShown checks that no line the judge calls an error is missing from a
// view in silence. Terminal codes do not count, and of a line that was drawn
// over itself every state that is an error does.
func errorsShown(client, sent string) error {
	view := splitLines(sent)
	omitted := gaps(client, view)
	shown := map[string]bool{}
	for _, line := range view {
		shown[plain(line)] = true
	}
	n := 0
lines:
	for line := range strings.Lines(client) {
		n++
		if !pipelinetest.ErrorLine(line) || shown[plain(line)] {
			continue
		}
		for _, g := range omitted {
			if g.first <= n && n <= g.last {
				continue lines
			}
		}
		for state := range strings.SplitSeq(plain(line), "\r") {
			if state = strings.TrimSpace(state); pipelinetest.ErrorLine(state) && !contained(view, state) {
				return fmt.Errorf("line %d is missing in silence: %.160q", n, line)
			}
		}
	}
	return nil
}

func contained(view []string, state string) bool {
	for _, line := range view {
		if strings.Contains(plain(line), state) {
			return true
		}
	}
	return false
}

func plain(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if strings.IndexByte(line, '\x1b') < 0 {
		return line
	}
	return codes.ReplaceAllString(line, "")
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
