package smartcrush

import (
	"bytes"
	"context"
	"slices"

	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/components/internal/wrapper"
)

const (
	// maxErrors is how many items stay for an error, and errorShare the
	// reciprocal of the share of all items that may; the others are named.
	maxErrors  = 20
	errorShare = 4
	// maxUnusual and unusualShare are the same for items unlike the rest. A
	// reader looks at a handful of those; what is common among the unusual is
	// not unusual.
	maxUnusual   = 10
	unusualShare = 10
	// extraShare is the reciprocal of the share of the array's bytes that all
	// of them together may have.
	extraShare = 4
	// itemsPerCheck is how often a long scan looks whether it is still wanted.
	itemsPerCheck = 1 << 12
)

// choose decides which items stay. There are more items than stay at the
// beginning and at the end.
func (c crusher) choose(ctx context.Context, doc []byte, items []rawjson.Span) (selection, error) {
	s := selection{keep: make([]bool, len(items))}
	total := 0
	reminded := bytes.Contains(doc, []byte(wrapper.ReminderName))
	for i, item := range items {
		total += item.Len()
		if reminded && bytes.Contains(doc[item.Start:item.End], []byte(wrapper.ReminderName)) || i < c.KeepFirst || i >= len(items)-c.KeepLast {
			s.keep[i] = true
			s.kept++
		}
	}
	failed, mentioned, err := s.scanErrors(ctx, doc, items)
	if err != nil {
		return s, err
	}
	unusual, err := findUnusual(ctx, doc, items)
	if err != nil {
		return s, err
	}
	room := total / extraShare
	add := func(candidates []int, most int) int {
		added := 0
		for _, i := range candidates {
			if added == most {
				break
			}
			if size := items[i].Len(); !s.keep[i] && size <= room {
				s.keep[i] = true
				s.kept++
				room -= size
				added++
			}
		}
		return added
	}
	most := min(maxErrors, share(len(items), errorShare))
	most -= add(fromBothEnds(failed), most)
	add(fromBothEnds(mentioned), most)
	add(unusual, min(maxUnusual, share(len(items), unusualShare)))
	for _, list := range [][]int{failed, mentioned} {
		for _, i := range list {
			if !s.keep[i] {
				s.errors = append(s.errors, i)
			}
		}
	}
	slices.Sort(s.errors)
	return s, nil
}

func share(n, reciprocal int) int { return (n + reciprocal - 1) / reciprocal }

// scanErrors returns the items that do not stay as it is and report an error
// by a field, or mention one in a text.
func (s *selection) scanErrors(ctx context.Context, doc []byte, items []rawjson.Span) (failed, mentioned []int, err error) {
	scan := errorScan{meanings: map[string]meaning{}}
	text := string(doc)
	for i, item := range items {
		if i%itemsPerCheck == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if s.keep[i] {
			continue
		}
		switch scan.item(doc[item.Start:item.End], text[item.Start:item.End]) {
		case errorReported:
			failed = append(failed, i)
		case errorMentioned:
			mentioned = append(mentioned, i)
		}
	}
	return failed, mentioned, nil
}

// fromBothEnds orders items first, last, second, last but one: the first error
// tends to name the cause and the last the outcome.
func fromBothEnds(items []int) []int {
	ordered := make([]int, 0, len(items))
	for low, high := 0, len(items)-1; low <= high; low, high = low+1, high-1 {
		ordered = append(ordered, items[low])
		if high > low {
			ordered = append(ordered, items[high])
		}
	}
	return ordered
}
