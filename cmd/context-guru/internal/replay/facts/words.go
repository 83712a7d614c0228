package facts

import (
	"iter"
	"strings"
)

// isWordByte reports whether a byte belongs to a word; those of characters
// beyond ASCII do.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

func isWord(r rune) bool { return r >= 0x80 || isWordByte(byte(r)) }

// joins reports whether a byte holds words together: of a path, a number, a
// dotted or hyphenated name, an address.
func joins(c byte) bool { return c == '.' || c == '/' || c == '-' || c == '@' }

// words yields the words of a text, joined ones in one piece.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := 0; at < len(text); {
			if !isWordByte(text[at]) && !joins(text[at]) {
				at++
				continue
			}
			start := at
			for at < len(text) && (isWordByte(text[at]) || joins(text[at])) {
				at++
			}
			if word := trim(text[start:at]); word != "" && !yield(word) {
				return
			}
		}
	}
}

// trim removes what joins nothing. A path keeps its beginning.
func trim(word string) string {
	word = strings.TrimRight(word, "./-@")
	word = strings.TrimLeft(word, "-@")
	if !strings.Contains(word, "/") {
		word = strings.TrimLeft(word, ".")
	}
	return word
}

// Rendered returns what a terminal shows of a line: no escape sequences, no
// line end, and of the parts between carriage returns the last that says
// something.
func Rendered(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if strings.IndexByte(line, '\x1b') >= 0 {
		line = withoutCodes(line)
	}
	if at := strings.LastIndexByte(line, '\r'); at >= 0 {
		line = line[at+1:]
	}
	return line
}

// withoutCodes removes the sequences ESC [ … letter and ESC ] … BEL or ESC \,
// and of any other the two bytes it begins with.
func withoutCodes(line string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(line, '\x1b')
		if at < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:at])
		line = line[at+1:]
		if line == "" {
			return b.String()
		}
		kind := line[0]
		line = line[1:]
		switch kind {
		case '[':
			end := strings.IndexFunc(line, func(r rune) bool { return r >= '@' && r <= '~' })
			line = line[min(end+1, len(line)):]
			if end < 0 {
				line = ""
			}
		case ']':
			if end := strings.IndexAny(line, "\a\x1b"); end >= 0 {
				bell := line[end] == '\a'
				line = line[end+1:]
				if !bell {
					line = strings.TrimPrefix(line, `\`)
				}
			} else {
				line = ""
			}
		}
	}
}
