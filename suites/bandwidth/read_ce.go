package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/read-ce", fixtures.OrderedPairs, Label("performance"),
	"a copy engine pulls at the path's floor or faster", func(p *fixtures.Pair) {
		p.Bandwidth(fixtures.Transport{Read: true})
	}, fixtures.WithAccess)
