//go:build !race

package runner

const raceFlag = false
