package models

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// textHeader begins the text of a map. The number counts its formats.
const textHeader = "# context-guru models 1\n"

// unknown stands for a value the map does not state.
const unknown = "-"

// MarshalText returns the map as text, one line per model in the order of
// their names: name, provider, window, output limit, and the prices of Input,
// Output, CacheRead, CacheWrite and CacheWrite1h in US dollars per million
// tokens, parted by tabs. A dash is an unknown value; those at the end of a
// line are left out. Parse is its inverse, exact to the bit.
func (m *Map) MarshalText() ([]byte, error) {
	out := []byte(textHeader)
	for i := range m.models {
		x := &m.models[i]
		out = append(append(append(out, x.Name...), '\t'), x.Provider...)
		end := len(out)
		for _, n := range [...]int{x.Window, x.MaxOutput} {
			out = append(out, '\t')
			if n > 0 {
				out = strconv.AppendInt(out, int64(n), 10)
				end = len(out)
			} else {
				out = append(out, unknown...)
			}
		}
		for _, p := range x.prices() {
			out = append(out, '\t')
			if p.Known {
				out = appendPrice(out, p.USD)
				end = len(out)
			} else {
				out = append(out, unknown...)
			}
		}
		out = append(out[:end], '\n')
	}
	return out, nil
}

// prices returns the prices in the order of the text.
func (m *Model) prices() [5]*Price {
	return [...]*Price{&m.Input, &m.Output, &m.CacheRead, &m.CacheWrite, &m.CacheWrite1h}
}

// appendPrice writes a price per token as a decimal per million. The point is
// moved in the shortest text of the number, so that no digit is lost.
func appendPrice(out []byte, usd float64) []byte {
	text := strconv.FormatFloat(usd, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, err := strconv.Atoi(exponent)
	if err != nil || usd == 0 {
		return append(out, '0')
	}
	digits, point := whole+fraction, len(whole)+n+6
	switch {
	case point <= 0:
		out = append(append(out, "0."...), strings.Repeat("0", -point)...)
		return append(out, digits...)
	case point >= len(digits):
		return append(append(out, digits...), strings.Repeat("0", point-len(digits))...)
	default:
		return append(append(append(out, digits[:point]...), '.'), digits[point:]...)
	}
}

// Parse reads the text of MarshalText. Lines that begin with # are comments,
// except for the first, which tells the format. Unlike a document from
// elsewhere the text is ours, so that the first fault is an error.
func Parse(text string) (*Map, error) {
	rest, ok := strings.CutPrefix(text, textHeader)
	if !ok {
		return nil, errors.New("model map: the first line does not say " + strconv.Quote(strings.TrimSpace(textHeader)))
	}
	models := make([]Model, 0, strings.Count(rest, "\n"))
	for number := 2; rest != ""; number++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		x, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("model map, line %d: %w", number, err)
		}
		models = append(models, x)
	}
	return newMap(models), nil
}

// parseLine reads one model. The buffer for a number stays on the stack.
func parseLine(line string) (x Model, err error) {
	var more bool
	if x.Name, line, more = strings.Cut(line, "\t"); !more {
		return x, fmt.Errorf("%q has no provider", x.Name)
	}
	if err := checkName(x.Name); err != nil {
		return x, err
	}
	x.Provider, line, _ = strings.Cut(line, "\t")
	for _, n := range [...]*int{&x.Window, &x.MaxOutput} {
		var cell string
		if cell, line, _ = strings.Cut(line, "\t"); cell == "" || cell == unknown {
			continue
		}
		if *n, err = parseCount(cell); err != nil {
			return x, fmt.Errorf("%q: %w", x.Name, err)
		}
	}
	for _, p := range x.prices() {
		var cell string
		if cell, line, _ = strings.Cut(line, "\t"); cell == "" || cell == unknown {
			continue
		}
		if *p, err = parsePrice(cell + "e-6"); err != nil {
			return x, fmt.Errorf("%q: %w", x.Name, err)
		}
	}
	if line != "" {
		return x, fmt.Errorf("%q has more than 9 columns", x.Name)
	}
	return x, nil
}
