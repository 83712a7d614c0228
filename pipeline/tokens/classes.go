package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Classes of a code point, as far as the two patterns tell characters apart.
// A letter without case (Lm, Lo) and a mark (M) are upper and lower at once:
// both letter runs of the o200k pattern accept them.
const (
	upper   uint8 = 1 << iota // Lu, Lt, Lm, Lo, M
	lower                     // Ll, Lm, Lo, M
	letter                    // L
	number                    // N
	space                     // White_Space
	newline                   // CR and LF, which are space too
	wide                      // a byte that is not ASCII: decode first
)

const (
	either   = upper | lower
	notPunct = space | letter | number
	noPrefix = letter | number | newline
)

const (
	pageBits = 8
	pageSize = 1 << pageBits
	pages    = (utf8.MaxRune + 1) / pageSize
)

// classes maps every code point to its classes, in two steps: a page per 256
// code points, equal pages stored once (about 60 KB in all).
type classes struct {
	ascii  [256]uint8 // by byte; wide from 0x80 on
	page   [pages]uint8
	blocks [][pageSize]uint8
}

// newClasses computes the table from the Unicode version of the Go release,
// so that no generated source has to follow it.
func newClasses() *classes {
	flat := make([]uint8, utf8.MaxRune+1)
	mark(flat, unicode.L, letter)
	mark(flat, unicode.N, number)
	mark(flat, unicode.White_Space, space)
	for _, table := range []*unicode.RangeTable{unicode.Lm, unicode.Lo, unicode.M} {
		mark(flat, table, either)
	}
	mark(flat, unicode.Lu, upper)
	mark(flat, unicode.Lt, upper)
	mark(flat, unicode.Ll, lower)
	flat['\r'] |= newline
	flat['\n'] |= newline

	x := &classes{}
	for i := range x.ascii {
		x.ascii[i] = wide
	}
	copy(x.ascii[:], flat[:utf8.RuneSelf])
	seen := make(map[[pageSize]uint8]uint8)
	for i := range x.page {
		block := [pageSize]uint8(flat[i*pageSize:])
		at, ok := seen[block]
		if !ok {
			at = uint8(len(x.blocks))
			seen[block] = at
			x.blocks = append(x.blocks, block)
		}
		x.page[i] = at
	}
	return x
}

// mark adds class to every code point of the table.
func mark(flat []uint8, table *unicode.RangeTable, class uint8) {
	for _, r := range table.R16 {
		for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
			flat[c] |= class
		}
	}
	for _, r := range table.R32 {
		for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
			flat[c] |= class
		}
	}
}

// of returns the classes of a valid code point.
func (x *classes) of(r rune) uint8 {
	return x.blocks[x.page[uint32(r)>>pageBits]][uint32(r)%pageSize]
}
