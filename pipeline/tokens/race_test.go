//go:build race

package tokens

// underRace tells the tests that the race detector slows them down about
// twentyfold and makes sync.Pool forget things at random.
const underRace = true
