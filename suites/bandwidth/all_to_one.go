package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/all-to-one", fixtures.GPUs, Label("performance"),
	"what a GPU takes in from all its peers at once; the floor is the profile's", func(g *fixtures.GPU) {
		g.AllToOne()
	}, fixtures.BetweenTwo)
