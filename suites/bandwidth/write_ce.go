package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/write-ce", fixtures.OrderedPairs, Label("performance", "gate"),
	"a copy engine pushes at the path's floor or faster", func(p *fixtures.Pair) {
		p.Bandwidth(fixtures.Transport{})
	}, fixtures.WithAccess)
