package pipelinetest

import (
	"unicode"
	"unicode/utf8"

	"github.com/contextguru/contextguru/pipeline"
)

// Words counts tokens in a way that can be followed by eye and is near enough
// to a real encoding for tests: a word costs one token for every six letters
// or digits begun, every other character one, a blank in front of a word
// nothing, and any other run of white space one for every sixteen bytes begun.
type Words struct{}

// How long a piece of each sort is.
const (
	wordPiece  = 6
	blankPiece = 16
)

// Encoding implements pipeline.Counter.
func (Words) Encoding() string { return "words" }

// Count implements pipeline.Counter.
func (Words) Count(text string) pipeline.Count {
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		start := i
		switch {
		case isWord(r):
			for letters := 0; i < len(text) && isWord(r); r, size = utf8.DecodeRuneInString(text[i:]) {
				if letters%wordPiece == 0 {
					n++
				}
				letters++
				i += size
			}
		case unicode.IsSpace(r):
			for i < len(text) && unicode.IsSpace(r) {
				i += size
				r, size = utf8.DecodeRuneInString(text[i:])
			}
			if text[start:i] != " " || i == len(text) || !isWord(r) {
				n += (i - start + blankPiece - 1) / blankPiece
			}
		default:
			n++
			i += size
		}
	}
	return pipeline.Count{N: n}
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
