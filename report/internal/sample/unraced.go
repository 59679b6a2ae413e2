//go:build !race

package sample

// Raced says that the race detector watches.
const Raced = false
