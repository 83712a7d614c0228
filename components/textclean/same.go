package textclean

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// sameDrawing is the claim of this component and its proof: both texts have the
// same lines with the same ends, and a small terminal of the check's own shows
// the same on each.
func sameDrawing(before, after string) error {
	for number := 1; ; number++ {
		a, restA, moreA := strings.Cut(before, "\n")
		b, restB, moreB := strings.Cut(after, "\n")
		if a != b {
			if moreA && strings.HasSuffix(a, "\r") != strings.HasSuffix(b, "\r") {
				return fmt.Errorf("line %d ends in another way", number)
			}
			if shown, now := show(a), show(b); !slices.Equal(shown, now) {
				return fmt.Errorf("line %d shows %q and showed %q", number, now, shown)
			}
		}
		if moreA != moreB {
			return errors.New("there are more lines in one of them")
		}
		if !moreA {
			return nil
		}
		before, after = restA, restB
	}
}

// screen is one line of a terminal without a right margin.
type screen struct {
	cells  []string // empty for the right half of a wide character
	column int
	shown  []string // of the lines the cursor left
}

// show returns what a terminal shows of a line. A line whose text goes on on
// another one shows several pieces.
func show(line string) []string {
	var s screen
	runes := []rune(line)
	for i := 0; i < len(runes); {
		if runes[i] == 0x1b {
			if n := s.command(runes[i:]); n > 0 {
				i += n
				continue
			}
		}
		s.put(runes[i])
		i++
	}
	s.leave()
	return s.shown
}

// leave takes what the line shows, if it shows anything, and begins another.
func (s *screen) leave() {
	if text := strings.TrimRight(strings.Join(s.cells, ""), " "); text != "" {
		s.shown = append(s.shown, text)
	}
	s.cells = nil
}

func (s *screen) put(r rune) {
	switch {
	case r == '\r':
		s.column = 0
	case r == '\b':
		s.column = max(s.column-1, 0)
	case r == '\t':
		s.column = s.column/8*8 + 8
	case s.column > 0 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // part of the character in front
		at := s.column - 1
		for at > 0 && s.at(at) == "" {
			at--
		}
		s.add(at, r)
	default:
		s.set(s.column, string(r))
		s.column++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			s.set(s.column, "")
			s.column++
		}
	}
}

// add puts a mark on a character.
func (s *screen) add(column int, mark rune) {
	if column >= len(s.cells) {
		s.set(column, " ")
	}
	s.cells[column] += string(mark)
}

func (s *screen) at(column int) string {
	if column < len(s.cells) {
		return s.cells[column]
	}
	return " "
}

// set draws on one cell. Half a wide character that is left of one shows as a
// blank.
func (s *screen) set(column int, text string) {
	for len(s.cells) <= column+1 {
		s.cells = append(s.cells, " ")
	}
	if s.cells[column] == "" && column > 0 && text != "" {
		s.cells[column-1] = " "
	}
	if s.cells[column+1] == "" {
		s.cells[column+1] = " "
	}
	s.cells[column] = text
}

// command carries out the command the runes begin with, an escape, and returns
// its length, or 0 when there is none: the escape is shown then.
func (s *screen) command(runes []rune) int {
	if len(runes) < 2 {
		return 0
	}
	switch r := runes[1]; {
	case r == '[':
		return s.control(runes)
	case strings.ContainsRune("]PX^_", r):
		for i := 2; i < len(runes); i++ {
			switch {
			case runes[i] == 0x07 && r == ']':
				return i + 1
			case runes[i] == 0x1b && i+1 < len(runes) && runes[i+1] == '\\':
				return i + 2
			case runes[i] < 0x20:
				return 0
			}
		}
		return 0
	case strings.ContainsRune("()*+", r) && len(runes) > 2 && runes[2] == 'B', r == '%' && len(runes) > 2 && runes[2] == 'G':
		return 3
	case strings.ContainsRune("=>7", r):
		return 2
	case strings.ContainsRune("MDEc", r):
		s.leave()
		return 2
	default:
		return 0
	}
}

// farthest is the last column the cursor can be told to go to.
const farthest = 1 << 12

// control carries out ESC [ numbers letter.
func (s *screen) control(runes []rune) int {
	end := 2
	for end < len(runes) && runes[end] >= 0x30 && runes[end] <= 0x3f {
		end++
	}
	if end == len(runes) || runes[end] < 0x40 || runes[end] > 0x7e {
		return 0
	}
	parameter := string(runes[2:end])
	if parameter != "" && parameter[0] >= '<' {
		if runes[end] == 'K' || runes[end] == 'J' {
			return 0
		}
		return end + 1
	}
	n, err := strconv.Atoi(parameter)
	if err != nil {
		n = 0
	}
	switch runes[end] {
	case 'K':
		s.clear(n)
	case 'C':
		s.column = min(s.column+max(n, 1), farthest)
	case 'D':
		s.column = max(s.column-max(n, 1), 0)
	case 'G', '`':
		s.column = min(max(n, 1), farthest) - 1
	case 'A', 'B', 'E', 'F', 'H', 'f', 'J', 'S', 'T', 'L', 'M', 'd', 'r', 'u':
		s.leave()
	case 'P', '@', 'X', 'a', 'b', 'I', 'Z':
		return 0 // shown, so that taking it out would be noticed
	}
	return end + 1
}

// clear erases a part of the line: 0 from the cursor on, 1 up to it, 2 all.
func (s *screen) clear(part int) {
	switch part {
	case 0:
		s.cells = s.cells[:min(s.column, len(s.cells))]
	case 1:
		for i := range min(s.column+1, len(s.cells)) {
			s.cells[i] = " "
		}
	case 2:
		s.cells = s.cells[:0]
	}
}
