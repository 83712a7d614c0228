package expand

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// grepContext is how many lines are shown around a match.
	grepContext = 2

	// maxGrepLine bounds how much of one line is shown: a match in a minified
	// file of one line must not return the file.
	maxGrepLine = 2000

	// maxGrepBytes bounds the result. Numbers and context could otherwise make
	// it several times as large as the original.
	maxGrepBytes = 1 << 20

	// maxGrepWork bounds bytes searched times instructions of the pattern, which
	// is what RE2 matching costs at worst: 2 to 5 ns each with common patterns, 10
	// to 20 with ones made to be slow, so 2 to 4 seconds of one core in all. A
	// pattern of 50 instructions may search 5 MB.
	maxGrepWork = 1 << 28

	// grepCheck is how many bytes are searched between looks at the context.
	grepCheck = 1 << 20
)

// grep shows the lines of a window that match, with the lines around them.
func grep(ctx context.Context, window string, first int, q Query, most int) (Selection, error) {
	re, err := compile(q.Grep)
	if err != nil {
		return Selection{}, err
	}
	if cost := work(q.Grep, re); cost*len(window) > maxGrepWork {
		return Selection{}, &SelectorError{Param: "grep", Problem: fmt.Sprintf(
			"costs too much on %d bytes of text; choose fewer lines with lines=A-B, or use a plainer pattern", len(window))}
	}
	matches, err := match(ctx, re, window)
	if err != nil {
		return Selection{}, err
	}
	if matches.count == 0 {
		return Selection{Note: "no line matches", Short: true}, nil
	}
	shown := matches.keep(q.Head, q.Tail)
	out := printer{re: re, matches: matches, most: most}
	out.print(window, first)
	s := Selection{Text: out.text.String(), Short: out.shown < shown || out.cut}
	s.Note = fmt.Sprintf("%d of %d matching lines", out.shown, matches.count)
	if out.cut {
		s.Note += fmt.Sprintf(", %d bytes at most of a line", maxGrepLine)
	}
	if out.shown < shown {
		s.Note += fmt.Sprintf(", the next is after line %d", out.last)
	}
	return s, nil
}

// work is the cost of a pattern per byte: its instructions. A pattern that is
// plain text costs next to nothing.
func work(pattern string, re *regexp.Regexp) int {
	if _, plain := re.LiteralPrefix(); plain {
		return 1
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return maxGrepWork // not reached: the pattern compiled
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxGrepWork
	}
	return len(prog.Inst)
}

// lineSet is the set of matching lines, a bit each, counted from 0.
type lineSet struct {
	bits  []uint64
	count int
}

func (l *lineSet) has(i int) bool {
	return i >= 0 && i>>6 < len(l.bits) && l.bits[i>>6]&(1<<(i&63)) != 0
}

func match(ctx context.Context, re *regexp.Regexp, window string) (*lineSet, error) {
	set := &lineSet{}
	i, searched := 0, 0
	for line := range strings.Lines(window) {
		if searched += len(line); searched >= grepCheck {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("search: %w", err)
			}
			searched = 0
		}
		if i>>6 == len(set.bits) {
			set.bits = append(set.bits, 0)
		}
		if body, _ := splitEnd(line); re.MatchString(body) {
			set.bits[i>>6] |= 1 << (i & 63)
			set.count++
		}
		i++
	}
	return set, nil
}

// keep drops all but the first head and the last tail matches and returns how
// many are left. The count stays what it was: it is told.
func (l *lineSet) keep(head, tail int) int {
	if head == 0 && tail == 0 || head+tail >= l.count {
		return l.count
	}
	ordinal := 0
	for i := range len(l.bits) << 6 {
		if !l.has(i) {
			continue
		}
		if ordinal >= head && ordinal < l.count-tail {
			l.bits[i>>6] &^= 1 << (i & 63)
		}
		ordinal++
	}
	return head + tail
}

// printer writes matching lines and their context.
type printer struct {
	re      *regexp.Regexp
	matches *lineSet
	most    int // bytes
	text    strings.Builder
	shown   int  // matching lines written
	last    int  // number of the last line written
	cut     bool // some line was shortened
}

// print writes the window's lines. Context is decided by looking grepContext
// lines ahead and back in the set, so no line is held.
func (p *printer) print(window string, first int) {
	i := -1
	for line := range strings.Lines(window) {
		i++
		matched := p.matches.has(i)
		near := matched
		for d := 1; d <= grepContext; d++ {
			near = near || p.matches.has(i-d) || p.matches.has(i+d)
		}
		if !near {
			continue
		}
		body, end := splitEnd(line)
		if len(body) > maxGrepLine {
			body, p.cut = p.excerpt(body, matched), true
		}
		number := first + i
		var gap string
		if p.text.Len() > 0 && number != p.last+1 {
			gap = "--\n"
		}
		sign := "-"
		if matched {
			sign = ":"
		}
		entry := gap + strconv.Itoa(number) + sign + body + end
		if p.text.Len()+len(entry) > p.most {
			return
		}
		p.text.WriteString(entry)
		p.last = number
		if matched {
			p.shown++
		}
	}
}

// excerpt shortens a line to the surroundings of its match, never inside a
// character.
func (p *printer) excerpt(body string, matched bool) string {
	start := 0
	if matched {
		if at := p.re.FindStringIndex(body); at != nil {
			start = max(0, at[0]-maxGrepLine/4)
		}
	}
	end := min(len(body), start+maxGrepLine)
	start = max(0, min(start, end-maxGrepLine))
	for start > 0 && !utf8.RuneStart(body[start]) {
		start--
	}
	for end < len(body) && end > start && !utf8.RuneStart(body[end]) {
		end--
	}
	out := body[start:end]
	if start > 0 {
		out = "…" + out
	}
	if end < len(body) {
		out += "…"
	}
	return out
}

// splitEnd separates a line from its end.
func splitEnd(line string) (body, end string) {
	body = strings.TrimSuffix(line, "\n")
	if len(body) < len(line) {
		body = strings.TrimSuffix(body, "\r")
	}
	return body, line[len(body):]
}
