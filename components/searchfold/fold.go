package searchfold

import "strings"

// What a fold costs and saves is weighed in bytes; these are what the usual
// encodings make of the rest.
const (
	// rowCost is the cost of a tab in front of a number less that of the colon
	// that goes, headingCost that of another line. A blank in front of a name is
	// part of its token.
	rowCost     = 3
	headingCost = 6
	// minDirectory is the shortest directory worth a heading.
	minDirectory = len("src/")
	// lookahead is how many files may come under one directory.
	lookahead = 256
)

// unit is a run of lines of one file, or a single line, and what stands between
// it and the unit in front.
type unit struct {
	first, end int  // lines
	count      int  // lines to fold
	path       int  // its length
	dir        int  // length of the directory in it
	inFile     bool // all of them are lines of the file
	joined     bool // nothing but separators stands in front
	flat       int  // what it costs without a directory in front of it
}

// foldPaths folds by file and by directory. It returns nothing when there is
// nothing to fold.
func foldPaths(lines []line, size int) string {
	units := units(lines)
	w := writer{lines: lines}
	w.b.Grow(size)
	at := 0
	for i := 0; i < len(units); {
		u := &units[i]
		w.verbatim(at, u.first)
		dir, n := directory(lines, units[i:])
		if n == 0 {
			n = 1
			w.open = false
			w.unit(u)
		} else {
			w.directory(units[i:i+n], dir)
		}
		i += n
		at = units[i-1].end
	}
	if !w.folded {
		return ""
	}
	w.verbatim(at, len(lines))
	return w.b.String()
}

// units takes the lines that begin with a path together by file. Separators
// between them belong to the unit behind.
func units(lines []line) []unit {
	var all []unit
	for i := 0; i < len(lines); {
		if lines[i].path == 0 {
			i++
			continue
		}
		l := &lines[i]
		u := unit{first: i, path: l.path, dir: l.dir, inFile: l.inFile}
		for ; i < len(lines); i++ {
			if next := &lines[i]; next.path == u.path && next.inFile == u.inFile && next.text[:u.path] == l.text[:u.path] {
				if !next.kept {
					u.count++
				}
				u.end = i + 1
			} else if next.text != separator || !u.inFile {
				break
			}
		}
		i = u.end
		if n := len(all); n > 0 {
			u.joined = between(lines[all[n-1].end:u.first])
		}
		u.flat = u.count * u.path
		if u.inFile {
			u.flat = min(u.flat, u.path+headingCost+u.count*rowCost)
		}
		all = append(all, u)
	}
	return all
}

// between reports whether lines are what may stand between units of a
// directory: nothing, or one separator.
func between(lines []line) bool {
	return len(lines) == 0 || len(lines) == 1 && lines[0].text == separator
}

// directory finds the directory to fold the first of the units by, and how many
// of them: those for which it saves the most.
func directory(lines []line, units []unit) (dir string, n int) {
	first := lines[units[0].first].text
	dir = first[:units[0].dir]
	flat, inside, rows, best := 0, 0, 0, 0
	common := len(dir)
	for i := range units[:min(len(units), lookahead)] {
		u := &units[i]
		text := lines[u.first].text
		if i > 0 && !u.joined {
			break
		}
		if common = shared(first[:common], text[:u.dir]); common < minDirectory {
			break
		}
		// In the directory, a path is shorter by its name; headings are, too.
		flat += u.flat
		if u.nested() {
			inside += u.path + headingCost + u.count*rowCost
			rows++
		} else {
			inside += u.count * u.path
			rows += u.count
		}
		if saved := flat - (common + headingCost + inside - rows*common); saved > best {
			best, n, dir = saved, i+1, first[:common]
		}
	}
	return dir, n
}

// nested reports whether a file gets a heading of its own.
func (u *unit) nested() bool { return u.inFile && u.count > 1 && u.flat < u.count*u.path }

// shared returns the length of the longest directory both begin with.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexAny(a[:n], `/\`) + 1
}

// writer writes the folded text.
type writer struct {
	b      strings.Builder
	lines  []line
	folded bool
	above  string // the directory that is folded by
	open   bool   // its heading is written
}

// verbatim writes lines as they are.
func (w *writer) verbatim(from, to int) {
	for _, l := range w.lines[from:to] {
		w.row(l.text, l.end)
	}
}

func (w *writer) row(parts ...string) {
	for _, part := range parts {
		w.b.WriteString(part)
	}
}

// directory writes units under the heading of a directory.
func (w *writer) directory(units []unit, dir string) {
	w.above, w.open = dir, false
	at := units[0].first
	for i := range units {
		for ; at < units[i].first; at++ {
			w.separator(at, " ", w.open)
		}
		w.unit(&units[i])
		at = units[i].end
	}
	w.above = ""
}

// unit writes the lines of a unit below the directory's heading, and below one
// of the file if it is worth one. A heading is written in front of the first
// line that needs it, lines that are kept stand between as they are.
func (w *writer) unit(u *unit) {
	nested, open := u.nested(), false
	for i := u.first; i < u.end; i++ {
		l := &w.lines[i]
		switch {
		case l.path == 0 && open:
			w.separator(i, "\t", true)
		case l.path == 0:
			w.separator(i, " ", w.open)
		case l.kept:
			w.row(l.text, l.end)
		case nested:
			if !open {
				w.below(i, l.text[len(w.above):u.path], ":", w.lineEnd(i))
				open, w.folded = true, true
			}
			w.row("\t", l.text[u.path+1:], l.end)
		default:
			w.below(i, l.text[len(w.above):], l.end)
		}
	}
}

// below writes a line below the heading of the directory, if there is one.
func (w *writer) below(i int, parts ...string) {
	if w.above != "" {
		if !w.open {
			w.row(w.above, w.lineEnd(i))
			w.open, w.folded = true, true
		}
		w.row(" ")
	}
	w.row(parts...)
}

func (w *writer) separator(i int, indent string, open bool) {
	if open {
		w.row(indent)
	}
	w.row(w.lines[i].text, w.lines[i].end)
}

// lineEnd is the end of a heading in front of a line.
func (w *writer) lineEnd(i int) string {
	if w.lines[i].end == "" {
		return "\n"
	}
	return w.lines[i].end
}
