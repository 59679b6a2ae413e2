package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/read-sm", fixtures.OrderedPairs, Label("performance"),
	"a kernel loads at the path's floor or faster", func(p *fixtures.Pair) {
		p.Bandwidth(fixtures.Transport{SM: true, Read: true})
	}, fixtures.WithAccess)
