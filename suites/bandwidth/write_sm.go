package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/write-sm", fixtures.OrderedPairs, Label("performance"),
	"a kernel stores at the path's floor or faster", func(p *fixtures.Pair) {
		p.Bandwidth(fixtures.Transport{SM: true})
	}, fixtures.WithAccess)
