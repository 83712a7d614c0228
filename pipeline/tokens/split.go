package tokens

import "unicode/utf8"

// splitter cuts a text into the pieces that the pattern of an encoding
// matches one after the other. The patterns are alternations with
// backtracking; every method says which part of a pattern it stands for and
// ends exactly where the backtracking would.
//
// A byte that is not part of valid UTF-8 is taken for U+FFFD, one per byte,
// as a range loop over a Go string does.
type splitter struct {
	classes *classes
	cl100k  bool // the older pattern
	text    []byte
	invalid bool // an invalid byte was seen since this was last reset
}

// next returns the end of the piece that starts at p, which must be inside
// the text.
func (s *splitter) next(p int) int {
	if class := s.classes.ascii[s.text[p]&(utf8.RuneSelf-1)]; s.text[p] < utf8.RuneSelf && class&number != 0 {
		return s.digits(p) // no word starts with a digit
	}
	if s.cl100k {
		if e := s.contraction(p); e > p {
			return e
		}
		if e := s.plainWord(p); e > p {
			return e
		}
	} else if e := s.casedWord(p); e > p {
		return e
	}
	class, w := s.at(p)
	if class&number != 0 {
		return s.digits(p)
	}
	if class&space == 0 || s.text[p] == ' ' && s.punctAt(p+w) {
		return s.punctuation(p + w)
	}
	return s.whitespace(p)
}

// at returns the classes and the width of the character at p.
func (s *splitter) at(p int) (uint8, int) {
	if b := s.text[p]; b < utf8.RuneSelf {
		return s.classes.ascii[b], 1
	}
	return s.decode(p)
}

// decode is at for a character that is not ASCII.
func (s *splitter) decode(p int) (uint8, int) {
	r, w := utf8.DecodeRune(s.text[p:])
	if w == 1 {
		s.invalid = true
	}
	return s.classes.of(r), w
}

// run returns the end of the longest run of the class that starts at p.
func (s *splitter) run(p int, class uint8) int {
	for p < len(s.text) {
		if b := s.text[p]; b < utf8.RuneSelf {
			if s.classes.ascii[b]&class == 0 {
				return p
			}
			p++
			continue
		}
		c, w := s.decode(p)
		if c&class == 0 {
			return p
		}
		p += w
	}
	return p
}

// plainWord stands for
//
//	[^\r\n\p{L}\p{N}]?\p{L}+
//
// and returns p when that does not match. This method is the path for ASCII.
func (s *splitter) plainWord(p int) int {
	t, ascii := s.text, &s.classes.ascii
	q := p
	if ascii[t[p]]&(noPrefix|wide) == 0 {
		q++
	}
	e := q
	for e < len(t) && ascii[t[e]]&letter != 0 {
		e++
	}
	if e < len(t) && t[e] >= utf8.RuneSelf {
		return s.plainWordWide(p)
	}
	if e == q {
		return p
	}
	return e
}

// plainWordWide is plainWord for any character.
func (s *splitter) plainWordWide(p int) int {
	q := p
	if class, w := s.at(p); class&noPrefix == 0 {
		q += w
	}
	if e := s.run(q, letter); e > q {
		return e
	}
	return p
}

// casedWord stands for the two alternatives
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//
// and returns p when neither matches. This method is the path for ASCII.
func (s *splitter) casedWord(p int) int {
	t, ascii := s.text, &s.classes.ascii
	q := p
	if ascii[t[p]]&(noPrefix|wide) == 0 {
		q++
	}
	e := q
	for e < len(t) && ascii[t[e]]&upper != 0 {
		e++
	}
	for e < len(t) && ascii[t[e]]&lower != 0 {
		e++
	}
	if e < len(t) && t[e] >= utf8.RuneSelf {
		return s.casedWordWide(p)
	}
	if e == q {
		return p
	}
	return s.contraction(e)
}

