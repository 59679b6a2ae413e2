package transfer

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/staged", fixtures.OrderedPairs, Label("data"),
	"with peer access off a copy is still right", func(p *fixtures.Pair) {
		By("copying from " + p.From.String() + " to " + p.To.String() + " with access off")
		p.Staged()
	}, fixtures.BetweenTwo)
