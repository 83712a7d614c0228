//go:build !race

package rewrite_test

const underRace = false
