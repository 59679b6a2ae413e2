//go:build race

package runner

// raceFlag builds the mini-suites with the race detector where the tests have it.
const raceFlag = true
