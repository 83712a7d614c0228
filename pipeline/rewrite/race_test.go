//go:build race

package rewrite_test

// underRace tells the tests that sync.Pool forgets things at random.
const underRace = true
