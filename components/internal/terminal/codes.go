// Package terminal knows what programs write for a terminal to act on: codes
// for colours, titles and the cursor, lines that are drawn over themselves,
// progress displays.
//
// It is careful with what looks like a code and is none. Only a code that is
// complete within its line counts, so that one without an end never takes the
// text behind it along.
package terminal

import (
	"strings"

	"github.com/contextguru/contextguru/components/internal/errline"
)

// Kind says what a code does to the text around it.
type Kind uint8

// What codes do.
const (
	// Silent codes change colours, titles or modes: no text moves.
	Silent Kind = iota
	// EraseRight erases from the cursor to the end of the line.
	EraseRight
	// EraseLine erases the whole line and leaves the cursor where it is.
	EraseLine
	// ToStart moves the cursor to the first column, as a carriage return does.
	ToStart
	// Forward moves the cursor to the right, over what stands there.
	Forward
	// Away moves the cursor to another line, or erases other lines.
	Away
	// Other codes move text in ways nobody here follows.
	Other
)

// Code is one code.
type Code struct {
	// Len is its length in bytes.
	Len  int
	Kind Kind
	// N is how far Forward goes.
	N int
	// Holds reports that the code carries a text of its own: a title, a link.
	Holds bool
}

const (
	escape = '\x1b'
	bell   = '\a'
)

// Scan reads the code a text begins with; the text's first byte is an escape.
// It returns false when no known code begins there or when it has no end.
func Scan(text string) (Code, bool) {
	if len(text) < 2 {
		return Code{}, false
	}
	switch second := text[1]; second {
	case '[':
		return sequence(text)
	case ']', 'P', 'X', '^', '_':
		return held(text)
	case '(', ')', '*', '+', '#', '%':
		if len(text) < 3 || !isLetter(text[2]) && !isDigit(text[2]) && text[2] != '@' {
			return Code{}, false
		}
		c := Code{Len: 3}
		if usual := text[2] == 'B' && second != '#' && second != '%' || second == '%' && text[2] == 'G'; !usual {
			c.Kind = Other // other letters, or other sizes
		}
		return c, true
	case '=', '>', '7':
		return Code{Len: 2}, true
	case 'M', 'D', 'E', 'c':
		return Code{Len: 2, Kind: Away}, true
	case '8', 'H', 'N', 'O', 'Z', 'n', 'o', '|', '}', '~':
		return Code{Len: 2, Kind: Other}, true
	default:
		return Code{}, false
	}
}

// held reads a code that carries a text: it ends in ESC \, or, a title or a
// link, in a bell. Any other control character before that means that it never
// ends.
func held(text string) (Code, bool) {
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == bell && text[1] == ']':
			return Code{Len: i + 1, Holds: true}, true
		case c == escape && i+1 < len(text) && text[i+1] == '\\':
			return Code{Len: i + 2, Holds: true}, true
		case c < ' ':
			return Code{}, false
		}
	}
	return Code{}, false
}

// maxParameter bounds the numbers in codes; screens are smaller.
const maxParameter = 1 << 16

// sequence reads a control sequence: ESC [ parameters, sometimes one more
// sign, and a letter that says what it is.
func sequence(text string) (Code, bool) {
	i := len("\x1b[")
	for i < len(text) && text[i] >= '0' && text[i] <= '?' {
		i++
	}
	parameters := text[len("\x1b["):i]
	sign := i < len(text) && strings.IndexByte(" !\"$'*", text[i]) >= 0
	if sign {
		i++
	}
	if i >= len(text) || text[i] < '@' || text[i] > '~' {
		return Code{}, false
	}
	c := Code{Len: i + 1}
	switch {
	case sign:
		// With a sign, text such as "ESC [ of a list" is more likely than most codes.
		c.Kind = Other
		return c, strings.IndexByte("pqvwxyz{|}~", text[i]) >= 0
	case parameters != "" && parameters[0] >= '<':
		if text[i] == 'J' || text[i] == 'K' {
			c.Kind = Other
		}
		return c, true // the others switch modes and ask questions
	}
	c.Kind, c.N = kindOf(text[i], parameters)
	return c, true
}

func kindOf(letter byte, parameters string) (kind Kind, n int) {
	n, plain := parameter(parameters)
	switch letter {
	case 'm', 'h', 'l', 'n', 'c', 'g', 'i', 'q', 't', 's':
		return Silent, 0
	case 'K':
		switch {
		case plain && n == 0:
			return EraseRight, 0
		case plain && n == 2:
			return EraseLine, 0
		}
	case 'G':
		if plain && n <= 1 {
			return ToStart, 0
		}
	case 'C':
		if plain {
			return Forward, max(n, 1)
		}
	case 'A', 'B', 'E', 'F', 'H', 'f', 'J', 'S', 'T', 'L', 'M', 'd', 'r':
		return Away, 0
	}
	return Other, 0
}

// parameter reads a sequence's only parameter; none is 0.
func parameter(digits string) (n int, plain bool) {
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return 0, false
		}
		n = min(n*10+int(digits[i]-'0'), maxParameter)
	}
	return n, true
}

// Strip takes all codes out of a line, whatever they do. It returns false, and
// the line as it is, when there is an escape that begins no complete code, or
// when an error would vanish with a code that holds it.
func Strip(line string) (string, bool) {
	var b strings.Builder
	b.Grow(len(line))
	held := false
	for rest := line; ; {
		i := strings.IndexByte(rest, escape)
		if i < 0 {
			b.WriteString(rest)
			break
		}
		c, ok := Scan(rest[i:])
		if !ok {
			return line, false
		}
		held = held || c.Holds
		b.WriteString(rest[:i])
		rest = rest[i+c.Len:]
	}
	plain := b.String()
	if held && errline.Is(line) && !errline.Is(plain) {
		return line, false
	}
	return plain, true
}
