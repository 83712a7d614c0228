package toon

import "bytes"

// pieces estimates the tokens of a text for a comparison with another text of
// the same words: it counts what tokenizers cut a text into before they look
// for tokens (the pattern of OpenAI's o200k_base, for texts that are mostly
// ASCII). A run of letters, digits or punctuation is one piece; a blank belongs
// to the word behind it, line ends to the punctuation in front. Words are cut
// further, but alike in both texts.
func pieces(text []byte) int {
	n := 0
	for i := 0; i < len(text); {
		kind, start := classOf(text[i]), i
		for i < len(text) && classOf(text[i]) == kind {
			i++
		}
		behind := end
		if i < len(text) {
			behind = classOf(text[i])
		}
		n++
		switch kind {
		case blanks:
			switch {
			case behind == digits || behind == end: // a blank is not written to a number
				if i-start > 1 {
					n++
				}
			case behind == lines, i-start == 1:
				n--
			}
		case marks:
			n += rare(text[start:i], behind == lines)
			for i < len(text) && classOf(text[i]) == lines {
				i++
			}
		}
	}
	return n
}

// rare returns what a run of punctuation costs beyond one piece. What is common
// in JSON is one token, such as "},{" or ":{"; with the bracket of an array in
// it, or before the end of a line, it mostly is two.
func rare(run []byte, lineEnd bool) int {
	if len(run) > 1 && lineEnd || len(run) > 2 && bytes.ContainsAny(run, "[]") {
		return 1
	}
	return 0
}

// class is a sort of characters.
type class uint8

const (
	letters class = iota
	digits
	marks
	blanks
	lines
	end // of the text
)

func classOf(c byte) class {
	switch {
	case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80:
		return letters
	case c >= '0' && c <= '9':
		return digits
	case c == ' ' || c == '\t':
		return blanks
	case c == '\n' || c == '\r':
		return lines
	default:
		return marks
	}
}
