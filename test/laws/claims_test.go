package laws_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
)

// claim is what the edits of a component that loses nothing keep, as judged
// here.
type claim func(before, after string) error

// judged is a component the laws know.
type judged struct {
	name string
	// same judges its edits without a marker, with no code of the component's.
	same claim
	// plainly is set when judgeView cannot read its views, or nobody judges what
	// its edits keep: only the laws that need no understanding are asked then.
	plainly bool
}

// judgedComponents lists the components in the order of the presets, which is
// the order the laws run them in.
func judgedComponents() []judged {
	return []judged{
		{name: "textclean", same: sameScreen},
		{name: "searchfold", plainly: true},
		{name: "format", same: sameDocuments},
		{name: "toon", same: sameTables},
		{name: "skeleton", plainly: true},
		{name: "dedup"},
		{name: "failed_run", plainly: true},
		{name: "smartcrush"},
		{name: "mask", plainly: true},
		{name: "extract"},
		{name: "collapse"},
		{name: "linecap", plainly: true},
		{name: "cacheinject", plainly: true}, // never edits an output; its marks are aside, see unmarked in product_test.go
	}
}

func find(name string) (judged, bool) {
	for _, j := range judgedComponents() {
		if j.name == name {
			return j, true
		}
	}
	return judged{}, false
}

// A component that is not listed would be left out of every law.
func TestEveryComponentIsJudged(t *testing.T) {
	t.Parallel()
	for _, spec := range components.All() {
		j, ok := find(spec.Name)
		switch {
		case !ok:
			t.Errorf("component %s is in no law: list it in judgedComponents", spec.Name)
		case spec.Kind == pipeline.KindReformat && j.same == nil && !j.plainly:
			t.Errorf("component %s says it loses nothing: give it a judge of that in judgedComponents", spec.Name)
		}
	}
}

// saysTheSame checks an edit without a marker against what the components of a
// pipeline claim. What one shows as a terminal would another may read.
func saysTheSame(made []claim, before, after string) error {
	errs := make([]error, 0, 2*len(made))
	for _, text := range []string{before, screen(before)} {
		for _, c := range made {
			err := c(text, after)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sameScreen checks that a terminal shows the same text on every line.
func sameScreen(before, after string) error {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(a) != len(b) {
		return fmt.Errorf("%d lines became %d", len(a), len(b))
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if x, y := show(a[i]), show(b[i]); x != y {
			return fmt.Errorf("line %d shows %.80q and showed %.80q", i+1, y, x)
		}
		if i < len(a)-1 && strings.HasSuffix(a[i], "\r") != strings.HasSuffix(b[i], "\r") {
			return fmt.Errorf("line %d ends in another way", i+1)
		}
	}
	return nil
}

// screen is a text as a terminal shows it. Line ends stay as they are.
func screen(text string) string {
	if !strings.ContainsAny(text, "\x1b\r\b") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		shown := show(line)
		if strings.HasSuffix(line, "\r") && i < len(lines)-1 {
			shown += "\r"
		}
		lines[i] = shown
	}
	return strings.Join(lines, "\n")
}

// codeForm is a terminal code at the start of a text: one with a parameter and a
// letter, or one that shows nothing.
var codeForm = regexp.MustCompile(`^(?:\x1b\[([0-?]*)([@-~])|\x1b\][^\x00-\x1f]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x00-\x1f]*\x1b\\|\x1b[()*+]B|\x1b%G|\x1b[=>7])`)

// show draws one line and returns what is to be seen, without the blanks at the
// end. Where the cursor goes to another line a new one begins, marked by a bar.
func show(line string) string {
	if !strings.ContainsAny(line, "\x1b\r\b\t") {
		return strings.TrimRight(line, " ")
	}
	var t terminal
	for line != "" {
		if m := codeForm.FindStringSubmatch(line); m != nil && t.obey(m) {
			line = line[len(m[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		t.put(r)
		line = line[size:]
	}
	return t.text()
}

// terminal draws on one line of any length.
type terminal struct {
	cells  []string // what stands in each column, "" to the right of a wide character
	column int
	left   string // what lines the cursor left show
}

func (t *terminal) text() string {
	shown := strings.TrimRight(strings.Join(t.cells, ""), " ")
	switch {
	case t.left == "":
		return shown
	case shown == "":
		return t.left
	default:
		return t.left + "|" + shown
	}
}

func (t *terminal) fill(n int) {
	for len(t.cells) < n {
		t.cells = append(t.cells, " ")
	}
}

func (t *terminal) put(r rune) {
	switch {
	case r == '\r':
		t.column = 0
	case r == '\b':
		t.column = max(0, t.column-1)
	case r == '\t':
		t.column += 8 - t.column%8
	case t.column > 0 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		at := t.column - 1
		t.fill(t.column)
		for at > 0 && t.cells[at] == "" {
			at--
		}
		t.cells[at] += string(r)
	default:
		t.cell(string(r))
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			t.cell("")
		}
	}
}

// cell writes one column. Half of a wide character leaves a blank.
func (t *terminal) cell(text string) {
	t.fill(t.column + 2)
	if text != "" && t.cells[t.column] == "" && t.column > 0 {
		t.cells[t.column-1] = " "
	}
	if t.cells[t.column+1] == "" {
		t.cells[t.column+1] = " "
	}
	t.cells[t.column] = text
	t.column++
}

// obey carries out a code: its parameter and its letter. It returns false for
// one it does not know, which is then drawn.
func (t *terminal) obey(m []string) bool {
	if m[2] == "" {
		return true // a title, a link, a character set: nothing to be seen
	}
	if m[1] != "" && m[1][0] >= '<' {
		return m[2] != "K" && m[2] != "J"
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		n = 0
	}
	switch m[2] {
	case "K":
		from, to := t.column, len(t.cells)
		switch n {
		case 1:
			from, to = 0, min(t.column+1, to)
		case 2:
			from = 0
		}
		for i := from; i < to; i++ {
			t.cells[i] = " "
		}
	case "C":
		t.column = min(t.column+max(n, 1), 1<<12)
	case "D":
		t.column = max(t.column-max(n, 1), 0)
	case "G", "`":
		t.column = min(max(n, 1), 1<<12) - 1
	case "P", "@", "X", "a", "b", "I", "Z":
		return false
	case "A", "B", "E", "F", "H", "f", "J", "S", "T", "L", "M", "d", "r", "u":
		t.left, t.cells = t.text(), nil
	}
	return true
}
