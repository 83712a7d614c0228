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
	// Head and Tail keep the first and the last so many; 0 is no limit.
	Head, Tail int
}

// whole reports whether nothing is selected.
func (q Query) whole() bool { return q.Lines == Range{} && q.Grep == "" && q.Head == 0 && q.Tail == 0 }

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
		case "id", "lines", "grep", "head", "tail":
			if len(given) > 1 {
				fault(name, "is given %d times; give it once", len(given))
			}
			if len(given) > 0 {
				params[name] = given[0]
			}
		default:
			fault(short(name), "is unknown; use id, lines, grep, head and tail")
		}
	}
	var suffix string
	q.ID, suffix = splitID(params["id"])
	if suffix != "" {
		name := "lines"
		if suffix[0] == '?' {
			name = "grep"
		}
		if _, twice := params[name]; twice {
			fault(name, "is given in the id and beside it; give it once")
		}
		params[name] = suffix[1:]
	}
	var err error
	if q.Lines, err = parseRange(params["lines"]); err != nil {
		errs = append(errs, err)
	}
	if q.Head, err = parseCount("head", params["head"]); err != nil {
		errs = append(errs, err)
	}
	if q.Tail, err = parseCount("tail", params["tail"]); err != nil {
		errs = append(errs, err)
	}
	q.Grep = params["grep"]
	if _, err = compile(q.Grep); err != nil {
		errs = append(errs, err)
	}
	return q, errors.Join(errs...)
}

// splitID separates an id from the selector it may carry. A reader may have
// copied the whole marker.
func splitID(s string) (id, suffix string) {
	s = strings.TrimSpace(s)
	if rest, marker := strings.CutPrefix(s, "<<cg:"); marker {
		s = strings.TrimSuffix(rest, ">>")
		if len(s) > pipeline.IDLen {
			s = s[:pipeline.IDLen] + strings.TrimPrefix(s[pipeline.IDLen:], ">>")
		}
	}
	if len(s) > pipeline.IDLen+1 && (s[pipeline.IDLen] == ':' || s[pipeline.IDLen] == '?') {
		return s[:pipeline.IDLen], s[pipeline.IDLen:]
	}
	return s, ""
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

func parseCount(param, s string) (int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, nil
	}
	n, ok := number(s)
	if !ok {
		return 0, &SelectorError{Param: param, Problem: fmt.Sprintf("must be a number of lines, at least 1, got %q", short(s))}
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