// casedWordWide is casedWord for any character.
func (s *splitter) casedWordWide(p int) int {
	first, w := s.at(p)
	q := p
	if first&noPrefix == 0 {
		q += w
	}
	// The upper run, and behind its last character that is lower as well.
	e, both := q, -1
	for e < len(s.text) {
		class, w := s.at(e)
		if class&upper == 0 {
			if class&lower != 0 { // Ll: the lower run starts here
				return s.contraction(s.run(e, lower))
			}
			break
		}
		e += w
		if class&lower != 0 {
			both = e
		}
	}
	switch {
	case both >= 0:
		// The upper run gives back until the lower run has one character.
		return s.contraction(both)
	case q > p && first&either == either:
		// A mark taken for the prefix, with nothing lower behind it, is given
		// back and is the lower run; only then is the second alternative tried.
		return s.contraction(q)
	case e > q:
		return s.contraction(e)
	}
	return p
}

// contraction stands for
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//
// where the long s, U+017F, is an s as well: case is ignored by Unicode's
// simple folding.
func (s *splitter) contraction(p int) int {
	t := s.text
	if p+1 >= len(t) || t[p] != '\'' {
		return p
	}
	switch t[p+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return p + 2
	case 'r', 'v':
		if p+2 < len(t) && t[p+2]|0x20 == 'e' {
			return p + 3
		}
	case 'l':
		if p+2 < len(t) && t[p+2]|0x20 == 'l' {
			return p + 3
		}
	case 0xC5 | 0x20:
		if p+2 < len(t) && t[p+1] == 0xC5 && t[p+2] == 0xBF {
			return p + 3
		}
	}
	return p
}

// digits stands for
//
//	\p{N}{1,3}
//
// at a character that is known to match.
func (s *splitter) digits(p int) int {
	t, ascii := s.text, &s.classes.ascii
	for range 3 {
		if p == len(t) {
			break
		}
		class, w := ascii[t[p]&(utf8.RuneSelf-1)], 1
		if t[p] >= utf8.RuneSelf {
			class, w = s.decode(p)
		}
		if class&number == 0 {
			break
		}
		p += w
	}
	return p
}

// punctAt reports whether [^\s\p{L}\p{N}] matches at p.
func (s *splitter) punctAt(p int) bool {
	if p == len(s.text) {
		return false
	}
	class, _ := s.at(p)
	return class&notPunct == 0
}

// punctuation stands for the rest, from p on, of
//
//	?[^\s\p{L}\p{N}]+[\r\n]*      (cl100k)
//	?[^\s\p{L}\p{N}]+[\r\n/]*     (o200k)
//
// of which the first character is behind us: a space that another one
// follows, or one of the run.
func (s *splitter) punctuation(p int) int {
	t, ascii := s.text, &s.classes.ascii
	for p < len(t) {
		class, w := ascii[t[p]&(utf8.RuneSelf-1)], 1
		if t[p] >= utf8.RuneSelf {
			class, w = s.decode(p)
		}
		if class&notPunct != 0 {
			break
		}
		p += w
	}
	for p < len(t) {
		if b := t[p]; b != '\n' && b != '\r' && (b != '/' || s.cl100k) {
			break
		}
		p++
	}
	return p
}

// whitespace stands for
//
//	\s*[\r\n]+|\s+(?!\S)|\s+
//
// at a character that is known to be space.
func (s *splitter) whitespace(p int) int {
	t, ascii := s.text, &s.classes.ascii
	e, last, lines := p, p, 0
	for e < len(t) {
		class, w := ascii[t[e]&(utf8.RuneSelf-1)], 1
		if t[e] >= utf8.RuneSelf {
			class, w = s.decode(e)
		}
		if class&space == 0 {
			break
		}
		last = e
		e += w
		if class&newline != 0 {
			lines = e
		}
	}
	switch {
	case lines > 0: // up to the last line end of the run
		return lines
	case e == len(t) || last == p:
		return e
	}
	return last // the last space belongs to what follows
}
