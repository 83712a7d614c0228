package strict

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// maxGuess is the longest name a close one is looked for.
const maxGuess = 64

// Closest returns the known name a misspelt one most likely stands for, or "".
// Case and the difference between - and _ do not count.
func Closest(name string, known []string) string {
	if name == "" || len(name) > maxGuess {
		return ""
	}
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, bestDistance := "", max(1, min(3, len(name)/2))+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := levenshtein.Distance(fold(name), fold(candidate), nil); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Cure is what to do about an unknown name: the close one, or the list.
func Cure(name string, known []string) string {
	if best := Closest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "known are " + strings.Join(known, ", ")
}
