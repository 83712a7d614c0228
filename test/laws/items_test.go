package laws_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// itemsNote is the note of a view that leaves items of an array out.
var itemsNote = regexp.MustCompile(` \[(?:[\w.-]+: )?(\d+) of (\d+) items shown; items? ([\d, -]+) omitted(?:; errors in items? ([\d, -]+))?\] <<cg:[a-z2-7]{20}>>(?: \[full array: [^\]]*\])?`)

// itemsCover checks that a view of a document is the document without the items
// that its note names, from one array that is as long as the note says. Of a
// text with more than the document in it, only the note's own figures are
// checked.
func itemsCover(client, sent string) error {
	found := itemsNote.FindStringSubmatchIndex(sent)
	if again := itemsNote.FindStringSubmatchIndex(sent[found[1]:]); again != nil {
		return nil // one of the two is the client's
	}
	part := func(i int) string {
		if found[2*i] < 0 {
			return ""
		}
		return sent[found[2*i]:found[2*i+1]]
	}
	shown, total, omitted := number(part(1)), number(part(2)), listed(part(3))
	if shown+len(omitted) != total {
		return fmt.Errorf("the note counts %d items as shown of %d and names %d as omitted", shown, total, len(omitted))
	}
	for n := range listed(part(4)) {
		if !omitted[n] {
			return fmt.Errorf("the note names item %d for its error, which it does not omit", n)
		}
	}
	view, err := flatten(sent[:found[0]] + sent[found[1]:])
	if err != nil {
		return nil // other text stands around the document
	}
	whole, err := flatten(client)
	if err != nil {
		return fmt.Errorf("a document in place of what is none: %w", err)
	}
	return lacks(whole, view, total, omitted, stringsDeep)
}

// listed reads "3-5, 7" as a set.
func listed(numbers string) map[int]bool {
	set := map[int]bool{}
	for part := range strings.SplitSeq(numbers, ", ") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		for n := number(first); part != "" && n <= number(last); n++ {
			set[n] = true
		}
	}
	return set
}

// lacks checks that one array of so many items, without some of them, makes the
// difference between two documents. It may stand in a document in a string.
func lacks(whole, view []string, total int, omitted map[int]bool, levels int) error {
	i := 0
	for i < len(whole) && i < len(view) && alike(whole[i], view[i]) {
		i++
	}
	if i < len(whole) && i < len(view) && levels > 0 && equal(whole[i+1:], view[i+1:]) {
		inner, errA := flatten(strings.TrimPrefix(whole[i], "s"))
		innerView, errB := flatten(strings.TrimPrefix(view[i], "s"))
		if errA == nil && errB == nil && lacks(inner, innerView, total, omitted, levels-1) == nil {
			return nil
		}
	}
	for i, token := range whole {
		if token == "[" {
			items, end := itemsOf(whole, i)
			if len(items) != total {
				continue
			}
			made := append([]string(nil), whole[:i+1]...)
			for n, item := range items {
				if !omitted[n] {
					made = append(made, item...)
				}
			}
			if equal(append(made, whole[end:]...), view) {
				return nil
			}
		}
	}
	return fmt.Errorf("no array of %d items makes the view when those the note names are left out", total)
}

// itemsOf returns the tokens of the items of the array that opens at a token,
// and where it is closed.
func itemsOf(tokens []string, open int) (items [][]string, end int) {
	depth := 0
	for i := open + 1; ; i++ {
		switch tokens[i] {
		case "]", "}":
			if depth--; depth < 0 {
				return items, i
			}
			items[len(items)-1] = append(items[len(items)-1], tokens[i])
			continue
		}
		if depth == 0 {
			items = append(items, nil)
		}
		items[len(items)-1] = append(items[len(items)-1], tokens[i])
		if tokens[i] == "[" || tokens[i] == "{" {
			depth++
		}
	}
}

func equal(a, b []string) bool { return slices.EqualFunc(a, b, alike) }

// alike compares tokens. A string that holds a document may have been written
// anew before.
func alike(a, b string) bool {
	return a == b || strings.HasPrefix(a, "s") && strings.HasPrefix(b, "s") && sameValues(a[1:], b[1:], stringsDeep) == nil
}
