//go:build !race

package tokens

const underRace = false
