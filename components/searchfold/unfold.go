package searchfold

import "strings"

// unfoldPaths is the inverse of the folds by file and by directory. It knows
// nothing of how they choose: what is indented belongs to the heading above it,
// a tab to a file's and a blank to a directory's, and a line that has the
// heading in front of it stands for itself.
func unfoldPaths(folded string) string {
	var b strings.Builder
	b.Grow(2 * len(folded))
	directory, file := "", ""
	for raw, rest := nextLine(folded); raw != ""; raw, rest = nextLine(rest) {
		body := withoutEnd(raw)
		switch {
		case raw[0] == '\t' && file != "":
			if body != "\t--" {
				b.WriteString(file)
				b.WriteString(sign(body[1:]))
			}
			b.WriteString(raw[1:])
		case raw[0] == ' ' && directory != "":
			file = ""
			if strings.HasSuffix(body, ":") && strings.HasPrefix(rest, "\t") {
				file = directory + body[1:len(body)-1]
				continue
			}
			if body != " --" {
				b.WriteString(directory)
			}
			b.WriteString(raw[1:])
		case standsAlone(body, file):
			b.WriteString(raw)
		case announces(body, "/", rest, " ") || announces(body, `\`, rest, " "):
			directory, file = body, ""
		case announces(body, ":", rest, "\t"):
			directory, file = "", body[:len(body)-1]
		default:
			if directory == "" || !strings.HasPrefix(raw, directory) {
				directory, file = "", ""
			}
			b.WriteString(raw)
		}
	}
	return b.String()
}

// standsAlone reports whether a line below the heading of a file is one of that
// file with the name in front of it.
func standsAlone(body, file string) bool {
	rest, ok := strings.CutPrefix(body, file)
	return ok && file != "" && len(rest) > 1 && (rest[0] == ':' || rest[0] == '-')
}

// announces reports whether a line is a heading: it ends and the next one begins
// like this, and it may be a path.
func announces(body, end, rest, begin string) bool {
	return strings.HasSuffix(body, end) && strings.HasPrefix(rest, begin) && looksLikePath(body)
}

// sign is what stood in front of the rest of a line of a file: a dash if the
// number in it is followed by one, a colon otherwise.
func sign(rest string) string {
	if after := strings.TrimLeft(rest, "0123456789"); len(after) < len(rest) && after != "" && after[0] == '-' {
		return "-"
	}
	return ":"
}

// looksLikePath reports whether a line may be a heading.
func looksLikePath(body string) bool {
	first := strings.IndexAny(body, "/\\. \t")
	if first < 0 || body[0] == ' ' || body[0] == '\t' {
		return false
	}
	blank, slash := strings.IndexAny(body, " \t"), strings.IndexAny(body, `/\`)
	return blank < 0 || slash >= 0 && slash < blank
}

// unfoldListing is the inverse of the fold of ls -R.
func unfoldListing(folded string) string {
	var b strings.Builder
	b.Grow(2 * len(folded))
	root, behindEmpty := "", true
	for raw, rest := nextLine(folded); raw != ""; raw, rest = nextLine(rest) {
		body := withoutEnd(raw)
		if behindEmpty && strings.HasSuffix(body, ":") {
			switch {
			case root != "" && strings.HasPrefix(body, "./"):
				b.WriteString(root)
				raw = raw[1:]
			case root == "" && strings.Contains(body, "/"):
				root = body[:len(body)-1]
			}
		}
		b.WriteString(raw)
		behindEmpty = body == ""
	}
	return b.String()
}

// nextLine cuts the first line off, its end included.
func nextLine(text string) (raw, rest string) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

func withoutEnd(raw string) string {
	if body, found := strings.CutSuffix(raw, "\n"); found {
		return strings.TrimSuffix(body, "\r")
	}
	return raw
}
