package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/enable-cost", fixtures.OrderedPairs, Label("performance"),
	"the time to enable and disable access, recorded", func(p *fixtures.Pair) {
		fixtures.Judge(p.EnableCost())
	}, fixtures.WithAccess, fixtures.BetweenTwo)
