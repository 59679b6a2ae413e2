package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/simultaneous-peers", fixtures.GPUs, Label(),
	"access to every peer at once, as many as the profile expects; the limit is recorded", func(g *fixtures.GPU) {
		fixtures.Judge(g.SimultaneousPeers())
	}, fixtures.BetweenTwo)
