package textclean

import (
	"strings"
	"unicode/utf8"

	"github.com/contextguru/contextguru/components/internal/errline"
	"github.com/contextguru/contextguru/components/internal/terminal"
)

// maxForward is the longest move of the cursor to the right that becomes
// blanks; terminals are rarely wider.
const maxForward = 256

const blanks = "                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                "

// eraser, in front of a state, erases what the states before it left.
const eraser = "\x1b[K"

// state is what was drawn from the first column on, up to the next return to
// it.
type state struct {
	text  string
	erase bool // nothing that was drawn before is left
	seen  int  // length without blanks at the end
	error bool // it reports one
}

// drawing is a line taken apart.
type drawing struct {
	states []state // those that leave something to see
	ends   int     // how many states there were
	held   bool    // a code with a text of its own went
	gone   bool    // a text was erased where it stood
	sparse bool    // some of a state is skipped, not drawn
	odd    bool    // a control character may have moved the cursor
	moves  bool    // something was erased, or blanks skipped

	now   strings.Builder // the text of the state being read
	erase bool            // of the state being read
	lost  bool            // the state being read was erased where it stood
	tab   bool            // there is one in it
	begun bool            // something was drawn
	away  bool            // the cursor left the line behind something drawn
}

// read takes a line apart. It returns false when the line does something that
// is not followed here.
func (d *drawing) read(line string) bool {
	for at := 0; at < len(line); {
		i := next(line[at:])
		if i > 0 && !d.draw(line[at:at+i]) {
			return false
		}
		if at += i; at == len(line) {
			break
		}
		if line[at] == '\r' {
			d.end()
			at++
			continue
		}
		c, ok := terminal.Scan(line[at:])
		if !ok || !d.obey(c) {
			return false
		}
		at += c.Len
	}
	d.away = false
	d.end()
	return (!d.sparse || d.ends < 2) && (!d.odd || d.ends < 2 && !d.moves)
}

// next returns where the next escape or carriage return is, or the length.
func next(text string) int {
	for i := range len(text) {
		if text[i] == '\x1b' || text[i] == '\r' {
			return i
		}
	}
	return len(text)
}

// draw adds text at the cursor. Behind text on another line, or behind text
// that was erased where it stood, nobody knows where that is.
func (d *drawing) draw(text string) bool {
	if d.away || d.lost {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\t':
			d.tab = true
		case c < ' ' || c == 0x7f:
			d.odd = true
		}
	}
	d.now.WriteString(text)
	d.begun = true
	return true
}

// obey does what a code says.
func (d *drawing) obey(c terminal.Code) bool {
	d.held = d.held || c.Holds
	if d.away {
		return c.Kind != terminal.Other // it is about another line
	}
	switch c.Kind {
	case terminal.Silent:
	case terminal.EraseRight:
		d.erase, d.moves = true, true
		// What a tab skipped is neither drawn over nor erased.
		d.sparse = d.sparse || d.tab
	case terminal.EraseLine:
		d.erase, d.moves = true, true
		if d.now.Len() > 0 && !d.lost {
			d.lost, d.gone = true, true
			return !errline.Is(d.now.String())
		}
	case terminal.ToStart:
		d.end()
	case terminal.Forward:
		if c.N > maxForward || !d.draw(blanks[:c.N]) {
			return false
		}
		d.sparse, d.moves = true, true
	case terminal.Away:
		d.away = d.begun
	default:
		return false
	}
	return true
}

// end ends a state and drops those it leaves nothing of.
func (d *drawing) end() {
	if d.away {
		return // the cursor returns to the start of another line
	}
	s := state{text: d.now.String(), erase: d.erase}
	if d.lost {
		s.text = ""
	}
	s.seen, s.error = len(strings.TrimRight(s.text, " ")), errline.Is(s.text)
	d.now.Reset()
	d.erase, d.lost, d.tab = false, false, false
	if s.text == "" && !s.erase {
		return
	}
	d.ends++
	for n := len(d.states); n > 0 && s.replaces(&d.states[n-1], n > 1); n-- {
		s.erase = s.erase || d.states[n-1].erase
		d.states = d.states[:n-1]
	}
	if len(d.states) == 0 {
		s.erase = false // there is nothing to erase
	}
	if s.text != "" || s.erase {
		d.states = append(d.states, s)
	}
}

