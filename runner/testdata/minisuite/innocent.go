package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

func init() {
	suites["innocent"] = innocents
	suites["slow"] = func() {
		innocents()
		fixtures.Specify("mini/bad", fixtures.Whole, nil, "takes a while and ends well", func(*fixtures.Node) {
			for range 4 {
				By("taking its time")
				time.Sleep(100 * time.Millisecond)
			}
		}, fixtures.Needs())
	}
}

// innocents are specs that pass, before and after those of a suite. Each is a
// witness: it must pass whatever its neighbour does.
func innocents() {
	fixtures.Area("before", 1)
	fixtures.Area("mini", 2)
	fixtures.Area("zz", 3)
	fixtures.Specify("before/gpu", fixtures.GPUs, nil, "passes", func(*fixtures.GPU) { By("passing") }, fixtures.Needs())
	fixtures.Specify("zz/pair", fixtures.OrderedPairs, nil, "passes", func(*fixtures.Pair) { By("passing") }, fixtures.Needs())
	fixtures.Specify("zz/node", fixtures.Whole, nil, "passes", func(*fixtures.Node) {}, fixtures.Needs())
}
