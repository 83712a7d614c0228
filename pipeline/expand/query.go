package expand

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
)

// maxPattern bounds a pattern in bytes.
const maxPattern = 512

// Range is a run of lines, counted from 1, both ends included. An end of 0 is
// open; the zero Range is all lines.
type Range struct{ From, To int }

// Query is what is asked for.
type Query struct {
	// ID is the marker's id.
	ID string
	// Lines chooses lines.
	Lines Range
	// Grep is a pattern in RE2 syntax that lines have to match, without their ends.
	Grep string
	// Skip leaves out so many bytes of the chosen lines, for lines too long to
	// be read at once. Grep, Head and Tail see what is left.
	Skip int
	// Head and Tail keep the first and the last so many; 0 is no limit.
	Head, Tail int
}

// whole reports whether nothing is selected.
func (q Query) whole() bool {
	return q.Lines == Range{} && q.Grep == "" && q.Skip == 0 && q.Head == 0 && q.Tail == 0
}

// SelectorError is a selector that cannot be followed.
type SelectorError struct {
	// Param is the query parameter.
	Param string
	// Problem says what is wrong, with the value, and what would be right.
	Problem string
}

// Error names parameter and problem.
func (e *SelectorError) Error() string { return e.Param + ": " + e.Problem }

// ParseQuery reads a query from the parameters of a URL. An empty parameter
// counts as absent. The query's ID is set even when there is an error, which
// joins one [*SelectorError] per fault.
func ParseQuery(values url.Values) (Query, error) {
	var q Query
	var errs []error
	fault := func(param, format string, args ...any) {
		errs = append(errs, &SelectorError{Param: param, Problem: fmt.Sprintf(format, args...)})
	}
	params := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := slices.DeleteFunc(slices.Clone(values[name]), func(v string) bool { return v == "" })
		switch name {
		case "id", "lines", "skip", "grep", "head", "tail":
			if len(given) > 1 {
				fault(name, "is given %d times; give it once", len(given))
			}
			if len(given) > 0 {
				params[name] = given[0]
			}
		default:
			fault(short(name), "is unknown; use id, lines, skip, grep, head and tail")
		}
	}
	parts := splitID(params["id"])
	q.ID = parts.id
	for _, given := range parts.selectors() {
		if params[given.name] != "" {
			fault(given.name, "is given in the id and beside it; give it once")
		}
		params[given.name] = given.value
	}
	return q, errors.Join(append(errs, q.fill(params)...)...)
}

// fill reads the selectors and returns what is wrong with them.
func (q *Query) fill(params map[string]string) []error {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	q.Lines, err = parseRange(params["lines"])
	note(err)
	q.Skip, err = parseCount("skip", "bytes", params["skip"])
	note(err)
	q.Head, err = parseCount("head", "lines", params["head"])
	note(err)
	q.Tail, err = parseCount("tail", "lines", params["tail"])
	note(err)
	q.Grep = params["grep"]
	_, err = compile(q.Grep)
	note(err)
	return errs
}

// idParts is an id and the selectors it may carry; an empty one is not there.
type idParts struct{ id, lines, skip, grep string }

// selector is a selector's name and text.
type selector struct{ name, value string }

func (p *idParts) selectors() []selector {
	return slices.DeleteFunc(
		[]selector{{"lines", p.lines}, {"skip", p.skip}, {"grep", p.grep}},
		func(s selector) bool { return s.value == "" })
}

// splitID separates an id from the selectors it may carry: ID:LINES, ID@SKIP,
// ID?RE2, in this order. A reader may have copied the whole marker.
func splitID(s string) idParts {
	s = strings.TrimSpace(s)
	if rest, marker := strings.CutPrefix(s, "<<cg:"); marker {
		s = strings.TrimSuffix(rest, ">>")
		if len(s) > pipeline.IDLen {
			s = s[:pipeline.IDLen] + strings.TrimPrefix(s[pipeline.IDLen:], ">>")
		}
	}
	if len(s) <= pipeline.IDLen+1 || strings.IndexByte(":@?", s[pipeline.IDLen]) < 0 {
		return idParts{id: s}
	}
	p := idParts{id: s[:pipeline.IDLen]}
	rest, pattern, _ := strings.Cut(s[pipeline.IDLen:], "?")
	p.grep = pattern
	rest, p.skip, _ = strings.Cut(rest, "@")
	p.lines = strings.TrimPrefix(rest, ":")
	return p
}

// maxDigits keeps counts far from overflow.
const maxDigits = 9

// parseRange reads 120-180, 120-, -50 or 7.
func parseRange(s string) (Range, error) {
	wrong := &SelectorError{Param: "lines", Problem: fmt.Sprintf("must be lines counted from 1, such as 120-180, 120-, -50 or 7, got %q", short(s))}
	s = strings.TrimSpace(s)
	if s == "" {
		return Range{}, nil
	}
	from, to, isRange := strings.Cut(s, "-")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !isRange {
		to = from
	}
	if from == "" && to == "" {
		return Range{}, wrong
	}
	r := Range{From: 1}
	var ok bool
	if from != "" {
		if r.From, ok = number(from); !ok {
			return Range{}, wrong
		}
	}
	if to != "" {
		if r.To, ok = number(to); !ok {
			return Range{}, wrong
		}
		if r.To < r.From {
			return Range{}, &SelectorError{Param: "lines", Problem: fmt.Sprintf("must not end before it starts, got %q", short(s))}
		}
	}
	return r, nil
}

func parseCount(param, unit, s string) (int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, nil
	}
	n, ok := number(s)
	if !ok {
		return 0, &SelectorError{Param: param, Problem: fmt.Sprintf("must be a number of %s, at least 1, got %q", unit, short(s))}
	}
	return n, nil
}

// number reads a number from 1 on.
func number(s string) (int, bool) {
	if len(s) > maxDigits || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1
}

// compile returns nil for no pattern.
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if len(pattern) > maxPattern {
		return nil, &SelectorError{Param: "grep", Problem: fmt.Sprintf("must have at most %d bytes, got %d", maxPattern, len(pattern))}
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &SelectorError{Param: "grep", Problem: fmt.Sprintf("must be a pattern in RE2 syntax: %v", err)}
	}
	return re, nil
}

// short bounds what an error repeats.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
