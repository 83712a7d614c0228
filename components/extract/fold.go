package extract

import (
	"fmt"
	"strings"
)

const (
	// maxBlock is the longest block of lines whose repetition is seen.
	maxBlock = 12
	// worthFolding is how many times its own length a note has to save.
	worthFolding = 2
)

// fold writes the lines, of repetitions the first copy and a note, and returns
// how many lines it left out. The shortest block that repeats is taken. Every
// pair of lines at most maxBlock apart is compared once, so the time is linear.
func fold(b *strings.Builder, lines []line) (left int) {
	var differ [maxBlock + 1]int // lines[i] and lines[i+k] are equal up to here
	for i := 0; i < len(lines); {
		block, copies := 1, 1
		for k := 1; k <= maxBlock && i+k < len(lines); k++ {
			if differ[k] < i || i == 0 {
				at := i
				for at+k < len(lines) && lines[at].text == lines[at+k].text {
					at++
				}
				differ[k] = at
			}
			if n := 1 + (differ[k]-i)/k; n > 1 && worth(lines[i:i+k], n) {
				block, copies = k, n
				break
			}
		}
		for _, l := range lines[i : i+block] {
			b.WriteString(l.text)
			b.WriteString(l.end)
		}
		if copies > 1 {
			b.WriteString(note(block, copies))
			b.WriteString(lines[i].end)
			left += block * (copies - 1)
		}
		i += block * copies
	}
	return left
}

// worth reports whether a note is much shorter than the copies it stands for.
func worth(block []line, copies int) bool {
	size := 0
	for _, l := range block {
		size += len(l.text) + len(l.end)
	}
	saved := size * (copies - 1)
	return saved >= worthFolding*len("... (previous line x2)") && saved >= worthFolding*len(note(len(block), copies))
}

// note states how many times in all the lines in front of it were there.
func note(block, copies int) string {
	if block == 1 {
		return fmt.Sprintf("... (previous line x%d)", copies)
	}
	return fmt.Sprintf("... (previous %d lines x%d)", block, copies)
}
