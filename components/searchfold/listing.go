package searchfold

import "strings"

// minHeadings is the least number of headings that makes a listing.
const minHeadings = 3

// foldListing folds the headings of ls -R: those behind the first that are
// below it begin with a dot in its stead. It returns nothing when the text is
// no listing.
func foldListing(lines []line, size int) string {
	root, headings := "", 0
	for i := range lines {
		name, ok := heading(lines, i)
		switch {
		case !ok:
			continue
		case root == "":
			if root = name; len(root) < len("./") || strings.HasPrefix(root, ".") {
				return ""
			}
		case !strings.HasPrefix(name, root+"/"):
			return ""
		}
		headings++
	}
	if headings < minHeadings {
		return ""
	}
	var b strings.Builder
	b.Grow(size)
	for i, l := range lines {
		if name, ok := heading(lines, i); ok && name != root {
			l.text = "." + name[len(root):] + ":"
		}
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.String()
}

// heading returns the directory a line announces: a path and a colon, at the
// beginning or behind an empty line.
func heading(lines []line, i int) (string, bool) {
	name, ok := strings.CutSuffix(lines[i].text, ":")
	if !ok || i > 0 && lines[i-1].text != "" {
		return "", false
	}
	return name, strings.IndexByte(name, '/') >= 0 && isPath(name)
}
