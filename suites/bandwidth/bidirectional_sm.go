package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/bidirectional-sm", fixtures.Pairs, Label("performance"),
	"kernels in both directions at once reach the floor of twice one way", func(p *fixtures.Pair) {
		p.Bidirectional(true)
	}, fixtures.WithAccess)
