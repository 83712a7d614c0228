// Package names lists what a text names: its paths, identifiers and numbers.
//
// A view that hides lines lists the names in them, so that a reader knows what
// there is to find behind the marker, and often what it came for:
//
//	parseBody ./cmd/main.go v1.2.3 4096
//
// A name is a word that stands for one particular thing: one with a slash or
// underscore in it, with a capital or a digit inside, several words joined by
// dots, an at sign, and a number of three digits or more. Words of a language
// are none. Each name is listed once, and none that a reader sees anyway,
// alone or as a part of a longer one.
package names

import (
	"fmt"
	"iter"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
)

const (
	// minLength and maxLength bound what is listed, in bytes: what is shorter
	// says little, what is longer costs more than it says.
	minLength, maxLength = 4, 96
	// minDigits is the length of the shortest number that is listed.
	minDigits = 3
	// maxShare is the largest part of a hidden text that may be spent on its names:
	// a view that is half of the text is none.
	maxShare = 50
	// maxText bounds a list in bytes, whatever its share: some 4,000 tokens of
	// names are more than anybody looks through, and a grep behind the marker
	// finds the rest.
	maxText = 12 << 10
	// maxNames bounds the memory for one text.
	maxNames = 1 << 14
	// maxParts is how many joined words of a name are looked at as names of their
	// own.
	maxParts = 8
)

// List is the names of one text.
type List struct {
	known map[string]bool
	names []string
	bytes int
	over  bool // there were more than maxNames
}

// Known returns a list that leaves out the names of these texts.
func Known(texts ...string) *List {
	l := &List{known: map[string]bool{}}
	for _, text := range texts {
		for word := range words(text) {
			l.mark(word)
		}
	}
	return l
}

// Add lists the names of a text that are not known yet.
func (l *List) Add(text string) {
	for word := range words(text) {
		if l.known[word] || !isName(word) {
			continue
		}
		if len(l.names) == maxNames {
			l.over = true
			return
		}
		l.mark(word)
		l.names = append(l.names, word)
		l.bytes += len(word) + len(" ")
	}
}

// mark notes a word and those it is joined of as known.
func (l *List) mark(word string) {
	if len(l.known) > 4*maxNames {
		return
	}
	l.known[word] = true
	var starts [maxParts]int
	n := 0
	for i := range len(word) {
		if !joins(word[i]) || i == 0 {
			continue
		}
		if n == maxParts {
			return
		}
		l.known[word[:i]] = true
		l.known[word[i+1:]] = true
		for _, start := range starts[:n] {
			l.known[word[start:i]] = true
		}
		starts[n] = i + 1
		n++
	}
}

// Text returns the names, separated by blanks and in the order of the text, and
// how many are left out for taking more than so many bytes. The longest are
// left out first.
func (l *List) Text(most int) (text string, left int) {
	most = min(most, maxText)
	if len(l.names) == 0 || most <= 0 {
		return "", len(l.names)
	}
	longest, atLongest := l.fit(most)
	var b strings.Builder
	for _, name := range l.names {
		switch {
		case len(name) > longest:
			left++
			continue
		case len(name) == longest:
			if atLongest == 0 {
				left++
				continue
			}
			atLongest--
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name)
	}
	return b.String(), left
}

// Line is Text as a line of a view, or nothing where nothing fits.
func (l *List) Line(most int, ending string) string {
	text, left := l.Text(most)
	switch {
	case text == "":
		return ""
	case left > 0 || l.over:
		return "... names in there, the shorter ones: " + text + ending
	default:
		return "... names in there: " + text + ending
	}
}

// CheckShare returns an error for a share that is none, in percent.
func CheckShare(percent int) error {
	if percent > maxShare {
		return &pipeline.FieldError{Field: "keep_names", Problem: fmt.Sprintf("must be at most %d, got %d", maxShare, percent)}
	}
	return pipeline.AtLeast("keep_names", percent, 0)
}

// fit returns the length of the longest names that fit, and how many of those.
func (l *List) fit(most int) (longest, count int) {
	var lengths [maxLength + 1]int
	for _, name := range l.names {
		lengths[len(name)]++
	}
	for n, many := range lengths {
		if fits := most / (n + 1); fits < many {
			return n, fits
		}
		most -= many * (n + 1)
	}
	return maxLength, lengths[maxLength]
}

// words yields the words of a text, joined ones in one piece.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := 0; at < len(text); {
			if !isWord(text[at]) && !joins(text[at]) {
				at++
				continue
			}
			start := at
			for at < len(text) && (isWord(text[at]) || joins(text[at])) {
				at++
			}
			if word := trim(text, start, at); word != "" && !yield(word) {
				return
			}
		}
	}
}

// trim returns the word between two places without what joins nothing. The
// beginning of a path stays; a letter behind a backslash is an escape's.
func trim(text string, start, end int) string {
	word := text[start:end]
	if start > 0 && text[start-1] == '\\' && len(word) > 1 && strings.IndexByte("nrt", word[0]) >= 0 {
		word = word[1:]
	}
	word = strings.Trim(strings.TrimRight(word, "./-@"), "-@")
	if strings.IndexByte(word, '/') < 0 {
		word = strings.TrimLeft(word, ".")
	}
	return word
}

// isName reports whether a word stands for one particular thing.
func isName(word string) bool {
	if len(word) < minDigits || len(word) > maxLength {
		return false
	}
	letters, digits, signs := 0, 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '_' || c == '/' || c == '.' || c == '@':
			signs++
		case c >= 'A' && c <= 'Z' && i > 0 && word[i-1] >= 'a' && word[i-1] <= 'z':
			signs++
			letters++
		case isWord(c):
			letters++
		}
	}
	if letters == 0 {
		return digits >= minDigits
	}
	return len(word) >= minLength && digits+signs > 0
}

func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// joins reports whether a byte holds the words of a name together.
func joins(c byte) bool { return c == '.' || c == '/' || c == '-' || c == '@' }
