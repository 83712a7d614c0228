package linecap

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/contextguru/contextguru/components/internal/errline"
)

const (
	// minCut is the least that is worth a note, in bytes.
	minCut = 80
	// maxToken is how long a path at the end of a line may be to stay whole.
	maxToken = 400
	// errorBefore and errorAfter are what stays of a huge line around a mention
	// of an error, in bytes: more than the beginning of a message.
	errorBefore = 80
	errorAfter  = 240
	// maxErrors is how many such pieces stay at either end.
	maxErrors = 5
	// safeSearch is how far to look for a place where characters certainly part.
	safeSearch = 512
)

// piece is a part of a line that stays.
type piece struct {
	start, end int
	errors     int // mentions in what is cut out in front of it
}

// cut keeps so many characters of a line, two thirds of them at its beginning,
// and, if told, what mentions errors in between.
func cut(line string, keep int, errorsStay bool) []piece {
	last := forward(line, afterRunes(line, keep*2/3))
	if last > afterRunes(line, keep) {
		last = 0 // one character of thousands of marks
	}
	first := forward(line, wholeToken(line, beforeRunes(line, keep/3)))
	var between []piece
	if errorsStay {
		between = errorPieces(line, last, first)
	}
	pieces := []piece{{0, last, 0}}
	errors := 0
	for _, p := range append(between, piece{first, len(line), 0}) {
		errors += p.errors
		start, end := forward(line, max(p.start, last)), forward(line, p.end)
		if end <= last {
			continue
		}
		if end < len(line) && start >= first {
			continue
		}
		if start-last < minCut {
			pieces[len(pieces)-1].end = end
		} else {
			pieces = append(pieces, piece{start, end, errors})
		}
		errors, last = 0, end
	}
	return pieces
}

// afterRunes returns where the first n characters end.
func afterRunes(line string, n int) int {
	for i := range line {
		if n == 0 {
			return i
		}
		n--
	}
	return len(line)
}

// beforeRunes returns where the last n characters begin.
func beforeRunes(line string, n int) int {
	at := len(line)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(line[:at])
		at -= size
	}
	return at
}

// wholeToken moves a place inside a path to the beginning of the path.
func wholeToken(line string, at int) int {
	start := strings.LastIndexAny(line[:at], " \t\"'`=,;()[]{}<>|") + 1
	end := len(line)
	if i := strings.IndexAny(line[at:], " \t\"'`=,;()[]{}<>|"); i >= 0 {
		end = at + i
	}
	if at-start <= maxToken && end-start <= maxToken && strings.ContainsAny(line[start:end], `/\`) {
		return start
	}
	return at
}

// forward returns the first place from at on between two characters as a reader
// sees them (UAX 29), looked for from the nearest place in front where they
// certainly part: between two of ASCII.
func forward(line string, at int) int {
	if at <= 0 || at >= len(line) {
		return at
	}
	from := at
	for ; from > 0 && (line[from] >= utf8.RuneSelf || line[from-1] >= utf8.RuneSelf); from-- {
		if at-from > safeSearch {
			from = 0
			break
		}
	}
	if from == at {
		return at
	}
	g := graphemes.FromString(line[from:])
	for from < at && g.Next() {
		from += len(g.Value())
	}
	return from
}

// errorPieces finds the places between two in a huge line that mention errors:
// the first and the last few, and how many there are in between.
func errorPieces(line string, start, end int) []piece {
	var first, last []piece
	left, shown := 0, start
	for at := start; ; at += len("err") {
		i := errline.Index(line[at:end])
		if i < 0 {
			break
		}
		if at += i; at+errorBefore < shown {
			continue // in front of the end of what stays for the one before
		}
		p := piece{max(start, at-errorBefore), min(end, at+errorAfter), 0}
		shown = p.end
		if len(first) < maxErrors {
			first = append(first, p)
			continue
		}
		if len(last) == maxErrors {
			copy(last, last[1:])
			last = last[:maxErrors-1]
			left++
		}
		last = append(last, p)
	}
	if left > 0 {
		last[0].errors = left
	}
	return append(first, last...)
}