// replaces reports whether a state leaves nothing of the one before it, and
// whether that one may go: it says nothing about an error, and it was erased,
// or the new one is a newer state of it. below tells that there are states
// below the older one, which its blanks may cover.
func (s *state) replaces(older *state, below bool) bool {
	if older.error || s.erase {
		return !older.error
	}
	text := older.text
	if !below {
		text = text[:older.seen]
	}
	if len(text) > maxBytesPerCell*len(s.text) {
		return false // a quick answer, so that many short states on a long one take no time
	}
	return covers(s.text, text) && (s.seen == 0 || older.seen == 0 || terminal.DrawsOver(text, s.text))
}

// text is the line as it is drawn, or, where states are left that cannot be
// told from one another, the shortest way to draw it.
func (d *drawing) text() string {
	if len(d.states) == 0 {
		return ""
	}
	if len(d.states) == 1 {
		if d.ends > 1 {
			return strings.TrimRight(d.states[0].text, " ") // some of the blanks only erased
		}
		return d.states[0].text
	}
	var b strings.Builder
	for i, s := range d.states {
		if i > 0 {
			b.WriteByte('\r')
			if s.erase {
				b.WriteString(eraser)
			}
		}
		b.WriteString(s.text)
	}
	return b.String()
}

// covers reports whether a text that is drawn over an older one leaves nothing
// of it to see, however wide a terminal makes their characters. What both begin
// with is drawn in the same places.
func covers(text, older string) bool {
	same := 0
	for same < len(text) && same < len(older) && text[same] == older[same] {
		same++
	}
	for same > 0 && (same < len(text) && !utf8.RuneStart(text[same]) || same < len(older) && !utf8.RuneStart(older[same])) {
		same--
	}
	drawn, ok := cells(text[same:], 0)
	if !ok {
		return false
	}
	left, ok := cells(older[same:], tabWidth)
	return ok && left <= drawn
}

const (
	// tabWidth is the widest a tab can be.
	tabWidth = 8
	// maxBytesPerCell is the most bytes a character takes for each of its columns.
	maxBytesPerCell = 3
)

// cells is the number of columns a text takes. It returns false for characters
// that terminals do not agree on, and for tabs unless their width is given:
// what they skip is not drawn over.
func cells(text string, tab int) (n int, ok bool) {
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~':
			n++
		case r == '\t' && tab > 0:
			n += tab
		case r >= 0x00a1 && r <= 0x02ff && r != 0x00ad, // Latin
			r >= 0x0391 && r <= 0x03c9, r >= 0x0410 && r <= 0x044f, // Greek, Cyrillic
			r == '…', r == '•', r == '–', r == '—', r == '‘', r == '’', r == '“', r == '”',
			r >= 0x2190 && r <= 0x21ff && r != '↔' && r != '↕' && r != '↩' && r != '↪', // arrows
			r >= 0x2500 && r <= 0x259f, // lines and blocks
			r == '■', r == '□', r == '▰', r == '▱', r >= '◐' && r <= '◓', r >= '◜' && r <= '◟', r == '●', r == '○',
			r == '✓', r == '✗', r == '✘',
			r >= 0x2800 && r <= 0x28ff: // Braille, which spinners are made of
			n++
		case r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fa, // kana
			r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3, // ideographs, Hangul
			r >= 0xff01 && r <= 0xff5e, r == '、', r == '。':
			n += 2
		default:
			return 0, false
		}
	}
	return n, true
}
