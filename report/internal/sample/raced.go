//go:build race

package sample

// Raced says that the race detector watches: tests of size, which it makes ten
// times slower and heavier, leave themselves to make test's run without it.
const Raced = true
