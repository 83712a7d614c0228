package searchfold

import (
	"context"
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
)

const (
	// linesPerCheck is how often long work looks whether it is still wanted.
	linesPerCheck = 1 << 14
	// maxPath is the longest path; systems allow 4096 bytes and nobody uses them.
	maxPath = 1024
	// maxDigits is the most digits of a line number.
	maxDigits = 8
)

// separator is what grep puts between groups of lines that do not touch.
const separator = "--"

// line is a line of the text.
type line struct {
	text, end string
	path      int  // length of the path it begins with, or 0
	dir       int  // length of the directory in it, slash included
	inFile    bool // a sign and more follow the path
	other     bool // it has a number like a line of a file and is none
	kept      bool // it keeps its path: what goes wrong is often read on its own
}

// read takes a text apart. A line belongs to a path if it begins with one and
// a line number follows, as grep -n and compilers write it, or if it is one,
// or if it begins with one and grep without -n may have written it.
func read(ctx context.Context, text string) ([]line, error) {
	lines := make([]line, 0, strings.Count(text, "\n")+1)
	for raw := range strings.Lines(text) {
		if len(lines)%linesPerCheck == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l := line{text: strings.TrimSuffix(raw, "\n")}
		if len(l.text) < len(raw) {
			l.text = strings.TrimSuffix(l.text, "\r")
		}
		l.end = raw[len(l.text):]
		if n, ok := numbered(l.text); ok {
			l.set(n, true)
		} else {
			l.other = n > 0
		}
		lines = append(lines, l)
	}
	// The lines around a hit (grep -C) have a dash for a colon. Where their
	// path ends is only clear beside a hit.
	var near *line
	for i := range lines {
		near = lines[i].beside(near)
	}
	near = nil
	for i := range lines {
		near = lines[len(lines)-1-i].beside(near)
	}
	for i := range lines {
		l := &lines[i]
		if l.path == 0 && !l.other {
			if n := unnumbered(l.text); n > 0 {
				l.set(n, true)
			} else if isListed(l.text) {
				l.set(len(l.text), false)
			}
		}
		l.kept = l.path > 0 && (isDiagnosis(l.text[l.path:]) || errline.Is(l.text))
	}
	return lines, nil
}

// set notes the path of a line, unless what follows its directory begins with a
// blank, which means something in a folded text.
func (l *line) set(path int, inFile bool) {
	dir := strings.LastIndexAny(l.text[:path-1], `/\`) + 1
	if !isBlank(l.text[dir]) {
		l.path, l.dir, l.inFile = path, dir, inFile
	}
}

// beside makes a line one of the file that the line near it is from, if it is
// written like that. It returns the line that the next one is beside.
func (l *line) beside(near *line) *line {
	switch {
	case l.path > 0:
		return l
	case near == nil || l.text == separator:
		return near
	}
	rest, ok := strings.CutPrefix(l.text, near.text[:near.path])
	if !ok || !isNumber(rest, '-') {
		return nil
	}
	l.set(near.path, true)
	return l
}

// isNumber reports whether a text begins with a sign, a line number and the
// sign again.
func isNumber(text string, sign byte) bool {
	if text == "" || text[0] != sign {
		return false
	}
	n := digits(text[1:])
	return n > 0 && n <= maxDigits && len(text) > n+1 && text[n+1] == sign
}

func digits(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// numbered returns the length of what stands in front of a line number, and
// whether it is a path and the number one of a line.
func numbered(text string) (length int, ok bool) {
	for at := 0; at < min(len(text), maxPath); at++ {
		i := strings.IndexByte(text[at:min(len(text), maxPath)], ':')
		if i < 0 {
			break
		}
		if at += i; isNumber(text[at:], ':') {
			return at, isPath(text[:at]) && !isClock(text, at)
		}
	}
	return 0, false
}

// isClock reports whether the colon at i is one of a time of day.
func isClock(text string, i int) bool {
	isPair := func(s string) bool { return digits(s) == len("00") }
	return i > 0 && isDigit(text[i-1]) && isPair(text[i+1:]) && len(text) > i+len(":00:") && isPair(text[i+len(":00:"):])
}

// isDiagnosis reports whether the message of a compiler follows a path.
func isDiagnosis(text string) bool {
	for n := digits(text[min(1, len(text)):]); n > 0 && len(text) > n+1 && text[0] == ':'; n = digits(text[1:]) {
		text = text[n+1:] // the line, the column
	}
	for _, word := range []string{": error", ": fatal", ": warning", ": note"} {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}

// unnumbered returns the length of the path grep without -n may have put in
// front of a line, or 0. A program that reports something about a file writes
// much the same, but with one blank behind the colon.
func unnumbered(text string) int {
	start := 0
	if isDrive(text) {
		start = len("C:")
	}
	i := strings.IndexByte(text[start:min(len(text), maxPath)], ':')
	if i < 0 {
		return 0
	}
	path, rest := text[:start+i], text[start+i+1:]
	switch {
	case !strings.ContainsAny(path, `/\`) || strings.ContainsAny(path, " \t") || !isPath(path):
		return 0
	case rest == "" || rest[0] == ':' || rest[0] == '/' || rest[0] == '\\':
		return 0
	case rest[0] == ' ' && (len(rest) == 1 || rest[1] != ' '):
		return 0
	case isNumber("-"+rest, '-'):
		return 0 // it could not be told from a line beside a hit
	}
	return len(path)
}

// isListed reports whether a line is nothing but a path, as find prints it. One
// with a colon behind it is a heading.
func isListed(text string) bool {
	if len(text) > maxPath || strings.HasSuffix(text, ":") || !isPath(text) || !strings.ContainsAny(text, `/\`) || strings.ContainsAny(text, "<>\"'`|*?;={}$&,") {
		return false
	}
	if !strings.ContainsAny(text, " \t") {
		return true
	}
	// With blanks in it, it may as well be a command or a message.
	rest := text
	if isDrive(text) {
		rest = text[len("C:"):]
	}
	return isRooted(text) && strings.IndexByte(rest, ':') < 0 && !strings.Contains(text, "  ") && !strings.Contains(text, " -")
}

// isPath reports whether a text may be the path of a file. There may be blanks
// in it, but not in what comes first.
func isPath(text string) bool {
	if text == "" || len(text) > maxPath || isBlank(text[0]) || strings.Contains(text, "://") {
		return false
	}
	dotted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == 0x7f || c == '"' || c == '`' || c == '|':
			return false
		case c == '/' || c == '\\':
			return strings.IndexFunc(text[i:], func(r rune) bool { return r < ' ' || r == '"' || r == '`' || r == '|' }) < 0
		case c == ' ':
			return false
		case c == '.':
			dotted = i+1 < len(text)
		}
	}
	return dotted
}

// isRooted reports whether a path begins where paths begin.
func isRooted(path string) bool {
	for _, root := range []string{"/", "./", "../", "~/", `.\`, `..\`} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return isDrive(path)
}

// isDrive reports whether a text begins with a drive's letter and a slash.
func isDrive(text string) bool {
	return len(text) > 2 && isLetter(text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/')
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
