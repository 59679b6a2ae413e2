package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/one-to-all", fixtures.GPUs, Label("performance"),
	"what a GPU gives to all its peers at once; the floor is the profile's", func(g *fixtures.GPU) {
		g.OneToAll()
	}, fixtures.BetweenTwo)
