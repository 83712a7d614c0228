package extract

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

const (
	// maxBlock is the longest block of lines whose repetition is seen.
	maxBlock = 12
	// worthFolding is how many times its own length a note has to save.
	worthFolding = 2
)

// repeat is a block of lines that stands several times in a row.
type repeat struct{ at, block, copies int }

// repeats finds the repetitions, the shortest block that repeats at each place.
// Every pair of lines at most maxBlock apart is compared once, by hash first, so
// the time is linear.
func repeats(lines []line) (found []repeat) {
	seed := maphash.MakeSeed() // only tells lines apart: equal hashes are compared
	sums := make([]uint64, len(lines))
	for i := range lines {
		sums[i] = maphash.String(seed, lines[i].text)
	}
	var differ [maxBlock + 1]int // lines[i] and lines[i+k] are equal up to here
	for i := 0; i < len(lines); {
		next := i + 1
		if !slices.Contains(sums[next:min(next+maxBlock, len(sums))], sums[i]) {
			i = next // nothing near is equal, which most lines can say
			continue
		}
		for k := 1; k <= maxBlock && i+k < len(lines); k++ {
			if differ[k] < i || i == 0 {
				at := i
				for at+k < len(lines) && sums[at] == sums[at+k] && lines[at].text == lines[at+k].text && !lines[at].fixed && !lines[at+k].fixed {
					at++
				}
				differ[k] = at
			}
			again := differ[k] - i // lines that are there once more, k behind
			if again < k {
				continue
			}
			if n := 1 + again/k; worth(lines[i:i+k], n) {
				found = append(found, repeat{i, k, n})
				next = i + k*n
				break
			}
		}
		i = next
	}
	return found
}

// fold writes the lines, of repetitions the first copy and a note, and returns
// how many lines it left out.
func fold(b *strings.Builder, lines []line, found []repeat) (left int) {
	at := 0
	write := func(end int) {
		for _, l := range lines[at:end] {
			b.WriteString(l.text)
			b.WriteString(l.end)
		}
	}
	for _, r := range found {
		write(r.at + r.block)
		b.WriteString(note(r.block, r.copies))
		b.WriteString(lines[r.at].end)
		left += r.block * (r.copies - 1)
		at = r.at + r.block*r.copies
	}
	write(len(lines))
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
