package linecap

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/internal/wrapper"
)

const (
	// edgeLines is how many lines at either end are never folded.
	edgeLines = 3
	// minRepeat is the length of the shortest line that is folded, in characters.
	minRepeat = 8
	// minSaved is the least that the copies of a line have to take, in bytes: a
	// count takes about half of it.
	minSaved = 16
	// written stands for the count of a line that is there already.
	written = -1
)

// repeats counts the lines that may be folded and are there more than once. It
// finds none in a text that lives by its form, such as a program: there, a line
// says something by its place.
func repeats(ctx context.Context, text string) (map[string]int, error) {
	copies := make(map[string]int)
	var r wrapper.ReminderLines
	number, lines, formed := 0, 0, 0
	last := strings.Count(text, "\n") + 1 - edgeLines
	if strings.HasSuffix(text, "\n") {
		last--
	}
	for raw := range strings.Lines(text) {
		if number++; number%linesPerCheck == 1 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line := withoutEnd(raw)
		if r.Holds(line) || line == "" {
			continue
		}
		lines++
		if isFormed(line) {
			formed++
			continue
		}
		if number > edgeLines && number <= last && len(line) >= minRepeat {
			copies[line]++
		}
	}
	if formed*3 > lines {
		return nil, nil
	}
	for line, n := range copies {
		if n < 2 || (n-1)*(len(line)+1) < minSaved || !isFoldable(line) {
			delete(copies, line)
		}
	}
	return copies, nil
}

// isFormed reports whether a line is indented or unfinished, or begins or ends
// like one of a program, a list or a table.
func isFormed(line string) bool {
	return strings.IndexByte(" \t#@<|`*/-+.", line[0]) >= 0 || strings.IndexByte("{}()[];,:\\<>|`", line[len(line)-1]) >= 0
}

// isFoldable reports whether a line says enough by itself, and nothing about
// what stands above it.
func isFoldable(line string) bool {
	return utf8.RuneCountInString(line) >= minRepeat && !isVerdict(line) && !isFrame(line) &&
		strings.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf || isLetter(byte(r)) }) >= 0
}
